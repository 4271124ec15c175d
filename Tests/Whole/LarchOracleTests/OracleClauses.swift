import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The three ways that every clause is run: without an index, with one over the field, and with
/// the field second in one.
enum OracleKind: String, CaseIterable, Sendable {
  case none, single, second

  var indexes: any OracleIndexes.Type {
    switch self {
    case .none: NoIndexes.self
    case .single: SingleIndexes.self
    case .second: SecondIndexes.self
    }
  }
}

/// Undoes a write that only reads.
struct TakenBack: Error {}

extension OracleThing {
  /// A thing with default values; a clause sets the values that it tests.
  init(plain number: Int) {
    self.init(
      number: number, maybe: number, small: UInt8(truncatingIfNeeded: number),
      real: Double(number), maybeReal: Double(number), text: "t\(number)", note: "n\(number)",
      flag: number % 2 == 0, tags: ["t\(number)"], marks: [number],
      place: OraclePlace(city: "c\(number)", zip: number), extra: nil,
      day: Date(timeIntervalSinceReferenceDate: Double(number)), blob: Data([1]),
      key: OracleValues.keys[0], grade: .bronze, version: OracleVersion(major: 0, minor: 0))
  }

  /// Everything that is stored, bit for bit: equal strings may have different bytes.
  var fingerprint: Fingerprint {
    Fingerprint(
      numbers: [id.rawValue, Int64(number), Int64(small), flag ? 1 : 0, Int64(maybe ?? 0)],
      isNil: [maybe == nil, maybeReal == nil, note == nil, extra == nil, extra?.zip == nil],
      bits: [
        real.bitPattern, maybeReal?.bitPattern ?? 0,
        day.timeIntervalSinceReferenceDate.bitPattern,
      ],
      texts: ([text, note ?? "", medal.rawValue, prize?.rawValue ?? ""] + tags).map {
        Array($0.utf8)
      },
      marks: marks, places: [place, extra ?? place], blob: blob, key: key, grade: grade,
      version: version)
  }
}

struct Fingerprint: Equatable {
  let numbers: [Int64]
  let isNil: [Bool]
  let bits: [UInt64]
  let texts: [[UInt8]]
  let marks: Set<Int>
  let places: [OraclePlace]
  let blob: Data
  let key: UUID
  let grade: OracleGrade
  let version: OracleVersion
}

/// A store with the same things as an array, and all verbs for one query on both.
final class OracleClause<K: OracleIndexes> {
  typealias Thing = OracleThing<K>
  typealias Test = OracleFilter<K>
  typealias Order = OracleOrder<K>

  let store: Store
  /// In the order of their ids.
  private(set) var things: [Thing]
  /// Other plans for each query.
  private var planSeed: UInt64 = 0

  init(_ things: [Thing], options: Store.Options = Store.Options()) throws {
    store = try Store.temporary(for: Thing.self, options: options)
    self.things = try store.write { tx in
      var saved = things
      for place in saved.indices { try tx.insert(&saved[place]) }
      return saved
    }
  }

  /// Things that differ in one field, and half of them also in `flag`, `number` and `maybe`, the
  /// first fields of indexes over two fields.
  static func of<Value>(
    _ values: [Value], _ set: (inout Thing, Value) -> Void
  ) throws -> OracleClause {
    var things: [Thing] = []
    for flag in [true, false] {
      for value in values {
        var thing = Thing(plain: flag ? 0 : 1)
        set(&thing, value)
        things.append(thing)
      }
    }
    return try OracleClause(things)
  }

  /// Equalities that allow an index whose second field is filtered.
  private static var first: [Test] {
    [
      Test("flag", { $0.flag }, { $0.flag }),
      Test("number == 1", { $0.number == 1 }, { $0.number == 1 }),
      Test("maybe == 0", { $0.maybe == 0 }, { $0.maybe == 0 }),
    ]
  }

  /// The filter alone, and with an equality of another field, each also negated.
  func check(_ test: Test, _ order: Order = Order()) throws {
    try ask(test, order)
    try ask(!test, order)
    for first in OracleClause.first { try ask(first && test, order) }
    try ask(OracleClause.first[0] && !test, order)
    try ask(test, order.reversed(), limit: 3, offset: 1)
  }

  /// One query, with all verbs.
  func ask(
    _ test: Test, _ order: Order = Order(), limit: Int? = nil, offset: Int = 0
  ) throws {
    var query = order.apply(Thing.where { _ in test.filter })
    if let limit { query = query.limit(limit) }
    if offset != 0 { query = query.offset(offset) }
    let expected = Array(
      order.sort(things.filter(test.matches)).dropFirst(offset).prefix(limit ?? .max))
    try compare(
      query, expected,
      "\(K.name): \(test.text)\(order.text) limit \(limit ?? -1) offset \(offset)")
  }

  func compare(_ query: Query<Thing>, _ expected: [Thing], _ text: String) throws {
    do {
      try store.read { tx throws in try read(query, expected, tx, text) }
      try change(query, expected, text)
    } catch let error as LarchError {
      Issue.record("\(text): \(error)")
    }
  }

  private func read(
    _ query: Query<Thing>, _ expected: [Thing], _ tx: ReadTransaction, _ text: String
  ) throws {
    let ids = expected.map(\.id)
    let ran = try tx.explain(query, running: true)
    #expect(ran.contains("returned \(ids.count)"), "\(ran), \(text)")
    let fetched = try tx.fetch(query)
    guard fetched.map(\.fingerprint) == expected.map(\.fingerprint) else {
      let plan = try tx.explain(query)
      Issue.record("\(text)\n\(plan)\ngives \(fetched.map(\.id))\ninstead of \(ids)")
      return
    }
    #expect(try tx.count(query) == ids.count, "count, \(text)")
    #expect(try tx.exists(query) == !ids.isEmpty, "exists, \(text)")
    #expect(try tx.ids(query) == ids, "ids, \(text)")
    #expect(try tx.first(query)?.fingerprint == expected.first?.fingerprint, "first, \(text)")
    var seen: [RecordID<Thing>] = []
    try tx.forEach(query) { seen.append($0.id) }
    #expect(seen == ids, "forEach, \(text)")
    let cursor = try tx.cursor(query)
    seen = []
    while let thing = try cursor.next() { seen.append(thing.id) }
    #expect(seen == ids, "cursor, \(text)")
    #expect(try cursor.next() == nil, "a cursor stays at its end, \(text)")
    try select(query, expected, tx, text)
    // By the plans of a large store.
    let wanted = OracleAnswer(expected)
    planSeed += 1
    let found = try tx.answer(query, seed: planSeed)
    if found != wanted {
      Issue.record("plans \(planSeed), \(text)\n\(found.plans.joined(separator: "\n"))")
    }
  }

  private func select(
    _ query: Query<Thing>, _ expected: [Thing], _ tx: ReadTransaction, _ text: String
  ) throws {
    // Single fields may come from an index, bit for bit nevertheless.
    let texts = try tx.fetch(query.select(\.text)).map { Array($0.utf8) }
    #expect(texts == expected.map { Array($0.text.utf8) }, "select text, \(text)")
    let notes = try tx.fetch(query.select(\.note)).map { $0.map { Array($0.utf8) } }
    #expect(notes == expected.map { $0.note.map { Array($0.utf8) } }, "select note, \(text)")
    let reals = try tx.fetch(query.select(\.real)).map(\.bitPattern)
    #expect(reals == expected.map(\.real.bitPattern), "select real, \(text)")
    let maybes = try tx.fetch(query.select(\.maybe))
    #expect(maybes == expected.map(\.maybe), "select maybe, \(text)")
    let days = try tx.fetch(query.select(\.day)).map(\.timeIntervalSinceReferenceDate.bitPattern)
    #expect(
      days == expected.map(\.day.timeIntervalSinceReferenceDate.bitPattern),
      "select day, \(text)")
    let rows = try tx.fetch(query.select(\.id, \.number, \.flag, \.small))
    #expect(
      rows.map { "\($0)" } == expected.map { "\(($0.id, $0.number, $0.flag, $0.small))" },
      "select several, \(text)")
    #expect(try tx.count(query.select(\.number)) == expected.count, "count of select, \(text)")
  }

  /// In a write that is undone.
  private func change(_ query: Query<Thing>, _ expected: [Thing], _ text: String) throws {
    let gone = Set(expected.map(\.id))
    do {
      try store.write { tx throws in
        var seen: [RecordID<Thing>] = []
        try tx.forEach(query) { seen.append($0.id) }
        #expect(seen == expected.map(\.id), "forEach in a write, \(text)")
        do {
          try tx.savepoint {
            let changed = try tx.update(query) { $0.tags.append("changed") }
            #expect(changed == expected.count, "update, \(text)")
            let marked = try tx.ids(Thing.where { $0.tags.contains("changed") })
            #expect(marked == expected.map(\.id).sorted(), "updated, \(text)")
            throw TakenBack()
          }
        } catch is TakenBack {}
        let deleted = try tx.delete(query)
        #expect(deleted == expected.count, "delete, \(text)")
        let left = try tx.ids(Thing.all)
        #expect(left == things.map(\.id).filter { !gone.contains($0) }, "left, \(text)")
        throw TakenBack()
      }
    } catch is TakenBack {}
  }
}
