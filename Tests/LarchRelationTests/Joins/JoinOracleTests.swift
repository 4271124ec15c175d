import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Joins are what nested loops over arrays give")
struct JoinOracleTests {
  /// A query, and the same over an array.
  private struct Side<R: Record> {
    var query: Query<R>
    var records: [R]
  }

  /// Two fields, and the same over two records.
  private struct Fields<Left: Record, Right: Record> {
    var name: String
    var left: TypedField<Left>
    var right: TypedField<Right>
    var areEqual: (Left, Right) -> Bool
  }

  private static func fields<G: JoinGuest>(_: G.Type) -> [Fields<G, G.House>] {
    typealias H = G.House
    func field<R: Record, V: IndexableField>(
      _ path: any KeyPath<R, V> & Sendable
    ) -> TypedField<R> { .joining(path) }
    return [
      Fields(name: "reference", left: field(G.houseIDPath), right: .id) { $0.houseID == $1.id },
      Fields(name: "list of ids", left: field(G.houseIDsPath), right: .id) {
        $0.houseIDs.contains($1.id)
      },
      Fields(name: "text", left: field(G.cityPath), right: field(H.townPath)) {
        $0.city == $1.town
      },
      Fields(name: "number", left: field(G.scorePath), right: field(H.levelPath)) {
        $0.score == $1.level
      },
      Fields(name: "list and set", left: field(G.tagsPath), right: field(H.labelsPath)) {
        !$1.labels.isDisjoint(with: $0.tags)
      },
      Fields(name: "text and set", left: field(G.cityPath), right: field(H.labelsPath)) {
        left, right in left.city.map { right.labels.contains($0) } ?? false
      },
      Fields(name: "list and text", left: field(G.tagsPath), right: field(H.townPath)) {
        $0.tags.contains($1.town)
      },
      Fields(name: "number and optional", left: field(G.agePath), right: field(H.rankPath)) {
        $0.age == $1.rank
      },
    ]
  }

  private static func isLess<T: Comparable>(_ a: T?, _ b: T?) -> Bool {
    if let a, let b { return a < b }
    return a == nil && b != nil
  }

  /// NaN is the greatest number.
  private static func isBefore(_ a: Double?, _ b: Double?) -> Bool {
    if let a, let b { return a < b || (b.isNaN && !a.isNaN) }
    return a == nil && b != nil
  }

  private static func sorted<R>(
    _ list: [R], descends: Bool, _ isLess: (R, R) -> Bool
  ) -> [R] {
    // Both sorts of the standard library are stable, though not by contract.
    list.enumerated().sorted { a, b in
      let (x, y) = descends ? (b.element, a.element) : (a.element, b.element)
      if isLess(x, y) { return true }
      return isLess(y, x) ? false : a.offset < b.offset
    }.map(\.element)
  }

  private static func part<R>(_ list: [R], offset: Int, limit: Int?) -> [R] {
    let rest = list.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  private static func guests<G: JoinGuest>(
    _ all: [G], _ random: inout SeededGenerator
  ) -> Side<G> {
    var side = Side(query: G.all, records: all)
    if Bool.random(using: &random) {
      let age = Int.random(in: 0...4, using: &random)
      side.query = G.older(than: age)
      side.records = all.filter { $0.age > age }
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let descends = Bool.random(using: &random)
      side.query = side.query.sorted(by: G.agePath, descends ? .descending : .ascending)
      side.records = sorted(side.records, descends: descends) { $0.age < $1.age }
    case 1:
      side.query = side.query.reversed()
      side.records.reverse()
    default: break
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      let offset = Int.random(in: 0...3, using: &random)
      let limit = Int.random(in: 0...20, using: &random)
      side.query = side.query.limit(limit).offset(offset)
      side.records = part(side.records, offset: offset, limit: limit)
    }
    return side
  }

  private static func houses<H: JoinHouse>(
    _ all: [H], _ random: inout SeededGenerator
  ) -> Side<H> {
    var side = Side(query: H.all, records: all)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let rank = Int.random(in: -1...4, using: &random)
      side.query = H.ranked(above: rank)
      side.records = all.filter { $0.rank.map { $0 > rank } ?? false }
    case 1:
      side.query = H.all.filter { !$0.labels.isEmpty }
      side.records = all.filter { !$0.labels.isEmpty }
    default: break
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let descends = Bool.random(using: &random)
      side.query = side.query.sorted(by: H.rankPath, descends ? .descending : .ascending)
      side.records = sorted(side.records, descends: descends) { isLess($0.rank, $1.rank) }
    case 1:
      side.query = side.query.reversed()
      side.records.reverse()
    default: break
    }
    if Int.random(in: 0..<5, using: &random) == 0 {
      let limit = Int.random(in: 0...6, using: &random)
      side.query = side.query.limit(limit)
      side.records = part(side.records, offset: 0, limit: limit)
    }
    return side
  }

  private static func check<G: JoinGuest, Row>(
    _ reader: some RecordReading, _ left: Side<G>, _ right: Side<G.House>,
    _ fields: Fields<G, G.House>, _ kind: JoinKind<G, G.House, Row>,
    _ random: inout SeededGenerator, _ ids: (Row) -> [Int64?], _ seed: String
  ) throws {
    var pairs: [(left: G?, right: G.House?)] = []
    var found: Set<G.House.ID> = []
    for guest in left.records {
      let partners = right.records.filter { fields.areEqual(guest, $0) }
      for house in partners {
        pairs.append((guest, house))
        found.insert(house.id)
      }
      if partners.isEmpty, kind.keepsLeft { pairs.append((guest, nil)) }
    }
    if kind.keepsRight {
      for house in right.records where !found.contains(house.id) { pairs.append((nil, house)) }
    }
    var join = Join(left.query, right.query, on: fields.left, equals: fields.right, kind)
    typealias Pair = (left: G?, right: G.House?)
    var terms: [(isLess: (Pair, Pair) -> Bool, descends: Bool)] = []
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let descends = Bool.random(using: &random)
      let direction: SortDirection = descends ? .descending : .ascending
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        join = join.sorted(byLeft: G.agePath, direction)
        terms.insert(({ isLess($0.left?.age, $1.left?.age) }, descends), at: 0)
      case 1:
        join = join.sorted(byRight: G.House.rankPath, direction)
        terms.insert(
          ({ isLess($0.right?.rank ?? nil, $1.right?.rank ?? nil) }, descends), at: 0)
      case 2:
        join = join.sorted(byRight: G.House.levelPath, direction).sorted(byLeft: \.id)
        terms.insert(({ isLess($0.left?.id.rawValue, $1.left?.id.rawValue) }, false), at: 0)
        terms.insert(({ isBefore($0.right?.level, $1.right?.level) }, descends), at: 1)
      default:
        join = join.sorted(byRight: G.House.rankPath, direction).then(byLeft: G.agePath)
        terms.insert(
          ({ isLess($0.right?.rank ?? nil, $1.right?.rank ?? nil) }, descends), at: 0)
        terms.append(({ isLess($0.left?.age, $1.left?.age) }, false))
      }
    }
    for term in terms.reversed() {
      pairs = sorted(pairs, descends: term.descends, term.isLess)
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      let offset = Int.random(in: 0...4, using: &random)
      let limit = Int.random(in: 0...30, using: &random)
      join = join.offset(offset).limit(limit)
      pairs = part(pairs, offset: offset, limit: limit)
    }
    let expected = pairs.map { [$0.0?.id.rawValue, $0.1?.id.rawValue] }
    let rows = try reader.fetch(join).map(ids)
    if rows != expected {
      Issue.record(
        """
        \(seed), \(fields.name), \(kind.name): \(rows.count) rows instead of \(expected.count)
        \(try reader.explain(join))
        \(rows.prefix(12)) instead of \(expected.prefix(12))
        """)
    }
    #expect(try reader.count(join) == expected.count, "\(seed), \(fields.name), \(kind.name)")
    #expect(try reader.exists(join) == !expected.isEmpty, "\(seed), \(fields.name), \(kind.name)")
    #expect(try reader.first(join).map(ids) == expected.first, "\(seed), \(fields.name)")
    var visited: [[Int64?]] = []
    try reader.forEach(join) { visited.append(ids($0)) }
    #expect(visited == rows, "\(seed), \(fields.name), \(kind.name)")
  }

  private static func checkAll<G: JoinGuest>(
    _ type: G.Type, _ reader: some RecordReading, seed: UInt64, rounds: Int
  ) throws {
    var random = SeededGenerator(seed: seed &+ 1)
    let guests = try reader.fetch(G.all)
    let houses = try reader.fetch(G.House.all)
    for round in 0..<rounds {
      for fields in fields(type) {
        let left = Self.guests(guests, &random)
        let right = Self.houses(houses, &random)
        let name = "seed \(seed), round \(round)"
        try check(
          reader, left, right, fields, .inner, &random, { [$0.0.id.rawValue, $0.1.id.rawValue] },
          name)
        try check(
          reader, left, right, fields, .left, &random, { [$0.0.id.rawValue, $0.1?.id.rawValue] },
          name)
        try check(
          reader, left, right, fields, .right, &random, { [$0.0?.id.rawValue, $0.1.id.rawValue] },
          name)
        try check(
          reader, left, right, fields, .full, &random, { [$0.0?.id.rawValue, $0.1?.id.rawValue] },
          name)
      }
    }
  }

  @Test("Every query, in a store without indexes and in one with indexes", arguments: 0..<6)
  func random(number: UInt64) throws {
    let seed = 4_000 + number
    var options = Store.Options()
    options.checksQueries = number % 2 == 0
    let store = try Store.temporary(
      for: PlainGuest.self, PlainHouse.self, IndexedGuest.self, IndexedHouse.self,
      options: options)
    var random = SeededGenerator(seed: seed)
    let guests = Int.random(in: 0...60, using: &random)
    let houses = Int.random(in: 0...25, using: &random)
    try JoinSamples.fill(
      PlainGuest.self, store, guests: guests, houses: houses, using: &random)
    try JoinSamples.fill(
      IndexedGuest.self, store, guests: guests, houses: houses, using: &random)
    try Self.checkAll(PlainGuest.self, store, seed: seed, rounds: 6)
    try Self.checkAll(IndexedGuest.self, store, seed: seed, rounds: 6)
  }

  @Test("In a write, entries of indexes that are still gathered are seen", arguments: 0..<2)
  func unsavedEntries(number: UInt64) throws {
    let seed = 5_000 + number
    let store = try Store.temporary(for: IndexedGuest.self, IndexedHouse.self)
    var random = SeededGenerator(seed: seed)
    try store.write { tx in
      try JoinSamples.fill(IndexedGuest.self, tx, guests: 40, houses: 12, using: &random)
      try Self.checkAll(IndexedGuest.self, tx, seed: seed, rounds: 2)
      try JoinSamples.fill(IndexedGuest.self, tx, guests: 10, houses: 5, using: &random)
      try Self.checkAll(IndexedGuest.self, tx, seed: seed, rounds: 2)
    }
  }

  @Test("With nothing on a side, rows are those that the kind keeps")
  func emptySides() throws {
    let store = try Store.temporary(for: IndexedGuest.self, IndexedHouse.self)
    var random = SeededGenerator(seed: 1)
    try Self.checkAll(IndexedGuest.self, store, seed: 1, rounds: 1)
    try JoinSamples.fill(IndexedGuest.self, store, guests: 0, houses: 5, using: &random)
    try Self.checkAll(IndexedGuest.self, store, seed: 2, rounds: 1)
    try store.write { _ = try $0.erase(IndexedHouse.self) }
    try JoinSamples.fill(IndexedGuest.self, store, guests: 5, houses: 0, using: &random)
    try Self.checkAll(IndexedGuest.self, store, seed: 3, rounds: 1)
  }
}
