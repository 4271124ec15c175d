import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Aggregates over the records of a query equal those over an array.
@Suite("Aggregates of queries")
struct AggregateTests {
  @Test(
    "min, max, sum, average, counts and distinct values equal the array, at random",
    arguments: OracleKind.allCases, [false, true])
  func random(kind: OracleKind, isChecked: Bool) throws {
    try Self.random(kind.indexes, isChecked)
  }

  private static func random<K: OracleIndexes>(_ kind: K.Type, _ isChecked: Bool) throws {
    typealias Thing = OracleThing<K>
    var options = Store.Options()
    options.checksQueries = isChecked
    for seed in UInt64(0)..<(isChecked ? 2 : 6) {
      var random = SeededGenerator(seed: seed &+ 4000)
      let clause = try OracleClause<K>((0..<40).map { _ in random.thing(K.self) }, options: options)
      for number in 0..<24 {
        let filter =
          number < 2
          ? OracleFilter<K>("all", { $0.id > 0 }, { _ in true })
          : OracleFilter<K>.random(&random, depth: 1 + random.below(3))
        let order = OracleOrder<K>.random(&random)
        var query = number == 0 ? Thing.all : order.apply(Thing.where { _ in filter.filter })
        let limit = random.chance(1, in: 3) ? random.below(12) : nil
        let offset = random.chance(1, in: 4) ? random.below(6) : 0
        if let limit { query = query.limit(limit) }
        if offset > 0 { query = query.offset(offset) }
        let sorted = number == 0 ? clause.things : order.sort(clause.things.filter(filter.matches))
        let expected = Array(sorted.dropFirst(offset).prefix(limit ?? .max))
        let text =
          "\(K.name), seed \(seed): \(filter.text)\(order.text) \(limit ?? -1) \(offset)"
        try clause.store.read { tx throws in
          try Figures(query: query, expected: expected, tx: tx, text: text).check()
        }
      }
    }
  }

  // MARK: Single cases

  private static func code(_ work: () throws -> Void) -> LarchError.Code? {
    do {
      try work()
      return nil
    } catch { return (error as? LarchError)?.code }
  }

  @Test(
    "A sum that its type cannot hold is an overflow, an average is not",
    arguments: OracleKind.allCases)
  func overflow(kind: OracleKind) throws { try Self.overflow(kind.indexes) }

  private static func overflow<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of([Int.max, 1, 0, nil]) {
      $0.number = $1 ?? 0
      $0.maybe = $1
      $0.small = $1 == .max ? 200 : 30
    }
    let store = clause.store
    #expect(code { _ = try store.sum(\.number, of: Thing.all) } == .overflow)
    #expect(code { _ = try store.sum(\.maybe, of: Thing.all) } == .overflow)
    // Sums of small numbers do not overflow.
    #expect(try store.sum(\.small, of: Thing.all) == 580)
    #expect(try store.sum(\.small, of: Thing.where { $0.small == 30 && $0.flag }) == 90)
    #expect(try store.sum(\.maybe, of: Thing.where { $0.maybe < 2 }) == 2)
    #expect(try store.average(\.small, of: Thing.all) == 72.5)
    let average = try #require(try store.average(\.maybe, of: Thing.all))
    #expect(abs(average - Double(Int.max) / 3) < 1e4)
    // An overflow of an intermediate sum is not an overflow.
    let third = try OracleClause<K>([Int.max, .max, .min, .min, 5].map { Thing(plain: 0, $0) })
    #expect(try third.store.sum(\.number, of: Thing.all) == 3)
  }

  @Test("Aggregates of no records: zero, nil and no groups", arguments: OracleKind.allCases)
  func empty(kind: OracleKind) throws { try Self.empty(kind.indexes) }

  private static func empty<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of([1, 2]) {
      $0.number = $1
      $0.maybeReal = nil
    }
    let store = clause.store
    for query in [
      Thing.where { $0.number > 5 }, Thing.all.limit(0), Thing.all.offset(4),
      Thing.where { $0.number > 1 && $0.number < 1 }, Thing.all.sorted(by: \.text).offset(.max),
    ] {
      #expect(try store.min(\.number, of: query) == nil)
      #expect(try store.max(\.text, of: query) == nil)
      #expect(try store.max(\.maybe, of: query) == nil)
      #expect(try store.sum(\.number, of: query) == 0)
      #expect(try store.sum(\.maybeReal, of: query) == 0)
      #expect(try store.average(\.number, of: query) == nil)
      #expect(try store.counts(by: \.text, of: query).isEmpty)
      #expect(try store.count(query.select(\.text).distinct()) == 0)
      #expect(try store.first(query.select(\.text)) == nil)
    }
    #expect(try store.max(\.maybeReal, of: Thing.all) == nil)
    #expect(try store.average(\.maybeReal, of: Thing.all) == nil)
    #expect(try store.sum(\.maybeReal, of: Thing.all) == 0)
    let counts = try store.counts(by: \.maybeReal, of: Thing.all)
    #expect(counts.count == 1 && counts[0].count == 4 && counts[0].value == nil)
    try store.delete(Thing.all)
    #expect(try store.min(\.number, of: Thing.all) == nil)
    #expect(try store.counts(by: \.number, of: Thing.all).isEmpty)
  }

  @Test(
    "NaN and nil do not count in min, max and average; a sum with NaN is NaN",
    arguments: OracleKind.allCases)
  func nanAndNil(kind: OracleKind) throws { try Self.nanAndNil(kind.indexes) }

  private static func nanAndNil<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of([Double?.none, .nan, 3, -1, -.nan, nil]) {
      $0.maybeReal = $1
      $0.real = $1 ?? 7
    }
    let store = clause.store
    #expect(try store.min(\.maybeReal, of: Thing.all) == -1)
    #expect(try store.max(\.maybeReal, of: Thing.all) == 3)
    #expect(try store.max(\.real, of: Thing.all) == 7)
    #expect(try store.max(\.real, of: Thing.all.sorted(by: \.id).limit(3)) == 7)
    #expect(try store.sum(\.maybeReal, of: Thing.all).isNaN)
    #expect(try store.average(\.maybeReal, of: Thing.all)?.isNaN == true)
    #expect(try store.average(\.maybeReal, of: Thing.where { $0.maybeReal < 9 }) == 1)
    let groups = try store.counts(by: \.maybeReal, of: Thing.all)
    #expect(groups.map(\.count) == [4, 2, 2, 4])
    #expect(groups[0].value == nil && groups[1].value == -1 && groups[2].value == 3)
    #expect(groups[3].value?.isNaN == true)
    let nans = Thing.where { !($0.real < 100) }
    #expect(try store.min(\.real, of: nans) == nil)
    #expect(try store.count(nans) == 4)
  }

  @Test(
    "Long strings, far dates, enums and custom types have a minimum and a maximum",
    arguments: OracleKind.allCases)
  func otherTypes(kind: OracleKind) throws { try Self.otherTypes(kind.indexes) }

  private static func otherTypes<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let long = String(repeating: "q\u{301}", count: 400)
    let clause = try OracleClause<K>.of([0, 1, 2, 3]) {
      $0.text = ["b", long + "a", long + "b", "e\u{301}"][$1]
      $0.note = $1 == 0 ? nil : $0.text
      $0.grade = [.gold, .silver, .silver, .bronze][$1]
      $0.version = OracleVersion(major: 2 - $1 % 3, minor: $1)
      $0.day = OracleValues.days[$1]
      $0.blob = OracleValues.blobs[8 - $1]
      $0.key = OracleValues.keys[$1]
    }
    let store = clause.store
    // A composed é is two bytes from 0xC3, after the q, whose accent stays separate.
    #expect(try store.max(\.text, of: Thing.all) == "\u{E9}")
    #expect(try store.max(\.text, of: Thing.where { $0.text.hasPrefix("q\u{301}") }) == long + "b")
    #expect(try store.min(\.note, of: Thing.all) == long + "a")
    #expect(try store.max(\.grade, of: Thing.all) == .silver)
    #expect(try store.min(\.grade, of: Thing.where { $0.grade != .bronze }) == .gold)
    #expect(try store.max(\.version, of: Thing.all) == OracleVersion(major: 2, minor: 3))
    #expect(try store.min(\.version, of: Thing.all) == OracleVersion(major: 0, minor: 2))
    #expect(try store.max(\.day, of: Thing.all) == OracleValues.days[3])
    #expect(try store.min(\.day, of: Thing.all) == OracleValues.days[0])
    #expect(try store.max(\.blob, of: Thing.all) == Data([255, 0]))
    #expect(try store.max(\.key, of: Thing.all) == OracleValues.keys[3])
    let grades = try store.counts(by: \.grade, of: Thing.all)
    #expect(grades.map(\.value) == [.bronze, .gold, .silver] && grades.map(\.count) == [2, 2, 4])
    let texts = try store.counts(by: \.text, of: Thing.all)
    #expect(texts.map(\.value) == ["b", long + "a", long + "b", "\u{E9}"])
    #expect(try store.counts(by: \.version, of: Thing.all).map(\.count) == [2, 2, 2, 2])
    #expect(try store.counts(by: \.length, of: Thing.all).map(\.value) == [1, 401])
  }
}

extension OracleThing {
  fileprivate init(plain number: Int, _ value: Int) {
    self.init(plain: number)
    self.number = value
  }
}

/// All figures of one query.
private struct Figures<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  let query: Query<Thing>
  let expected: [Thing]
  let tx: ReadTransaction
  let text: String

  func check() throws {
    do {
      try extremes()
      try sums()
      try groups()
      try distinct()
    } catch let error as LarchError { Issue.record("\(text): \(error)") }
  }

  private func least<T>(_ values: [T], _ order: (T, T) -> Int) -> T? {
    values.min { order($0, $1) < 0 }
  }

  private func extremes() throws {
    let real = expected.map(\.real).filter { !$0.isNaN }
    let maybeReal = expected.compactMap(\.maybeReal).filter { !$0.isNaN }
    #expect(try tx.min(\.number, of: query) == expected.map(\.number).min(), "\(text)")
    #expect(try tx.max(\.number, of: query) == expected.map(\.number).max(), "\(text)")
    #expect(try tx.min(\.maybe, of: query) == expected.compactMap(\.maybe).min(), "\(text)")
    #expect(try tx.max(\.maybe, of: query) == expected.compactMap(\.maybe).max(), "\(text)")
    #expect(try tx.min(\.small, of: query) == expected.map(\.small).min(), "\(text)")
    #expect(try tx.min(\.real, of: query) == real.min(), "\(text)")
    #expect(try tx.max(\.real, of: query) == real.max(), "\(text)")
    #expect(try tx.max(\.maybeReal, of: query) == maybeReal.max(), "\(text)")
    #expect(
      try tx.min(\.text, of: query) == least(expected.map(\.text), compareText), "\(text)")
    #expect(
      try tx.max(\.note, of: query) == least(expected.compactMap(\.note)) { compareText($1, $0) },
      "\(text)")
    #expect(try tx.min(\.day, of: query) == expected.map(\.day).min(), "\(text)")
    #expect(try tx.max(\.day, of: query) == expected.map(\.day).max(), "\(text)")
    #expect(try tx.max(\.grade, of: query) == expected.map(\.grade).max(), "\(text)")
    #expect(try tx.min(\.medal, of: query) == expected.map(\.medal).min(), "\(text)")
    #expect(try tx.max(\.medal, of: query) == expected.map(\.medal).max(), "\(text)")
    #expect(try tx.min(\.prize, of: query) == expected.compactMap(\.prize).min(), "\(text)")
    #expect(try tx.max(\.prize, of: query) == expected.compactMap(\.prize).max(), "\(text)")
    #expect(
      try tx.max(\.version, of: query)
        == least(expected.map(\.version)) { ordered($1.number, $0.number) }, "\(text)")
    #expect(try tx.max(\.length, of: query) == expected.map(\.length).max(), "\(text)")
    #expect(
      try tx.min(\.place.zip, of: query) == expected.compactMap(\.place.zip).min(), "\(text)")
    #expect(
      try tx.max(\.extra?.zip, of: query) == expected.compactMap { $0.extra?.zip }.max(),
      "\(text)")
  }

  private func sums() throws {
    func total(_ values: [Int]) -> Int? {
      Int(exactly: values.reduce(Int128(0)) { $0 + Int128($1) })
    }
    func sum(_ work: () throws -> Int) throws -> Int? {
      do { return try work() } catch let error as LarchError where error.code == .overflow {
        return nil
      }
    }
    let numbers = expected.map(\.number)
    let maybes = expected.compactMap(\.maybe)
    #expect(try sum { try tx.sum(\.number, of: query) } == total(numbers), "\(text)")
    #expect(try sum { try tx.sum(\.maybe, of: query) } == total(maybes), "\(text)")
    #expect(try sum { try tx.sum(\.length, of: query) } == total(expected.map(\.length)), "\(text)")
    let reals = expected.map(\.real).reduce(0, +)
    let found = try tx.sum(\.real, of: query)
    #expect(found == reals || found.isNaN && reals.isNaN, "\(text): \(found), \(reals)")
    let average = try tx.average(\.maybe, of: query)
    let whole = maybes.reduce(Int128(0)) { $0 + Int128($1) }
    #expect(
      average == (maybes.isEmpty ? nil : Double(whole) / Double(maybes.count)), "\(text)")
    let smalls = expected.map { Double($0.small) }
    #expect(
      try tx.average(\.small, of: query)
        == (smalls.isEmpty ? nil : smalls.reduce(0, +) / Double(smalls.count)), "\(text)")
  }

  private func groups() throws {
    func check<Value: IndexKey & Equatable>(
      _ keyPath: any KeyPath<Thing, Value> & Sendable, _ order: (Value, Value) -> Int
    ) throws {
      let found = try tx.counts(by: keyPath, of: query)
      var wanted: [(Value, Int)] = []
      let values = expected.map { $0[keyPath: keyPath] }.sorted { order($0, $1) < 0 }
      for value in values {
        if let last = wanted.last, order(last.0, value) == 0 {
          wanted[wanted.count - 1].1 += 1
        } else {
          wanted.append((value, 1))
        }
      }
      #expect(found.map(\.count) == wanted.map(\.1), "\(keyPath), \(text)")
      #expect(
        zip(found, wanted).allSatisfy { order($0.value, $1.0) == 0 }, "\(keyPath), \(text)")
    }
    try check(\.number, ordered)
    try check(\.maybe) { nilFirst($0, $1, ordered) }
    try check(\.text, compareText)
    try check(\.note) { nilFirst($0, $1, compareText) }
    try check(\.real, nanLast)
    try check(\.flag) { ordered($0 ? 1 : 0, $1 ? 1 : 0) }
    try check(\.grade) { ordered($0, $1) }
    try check(\.medal, ordered)
    try check(\.prize) { nilFirst($0, $1, ordered) }
    try check(\.version) { ordered($0.number, $1.number) }
    try check(\.day, ordered)
    try check(\.length, ordered)
  }

  private func distinct() throws {
    func unique<T: Hashable>(_ values: [T]) -> [T] {
      var seen: Set<T> = []
      return values.filter { seen.insert($0).inserted }
    }
    // A limit counts distinct results, so the array gives the result only without one.
    guard query.details.limit == nil, query.details.offset == 0 else { return }
    let texts = try tx.fetch(query.select(\.text).distinct())
    #expect(texts == unique(expected.map(\.text)), "\(text)")
    let maybes = try tx.fetch(query.select(\.maybe).distinct())
    #expect(maybes == unique(expected.map(\.maybe)), "\(text)")
    let part = try tx.fetch(query.limit(2).offset(1).select(\.maybe).distinct())
    #expect(part == Array(unique(expected.map(\.maybe)).dropFirst().prefix(2)), "\(text)")
    #expect(
      try tx.count(query.select(\.number).distinct()) == unique(expected.map(\.number)).count,
      "\(text)")
    let pairs = try tx.fetch(query.select(\.flag, \.grade).distinct())
    #expect(
      pairs.map { "\($0.0)\($0.1)" } == unique(expected.map { "\($0.flag)\($0.grade)" }), "\(text)")
  }
}

extension OracleVersion {
  fileprivate var number: Int { major * 1000 + minor }
}
