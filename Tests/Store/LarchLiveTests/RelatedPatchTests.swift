import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Rows that depend on related records, and are brought up to date")
struct RelatedPatchTests {
  private static func observers(_ store: Store) -> [AnyObserver] {
    filters(store) + orders(store) + withRelated(store)
  }

  private static func filters(_ store: Store) -> [AnyObserver] {
    let inOslo = Worker.where { $0.firm.city == "Oslo" }
    return [
      AnyObserver("parent", store, inOslo),
      AnyObserver("parent, sorted", store, inOslo.sorted(by: \.rank, .descending)),
      AnyObserver("not the parent", store, Worker.where { $0.firm.city != "Oslo" }),
      AnyObserver("no parent", store, Worker.where { $0.firm == nil }),
      AnyObserver("own and parent", store, Worker.where { $0.rank > 3 && $0.firm.isOpen == true }),
      AnyObserver("own type", store, Worker.where { $0.boss.rank > 4 }),
      AnyObserver("further", store, Worker.where { $0.boss.firm.city == "Oslo" }),
      AnyObserver("own type twice", store, Worker.where { $0.boss.boss.rank > 2 }),
      AnyObserver("any child", store, Worker.where { $0.reports.contains { $0.rank > 5 } }),
      AnyObserver("children", store, Worker.where { $0.reports.count >= 2 }),
      AnyObserver("listed", store, Worker.where { $0.skills.contains { $0.level > 2 } }),
      AnyObserver("listed, counted", store, Worker.where { $0.skills.count > 1 }),
      AnyObserver("through", store, Worker.where { $0.courses.contains { $0.points > 3 } }),
      AnyObserver("through, counted", store, Worker.where { $0.courses.count >= 2 }),
      AnyObserver("links", store, Worker.where { $0.clubs.contains { $0.size > 2 } }),
      AnyObserver("any worker", store, Firm.where { $0.workers.contains { $0.rank > 6 } }),
      AnyObserver("no worker", store, Firm.where { $0.workers.isEmpty }),
      AnyObserver("one", store, Firm.where { $0.license.year > 2020 }),
      AnyObserver(
        "nested", store,
        Firm.where { $0.workers.contains { $0.courses.contains { $0.points > 2 } && $0.rank > 2 } }),
      AnyObserver(
        "either", store, Worker.where { $0.firm.city == "Rome" || $0.boss.rank < 2 }),
      AnyObserver("window", store, inOslo.sorted(by: \.rank).limit(4)),
      AnyObserver("fields", store, inOslo.select(\.name, \.rank)),
      AnyObserver("sorted fields", store, inOslo.sorted(by: \.rank).select(\.rank)),
      AnyObserver("sections", store, inOslo.sectioned(by: \.rank)),
      AnyObserver("closure", store, inOslo.filter { $0.rank % 2 == 0 }),
    ]
  }

  private static func orders(_ store: Store) -> [AnyObserver] {
    [
      AnyObserver("order", store, Worker.all.sorted(by: \.firm.name)),
      AnyObserver("further order", store, Worker.all.sorted(by: \.boss.firm.name, .descending)),
      AnyObserver("order of one", store, Firm.all.sorted(by: \.license.year, .descending)),
      AnyObserver(
        "filter and order", store,
        Worker.where { $0.boss.rank > 1 }.sorted(by: \.firm.name).select(\.name)),
    ]
  }

  private static func withRelated(_ store: Store) -> [AnyObserver] {
    let high = Worker.where { $0.rank > 3 }.sorted(by: \.rank, .descending)
    return [
      AnyObserver("with many", store, Firm.all.with(Firm.workers)),
      AnyObserver(
        "with some", store,
        Firm.where { $0.city == "Oslo" }.with(Firm.workers, from: high.limit(2))),
      AnyObserver("with a parent", store, Worker.all.sorted(by: \.name).with(Worker.firm)),
      AnyObserver("with one", store, Firm.all.with(Firm.license)),
      AnyObserver("with a list", store, Worker.where { $0.rank < 6 }.with(Worker.skills)),
      AnyObserver("with others through", store, Worker.all.with(Worker.courses)),
      AnyObserver("with links", store, Worker.all.with(Worker.clubs)),
      AnyObserver("with its own type", store, Worker.all.with(Worker.reports)),
      AnyObserver(
        "with a filter on both sides", store,
        Worker.where { $0.firm.isOpen == true }
          .with(Worker.reports, from: Worker.where { $0.firm.city == "Oslo" })),
      AnyObserver(
        "with several", store,
        Worker.all.with(Worker.firm).with(Worker.skills, from: Skill.where { $0.level > 1 })
          .with(Worker.boss)),
      AnyObserver(
        "with others of others", store,
        Firm.all.with(
          Firm.workers,
          from: high.with(Worker.skills).with(Worker.boss, from: Worker.all.with(Worker.firm)))),
      AnyObserver(
        "with shared ones of others", store,
        Worker.all.with(Worker.firm, from: Firm.all.with(Firm.license).with(Firm.workers))),
      AnyObserver(
        "with, in a window", store, Firm.all.sorted(by: \.name).limit(3).with(Firm.workers)),
    ]
  }

  @Test("equal those of a fetch after each commit, and few are read again", arguments: 1...3)
  func differential(seed: UInt64) throws {
    var writes = FirmWrites(seed: 71_000 + seed)
    let store = try FirmWrites.store(isChecked: seed % 3 == 0)
    defer { store.close() }
    try writes.fill(store)
    let observers = Self.observers(store)
    var last = [String](repeating: "", count: observers.count)
    var values = [Int](repeating: 0, count: observers.count)
    for round in 0..<amount("LARCH_RELATED_ROUNDS", 120) {
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
    for (place, observer) in observers.enumerated() where !observer.name.contains("links") {
      #expect(
        Double(observer.patches()) > 0.8 * Double(values[place] - 4),
        "seed \(seed), \(observer.name): \(observer.patches()) of \(values[place])")
    }
    #expect(values.reduce(0, +) > 800)
  }

  private struct Office {
    let store: Store
    var firms: [Firm] = []
    var workers: [Worker] = []
  }

  /// Ten firms with twenty workers each.
  private func office() throws -> Office {
    var office = Office(store: try FirmWrites.store(isChecked: false))
    try office.store.write { tx in
      for number in 0..<10 {
        var firm = Firm(
          name: "firm \(number)", city: number == 0 ? "Oslo" : "Rome", isOpen: true)
        try tx.save(&firm)
        office.firms.append(firm)
        for place in 0..<20 {
          var worker = Worker(name: "w\(number) \(place)", rank: place, firmID: firm.id)
          try tx.save(&worker)
          office.workers.append(worker)
        }
      }
    }
    return office
  }

  @Test("a changed partner does not read the rows again, and rows of the others stay")
  func partner() throws {
    var office = try office()
    let store = office.store
    let observer = store.observe(Worker.where { $0.firm.city == "Rome" }).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 180)
    office.firms[3].city = "Oslo"
    try store.put(office.firms[3])
    #expect(try observer.poll()?.rows.count == 160)
    // Another field of it.
    office.firms[4].name = "other"
    try store.put(office.firms[4])
    #expect(try observer.poll() == nil)
    office.firms[3].city = "Rome"
    try store.put(office.firms[3])
    #expect(try observer.poll()?.rows.count == 180)
    // Both ends at once.
    office.workers[7].firmID = office.firms[5].id
    office.firms[5].city = "Paris"
    try store.write { [office] tx in
      try tx.put(office.firms[5])
      try tx.put(office.workers[7])
    }
    #expect(try observer.poll()?.rows.count == 160)
    try store.write { [office] tx in _ = try tx.delete(office.firms[6]) }
    let rows = try #require(try observer.poll()).rows
    #expect(rows == (try store.fetch(Worker.where { $0.firm.city == "Rome" })))
    #expect(rows.count == 140)
    #expect(observer.reads == 1 && observer.patches == 4)
  }

  @Test("records that are not rows yet know their related records")
  func empty() throws {
    let office = try office()
    let store = office.store
    // Nothing passes, so the first read may not have looked at firms at all.
    let observer = store.observe(Worker.where { $0.rank == 99 && $0.firm.city == "Oslo" })
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows == [])
    var worker = office.workers[25]
    worker.rank = 99
    try store.put(worker)
    #expect(try observer.poll() == nil)
    var firm = office.firms[1]
    firm.city = "Oslo"
    try store.put(firm)
    #expect(try observer.poll()?.rows == [worker])
    #expect(observer.reads == 1)
  }

  @Test("a partner of too many records is read again, and then not")
  func many() throws {
    let office = try office()
    let store = office.store
    try store.write { tx in
      for worker in office.workers {
        var worker = worker
        worker.firmID = office.firms[0].id
        try tx.put(worker)
      }
    }
    let observer = store.observe(Worker.where { $0.firm.city == "Oslo" }).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 200)
    var firm = office.firms[0]
    firm.city = "Rome"
    try store.put(firm)
    #expect(try observer.poll()?.rows.count == 0)
    #expect(observer.reads == 2 && observer.patches == 0)
    var worker = office.workers[3]
    worker.firmID = office.firms[1].id
    try store.put(worker)
    #expect(try observer.poll() == nil)
    firm = office.firms[1]
    firm.city = "Oslo"
    try store.put(firm)
    #expect(try observer.poll()?.rows == [worker])
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("records with their related ones change only in the rows that are concerned")
  func with() throws {
    let office = try office()
    let store = office.store
    let observer = store.observe(Firm.all.with(Firm.workers)).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 10)
    var worker = office.workers[30]
    worker.rank = 77
    try store.put(worker)
    var rows = try #require(try observer.poll()).rows
    #expect(rows[1].1[10].rank == 77)
    worker.firmID = office.firms[2].id
    try store.put(worker)
    rows = try #require(try observer.poll()).rows
    #expect(rows.map { $0.1.count } == [20, 19, 21] + [Int](repeating: 20, count: 7))
    try store.write { _ = try $0.delete(worker) }
    rows = try #require(try observer.poll()).rows
    #expect(rows.map { $0.1.count } == [20, 19] + [Int](repeating: 20, count: 8))
    #expect(observer.reads == 1 && observer.patches == 3)
  }

  @Test("a changed list of the store is read again, and a changed member is not")
  func links() throws {
    let office = try office()
    let store = office.store
    try store.put(Club(id: "a", size: 1))
    try store.write { tx in
      for worker in office.workers.prefix(3) {
        try tx.add("a", to: worker.related(Worker.clubs))
      }
    }
    let observer = store.observe(Worker.where { $0.clubs.contains { $0.size > 2 } })
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 0)
    try store.put(Club(id: "a", size: 3))
    #expect(try observer.poll()?.rows.count == 3)
    #expect(observer.reads == 1 && observer.patches == 1)
    try store.write { try $0.remove("a", from: office.workers[1].related(Worker.clubs)) }
    #expect(try observer.poll()?.rows.count == 2)
    #expect(observer.reads == 2 && observer.patches == 1)
  }

  @Test("a commit that is not published yet is not taken for a part of the changes")
  func late() throws {
    var office = try office()
    let store = office.store
    let publication = HeldPublication(store)
    let query = Worker.where { $0.firm.city == "Oslo" }
    let observer = store.observe(query).makeAsyncIterator().polled
    var rows = try #require(try observer.poll()).rows
    office.firms[1].city = "Oslo"
    try store.put(office.firms[1])
    publication.hold()
    office.firms[2].city = "Oslo"
    try store.put(office.firms[2])
    if let value = try observer.poll() { rows = value.rows }
    publication.release()
    if let value = try observer.poll() { rows = value.rows }
    #expect(rows.count == 60)
    #expect(rows == (try store.fetch(query)))
  }

  @Test("what one author writes stays silent, also if it is a partner")
  func authors() throws {
    var office = try office()
    let store = office.store
    let observer = store.observe(Worker.where { $0.firm.city == "Oslo" }, ignoring: "ui")
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 20)
    office.firms[1].city = "Oslo"
    try store.write(author: "ui") { [office] tx in try tx.put(office.firms[1]) }
    #expect(try observer.poll() == nil)
    office.firms[2].city = "Oslo"
    try store.write(author: "sync") { [office] tx in try tx.put(office.firms[2]) }
    let value = try #require(try observer.poll())
    #expect(value.rows.count == 60 && value.authors == ["ui", "sync"])
    #expect(observer.reads == 1)
  }
}
