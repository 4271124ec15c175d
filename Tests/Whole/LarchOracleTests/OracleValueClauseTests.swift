import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The clauses of the Swift oracle that are about numbers, dates, nil and lists, each run in
/// three ways.
@Suite("The Swift oracle: values")
struct OracleValueClauseTests {
  @Test("-0.0 equals 0.0, and NaN is in no range", arguments: OracleKind.allCases)
  func zeroAndNaN(kind: OracleKind) throws { try Self.zeroAndNaN(kind.indexes) }

  private static func zeroAndNaN<K: OracleIndexes>(_: K.Type) throws {
    let values: [Double?] =
      OracleValues.reals + [
        nil, -Double.nan, Double.signalingNaN, Double(nan: 5, signaling: false),
        -Double.leastNonzeroMagnitude,
        -Double.greatestFiniteMagnitude, Double.leastNormalMagnitude, 0.1 + 0.2, 0.3,
      ]
    let clause = try OracleClause<K>.of(values) {
      $0.maybeReal = $1
      $0.real = $1 ?? 1
    }
    typealias Test = OracleFilter<K>
    let byReal = OracleOrder<K>.by(\.real) { nanLast($0.real, $1.real) }
    let byMaybe = OracleOrder<K>.by(\.maybeReal, .descending) {
      nilFirst($0.maybeReal, $1.maybeReal, nanLast)
    }
    for case let a? in values {
      try clause.check(Test("real == \(a)", { $0.real == a }, { $0.real == a }), byReal)
      try clause.ask(Test("real != \(a)", { $0.real != a }, { $0.real != a }), byReal)
      try clause.ask(Test("real < \(a)", { $0.real < a }, { $0.real < a }))
      try clause.ask(Test("real <= \(a)", { $0.real <= a }, { $0.real <= a }), byReal)
      try clause.ask(!Test("real > \(a)", { $0.real > a }, { $0.real > a }), byReal.reversed())
      try clause.ask(Test("real >= \(a)", { $0.real >= a }, { $0.real >= a }))
      try clause.check(
        Test("maybeReal == \(a)", { $0.maybeReal == a }, { $0.maybeReal == a }), byMaybe)
      try clause.ask(
        Test(
          "maybeReal <= \(a)", { $0.maybeReal <= a },
          { $0.maybeReal.map { $0 <= a } ?? false }), byMaybe)
      let list = [a, .nan, 0]
      try clause.check(
        Test("real in \(list)", { list.contains($0.real) }, { list.contains($0.real) }))
    }
    try clause.check(
      Test("maybeReal != nil", { $0.maybeReal != nil }, { $0.maybeReal != nil }), byMaybe)
    try clause.check(
      Test(
        "real == maybeReal", { $0.real == $0.maybeReal }, { $0.real == $0.maybeReal }), byReal)
    let minus = Test("real in -0.0...0.0", { (-0.0...0.0).contains($0.real) }, { $0.real == 0 })
    try clause.check(minus, byReal)
    // A record with NaN is found otherwise.
    let all = Test("number >= 0", { $0.number >= 0 }, { _ in true })
    try clause.check(all, byReal)
  }

  @Test("Filters are two-valued: != and ! are true for nil", arguments: OracleKind.allCases)
  func twoValued(kind: OracleKind) throws { try Self.twoValued(kind.indexes) }

  private static func twoValued<K: OracleIndexes>(_: K.Type) throws {
    let values: [Int?] = [nil, 10, 9, 11, nil, .min, .max, 0, 1]
    let clause = try OracleClause<K>.of(values) {
      $0.maybe = $1
      $0.place.zip = $1
      $0.extra = $1 == 0 ? nil : OraclePlace(city: "x", zip: $1)
      $0.note = $1.map { "\($0)" }
    }
    typealias Test = OracleFilter<K>
    typealias Thing = OracleThing<K>
    try clause.check(Test("maybe != 10", { $0.maybe != 10 }, { $0.maybe != 10 }))
    try clause.check(Test("!(maybe == 10)", { !($0.maybe == 10) }, { !($0.maybe == 10) }))
    try clause.check(
      Test("!(maybe < 10)", { !($0.maybe < 10) }, { !($0.maybe.map { $0 < 10 } ?? false) }))
    try clause.check(
      Test("!(!(maybe > 9))", { !(!($0.maybe > 9)) }, { $0.maybe.map { $0 > 9 } ?? false }))
    try clause.check(
      Test("maybe <= Int.max", { $0.maybe <= Int.max }, { $0.maybe != nil }))
    try clause.check(
      Test("maybe >= Int.min", { $0.maybe >= Int.min }, { $0.maybe != nil }))
    try clause.check(
      Test(
        "maybe in 0...10", { (0...10).contains($0.maybe) },
        { $0.maybe.map { (0...10).contains($0) } ?? false }))
    try clause.check(
      Test("note != 10", { $0.note != "10" }, { $0.note != "10" }))
    try clause.check(
      Test("!note prefix 1", { !$0.note.hasPrefix("1") }, { !($0.note?.hasPrefix("1") ?? false) }))
    try clause.check(
      Test("extra.zip != 10", { $0.extra.zip != 10 }, { $0.extra?.zip != 10 }))
    try clause.check(
      Test("place.zip == extra.zip", { $0.place.zip == $0.extra.zip }) {
        $0.place.zip == $0.extra?.zip
      })
    try clause.check(
      Test("!(number < maybe)", { !($0.number < $0.maybe) }) { thing in
        !(thing.maybe.map { thing.number < $0 } ?? false)
      })
    let list: [Int?] = [nil, 10, nil]
    try clause.check(
      Test("maybe in [nil, 10]", { list.contains($0.maybe) }, { list.contains($0.maybe) }))
    try clause.check(
      Test(
        "not maybe in [10, 11]", { ![10, 11].contains($0.maybe) },
        { !([10, 11].contains($0.maybe)) }))
    #expect(try clause.store.count(Thing.where { $0.maybe != 10 }) == 16)
    #expect(try clause.store.count(Thing.where { $0.maybe < 10 }) == 8)
  }

  @Test(
    "nil is first ascending and last descending; equal values are sorted by id",
    arguments: OracleKind.allCases)
  func nilsAndTies(kind: OracleKind) throws { try Self.nilsAndTies(kind.indexes) }

  private static func nilsAndTies<K: OracleIndexes>(_: K.Type) throws {
    let values: [Int?] = [3, nil, 1, 3, nil, 2, 1, nil, 3, .min, .max, 1]
    let clause = try OracleClause<K>.of(values) {
      $0.maybe = $1
      $0.note = $1.map { "n\($0)" }
      $0.maybeReal = $1.map(Double.init)
      $0.text = "same"
    }
    typealias Order = OracleOrder<K>
    let every = OracleFilter<K>("all", { $0.number < 2 }, { _ in true })
    for direction in [SortDirection.ascending, .descending] {
      for order in [
        Order.by(\.maybe, direction) { nilFirst($0.maybe, $1.maybe, ordered) },
        Order.by(\.note, direction) { nilFirst($0.note, $1.note, compareText) },
        Order.by(\.maybeReal, direction) { nilFirst($0.maybeReal, $1.maybeReal, nanLast) },
        Order.by(\.text, direction) { _, _ in 0 },
        Order.by(\.flag, direction) { ordered($0.flag ? 1 : 0, $1.flag ? 1 : 0) },
      ] {
        try clause.check(every, order)
        for limit in [0, 1, 2, 23, 24, 25, Int.max] {
          try clause.ask(every, order, limit: limit)
          try clause.ask(every, order, limit: limit, offset: 2)
        }
      }
    }
  }

  @Test("limit(0) is empty, and so is an offset past the end", arguments: OracleKind.allCases)
  func limits(kind: OracleKind) throws { try Self.limits(kind.indexes) }

  private static func limits<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(Array(0..<10)) { $0.maybe = $1 }
    let test = OracleFilter<K>("maybe > 3", { $0.maybe > 3 }, { $0.maybe! > 3 })
    let order = OracleOrder<K>.by(\.maybe) { ordered($0.maybe!, $1.maybe!) }
    for order in [OracleOrder<K>(), order, order.reversed()] {
      for limit in [nil, 0, 1, 11, 12, 13, Int.max] {
        for offset in [0, 1, 11, 12, 13, Int.max] {
          try clause.ask(test, order, limit: limit, offset: offset)
        }
      }
    }
  }

  @Test("An inverted range matches nothing", arguments: OracleKind.allCases)
  func inverted(kind: OracleKind) throws { try Self.inverted(kind.indexes) }

  private static func inverted<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of([nil, 1, 2, 3, 4, 5, 6]) { thing, value in
      thing.maybe = value
      thing.small = UInt8(value ?? 0)
      thing.text = "\(value ?? 0)"
      thing.real = Double(value ?? 0)
    }
    typealias Test = OracleFilter<K>
    try clause.check(
      Test("maybe > 5 && maybe < 3", { $0.maybe > 5 && $0.maybe < 3 }, { _ in false }))
    try clause.check(
      Test("maybe > 3 && maybe < 3", { $0.maybe > 3 && $0.maybe < 3 }, { _ in false }))
    try clause.check(
      Test("maybe >= 3 && maybe <= 3", { $0.maybe >= 3 && $0.maybe <= 3 }, { $0.maybe == 3 }))
    try clause.check(Test("maybe in 3..<3", { (3..<3).contains($0.maybe) }, { _ in false }))
    try clause.check(Test("small in 3..<3", { (3..<3).contains($0.small) }, { _ in false }))
    try clause.check(
      Test("text > 5 && text < 3", { $0.text > "5" && $0.text < "3" }, { _ in false }))
    try clause.check(
      Test("real >= 4 && real < 2", { $0.real >= 4 && $0.real < 2 }, { _ in false }))
    try clause.check(
      Test("maybe == 1 && maybe == 2", { $0.maybe == 1 && $0.maybe == 2 }, { _ in false }))
    try clause.check(
      Test(
        "maybe == nil && maybe > 0", { $0.maybe == nil && $0.maybe > 0 }, { _ in false }))
  }

  @Test(
    "An empty list matches nothing, and duplicates in a list change nothing",
    arguments: OracleKind.allCases)
  func lists(kind: OracleKind) throws { try Self.lists(kind.indexes) }

  private static func lists<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of([1, 2, 3, 2, 1, 7, 9]) {
      $0.maybe = $1
      $0.text = "\($1)"
      $0.marks = [$1, 5]
    }
    typealias Test = OracleFilter<K>
    let byMaybe = OracleOrder<K>.by(\.maybe, .descending) { ordered($0.maybe!, $1.maybe!) }
    try clause.check(Test("maybe in []", { [Int]().contains($0.maybe) }, { _ in false }))
    try clause.check(Test("text in []", { [String]().contains($0.text) }, { _ in false }))
    for list in [[2, 2, 2], [9, 1, 9, 1], [2, 8, 1, 2], [4]] {
      try clause.check(
        Test("maybe in \(list)", { list.contains($0.maybe) }, { list.contains($0.maybe!) }), byMaybe
      )
      let texts = list.map(String.init)
      try clause.check(
        Test("text in \(texts)", { texts.contains($0.text) }, { texts.contains($0.text) }), byMaybe)
      try clause.check(
        Test("marks any of \(list)", { $0.marks.containsAny(of: list + [5]) }) { _ in true },
        byMaybe)
    }
  }

  @Test("An OR over two indexes yields no record twice", arguments: OracleKind.allCases)
  func union(kind: OracleKind) throws { try Self.union(kind.indexes) }

  private static func union<K: OracleIndexes>(_: K.Type) throws {
    let clause = try OracleClause<K>.of(Array(0..<12)) {
      $0.maybe = $1 % 4
      $0.text = "\($1 % 3)"
      $0.small = UInt8($1)
      $0.tags = ["\($1 % 2)", "\($1 % 3)"]
    }
    typealias Test = OracleFilter<K>
    let a = Test("maybe == 1", { $0.maybe == 1 }, { $0.maybe == 1 })
    let b = Test("text == 1", { $0.text == "1" }, { $0.text == "1" })
    let c = Test("small < 6", { $0.small < 6 }, { $0.small < 6 })
    let d = Test("tags contains 1", { $0.tags.contains("1") }, { $0.tags.contains("1") })
    let bySmall = OracleOrder<K>.by(\.small, .descending) { ordered($0.small, $1.small) }
    for test in [
      a || b, a || a, a || b || c, a || d, d || d, (a && c) || (b && c), a || !a, a && b,
    ] {
      try clause.check(test)
      try clause.check(test, bySmall)
      try clause.ask(test, bySmall, limit: 3, offset: 2)
    }
  }

  @Test(
    "Dates, doubles and integers keep every bit, before 1970 and at the extremes",
    arguments: OracleKind.allCases)
  func extremes(kind: OracleKind) throws { try Self.extremes(kind.indexes) }

  private static func extremes<K: OracleIndexes>(_: K.Type) throws {
    let seconds: [Double] = [
      -1e18, -1e9, -978_307_200, -978_307_200.5, -978_307_201, -0.5, -0.0, 0,
      .leastNonzeroMagnitude, 0.1,
      700_000_000.123_456_789, 1e12, 1e18, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
      Date.distantPast.timeIntervalSinceReferenceDate,
      Date.distantFuture.timeIntervalSinceReferenceDate,
    ]
    let integers = [Int.min, .min + 1, -1, 0, 1, .max - 1, .max]
    let clause = try OracleClause<K>.of(seconds) {
      $0.day = Date(timeIntervalSinceReferenceDate: $1)
      $0.real = $1
      $0.maybeReal = -$1
      $0.small = $1 < 0 ? 0 : 255
    }
    typealias Test = OracleFilter<K>
    let byDay = OracleOrder<K>.by(\.day) { ordered($0.day, $1.day) }
    for value in seconds {
      let day = Date(timeIntervalSinceReferenceDate: value)
      try clause.check(Test("day == \(value)", { $0.day == day }, { $0.day == day }), byDay)
      try clause.ask(Test("day < \(value)", { $0.day < day }, { $0.day < day }), byDay)
      try clause.ask(Test("day >= \(value)", { $0.day >= day }, { $0.day >= day }), byDay)
    }
    let store = clause.store
    typealias Thing = OracleThing<K>
    let largest = Double.greatestFiniteMagnitude
    #expect(try store.max(\.day, of: Thing.all)?.timeIntervalSinceReferenceDate == largest)
    #expect(try store.min(\.day, of: Thing.all)?.timeIntervalSinceReferenceDate == -largest)
    #expect(try store.max(\.real, of: Thing.all) == largest)
    #expect(try store.min(\.maybeReal, of: Thing.all) == -largest)
    let numbers = try OracleClause<K>.of(integers) {
      $0.number = $1
      $0.maybe = $1
    }
    let byNumber = OracleOrder<K>.by(\.number, .descending) { ordered($0.number, $1.number) }
    for value in integers {
      try numbers.check(
        Test("number == \(value)", { $0.number == value }, { $0.number == value }), byNumber)
      try numbers.ask(
        Test("maybe <= \(value)", { $0.maybe <= value }, { $0.maybe! <= value }), byNumber)
      try numbers.ask(
        Test("number > \(value)", { $0.number > value }, { $0.number > value }), byNumber)
    }
    #expect(try numbers.store.max(\.number, of: Thing.all) == .max)
    #expect(try numbers.store.min(\.maybe, of: Thing.all) == Int.min)
  }
}
