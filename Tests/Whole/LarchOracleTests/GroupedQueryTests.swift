import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Groups, distinct values and counts that an index gives without reading each row are those of the
/// array, with every index and without.
@Suite("Groups of queries")
struct GroupedQueryTests {
  @Test("Counts by field and distinct values equal the array, at random", arguments: 1...6)
  func random(seed: UInt64) throws {
    try GroupedQueryTests.check(NoGroupIndexes.self, seed)
    try GroupedQueryTests.check(FirstGroupIndexes.self, seed)
    try GroupedQueryTests.check(SecondGroupIndexes.self, seed)
    try GroupedQueryTests.check(LongGroupIndexes.self, seed)
    try GroupedQueryTests.check(OddGroupIndexes.self, seed)
  }

  @Test("They do in a store that checks each query", arguments: 7...8)
  func checked(seed: UInt64) throws {
    try GroupedQueryTests.check(FirstGroupIndexes.self, seed, isChecked: true)
    try GroupedQueryTests.check(LongGroupIndexes.self, seed, isChecked: true)
  }

  private static func check<L: GroupIndexes>(
    _ layout: L.Type, _ seed: UInt64, isChecked: Bool = false
  ) throws {
    typealias R = GroupRecord<L>
    var random = SeededGenerator(seed: seed &+ 9000)
    let store = try random.groupStore(L.self, isChecked: isChecked)
    let all = try store.fetch(R.all)
    for number in 0..<(isChecked ? 8 : 20) {
      let (name, base, matches) = GroupedQueryTests.filter(&random, L.self)
      let (order, ordered, compare) = GroupedQueryTests.order(&random, base)
      let limit = random.chance(1, in: 4) ? random.below(12) : nil
      let offset = random.chance(1, in: 4) ? random.below(5) : 0
      let rows = all.filter(matches).sorted { compare($0, $1) < 0 }
      let text =
        "\(L.name), seed \(seed), query \(number): \(name), \(order), limit \(limit ?? -1), offset \(offset)"
      try store.read { tx throws in
        try GroupCheck(
          tx: tx, query: ordered, rows: rows, limit: limit, offset: offset, text: text
        ).run()
      }
    }
    // A write sees its own changes in the same way.
    try store.write { tx throws in
      for _ in 0..<10 {
        var record = random.groupRecord(L.self)
        try tx.insert(&record)
      }
      let rows = try tx.fetch(R.all)
      try GroupCheck(tx: tx, query: R.all, rows: rows, limit: nil, offset: 0, text: "write").run()
    }
    #expect(try store.verify().isClean)
  }

  typealias Order<L: GroupIndexes> = (GroupRecord<L>, GroupRecord<L>) -> Int

  static func filter<L: GroupIndexes>(
    _ random: inout SeededGenerator, _: L.Type
  ) -> (String, Query<GroupRecord<L>>, @Sendable (GroupRecord<L>) -> Bool) {
    typealias R = GroupRecord<L>
    typealias Filter = (String, Query<R>, @Sendable (R) -> Bool)
    let number = random.below(5)
    let kind = random.pick(GroupKind.allCases)
    let text = random.pick(OracleValues.texts)
    let id = RecordID<R>(Int64(random.below(130)))
    let filters: [Filter] = [
      ("all", R.all, { _ in true }),
      ("all", R.all, { _ in true }),
      ("number == \(number)", R.where { $0.number == number }, { $0.number == number }),
      ("number > \(number)", R.where { $0.number > number }, { $0.number > number }),
      (
        "number in", R.where { [0, number, 4].contains($0.number) },
        { [0, number, 4].contains($0.number) }
      ),
      ("kind == \(kind)", R.where { $0.kind == kind }, { $0.kind == kind }),
      ("kind != \(kind)", R.where { $0.kind != kind }, { $0.kind != kind }),
      (
        "kind in, number", R.where { [kind, .beta].contains($0.kind) && $0.number <= number },
        { [kind, .beta].contains($0.kind) && $0.number <= number }
      ),
      ("maybe == nil", R.where { $0.maybe == nil }, { $0.maybe == nil }),
      ("maybe != nil", R.where { $0.maybe != nil }, { $0.maybe != nil }),
      (
        "text prefix", R.where { $0.text.hasPrefix("a") }, { $0.text.hasPrefix("a") }
      ),
      ("text == \(text.prefix(9))", R.where { $0.text == text }, { $0.text == text }),
      (
        "text >= \(text.prefix(9))", R.where { $0.text >= text },
        { compareText($0.text, text) >= 0 }
      ),
      ("tag", R.where { $0.tags.contains("a") }, { $0.tags.contains("a") }),
      ("price", R.where { $0.price > 1 }, { $0.price > 1 }),
      ("id", R.where { $0.id > id }, { $0.id > id }),
      (
        "id != ", R.where { $0.id != id && $0.number != number },
        { $0.id != id && $0.number != number }
      ),
      ("real < 1", R.where { $0.real < 1 }, { $0.real < 1 }),
      ("closure", R.where { $0.satisfies { $0.number % 2 == 0 } }, { $0.number % 2 == 0 }),
      ("never", R.where { $0.number > 3 && $0.number < 2 }, { _ in false }),
    ]
    return random.pick(filters)
  }

  static func order<L: GroupIndexes>(
    _ random: inout SeededGenerator, _ query: Query<GroupRecord<L>>
  ) -> (String, Query<GroupRecord<L>>, Order<L>) {
    typealias R = GroupRecord<L>
    let descends = random.chance(1, in: 2)
    let direction: SortDirection = descends ? .descending : .ascending
    let sign = descends ? -1 : 1
    func byID(_ a: R, _ b: R) -> Int { ordered(a.id, b.id) }
    func first(_ order: Int, _ rest: @autoclosure () -> Int) -> Int { order != 0 ? order : rest() }
    let orders: [(String, Query<R>, Order<L>)] = [
      ("by id", query, byID), ("by id", query, byID),
      ("reversed", query.reversed(), { byID($1, $0) }),
      (
        "kind", query.sorted(by: \.kind, direction),
        { first(sign * compareText($0.kind.rawValue, $1.kind.rawValue), byID($0, $1)) }
      ),
      (
        "kind, number", query.sorted(by: \.kind, direction).then(by: \.number, direction),
        {
          first(
            sign * compareText($0.kind.rawValue, $1.kind.rawValue),
            first(sign * ordered($0.number, $1.number), byID($0, $1)))
        }
      ),
      (
        "maybe", query.sorted(by: \.maybe, direction),
        {
          first(
            sign * nilFirst($0.maybe, $1.maybe) { ordered($0.rawValue, $1.rawValue) }, byID($0, $1))
        }
      ),
      (
        "text", query.sorted(by: \.text, direction),
        { first(sign * compareText($0.text, $1.text), byID($0, $1)) }
      ),
      (
        "text, number reversed", query.sorted(by: \.text, .ascending).then(by: \.number).reversed(),
        {
          -first(
            compareText($0.text, $1.text), first(ordered($0.number, $1.number), byID($0, $1)))
        }
      ),
      (
        "number, text", query.sorted(by: \.number, direction).then(by: \.text, direction),
        {
          first(
            sign * ordered($0.number, $1.number),
            first(sign * compareText($0.text, $1.text), byID($0, $1)))
        }
      ),
      (
        "maybeReal", query.sorted(by: \.maybeReal, direction),
        { first(sign * nilFirst($0.maybeReal, $1.maybeReal, nanLast), byID($0, $1)) }
      ),
      (
        "day", query.sorted(by: \.day, direction),
        { first(sign * ordered($0.day, $1.day), byID($0, $1)) }
      ),
      (
        "price", query.sorted(by: \.number).then(by: \.day, direction),
        {
          first(
            ordered($0.number, $1.number), first(sign * ordered($0.day, $1.day), byID($0, $1)))
        }
      ),
    ]
    return random.pick(orders)
  }
}

/// Every figure of one query.
private struct GroupCheck<L: GroupIndexes> {
  typealias R = GroupRecord<L>

  let tx: ReadTransaction
  let query: Query<R>
  /// The rows of the query in its order.
  let rows: [R]
  let limit: Int?
  let offset: Int
  let text: String

  func run() throws {
    try check(\.kind) { compareText($0.rawValue, $1.rawValue) }
    try check(\.maybe) { nilFirst($0, $1) { ordered($0.rawValue, $1.rawValue) } }
    try check(\.day, ordered)
    try check(\.key) { ordered($0.uuidString, $1.uuidString) }
    try check(\.owner) { nilFirst($0, $1, ordered) }
    try check(\.real, nanLast)
    try check(\.maybeReal) { nilFirst($0, $1, nanLast) }
    try check(\.text, compareText)
    try check(\.note) { nilFirst($0, $1, compareText) }
    try check(\.number, ordered)
    try check(\.flag) { ordered($0 ? 1 : 0, $1 ? 1 : 0) }
    try distinct(query.select(\.kind, \.number), rows.map { "\($0.kind) \($0.number)" }) {
      "\($0.0) \($0.1)"
    }
    try distinct(query.select(\.number, \.text), rows.map { "\($0.number) \(bits($0.text))" }) {
      "\($0.0) \(bits($0.1))"
    } key: {
      "\($0.number) \($0.text.precomposedStringWithCanonicalMapping)"
    }
    try distinct(query.select(\.price), rows.map { "\($0.price)" }) { "\($0)" }
    try counts()
  }

  private func counts() throws {
    var limited = query
    if let limit { limited = limited.limit(limit) }
    if offset > 0 { limited = limited.offset(offset) }
    let wanted = rows.dropFirst(offset).prefix(limit ?? .max)
    #expect(try tx.count(limited) == wanted.count, "\(text)")
    #expect(try tx.exists(limited) == !wanted.isEmpty, "\(text)")
    #expect(try tx.ids(limited) == wanted.map(\.id), "\(text)")
    #expect(try tx.first(limited)?.id == wanted.first?.id, "\(text)")
  }

  private func check<Value: IndexKey & Hashable & Sendable>(
    _ keyPath: any KeyPath<R, Value> & Sendable, _ order: (Value, Value) -> Int
  ) throws {
    try counts(keyPath, order)
    var seen: Set<Value> = []
    let first = rows.filter { seen.insert($0[keyPath: keyPath]).inserted }
    try distinct(query.select(keyPath), of: first.map { bits($0[keyPath: keyPath]) }, bits)
  }

  private func counts<Value: IndexKey & Hashable>(
    _ keyPath: any KeyPath<R, Value> & Sendable, _ order: (Value, Value) -> Int
  ) throws {
    var limited = query
    var values = rows.map { $0[keyPath: keyPath] }
    if let limit {
      limited = limited.limit(limit).offset(offset)
      values = Array(values.dropFirst(offset).prefix(limit))
    }
    var groups: [(Value, Int)] = []
    for value in values.sorted(by: { order($0, $1) < 0 }) {
      if let last = groups.last, order(last.0, value) == 0 {
        groups[groups.count - 1].1 += 1
      } else {
        groups.append((value, 1))
      }
    }
    let found = try tx.counts(by: keyPath, of: limited)
    #expect(found.map(\.count) == groups.map(\.1), "counts by \(keyPath), \(text)")
    #expect(
      zip(found, groups).allSatisfy { order($0.value, $1.0) == 0 }, "counts by \(keyPath), \(text)")
  }

  private func distinct<Row>(
    _ selection: Selection<R, Row>, _ signs: [String], _ sign: (Row) -> String,
    key: ((R) -> String)? = nil
  ) throws where Row: Sendable {
    var seen: Set<String> = []
    let keys = key.map { rows.map($0) } ?? signs
    let first = signs.indices.filter { seen.insert(keys[$0]).inserted }.map { signs[$0] }
    var distinct = selection
    distinct.isDistinct = true
    try check(distinct, first, sign)
  }

  private func distinct<Value: Hashable & Sendable>(
    _ selection: Selection<R, Value>, of first: [String], _ sign: (Value) -> String
  ) throws {
    try check(selection.distinct(), first, sign)
  }

  private func check<Row>(
    _ selection: Selection<R, Row>, _ first: [String], _ sign: (Row) -> String
  ) throws {
    let text = "distinct \(selection.fields.map(\.name)), \(text)"
    #expect(try tx.fetch(selection).map(sign) == first, "\(text)")
    #expect(try tx.count(selection) == first.count, "\(text)")
    #expect(try tx.exists(selection) == !first.isEmpty, "\(text)")
    #expect(try tx.first(selection).map(sign) == first.first, "\(text)")
    var part = selection
    part.query = part.query.offset(offset)
    if let limit { part.query = part.query.limit(limit) }
    let wanted = Array(first.dropFirst(offset).prefix(limit ?? .max))
    #expect(try tx.fetch(part).map(sign) == wanted, "\(text)")
    #expect(try tx.count(part) == wanted.count, "\(text)")
    #expect(try tx.exists(part) == !wanted.isEmpty, "\(text)")
    #expect(try tx.first(part).map(sign) == wanted.first, "\(text)")
  }

  /// Every bit of a value.
  private func bits(_ value: Any) -> String {
    switch value {
    case let value as Double: String(value.bitPattern, radix: 16)
    case let value as Double?: value.map { String($0.bitPattern, radix: 16) } ?? "nil"
    case let value as String: value.unicodeScalars.map { String($0.value) }.joined(separator: " ")
    default: "\(value)"
    }
  }
}
