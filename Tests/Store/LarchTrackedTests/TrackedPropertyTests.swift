import LarchTestSupport
import Testing

@testable import Larch

/// A type for random operations.
protocol Subject: Record, Equatable {
  static func random(_ random: inout SeededGenerator) -> Self
  /// Sets one of a few fields.
  mutating func set(_ field: Int, _ number: Int)
  /// Gives one of the fields the value that it has in another record.
  mutating func take(_ field: Int, from other: Self)
  static func revert(_ field: Int, of tracked: inout Tracked<Self>)
  static func id(_ number: Int) -> ID
}

extension Fixtures.Person: Subject {
  static func random(_ random: inout SeededGenerator) -> Self {
    var person = Self(name: "p\(Int.random(in: 0..<9, using: &random))")
    if Bool.random(using: &random) { person.set(1, Int.random(in: 0..<30, using: &random)) }
    return person
  }
  mutating func set(_ field: Int, _ number: Int) {
    switch field {
    case 0: name = "p\(number)"
    case 1: email = "e\(number)"
    case 2: age = number
    case 3: tags = Array(repeating: "t\(number % 3)", count: number % 4)
    default: address.city = "c\(number)"
    }
  }
  mutating func take(_ field: Int, from other: Self) {
    switch field {
    case 0: name = other.name
    case 1: email = other.email
    case 2: age = other.age
    case 3: tags = other.tags
    default: address.city = other.address.city
    }
  }
  static func revert(_ field: Int, of tracked: inout Tracked<Self>) {
    switch field {
    case 0: tracked.revert(\.name)
    case 1: tracked.revert(\.email)
    case 2: tracked.revert(\.age)
    case 3: tracked.revert(\.tags)
    default: tracked.revert(\.address.city)
    }
  }
  static func id(_ number: Int) -> RecordID<Self> { .init(Int64(number + 1)) }
}

extension Fixtures.Page: Subject {
  static func random(_ random: inout SeededGenerator) -> Self {
    Self(id: id(Int.random(in: 0..<30, using: &random)))
  }
  mutating func set(_ field: Int, _ number: Int) { text = "t\(number)" }
  mutating func take(_ field: Int, from other: Self) { text = other.text }
  static func revert(_ field: Int, of tracked: inout Tracked<Self>) { tracked.revert(\.text) }
  static func id(_ number: Int) -> String { "p\(number)" }
}

/// One operation on one of the records of a program.
indirect enum Operation<R: Subject> {
  case make(Int, R)
  case set(Int, field: Int, number: Int)
  case persist(Int)
  case mark(Int)
  case unmark(Int)
  case revert(Int)
  case revertField(Int, Int)
  case reload(Int)
  case read(Int, R.ID)
  /// Somebody else's, on the record itself.
  case delete(R.ID)
  case change(R.ID, field: Int, number: Int)
  case savepoint([Operation], isUndone: Bool)
  /// Only outside of a transaction.
  case transaction([Operation], isUndone: Bool)

  /// Whether a persist writes the record as it is in memory, since nobody else changed it.
  static func isAlone(_ record: R, _ base: R, in reader: some RecordReading) throws -> Bool {
    guard let stored = try reader.find(R.self, record.id) else { return true }
    return (0..<5).allSatisfy { field in
      var (now, then) = (stored, stored)
      now.take(field, from: record)
      then.take(field, from: base)
      return then == stored || now == stored
    }
  }

  /// How many it is, with those inside.
  var count: Int {
    switch self {
    case .savepoint(let inner, _), .transaction(let inner, _):
      inner.reduce(1) { $0 + $1.count }
    default: 1
    }
  }

  static func random(_ random: inout SeededGenerator, slots: Int, depth: Int) -> Operation {
    func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    let slot = below(slots)
    switch below(depth == 0 ? 40 : depth < 3 ? 36 : 32) {
    case 0..<3: return .make(slot, R.random(&random))
    case 3..<10: return .set(slot, field: below(5), number: below(30))
    case 10..<20: return .persist(slot)
    case 20..<22: return .mark(slot)
    case 22: return .unmark(slot)
    case 23: return .revert(slot)
    case 24: return .revertField(slot, below(5))
    case 25: return .reload(slot)
    case 26..<29: return .read(slot, R.id(below(40)))
    case 29: return .delete(R.id(below(40)))
    case 30..<32: return .change(R.id(below(40)), field: below(5), number: below(30))
    case 32..<36 where depth > 0:
      let inner = (0..<below(8)).map { _ in self.random(&random, slots: slots, depth: depth + 1) }
      return .savepoint(inner, isUndone: Bool.random(using: &random))
    default:
      let inner = (0..<below(16)).map { _ in self.random(&random, slots: slots, depth: 1) }
      return .transaction(inner, isUndone: below(3) == 0)
    }
  }
}

/// The operations on tracked records.
final class TrackedHands<R: Subject> {
  var records: [Tracked<R>]
  var log: [String] = []
  /// The number of running transactions that will be undone.
  private var undone = 0

  init(_ records: [R]) { self.records = records.map { Tracked($0) } }

  func run(_ operation: Operation<R>, on store: Store) throws {
    guard case .transaction(let inner, let isUndone) = operation else {
      return try run(operation, in: store)
    }
    undone += isUndone ? 1 : 0
    defer { undone -= isUndone ? 1 : 0 }
    do {
      try store.write { tx throws in
        for operation in inner { try run(operation, in: tx) }
        if isUndone { throw Stop() }
      }
    } catch is Stop {}
  }

  private func run(_ operation: Operation<R>, in writer: some RecordWriting) throws {
    var slot: Int?
    do {
      switch operation {
      case .make(let place, let record):
        slot = place
        records[place] = Tracked(record)
      case .set(let place, let field, let number):
        slot = place
        records[place].value.set(field, number)
      case .persist(let place):
        slot = place
        // Other tests check the fields of others after an undone transaction.
        let known = records[place].settled.known
        if undone > 0, known.standing != .absent,
          try !Operation.isAlone(records[place].value, known.record, in: writer)
        {
          log.append("left out")
          return
        }
        let change = try records[place].persist(in: writer)
        log.append(change.map { "\($0)" } ?? "nothing")
      case .mark(let place):
        slot = place
        records[place].markDeleted()
      case .unmark(let place):
        slot = place
        records[place].unmarkDeleted()
      case .revert(let place):
        slot = place
        records[place].revert()
      case .revertField(let place, let field):
        slot = place
        R.revert(field, of: &records[place])
      case .reload(let place):
        slot = place
        try records[place].reload(in: writer)
      case .read(let place, let id):
        slot = place
        if let found = try writer.tracked(R.self, id) { records[place] = found }
      case .delete(let id): log.append("\(try writer.delete(R.self, id))")
      case .change(let id, let field, let number):
        if var record = try writer.find(R.self, id) {
          record.set(field, number)
          try writer.update(record)
        }
      case .savepoint(let inner, let isUndone):
        guard let tx = writer as? WriteTransaction else { return }
        undone += isUndone ? 1 : 0
        defer { undone -= isUndone ? 1 : 0 }
        do {
          try tx.savepoint {
            for operation in inner { try run(operation, in: tx) }
            if isUndone { throw Stop() }
          }
        } catch is Stop {}
      case .transaction: return
      }
    } catch let error as LarchError {
      log.append("\(error.code)")
    }
    if let slot { log.append(state(of: slot)) }
  }

  func state(of slot: Int) -> String {
    let record = records[slot]
    return
      "\(slot) \(record.state) \(record.isMarkedDeleted) \(record.value) \(record.stored as Any)"
  }
}

@Suite("Tracked records against the explicit API")
struct TrackedPropertyTests {
  private func compare<R: Subject>(_ type: R.Type, seed: UInt64, operations: Int) throws {
    var random = SeededGenerator(seed: seed)
    let slots = 12
    let records = (0..<slots).map { _ in R.random(&random) }
    let tracked = TrackedHands(records)
    let explicit = ExplicitHands(records)
    let stores = (try Fixtures.store(), try Fixtures.store())
    var done = 0
    var transactions = 0
    // The number of each operation, so that a test that does nothing cannot pass.
    var seen: [String: Int] = [:]
    while done < operations {
      let operation = Operation<R>.random(&random, slots: slots, depth: 0)
      done += operation.count
      transactions += 1
      try tracked.run(operation, on: stores.0)
      try explicit.run(operation, on: stores.1)
      for slot in 0..<slots {
        tracked.log.append(tracked.state(of: slot))
        explicit.log.append(explicit.state(of: slot))
      }
      if tracked.log != explicit.log {
        let place = zip(tracked.log, explicit.log).enumerated().first { $0.1.0 != $0.1.1 }
        Issue.record("seed \(seed), \(done): \(place as Any)\n\(operation)")
        return
      }
      for line in tracked.log {
        let words = line.split(separator: " ")
        seen[String(words.count == 1 ? words[0] : words[1]), default: 0] += 1
      }
      seen["uncertain", default: 0] += explicit.hands.count { $0.stored == .uncertain }
      tracked.log = []
      explicit.log = []
      if transactions.isMultiple(of: 25) || done >= operations {
        let dumps = (try stores.0.dump(), try stores.1.dump())
        if dumps.0 != dumps.1 {
          Issue.record(
            "seed \(seed): \(TextDifference.between(expected: dumps.1, actual: dumps.0) ?? "")")
          return
        }
      }
    }
    #expect(try stores.0.verify().isClean)
    let ids = (try stores.0.lastTransactionID, try stores.1.lastTransactionID)
    #expect(ids.0 == ids.1, "both wrote in the same transactions")
    var expected = ["inserted", "updated", "deleted", "nothing", "record_not_found"]
    expected += ["new", "unchanged", "changed", "uncertain"]
    expected.append(R.self == Page.self ? "id_exists" : "unique_conflict")
    for name in expected { #expect(seen[name, default: 0] > 10, "\(name)") }
  }

  @Test(
    "10,000 random operations do what the explicit API does",
    arguments: [1, 2] as [UInt64])
  func people(_ seed: UInt64) throws { try compare(Person.self, seed: seed, operations: 10_000) }

  @Test("The same for records with chosen ids", arguments: [11] as [UInt64])
  func pages(_ seed: UInt64) throws { try compare(Page.self, seed: seed, operations: 10_000) }
}
