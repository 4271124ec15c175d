import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// An optional value of a type whose own key may begin with nil: that nil is not the one of the optional.
@Suite("Optional values that may begin with nil")
struct OptionalCompositeTests {
  struct Version: Codable, Hashable, Comparable, IndexKey {
    var major: Int?
    var minor: Int

    var indexValue: CompositeKey<Int?, Int> { CompositeKey(major, minor) }

    static func < (a: Self, b: Self) -> Bool {
      (a.major ?? .min, a.minor) < (b.major ?? .min, b.minor)
    }
  }

  struct Score: Codable, Hashable, IndexKey {
    var points: Int?

    var indexValue: Int? { points }
  }

  struct App: Record {
    var id: Int
    var version: Version?
    var score: Score?
  }

  struct IndexedApp: Record {
    var id: Int
    var version: Version?
    var score: Score?

    static let schema = Schema<IndexedApp> {
      Index(\.version)
      Index(\.score)
    }
  }

  private static let versions: [Version?] = [
    nil, Version(major: nil, minor: 0), Version(major: nil, minor: 1), Version(major: 0, minor: 0),
    Version(major: 2, minor: 1),
  ]
  private static let scores: [Score?] = [
    nil, Score(points: nil), Score(points: 0), Score(points: 3),
  ]

  private func store() throws -> Store {
    var options = Store.Options()
    options.checksQueries = true
    return try Store.temporary(for: App.self, IndexedApp.self, options: options)
  }

  /// Groups, filters and orders of one field against the same over the array.
  private func check<R: Record, Value: IndexKey & Hashable & Sendable>(
    _ records: [R], _ field: any KeyPath<R, Value?> & Sendable, _ values: [Value?],
    in store: Store, precedes: (Value, Value) -> Bool, _ text: String
  ) throws where R.ID == Int {
    let groups = Dictionary(grouping: records) { $0[keyPath: field] }
    let counts = try store.counts(by: field)
    #expect(counts.count == groups.count, "\(text)")
    for (value, count) in counts {
      #expect(groups[value]?.count == count, "\(text), \(value as Any)")
    }
    let table = try store.fetch(R.all.grouped(by: field).select(.count))
    #expect(table.count == groups.count, "\(text)")
    for (value, count) in table {
      #expect(groups[value]?.count == count, "\(text), \(value as Any)")
    }

    for value in values {
      let equal = Set(records.filter { $0[keyPath: field] == value }.map(\.id))
      #expect(
        Set(try store.ids(R.where { $0[field] == value })) == equal,
        "\(text) == \(value as Any)")
      #expect(
        Set(try store.ids(R.where { $0[field] != value }))
          == Set(records.map(\.id)).subtracting(equal), "\(text) != \(value as Any)")
    }

    let order = records.sorted { a, b in
      switch (a[keyPath: field], b[keyPath: field]) {
      case (let a?, let b?) where a != b: precedes(a, b)
      case (nil, .some): true
      case (.some, nil): false
      default: a.id < b.id
      }
    }
    var query = R.all.sorted(by: field)
    #expect(try store.fetch(query).map(\.id) == order.map(\.id), "\(text)")
    query = query.limit(7)
    var paged: [Int] = []
    while true {
      let page = try store.page(query)
      paged += page.records.map(\.id)
      guard let token = page.next else { break }
      query = query.after(try PageToken(token.text))
    }
    #expect(paged == order.map(\.id), "pages of \(text)")
  }

  @Test(
    "Groups, filters, orders and pages equal those of an array",
    arguments: 1...4 as ClosedRange<UInt64>)
  func oracle(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try store()
    let apps = (1...40).map { id in
      App(
        id: id, version: Self.versions[random.below(Self.versions.count)],
        score: Self.scores[random.below(Self.scores.count)])
    }
    let indexed = apps.map { IndexedApp(id: $0.id, version: $0.version, score: $0.score) }
    try store.write { tx in
      for var app in apps { try tx.insert(&app) }
      for var app in indexed { try tx.insert(&app) }
    }
    func precedes(_ a: Score, _ b: Score) -> Bool { (a.points ?? .min) < (b.points ?? .min) }
    try check(apps, \.version, Self.versions, in: store, precedes: <, "versions")
    try check(indexed, \.version, Self.versions, in: store, precedes: <, "indexed versions")
    try check(apps, \.score, Self.scores, in: store, precedes: precedes, "scores")
    try check(indexed, \.score, Self.scores, in: store, precedes: precedes, "indexed scores")
  }
}
