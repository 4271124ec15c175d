import LarchTestSupport
import Testing

@testable import Larch

/// The same verbs run all requests, so they must agree with each other and with arrays, for any
/// request in any reader.
@Suite("Every verb of every request agrees with arrays")
struct RequestTests {
  struct Firm: Record {
    var id = RecordID<Firm>()
    var name: String
    var size: Int

    static let staff = HasMany<Firm, Worker>(\.firmID)
    static let schema = Schema<Firm> {
      Index(\.size)
      staff
    }
  }

  struct Worker: Record {
    var id = RecordID<Worker>()
    var name: String
    var age: Int
    var firmID: RecordID<Firm>?

    static let firm = BelongsTo<Worker, Firm>(\.firmID)
    static let schema = Schema<Worker> {
      Index(\.age)
      firm
    }
  }

  struct World {
    var firms: [Firm] = []
    var workers: [Worker] = []

    func staff(_ firm: Firm) -> [Worker] { workers.filter { $0.firmID == firm.id } }
    func firm(_ worker: Worker) -> Firm? { firms.first { $0.id == worker.firmID } }
  }

  private static func fill(_ tx: WriteTransaction, _ random: inout SeededGenerator) throws -> World
  {
    var world = World()
    for number in 0..<Int.random(in: 1...6, using: &random) {
      var firm = Firm(name: "firm \(number)", size: .random(in: 0..<4, using: &random))
      try tx.save(&firm)
      world.firms.append(firm)
    }
    for number in 0..<Int.random(in: 0...25, using: &random) {
      let firm = Bool.random(using: &random) ? world.firms.randomElement(using: &random) : nil
      var worker = Worker(
        name: "worker \(number)", age: .random(in: 0..<5, using: &random), firmID: firm?.id)
      try tx.save(&worker)
      world.workers.append(worker)
    }
    return world
  }

  private struct Enough: Error {}

  /// Runs every verb and compares the `text` of its rows with the expected ones.
  private static func check<Q: Request>(
    _ request: Q, in reader: some RecordReading, _ expected: [Q.Row], _ place: String,
    _ text: (Q.Row) -> String
  ) throws {
    let texts = expected.map(text)
    #expect(try reader.fetch(request).map(text) == texts, "\(place)")
    #expect(try request.fetch(in: reader).map(text) == texts, "\(place)")
    #expect(try reader.first(request).map(text) == texts.first, "\(place)")
    #expect(try request.first(in: reader).map(text) == texts.first, "\(place)")
    #expect(try reader.count(request) == texts.count, "\(place)")
    #expect(try request.count(in: reader) == texts.count, "\(place)")
    #expect(try reader.exists(request) == !texts.isEmpty, "\(place)")
    #expect(try request.exists(in: reader) == !texts.isEmpty, "\(place)")
    var visited: [String] = []
    try reader.forEach(request) { visited.append(text($0)) }
    #expect(visited == texts, "\(place)")
    visited = []
    try request.forEach(in: reader) { visited.append(text($0)) }
    #expect(visited == texts, "\(place)")
    // An error of the closure ends the loop at once.
    var calls = 0
    if !texts.isEmpty {
      #expect(throws: Enough.self) {
        try reader.forEach(request) { _ in
          calls += 1
          throw Enough()
        }
      }
      #expect(calls == 1, "\(place)")
    }
    for counting in [false, true] {
      let plan = try reader.explain(request, counting: counting)
      #expect(!plan.isEmpty)
      #expect(try request.explain(in: reader, counting: counting) == plan, "\(place)")
      let run = try reader.explain(request, counting: counting, running: true)
      #expect(run.contains("examined") && run.count > plan.count, "\(place): \(run)")
    }
  }

  private static func checkAll(
    _ reader: some RecordReading, _ world: World, _ random: inout SeededGenerator, _ place: String
  ) throws {
    let age = Int.random(in: 0..<5, using: &random)
    let limit = Int.random(in: 0..<8, using: &random)
    let offset = Int.random(in: 0..<3, using: &random)
    func part<T>(_ rows: [T]) -> [T] { Array(rows.dropFirst(offset).prefix(limit)) }
    func name(_ worker: Worker) -> String { worker.name }

    try check(Worker.all, in: reader, world.workers, place + " all", name)
    let query = Worker.where { $0.age >= age }.limit(limit).offset(offset)
    let wanted = part(world.workers.filter { $0.age >= age })
    try check(query, in: reader, wanted, place + " query", name)

    try check(query.select(\.age), in: reader, wanted.map(\.age), place + " field") { "\($0)" }
    try check(
      query.select(\.name, \.age), in: reader, wanted.map { ($0.name, $0.age) }, place + " fields"
    ) { "\($0)" }
    var ages: [Int] = []
    for worker in world.workers where worker.age >= age && !ages.contains(worker.age) {
      ages.append(worker.age)
    }
    try check(
      query.select(\.age).distinct(), in: reader, part(ages), place + " distinct"
    ) { "\($0)" }

    for firm in world.firms {
      try check(
        firm.related(Firm.staff), in: reader, world.staff(firm), place + " related", name)
    }
    for worker in world.workers.prefix(3) {
      try check(
        worker.related(Worker.firm), in: reader, world.firm(worker).map { [$0] } ?? [],
        place + " parent"
      ) { $0.name }
    }

    try check(
      query.joined(with: Firm.all, on: \.firmID, kind: .left), in: reader,
      wanted.map { ($0, world.firm($0)) }, place + " join"
    ) { "\($0.0.name) \($0.1?.name ?? "-")" }

    let staffed = Firm.where { $0.size > 0 }.limit(limit)
    try check(
      staffed.with(Firm.staff, from: Worker.where { $0.age >= age }), in: reader,
      world.firms.filter { $0.size > 0 }.prefix(limit).map { firm in
        (firm, world.staff(firm).filter { $0.age >= age })
      }, place + " with many"
    ) { "\($0.0.name) \($0.1.map(\.name))" }
    try check(
      query.with(Worker.firm), in: reader, wanted.map { ($0, world.firm($0)) }, place + " with one"
    ) { "\($0.0.name) \($0.1?.name ?? "-")" }
  }

  @Test("in a store, a read, a snapshot and a write", arguments: 0..<20)
  func verbs(number: UInt64) throws {
    var random = SeededGenerator(seed: 91_000 + number)
    let store = try Store.checked(for: Firm.self, Worker.self)
    let world = try store.write { tx in
      let world = try Self.fill(tx, &random)
      // Index entries are still pending here.
      try Self.checkAll(tx, world, &random, "write \(number)")
      return world
    }
    try Self.checkAll(store, world, &random, "store \(number)")
    try store.read { try Self.checkAll($0, world, &random, "read \(number)") }
    let snapshot = try store.snapshot()
    try store.write { try $0.erase(Worker.self) }
    try Self.checkAll(snapshot, world, &random, "snapshot \(number)")
    #expect(try store.count(Worker.all) == 0)
  }

  @Test("in a write, the closure of a loop may change the records of the loop")
  func changes() throws {
    let store = try Store.checked(for: Firm.self, Worker.self)
    var random = SeededGenerator(seed: 91_100)
    try store.write { tx in
      let world = try Self.fill(tx, &random)
      var names: [String] = []
      try tx.forEach(Worker.select(\.name, \.id)) { name, id in
        names.append(name)
        try tx.delete(Worker.self, id)
      }
      #expect(names == world.workers.map(\.name))
      var firms: [String] = []
      try tx.forEach(Firm.all.with(Firm.staff)) { firm, staff in
        #expect(staff.isEmpty)
        firms.append(firm.name)
        try tx.delete(firm)
      }
      #expect(firms == world.firms.map(\.name))
      #expect(try tx.count(Firm.all) == 0)
    }
  }

  @Test("an association that no open type declares is refused by each verb")
  func undeclared() throws {
    let store = try Store.checked(for: Firm.self, Worker.self)
    let request = Firm.all.with(ManyToMany<Firm, Worker>(named: "unknown"))
    func code(_ body: () throws -> Void) -> LarchError.Code? {
      do { try body() } catch { return (error as? LarchError)?.code }
      return nil
    }
    #expect(code { _ = try store.fetch(request) } == .unknownAssociation)
    #expect(code { _ = try store.first(request) } == .unknownAssociation)
    #expect(code { _ = try store.count(request) } == .unknownAssociation)
    #expect(code { _ = try store.exists(request) } == .unknownAssociation)
    #expect(code { try store.forEach(request) { _ in } } == .unknownAssociation)
    #expect(code { _ = try store.explain(request) } == .unknownAssociation)
  }

  @Test("a negative limit or offset is refused by each verb, also of a selection")
  func negative() throws {
    let store = try Store.checked(for: Firm.self, Worker.self)
    for query in [Worker.all.limit(-1), Worker.all.offset(-1)] {
      for request in [query.select(\.name), query.select(\.name).distinct()] {
        let failing: [() throws -> Void] = [
          { _ = try store.fetch(request) }, { _ = try store.first(request) },
          { _ = try store.count(request) }, { _ = try store.exists(request) },
          { try store.forEach(request) { _ in } }, { _ = try store.explain(request) },
        ]
        for run in failing {
          let error = #expect(throws: LarchError.self) { try run() }
          #expect(error?.code == .invalidQuery)
        }
      }
    }
  }
}
