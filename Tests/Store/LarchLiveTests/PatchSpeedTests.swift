import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Times for docs/live.md. The numbers are small unless variables set more.
@Suite("Speed of values that are brought up to date", .serialized)
struct PatchSpeedTests {
  private let size = amount("LARCH_PATCHED_ROWS", 1_000)
  private let rounds = amount("LARCH_PATCHED_ROUNDS", 20)

  /// Twenty workers in each firm. Without the commits of others, values are read again.
  private func store(isPatched: Bool) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    options.observesOtherProcesses = isPatched
    let store = try Store.temporary(
      for: Firm.self, Worker.self, Skill.self, Course.self, Enrolment.self, License.self,
      Club.self, options: options)
    try store.write { tx in
      for number in 0..<size / 20 {
        var firm = Firm(name: "firm \(number)", city: "Oslo", isOpen: true)
        try tx.save(&firm)
        for place in 0..<20 {
          try tx.put(Worker(name: "w", rank: place * size + number, firmID: firm.id))
        }
      }
    }
    return store
  }

  /// The median of the time that observers take for a commit, in microseconds.
  private func time<Value: Sendable>(
    _ observers: [Observer<Value>], _ change: (Int) throws -> Void
  ) throws -> Double {
    var times: [Int] = []
    for round in 0..<rounds {
      try change(round)
      let start = Watched.nanoseconds
      for observer in observers { #expect(try observer.poll() != nil) }
      times.append(Watched.nanoseconds - start)
    }
    times.sort()
    return Double(times[times.count / 2] / 100) / 10
  }

  private func observers<Q: Request>(
    _ request: Q, _ store: Store, count: Int = 1
  ) throws -> [Observer<[Q.Row]>] where Q.Row: Sendable {
    let observers = (0..<count).map { _ in store.observe(request).makeAsyncIterator().polled }
    for observer in observers { _ = try observer.poll() }
    return observers
  }

  @Test("rows that depend on related records are printed", arguments: [false, true])
  func related(isPatched: Bool) throws {
    let store = try store(isPatched: isPatched)
    defer { store.close() }
    let firms = try store.fetch(Firm.all)
    let list = try observers(Worker.where { $0.firm.isOpen == true }.sorted(by: \.rank), store)
    let own = try time(list) { round in
      try store.write { tx in
        guard var worker = try tx.fetch(Worker.all.limit(1).offset(round * 37 % size)).first else {
          return
        }
        worker.rank += 7
        try tx.save(&worker)
      }
    }
    let partner = try time(list) { round in
      var firm = firms[round / 2 % firms.count]
      firm.isOpen = round % 2 == 1
      try store.put(firm)
    }
    let pairs = try observers(Firm.all.with(Firm.workers), store)
    let with = try time(pairs) { round in
      try store.write { tx in
        guard var worker = try tx.fetch(Worker.all.limit(1).offset(round * 37 % size)).first else {
          return
        }
        worker.name += "x"
        try tx.save(&worker)
      }
    }
    print(
      "\(size) rows, patched \(isPatched): \(own) us for a record, \(partner) us for a partner of 20,",
      "\(with) us for one of \(firms.count) rows with their records")
    #expect(!isPatched || list[0].reads == 1 && pairs[0].reads == 1)
  }

  @Test("joins and aggregates with related filters are printed", arguments: [false, true])
  func joins(isPatched: Bool) throws {
    let store = try store(isPatched: isPatched)
    defer { store.close() }
    let firms = try store.fetch(Firm.all)
    let open = Worker.where { $0.firm.isOpen == true }
    func changeWorker(_ round: Int) throws {
      try store.write { tx in
        guard var worker = try tx.fetch(Worker.all.limit(1).offset(round * 37 % size)).first else {
          return
        }
        worker.rank += 7
        try tx.save(&worker)
      }
    }
    func changeFirm(_ round: Int) throws {
      var firm = firms[round / 2 % firms.count]
      firm.isOpen = round % 2 == 1
      try store.put(firm)
    }
    let pairs = try observers(
      Worker.all.joined(with: Firm.all, on: \.firmID).sorted(byRight: \.name), store)
    let (left, right) = (try time(pairs, changeWorker), try time(pairs, changeFirm))
    let some = try observers(
      Worker.all.joined(with: Firm.where { $0.isOpen == true }, on: \.firmID), store)
    let coming = try time(some, changeFirm)
    let sum = store.observe { [try $0.count(open), try $0.sum(\.rank, of: open)] }
      .makeAsyncIterator().polled
    _ = try sum.poll()
    let (own, partner) = (try time([sum], changeWorker), try time([sum], changeFirm))
    print(
      "\(size) pairs, patched \(isPatched): \(left) us for a left record, \(right) us for a right one",
      "with 20 pairs, \(coming) us for one that comes or goes; count and sum: \(own) us for a record,",
      "\(partner) us for a partner of 20")
    #expect(!isPatched || pairs[0].reads == 1 && some[0].reads == 1 && sum.reads == 1)
  }

  @Test("a page whose rows leave is printed", arguments: [false, true])
  func page(isPatched: Bool) throws {
    let store = try store(isPatched: isPatched)
    defer { store.close() }
    let page = try observers(Worker.all.sorted(by: \.rank).limit(20), store)
    let leaving = try time(page) { _ in
      try store.write { tx in
        if let first = try tx.first(Worker.all.sorted(by: \.rank)) { try tx.delete(first) }
      }
    }
    let coming = try time(page) { round in
      try store.put(Worker(name: "new", rank: -round))
    }
    print(
      "page of 20, patched \(isPatched): \(leaving) us for a row that leaves, \(coming) us for one that comes,",
      "\(page[0].reads) reads")
    #expect(!isPatched || page[0].reads <= 2 + rounds / 32)
  }

  @Test("equal observers are printed", arguments: [1, 100])
  func equal(count: Int) throws {
    let store = try store(isPatched: true)
    defer { store.close() }
    let lists = try observers(Worker.all.sorted(by: \.rank), store, count: count)
    let time = try time(lists) { round in
      try store.put(Worker(name: "new", rank: round * 31))
    }
    print("\(size) rows, \(count) equal observers: \(time) us a change for all")
    #expect(lists.allSatisfy { $0.reads == 1 })
  }
}
