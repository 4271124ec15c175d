import Foundation
import LarchTestSupport
import Testing

@testable import Larch

extension GroupRecord {
  /// No stored field.
  var parity: Int { number % 2 }
}

/// The aggregates of groups are those of the array, with every index and without.
@Suite("Aggregates of groups")
struct GroupAggregateTests {
  @Test("Aggregates by one field and by several equal the array, at random", arguments: 1...6)
  func random(seed: UInt64) throws {
    try Self.check(NoGroupIndexes.self, seed)
    try Self.check(FirstGroupIndexes.self, seed)
    try Self.check(SecondGroupIndexes.self, seed)
    try Self.check(LongGroupIndexes.self, seed)
    try Self.check(OddGroupIndexes.self, seed)
  }

  @Test("They do in a store that checks each query", arguments: 7...8)
  func checked(seed: UInt64) throws {
    try Self.check(FirstGroupIndexes.self, seed, isChecked: true)
    try Self.check(SecondGroupIndexes.self, seed, isChecked: true)
  }

  private static func check<L: GroupIndexes>(
    _ layout: L.Type, _ seed: UInt64, isChecked: Bool = false
  ) throws {
    typealias R = GroupRecord<L>
    var random = SeededGenerator(seed: seed &+ 19_000)
    let store = try random.groupStore(L.self, isChecked: isChecked)
    let all = try store.fetch(R.all)
    for number in 0..<(isChecked ? 8 : 20) {
      let (name, base, matches) = GroupedQueryTests.filter(&random, L.self)
      let (order, ordered, compare) = GroupedQueryTests.order(&random, base)
      var rows = all.filter(matches).sorted { compare($0, $1) < 0 }
      var query = ordered
      if random.chance(1, in: 4) {
        let (limit, offset) = (random.below(40), random.below(5))
        query = query.limit(limit).offset(offset)
        rows = Array(rows.dropFirst(offset).prefix(limit))
      }
      let text = "\(L.name), seed \(seed), query \(number): \(name), \(order)"
      let seed = random.next()
      try store.read { tx throws in
        try GroupAggregateCheck(tx: tx, query: query, rows: rows, seed: seed, text: text).run()
      }
    }
    // A write sees its own changes in the same way.
    try store.write { tx throws in
      for _ in 0..<10 {
        var record = random.groupRecord(L.self)
        try tx.insert(&record)
      }
      let rows = try tx.fetch(R.all)
      try GroupAggregateCheck(tx: tx, query: R.all, rows: rows, seed: seed, text: "write").run()
    }
  }

  // MARK: Single cases

  private struct Sale: Record {
    var id = RecordID<Sale>()
    var city: String
    var year: Int
    var amount: Int
    var weight: Double = 0

    static let schema = Schema<Sale> { Index(\.city, \.year, \.amount) }
  }

  private static func store() throws -> Store {
    let store = try Store.temporary(for: Sale.self)
    try store.write { tx throws in
      for (city, year, amount) in [
        ("Oslo", 2025, 3), ("Bergen", 2025, 9), ("Oslo", 2026, 4), ("Oslo", 2025, 5),
      ] {
        var sale = Sale(city: city, year: year, amount: amount)
        try tx.insert(&sale)
      }
    }
    return store
  }

  @Test("An index that has all fields is read without a record")
  func covered() throws {
    let store = try Self.store()
    let groups = Sale.all.grouped(by: \.city, \.year).select(.count, .sum(\.amount), .max(\.amount))
    let rows = try store.fetch(groups)
    #expect(
      rows.map { "\($0)" } == [
        #"(key: ("Bergen", 2025), 1, 9, Optional(9))"#,
        #"(key: ("Oslo", 2025), 2, 8, Optional(5))"#,
        #"(key: ("Oslo", 2026), 1, 4, Optional(4))"#,
      ])
    let text = try store.explain(groups, running: true)
    #expect(text.contains("groups by city, year: count, sum(amount), max(amount)"))
    #expect(text.contains("0 records"), "\(text)")
  }

  @Test("Conditions come before the order, the order before the limit, wherever they are written")
  func chain() throws {
    let store = try Self.store()
    let cities = Sale.all.grouped(by: \.city).select(.count, .sum(\.amount))
    let best = cities.limit(1).sorted { $0.2 > $1.2 }.having { $0.1 < 3 }
    #expect(try store.fetch(best).map(\.key) == ["Bergen"])
    #expect(try store.count(best) == 1)
    #expect(try store.first(cities.sorted { $0.2 > $1.2 })?.key == "Oslo")
    #expect(try cities.offset(1).fetch(in: store).map(\.key) == ["Oslo"])
    #expect(try store.count(cities.offset(3)) == 0)
    #expect(try !store.exists(cities.offset(2)))
    #expect(try store.exists(cities.offset(1)))
    // A limit of the query counts records.
    let first = Sale.all.limit(2).grouped(by: \.city).select(.count)
    #expect(try store.fetch(first).map(\.1) == [1, 1])
  }

  @Test("Errors: a negative limit, a sum that its type cannot hold, an error of a condition")
  func errors() throws {
    let store = try Self.store()
    func code(_ work: () throws -> Void) -> LarchError.Code? {
      do {
        try work()
        return nil
      } catch { return (error as? LarchError)?.code }
    }
    let cities = Sale.all.grouped(by: \.city).select(.sum(\.amount))
    #expect(code { _ = try store.fetch(cities.limit(-1)) } == .invalidQuery)
    #expect(code { _ = try store.count(cities.offset(-1)) } == .invalidQuery)
    #expect(code { _ = try store.exists(cities.offset(-1)) } == .invalidQuery)
    struct Refused: Error {}
    #expect(throws: Refused.self) { try store.fetch(cities.having { _ in throw Refused() }) }
    var sale = Sale(city: "Oslo", year: 2025, amount: .max)
    try store.save(&sale)
    #expect(code { _ = try store.fetch(cities) } == .overflow)
    #expect(try store.fetch(Sale.all.grouped(by: \.city).select(.average(\.amount))).count == 2)
  }

  @Test("Sums of floating-point numbers are added in the order of the query")
  func ordered() throws {
    let store = try Self.store()
    let weights = [1e16, 1, -1e16, 1]
    try store.write { tx throws in
      try tx.delete(Sale.all)
      for weight in weights {
        var sale = Sale(city: "Oslo", year: 1, amount: 1, weight: weight)
        try tx.insert(&sale)
      }
    }
    let sum = try store.fetch(Sale.all.grouped(by: \.city).select(.sum(\.weight))).first?.1
    #expect(sum == weights.reduce(0, +))
    let reversed = Sale.all.reversed().grouped(by: \.city).select(.sum(\.weight))
    #expect(try store.fetch(reversed).first?.1 == weights.reversed().reduce(0, +))
    #expect(weights.reduce(0, +) != weights.reversed().reduce(0, +))
  }

  @Test("Groups can be observed, and equal groups do not come twice")
  func observed() async throws {
    let store = try Self.store()
    let groups = Sale.where { $0.amount < 100 }.grouped(by: \.city).select(.count, .max(\.amount))
    let values = store.observe(groups).makeAsyncIterator()
    #expect(try await values.next()?.rows.map(\.1) == [1, 3])
    let sale = try #require(try store.first(Sale.where { $0.city == "Oslo" }))
    func save(_ change: @Sendable (inout Sale) -> Void) async throws {
      var changed = sale
      change(&changed)
      let saved = changed
      try await store.write { tx in try tx.update(saved) }
    }
    try await save { $0.weight = 5 }  // no aggregate has it
    try await save { $0.amount = 50 }
    #expect(try await values.next()?.rows.map(\.2) == [9, 50])
    try await store.write { tx in try tx.delete(sale) }
    #expect(try await values.next()?.rows.map(\.1) == [1, 2])
  }
}

/// Several requests for the groups of one query.
private struct GroupAggregateCheck<L: GroupIndexes> {
  typealias R = GroupRecord<L>

  let tx: ReadTransaction
  let query: Query<R>
  /// The rows of the query in its order.
  let rows: [R]
  let seed: UInt64
  let text: String

  func run() throws {
    let kind: Key = (\.kind, { compareText($0.kind.rawValue, $1.kind.rawValue) })
    let number: Key = (\.number, { ordered($0.number, $1.number) })
    let maybe: Key = (
      \.maybe, { nilFirst($0.maybe, $1.maybe) { ordered($0.rawValue, $1.rawValue) } }
    )
    let text: Key = (\.text, { compareText($0.text, $1.text) })
    let note: Key = (\.note, { nilFirst($0.note, $1.note, compareText) })
    let flag: Key = (\.flag, { ordered($0.flag ? 1 : 0, $1.flag ? 1 : 0) })
    let real: Key = (\.real, { nanLast($0.real, $1.real) })
    let maybeReal: Key = (\.maybeReal, { nilFirst($0.maybeReal, $1.maybeReal, nanLast) })
    let day: Key = (\.day, { ordered($0.day, $1.day) })

    try check(
      query.grouped(by: \.kind).select(.count, .sum(\.number), .min(\.number), .max(\.number)),
      [kind], { [$0.0, $0.1, $0.2, $0.3, $0.4] }
    ) { [$0.count, $0.map(\.number).reduce(0, +), $0.map(\.number).min(), $0.map(\.number).max()] }
    try check(
      query.grouped(by: \.kind, \.number).select(.count, .max(\.text), .sum(\.real)),
      [kind, number], { [$0.key.0, $0.key.1, $0.1, $0.2, $0.3] }
    ) {
      [$0.count, $0.map(\.text).max { compareText($0, $1) < 0 }, $0.map(\.real).reduce(0, +)]
    }
    try check(
      query.grouped(by: \.maybe).select(.count, .min(\.day), .max(\.day), .average(\.number)),
      [maybe], { [$0.0, $0.1, $0.2, $0.3, $0.4] }
    ) {
      [
        $0.count, $0.map(\.day).min(), $0.map(\.day).max(),
        Double($0.map(\.number).reduce(0, +)) / Double($0.count),
      ]
    }
    try check(
      query.grouped(by: \.text).select(.sum(\.number), .count), [text], { [$0.0, $0.1, $0.2] }
    ) { [$0.map(\.number).reduce(0, +), $0.count] }
    try check(
      query.grouped(by: \.number, \.flag)
        .select(.count, .min(\.maybeReal), .max(\.note), .sum(\.price)),
      [number, flag], { [$0.key.0, $0.key.1, $0.1, $0.2, $0.3, $0.4] }
    ) {
      [
        $0.count, $0.compactMap(\.maybeReal).filter { !$0.isNaN }.min(),
        $0.compactMap(\.note).max { compareText($0, $1) < 0 }, $0.map(\.price).reduce(0, +),
      ]
    }
    try check(
      query.grouped(by: \.maybeReal, \.kind)
        .select(.min(\.real), .max(\.real), .average(\.maybeReal)),
      [maybeReal, kind], { [$0.key.0, $0.key.1, $0.1, $0.2, $0.3] }
    ) {
      let values = $0.compactMap(\.maybeReal)
      return [
        $0.map(\.real).filter { !$0.isNaN }.min(), $0.map(\.real).filter { !$0.isNaN }.max(),
        values.isEmpty ? nil : values.reduce(0, +) / Double(values.count),
      ]
    }
    try check(
      query.grouped(by: \.note, \.real).select(.count, .min(\.maybe), .max(\.key)), [note, real],
      { [$0.key.0, $0.key.1, $0.1, $0.2, $0.3] }
    ) {
      [
        $0.count, $0.compactMap(\.maybe).min { $0.rawValue < $1.rawValue },
        $0.map(\.key).max { $0.uuidString < $1.uuidString },
      ]
    }
    try check(
      query.grouped(by: \.parity).select(.sum(\.number), .max(\.parity), .count),
      [(\.parity, { ordered($0.parity, $1.parity) })], { [$0.0, $0.1, $0.2, $0.3] }
    ) { [$0.map(\.number).reduce(0, +), $0.map(\.parity).max(), $0.count] }
    try check(
      query.grouped(by: \.day, \.kind, \.flag).select(.count), [day, kind, flag],
      { [$0.key.0, $0.key.1, $0.key.2, $0.1] }
    ) { [$0.count] }
    try check(
      query.grouped(by: \.number, \.kind, \.flag, \.text)
        .select(.count, .min(\.id), .sum(\.number), .sum(\.maybeReal), .max(\.flag), .min(\.note)),
      [number, kind, flag, text],
      { [$0.key.0, $0.key.1, $0.key.2, $0.key.3, $0.1, $0.2, $0.3, $0.4, $0.5, $0.6] }
    ) {
      [
        $0.count, $0.map(\.id).min { $0 < $1 }, $0.map(\.number).reduce(0, +),
        $0.compactMap(\.maybeReal).reduce(0, +), $0.contains { $0.flag },
        $0.compactMap(\.note).min { compareText($0, $1) < 0 },
      ]
    }
    try check(query.grouped(by: \.flag).select(.count), [flag], { [$0.0, $0.1] }) { [$0.count] }
  }

  /// A field, and its order.
  private typealias Key = (field: PartialKeyPath<R>, order: (R, R) -> Int)

  /// - Parameters:
  ///   - values: the elements of a row.
  ///   - aggregates: the aggregates of records.
  private func check<Row>(
    _ request: Grouped<R, Row>, _ keys: [Key], _ values: @escaping @Sendable (Row) -> [Any?],
    _ aggregates: ([R]) -> [Any?]
  ) throws {
    func compare(_ a: R, _ b: R) -> Int {
      for key in keys {
        let order = key.order(a, b)
        if order != 0 { return order }
      }
      return 0
    }
    var groups: [[R]] = []
    for (_, row) in rows.enumerated().sorted(by: {
      let order = compare($0.element, $1.element)
      return order == 0 ? $0.offset < $1.offset : order < 0
    }) {
      if let last = groups.last, compare(last[0], row) == 0 {
        groups[groups.count - 1].append(row)
      } else {
        groups.append([row])
      }
    }
    let wanted = groups.map { group in
      (keys.map { group[0][keyPath: $0.field] as Any? } + aggregates(group)).map(groupSign)
    }
    let sign: @Sendable (Row) -> [String] = { values($0).map(groupSign) }
    let name = "groups by \(keys.map(\.field)), \(text)"
    let found = try tx.fetch(request).map(sign)
    #expect(found == wanted, "\(name)")
    #expect(try tx.count(request) == wanted.count, "\(name)")
    #expect(try tx.exists(request) == !wanted.isEmpty, "\(name)")
    #expect(try tx.first(request).map(sign) == wanted.first, "\(name)")

    var random = SeededGenerator(seed: seed)
    let (limit, offset) = (random.below(6), random.below(3))
    let part = request.having { groupNumber(sign($0)) % 3 != 0 }
      .sorted { groupNumber(sign($0)) % 5 > groupNumber(sign($1)) % 5 }
      .limit(limit).offset(offset)
    let kept = wanted.filter { groupNumber($0) % 3 != 0 }
    let ordered = (0..<5).reversed().flatMap { rest in kept.filter { groupNumber($0) % 5 == rest } }
    let rest = Array(ordered.dropFirst(offset).prefix(limit))
    #expect(try tx.fetch(part).map(sign) == rest, "part of \(name)")
    #expect(try tx.count(part) == rest.count, "part of \(name)")
    #expect(try tx.exists(part) == !rest.isEmpty, "part of \(name)")
  }
}

private func groupNumber(_ signs: [String]) -> Int {
  signs.joined().utf8.reduce(0) { $0 + Int($1) }
}

/// Every bit of a value in the form of keys.
private func groupSign(_ value: Any?) -> String {
  switch value {
  case nil: "nil"
  case let value as Double:
    value.isNaN ? "nan" : String((value == 0 ? 0 : value).bitPattern, radix: 16)
  case let value as Double?: value.map { groupSign($0) } ?? "nil"
  case let value as String:
    value.precomposedStringWithCanonicalMapping.unicodeScalars.map { String($0.value) }
      .joined(separator: " ")
  case let value as String?: value.map { groupSign($0) } ?? "nil"
  case let value?:
    Mirror(reflecting: value).displayStyle == .optional
      ? Mirror(reflecting: value).children.first.map { groupSign($0.value) } ?? "nil" : "\(value)"
  }
}
