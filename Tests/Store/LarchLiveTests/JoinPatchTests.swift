import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Joins that are brought up to date from the changed records of both sides")
struct JoinPatchTests {
  private static func observers(_ store: Store) -> [AnyObserver] {
    let high = Worker.where { $0.rank > 3 }
    let oslo = Firm.where { $0.city == "Oslo" }
    return [
      AnyObserver("by id", store, Worker.all.joined(with: Firm.all, on: \.firmID)),
      AnyObserver("filters", store, high.joined(with: oslo, on: \.firmID)),
      AnyObserver(
        "left", store,
        high.sorted(by: \.name).joined(with: oslo, on: \.firmID, kind: .left)),
      AnyObserver(
        "sorted by both", store,
        Worker.all.joined(with: Firm.all, on: \.firmID)
          .sorted(byRight: \.city, .descending).then(byLeft: \.rank)),
      AnyObserver(
        "left, sorted by the right", store,
        Worker.all.reversed().joined(with: oslo, on: \.firmID, kind: .left)
          .sorted(byRight: \.name)),
      AnyObserver(
        "the other way", store,
        Firm.all.sorted(by: \.name).joined(
          with: Worker.all.sorted(by: \.rank, .descending), on: \.id, equals: \.firmID)),
      AnyObserver(
        "the other way, left", store,
        oslo.joined(with: high, on: \.id, equals: \.firmID, kind: .left)),
      AnyObserver(
        "own type", store, Worker.all.joined(with: high, on: \.bossID, kind: .left)),
      AnyObserver(
        "values", store,
        high.joined(with: Worker.where { $0.rank < 7 }, on: \.rank, equals: \.rank)
          .sorted(byRight: \.name)),
      AnyObserver("elements", store, Worker.all.joined(with: Skill.all, on: \.skillIDs)),
      AnyObserver(
        "elements, left", store,
        high.joined(with: Skill.where { $0.level > 1 }, on: \.skillIDs, kind: .left)
          .sorted(byLeft: \.rank)),
      AnyObserver(
        "related on the left", store,
        Worker.where { $0.boss.rank > 2 }.joined(with: Firm.all, on: \.firmID)),
      AnyObserver(
        "related on the right", store,
        Worker.all.joined(
          with: Firm.where { $0.workers.contains { $0.rank > 6 } }, on: \.firmID, kind: .left)),
      AnyObserver(
        "closure", store,
        Worker.all.filter { $0.rank % 2 == 0 }
          .joined(with: Firm.all.filter { $0.isOpen }, on: \.firmID)),
    ]
  }

  /// Those that are read again.
  private static func others(_ store: Store) -> [AnyObserver] {
    [
      AnyObserver(
        "right", store, Worker.all.joined(with: Firm.all, on: \.firmID, kind: .right)),
      AnyObserver("full", store, Worker.all.joined(with: Firm.all, on: \.firmID, kind: .full)),
      AnyObserver(
        "limit", store, Worker.all.joined(with: Firm.all, on: \.firmID).limit(5).offset(1)),
      AnyObserver(
        "limit of a side", store,
        Worker.all.sorted(by: \.rank).limit(9).joined(with: Firm.all, on: \.firmID)),
      AnyObserver(
        "no index", store, Worker.all.joined(with: Worker.all, on: \.name, equals: \.name)),
      AnyObserver(
        "related order", store,
        Worker.all.sorted(by: \.boss.name).joined(with: Firm.all, on: \.firmID)),
    ]
  }

  @Test("equal those of a fetch after each commit, and few are read again", arguments: 1...3)
  func differential(seed: UInt64) throws {
    var writes = FirmWrites(seed: 79_000 + seed)
    let store = try FirmWrites.store(isChecked: seed % 3 == 0)
    defer { store.close() }
    try writes.fill(store)
    let patched = Self.observers(store)
    let observers = patched + Self.others(store)
    var last = [String](repeating: "", count: observers.count)
    var values = [Int](repeating: 0, count: observers.count)
    for round in 0..<amount("LARCH_RELATED_ROUNDS", 150) {
      if round > 0 { for _ in 0...(round % 2) { writes.write(to: store) } }
      for (place, observer) in observers.enumerated() {
        // Some get the changes of several rounds at once.
        if round % (1 + place % 3) != 0 { continue }
        let comment = "seed \(seed), round \(round), \(observer.name)" as Comment
        let known = try store.read { try observer.expected($0) }
        guard let found = try observer.poll() else {
          #expect(last[place] == known, comment)
          continue
        }
        #expect(found.value == known, comment)
        #expect(found.value != last[place], comment)
        #expect(found.version == (try store.version), comment)
        last[place] = found.value
        values[place] += 1
      }
    }
    for (place, observer) in patched.enumerated() {
      // A worker has so many others of the same rank that some changes are above the bound.
      let share = observer.name == "values" ? 0.4 : 0.8
      #expect(
        Double(observer.patches()) > share * Double(values[place] - 4),
        "seed \(seed), \(observer.name): \(observer.patches()) of \(values[place])")
    }
    for observer in observers[patched.count...] {
      #expect(observer.patches() == 0, "\(observer.name)")
    }
    #expect(values.reduce(0, +) > 800)
  }

  private struct Office {
    let store: Store
    var firms: [Firm] = []
    var workers: [Worker] = []

    /// Ten firms with twenty workers each.
    init() throws {
      store = try FirmWrites.store(isChecked: false)
      var (firms, workers): ([Firm], [Worker]) = ([], [])
      try store.write { tx in
        for number in 0..<10 {
          var firm = Firm(name: "firm \(number)", city: "Rome", isOpen: number != 0)
          try tx.save(&firm)
          firms.append(firm)
          for place in 0..<20 {
            var worker = Worker(name: "w", rank: place, firmID: firm.id)
            try tx.save(&worker)
            workers.append(worker)
          }
        }
      }
      (self.firms, self.workers) = (firms, workers)
    }
  }

  @Test("a changed record of either side changes its pairs, and the others stay")
  func sides() throws {
    var office = try Office()
    let store = office.store
    let request = Worker.all.joined(with: Firm.where { $0.isOpen == true }, on: \.firmID)
    let observer = store.observe(request).makeAsyncIterator().polled
    func rows() throws -> [(Worker, Firm)]? {
      guard let rows = try observer.poll()?.rows else { return nil }
      let known = try store.fetch(request)
      #expect(rows.map(\.0) == known.map(\.0) && rows.map(\.1) == known.map(\.1))
      return rows
    }
    #expect(try rows()?.count == 180)
    office.workers[30].rank = 77
    try store.put(office.workers[30])
    #expect(try rows()?[10].0.rank == 77)
    office.firms[2].name = "other"
    try store.put(office.firms[2])
    #expect(try rows()?.count { $0.1.name == "other" } == 20)
    // One that comes in, one that goes, and one that changes its partner.
    office.firms[0].isOpen = true
    try store.put(office.firms[0])
    #expect(try rows()?.count == 200)
    office.firms[1].isOpen = false
    try store.put(office.firms[1])
    #expect(try rows()?.count == 180)
    office.workers[199].firmID = office.firms[1].id
    try store.put(office.workers[199])
    #expect(try rows()?.count == 179)
    // What is no part of a pair, before and after.
    office.workers[25].rank = 50
    try store.put(office.workers[25])
    office.firms[1].name = "closed"
    try store.put(office.firms[1])
    #expect(try rows() == nil)
    // Both sides in one commit, and a rule that changes the left.
    try store.write { [office] tx in
      var worker = office.workers[40]
      worker.firmID = office.firms[5].id
      try tx.put(worker)
      _ = try tx.delete(office.firms[3])
    }
    #expect(try rows()?.count == 159)
    #expect(observer.reads == 1 && observer.patches == 6)
  }

  @Test("left records without a partner have a row, and get one and lose it again")
  func alone() throws {
    var office = try Office()
    let store = office.store
    let open = Firm.where { $0.isOpen == true }
    let observer = store.observe(Worker.all.joined(with: open, on: \.firmID, kind: .left))
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count { $0.1 == nil } == 20)
    office.firms[0].isOpen = true
    try store.put(office.firms[0])
    #expect(try observer.poll()?.rows.count { $0.1 == nil } == 0)
    office.firms[4].isOpen = false
    try store.put(office.firms[4])
    #expect(try observer.poll()?.rows.count { $0.1 == nil } == 20)
    try store.write { [office] tx in
      for worker in office.workers.prefix(3) {
        var worker = worker
        worker.firmID = nil
        try tx.put(worker)
      }
    }
    #expect(try observer.poll()?.rows.count { $0.1 == nil } == 23)
    #expect(observer.reads == 1 && observer.patches == 3)
  }

  @Test("a record with too many pairs is read again, and then not")
  func bound() throws {
    var office = try Office()
    let store = office.store
    try store.write { [office] tx in
      for worker in office.workers {
        var worker = worker
        worker.firmID = office.firms[1].id
        try tx.put(worker)
      }
    }
    let observer = store.observe(Worker.all.joined(with: Firm.all, on: \.firmID))
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 200)
    office.firms[1].name = "other"
    try store.put(office.firms[1])
    #expect(try observer.poll()?.rows.allSatisfy { $0.1.name == "other" } == true)
    #expect(observer.reads == 2 && observer.patches == 0)
    try store.write { [office] tx in _ = try tx.delete(office.workers[0]) }
    #expect(try observer.poll()?.rows.count == 199)
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("without an index to look partners up, only what needs it is read again")
  func noIndex() throws {
    let store = try Store.temporary(for: Member.self, Team.self)
    try store.write { tx in
      for number in 1...5 { try tx.put(Team(id: number, name: "t\(number)")) }
      for number in 1...100 { try tx.put(Member(id: number, team: number % 6)) }
    }
    let observer = store.observe(Member.all.joined(with: Team.all, on: \.team, equals: \.id))
      .makeAsyncIterator().polled
    let count = try #require(try observer.poll()).rows.count
    // Members look their teams up by id. The members of a team that stays are known.
    try store.put(Member(id: 101, team: 3))
    #expect(try observer.poll()?.rows.count == count + 1)
    try store.put(Team(id: 3, name: "other"))
    #expect(try observer.poll()?.rows.contains { $0.1.name == "other" } == true)
    _ = try store.write { try $0.delete(Team.self, 3) }
    #expect(try observer.poll() != nil)
    #expect(observer.reads == 1 && observer.patches == 3)
    try store.put(Team(id: 3, name: "again"))
    #expect(try observer.poll()?.rows.count == count + 1)
    #expect(observer.reads == 2)
    let text = try store.explain(
      observing: Member.all.joined(with: Team.all, on: \.team, equals: \.id))
    #expect(
      text.contains("  read again if a record of Team comes: Member has no index of team\n"))
  }

  @Test("what one author writes stays silent, on either side")
  func authors() throws {
    var office = try Office()
    let store = office.store
    let observer = store.observe(
      Worker.all.joined(with: Firm.all, on: \.firmID), ignoring: "ui"
    ).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 200)
    office.firms[1].name = "a"
    try store.write(author: "ui") { [office] tx in try tx.put(office.firms[1]) }
    #expect(try observer.poll() == nil)
    office.workers[0].rank = 9
    try store.write(author: "sync") { [office] tx in try tx.put(office.workers[0]) }
    let value = try #require(try observer.poll())
    #expect(value.rows[20].1.name == "a" && value.rows[0].0.rank == 9)
    #expect(value.authors == ["ui", "sync"])
    #expect(observer.reads == 1)
  }
}

private struct Member: Record, Equatable {
  var id: Int
  var team: Int
}

private struct Team: Record, Equatable {
  var id: Int
  var name: String
}
