import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Aggregates with filters across associations, kept from the changes of either side")
struct RelatedAggregateTests {
  private static let inOslo = Worker.where { $0.firm.city == "Oslo" }

  private static func observers(_ store: Store) -> [AnyObserver] {
    let plain: [(String, @Sendable (ReadTransaction) throws -> String)] = [
      ("count, parent", { "\(try $0.count(inOslo))" }),
      (
        "count, own and parent",
        { "\(try $0.count(Worker.where { $0.rank > 3 && $0.firm.isOpen == true }))" }
      ),
      ("count, not the parent", { "\(try $0.count(Worker.where { $0.firm.city != "Oslo" }))" }),
      ("count, no parent", { "\(try $0.count(Worker.where { $0.firm == nil }))" }),
      ("count, further", { "\(try $0.count(Worker.where { $0.boss.firm.city == "Oslo" }))" }),
      ("count, own type twice", { "\(try $0.count(Worker.where { $0.boss.boss.rank > 2 }))" }),
      ("count, children", { "\(try $0.count(Worker.where { $0.reports.count >= 2 }))" }),
      (
        "count, listed", { "\(try $0.count(Worker.where { $0.skills.contains { $0.level > 2 } }))" }
      ),
      (
        "count, through",
        { "\(try $0.count(Worker.where { $0.courses.contains { $0.points > 3 } }))" }
      ),
      ("count, links", { "\(try $0.count(Worker.where { $0.clubs.contains { $0.size > 2 } }))" }),
      (
        "count, any worker",
        { "\(try $0.count(Firm.where { $0.workers.contains { $0.rank > 6 } }))" }
      ),
      (
        "count, texts as ids",
        { "\(try $0.count(Skill.where { $0.workers.contains { $0.rank > 4 } }))" }
      ),
      (
        "count, nested",
        {
          "\(try $0.count(Firm.where { $0.workers.contains { $0.courses.contains { $0.points > 2 } && $0.rank > 2 } }))"
        }
      ),
      ("exists", { "\(try $0.exists(Worker.where { $0.firm.city == "Oslo" && $0.rank == 7 }))" }),
      ("sum", { "\(try $0.sum(\.rank, of: inOslo))" }),
      ("average", { String(describing: try $0.average(\.rank, of: inOslo)) }),
      ("least", { String(describing: try $0.min(\.name, of: inOslo)) }),
      (
        "greatest",
        { String(describing: try $0.max(\.rank, of: Worker.where { $0.boss.rank > 4 })) }
      ),
      ("groups", { "\(try $0.counts(by: \.rank, of: inOslo))" }),
      (
        "groups of firms",
        { "\(try $0.counts(by: \.city, of: Firm.where { $0.license.year > 2020 }))" }
      ),
      (
        "several",
        { tx in
          [
            "\(try tx.count(inOslo))", "\(try tx.sum(\.rank, of: inOslo))",
            "\(try tx.count(Worker.where { $0.rank > 4 }))",
            "\(try tx.count(Worker.where { $0.firm.city == "Rome" }))",
            String(describing: try tx.max(\.rank, of: inOslo)),
          ].joined(separator: " ")
        }
      ),
    ]
    return plain.map { AnyObserver($0.0, store, reading: $0.1) }
  }

  @Test("equal those of a read after each commit, and few are read again", arguments: 1...6)
  func differential(seed: UInt64) throws {
    var writes = FirmWrites(seed: 78_000 + seed)
    let store = try FirmWrites.store(isChecked: seed % 3 == 0)
    defer { store.close() }
    try writes.fill(store)
    let observers = Self.observers(store)
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
    let mayRead = ["links", "exists", "least", "greatest", "several"]
    for (place, observer) in observers.enumerated()
    where !mayRead.contains(where: observer.name.contains) {
      #expect(
        Double(observer.patches()) > 0.8 * Double(values[place] - 4),
        "seed \(seed), \(observer.name): \(observer.patches()) of \(values[place])")
    }
    #expect(values.reduce(0, +) > 200)
  }

  /// Ten firms with twenty workers each, of which the first firm is in Oslo.
  private func office() throws -> (store: Store, firms: [Firm], workers: [Worker]) {
    let store = try FirmWrites.store(isChecked: false)
    var (firms, workers): ([Firm], [Worker]) = ([], [])
    try store.write { tx in
      for number in 0..<10 {
        var firm = Firm(name: "\(number)", city: number == 0 ? "Oslo" : "Rome", isOpen: true)
        try tx.save(&firm)
        firms.append(firm)
        for place in 0..<20 {
          var worker = Worker(name: "w", rank: place, firmID: firm.id)
          try tx.save(&worker)
          workers.append(worker)
        }
      }
    }
    return (store, firms, workers)
  }

  @Test("a change of either side is known, and one that changes nothing does not run the closure")
  func sides() throws {
    var (store, firms, workers) = try office()
    let runs = Locked(0)
    let observer = store.observe { tx in
      runs.withLock { $0 += 1 }
      return [try tx.count(Self.inOslo), try tx.sum(\.rank, of: Self.inOslo)]
    }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value == [20, 190])
    firms[3].city = "Oslo"
    try store.put(firms[3])
    #expect(try observer.poll()?.value == [40, 380])
    workers[65].rank += 5
    try store.put(workers[65])
    #expect(try observer.poll()?.value == [40, 385])
    workers[65].firmID = firms[5].id
    try store.put(workers[65])
    #expect(try observer.poll()?.value == [39, 375])
    // Other fields, and a worker who stays outside.
    firms[0].name = "other"
    try store.put(firms[0])
    workers[30].rank = 99
    try store.put(workers[30])
    let before = runs.withLock { $0 }
    #expect(try observer.poll() == nil)
    #expect(runs.withLock { $0 } == before)
    // A rule removes the references of the workers that remain.
    try store.write { _ = try $0.delete(firms[3]) }
    #expect(try observer.poll()?.value == [20, 190])
    #expect(observer.reads == 1 && observer.patches == 4)
  }

  @Test("too many concerned records are read again, and then not")
  func bound() throws {
    var (store, firms, workers) = try office()
    try store.write { tx in
      for place in workers.indices {
        workers[place].firmID = firms[1].id
        try tx.put(workers[place])
      }
    }
    let observer = store.observe { try $0.count(Self.inOslo) }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value == 0)
    firms[1].city = "Oslo"
    try store.put(firms[1])
    #expect(try observer.poll()?.value == 200)
    #expect(observer.reads == 2 && observer.patches == 0)
    workers[0].firmID = nil
    try store.put(workers[0])
    #expect(try observer.poll()?.value == 199)
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("a changed list of the store is read again, and a changed member is not")
  func lists() throws {
    let (store, _, workers) = try office()
    try store.put(Club(id: "a", size: 1))
    try store.write { tx in
      for worker in workers.prefix(3) { try tx.add("a", to: worker.related(Worker.clubs)) }
    }
    let large = Worker.where { $0.clubs.contains { $0.size > 2 } }
    let observer = store.observe { try $0.count(large) }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value == 0)
    try store.put(Club(id: "a", size: 3))
    #expect(try observer.poll()?.value == 3)
    #expect(observer.reads == 1 && observer.patches == 1)
    try store.write { try $0.remove("a", from: workers[1].related(Worker.clubs)) }
    #expect(try observer.poll()?.value == 2)
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("whether there is one is known while the one that was found stays, or another one comes")
  func exists() throws {
    var (store, firms, workers) = try office()
    let high = Worker.where { $0.firm.city == "Oslo" && $0.rank >= 10 }
    let observer = store.observe { try $0.exists(high) }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value == true)
    firms[2].city = "Oslo"
    try store.put(firms[2])
    #expect(try observer.poll() == nil)
    firms[0].city = "Rome"
    try store.put(firms[0])
    #expect(try observer.poll() == nil)
    #expect(observer.reads == 1)
    firms[2].city = "Rome"
    try store.put(firms[2])
    #expect(try observer.poll()?.value == false)
    workers[4].rank = 10
    firms[0].city = "Oslo"
    workers[4].firmID = firms[0].id
    try store.write { [workers, firms] tx in
      try tx.put(workers[4])
      try tx.put(firms[0])
    }
    #expect(try observer.poll()?.value == true)
  }

  @Test("another constant, another association and another quantity are other queries")
  func constants() throws {
    let (store, firms, workers) = try office()
    let number = Locked(0)
    let queries = [
      Worker.where { $0.firm.city == "Oslo" }, Worker.where { $0.firm.city == "Rome" },
      Worker.where { $0.firm.name == "Oslo" }, Worker.where { $0.boss.rank > 3 },
      Worker.where { $0.boss.boss.rank > 3 }, Worker.where { $0.reports.contains { $0.rank > 3 } },
      Worker.where { $0.reports.count >= 1 }, Worker.where { $0.reports.count >= 2 },
    ]
    let observer = store.observe { tx in
      let run = number.withLock { $0 }
      return [run, try tx.count(queries[run % 8]), try tx.count(queries[run / 8 % 8])]
    }.makeAsyncIterator().polled
    _ = try observer.poll()
    var random = SeededGenerator(seed: 78_100)
    for round in 0..<200 {
      number.withLock { $0 = round }
      var worker = workers[Int.random(in: 0..<200, using: &random)]
      worker.firmID = firms[Int.random(in: 0..<10, using: &random)].id
      worker.bossID = workers[Int.random(in: 0..<40, using: &random)].id
      worker.rank = Int.random(in: 0..<9, using: &random)
      try store.put(worker)
      guard let found = try observer.poll()?.value else { continue }
      #expect(found[1] == (try store.count(queries[found[0] % 8])), "round \(round)")
      #expect(found[2] == (try store.count(queries[found[0] / 8 % 8])), "round \(round)")
    }
  }
}
