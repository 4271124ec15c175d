import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// The same query three times: as text, typed, and over an array.
@Suite struct TypelessOracleTests {
  private static let thingCount = 120
  private static let queryCount = 250

  @Test func queriesWithoutIndexesAgreeWithTypesAndWithArrays() throws {
    try compare(NoIndexes.self, seed: 11)
  }

  @Test func queriesOverIndexesAgreeWithTypesAndWithArrays() throws {
    try compare(SingleIndexes.self, seed: 12)
  }

  @Test func queriesOverFieldsThatAreSecondInAnIndexAgreeWithTypesAndWithArrays() throws {
    try compare(SecondIndexes.self, seed: 13)
  }

  private func compare<K: ThingIndexes>(_: K.Type, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: Thing<K>.self)
    defer { store.close() }
    var things = (0..<Self.thingCount).map { _ in random.thing(K.self) }
    try store.write { tx in
      for place in things.indices { try tx.save(&things[place]) }
    }
    let all = try store.fetch(Thing<K>.all)
    var samePlans = 0
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first { $0.name == K.name })
      var json: [String: String] = [:]
      try inspector.forEachRecord(in: collection) { json[$0] = $1 }
      for _ in 0..<Self.queryCount {
        let filter = RandomFilter<K>.random(&random, depth: 4)
        let order = RandomOrder<K>.random(&random)
        let text = filter.text + order.text
        let typed = order.apply(Thing<K>.where { _ in filter.filter })
        let wanted = order.sort(all.filter(filter.matches))
        let found: Found
        do {
          found = try Found(try inspector.query(text, in: collection))
        } catch {
          Issue.record("seed \(seed): \(text): \(error)")
          continue
        }
        #expect(found.ids == wanted.map { "\($0.id)" }, "seed \(seed): \(text)")
        #expect(try store.ids(typed).map { "\($0)" } == found.ids, "seed \(seed): \(text)")
        // The same text as a query of the type.
        let read = try Thing<K>.query(text: text)
        #expect(try store.ids(read).map { "\($0)" } == found.ids, "seed \(seed): \(text)")
        #expect(try store.count(read) == found.count, "seed \(seed): \(text)")
        #expect(
          all.filter { read.details.filter.matches($0) }.map(\.id)
            == all.filter(filter.matches).map(\.id), "seed \(seed): \(text)")
        #expect(found.idsAlone == found.ids, "seed \(seed): \(text)")
        #expect(found.idsOfFullScan == found.ids, "seed \(seed): \(text)")
        #expect(found.count == found.ids.count, "seed \(seed): \(text)")
        #expect(found.json == found.ids.map { json[$0] }, "seed \(seed): \(text)")
        if filter.isStandard {
          samePlans += 1
          #expect(try store.explain(typed, running: true) == found.plan, "seed \(seed): \(text)")
          #expect(try store.explain(read, running: true) == found.plan, "seed \(seed): \(text)")
          #expect(
            try store.explain(typed, counting: true, running: true) == found.planOfCount,
            "seed \(seed): \(text)")
        }
      }
    }
    #expect(samePlans >= 100)
  }

  /// All results of a query without types.
  private struct Found {
    var ids: [String] = []
    var json: [String] = []
    var idsAlone: [String] = []
    var idsOfFullScan: [String] = []
    let count: Int
    let plan: String
    let planOfCount: String

    init(_ query: TypelessQuery) throws {
      count = try query.count()
      plan = try query.explain(running: true)
      planOfCount = try query.explain(.count, running: true)
      try query.forEach { row in
        ids.append(row.id)
        json.append(try row.json())
        return true
      }
      try query.forEachID { id in
        idsAlone.append(id)
        return true
      }
      try query.forEachByFullScan { idsOfFullScan.append($0) }
    }
  }
}

/// An order with a limit and an offset, three times.
struct RandomOrder<K: ThingIndexes> {
  var apply: (Query<Thing<K>>) -> Query<Thing<K>> = { $0 }
  var compare: (Thing<K>, Thing<K>) -> Int = { _, _ in 0 }
  var text = ""
  var limit: Int?
  var offset = 0

  func sort(_ things: [Thing<K>]) -> [Thing<K>] {
    let sorted = things.enumerated().sorted { a, b in
      let order = compare(a.element, b.element)
      return order != 0 ? order < 0 : a.offset < b.offset
    }.map(\.element)
    return Array(sorted.dropFirst(offset).prefix(limit ?? .max))
  }

  static func random(_ random: inout SeededGenerator) -> Self {
    var result = Self()
    for number in 0..<[0, 1, 1, 2, 3][random.below(5)] {
      result.add(&random, isFirst: number == 0)
    }
    // The clauses come in either order.
    let limitComesFirst = random.chance(1, in: 2)
    if random.chance(1, in: 3) {
      let limit = random.pick([0, 1, 2, 5, 1000])
      result.limit = limit
      let apply = result.apply
      result.apply = { apply($0).limit(limit) }
    }
    if random.chance(1, in: 4) {
      let offset = random.pick([1, 3, 500])
      result.offset = offset
      let apply = result.apply
      result.apply = { apply($0).offset(offset) }
    }
    let clauses = [
      result.limit.map { " limit \($0)" } ?? "",
      result.offset > 0 ? " offset \(result.offset)" : "",
    ]
    result.text += (limitComesFirst ? clauses : clauses.reversed()).joined()
    return result
  }

  private mutating func add(_ random: inout SeededGenerator, isFirst: Bool) {
    let descends = random.chance(1, in: 2)
    switch random.below(12) {
    case 0: add(\.number, "number", descends, isFirst) { ordered($0.number, $1.number) }
    case 1: add(\.maybe, "maybe", descends, isFirst) { nilFirst($0.maybe, $1.maybe, ordered) }
    case 2: add(\.wide, "wide", descends, isFirst) { ordered($0.wide, $1.wide) }
    case 3: add(\.real, "real", descends, isFirst) { nanLast($0.real, $1.real) }
    case 4:
      add(\.maybeReal, "maybeReal", descends, isFirst) {
        nilFirst($0.maybeReal, $1.maybeReal, nanLast)
      }
    case 5: add(\.text, "text", descends, isFirst) { compareText($0.text, $1.text) }
    case 6: add(\.note, "note", descends, isFirst) { nilFirst($0.note, $1.note, compareText) }
    case 7: add(\.day, "day", descends, isFirst) { ordered($0.day, $1.day) }
    case 8:
      add(\.place.city, "place.city", descends, isFirst) {
        compareText($0.place.city, $1.place.city)
      }
    case 9: add(\.price, "price", descends, isFirst) { ordered($0.price, $1.price) }
    case 10: add(\.id, "id", descends, isFirst) { ordered($0.id, $1.id) }
    default:
      let before = apply
      let direction: SortDirection = descends ? .descending : .ascending
      apply = {
        isFirst
          ? before($0).sorted(by: \.text, options: .caseInsensitive, direction)
          : before($0).then(by: \.text, options: .caseInsensitive, direction)
      }
      write("text ignoring case", descends, isFirst)
      add(descends) { compareText(fold($0.text), fold($1.text)) }
    }
  }

  private mutating func add<Value: IndexKey>(
    _ field: any KeyPath<Thing<K>, Value> & Sendable, _ name: String, _ descends: Bool,
    _ isFirst: Bool, _ comparison: @escaping (Thing<K>, Thing<K>) -> Int
  ) {
    let before = apply
    let direction: SortDirection = descends ? .descending : .ascending
    apply = {
      isFirst
        ? before($0).sorted(by: field, direction) : before($0).then(by: field, direction)
    }
    write(name, descends, isFirst)
    add(descends, comparison)
  }

  private mutating func write(_ name: String, _ descends: Bool, _ isFirst: Bool) {
    text += (isFirst ? " order by " : ", ") + name + (descends ? " desc" : "")
  }

  private mutating func add(
    _ descends: Bool, _ comparison: @escaping (Thing<K>, Thing<K>) -> Int
  ) {
    let before = compare
    compare = {
      let order = before($0, $1)
      return order != 0 ? order : descends ? -comparison($0, $1) : comparison($0, $1)
    }
  }
}

private func nilFirst<T>(_ a: T?, _ b: T?, _ compare: (T, T) -> Int) -> Int {
  guard let a else { return b == nil ? 0 : -1 }
  return b.map { compare(a, $0) } ?? 1
}

private func nanLast(_ a: Double, _ b: Double) -> Int {
  if a.isNaN || b.isNaN { return (a.isNaN ? 1 : 0) - (b.isNaN ? 1 : 0) }
  return ordered(a, b)
}
