import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A user filtered 101 records by an enum with a raw value. Every one of them was decoded, since
/// only types of the standard library were read from stored bytes. With an index over the enum, a
/// query used it to count 3 matches, but read all records to count 300.
@Suite("Enums with raw values")
struct RawEnumTests {
  enum Kind: String, Codable, CaseIterable, IndexKey, Comparable {
    case alpha
    case beta = "\u{E9}t\u{E9}"
    case gamma = "Gamma"

    static func < (a: Self, b: Self) -> Bool { compareText(a.rawValue, b.rawValue) < 0 }
  }

  enum Rank: Int, Codable, CaseIterable, IndexKey, Comparable {
    case low = -3
    case middle = 2
    case high = 400

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  enum Level: UInt8, Codable, CaseIterable, IndexKey { case one = 1, two, last = 255 }

  /// Counts how often a record of it is decoded.
  struct Decodings: Codable, Hashable {
    /// That of the test that runs: tests run beside each other.
    @TaskLocal static var count = Locked(0)
    var value = 0

    init() {}
    init(from decoder: any Decoder) throws {
      value = try decoder.singleValueContainer().decode(Int.self)
      Decodings.count.withLock { $0 += 1 }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  struct Box: Codable, Hashable {
    var kind: Kind
    var rank: Rank?
  }

  struct Item<Layout: EnumLayout>: Record {
    var id = RecordID<Self>()
    var kind: Kind
    var maybe: Kind?
    var rank: Rank
    var level: Level?
    var kinds: [Kind]
    var ranks: Set<Rank>
    var box: Box
    var number: Int
    var decodings = Decodings()

    static var collectionName: String { Layout.name }
    static var schema: Schema<Self> { Layout.schema }
  }

  protocol EnumLayout: Sendable {
    static var name: String { get }
    static var schema: Schema<Item<Self>> { get }
  }

  enum Bare: EnumLayout {
    static let name = "bare"
    static var schema: Schema<Item<Self>> { Schema() }
  }

  enum Single: EnumLayout {
    static let name = "single"
    static var schema: Schema<Item<Self>> {
      Schema {
        Index(\.kind)
        Index(\.maybe)
        Index(\.rank)
        Index(\.level)
        Index(\.kinds)
        Index(\.ranks)
        Index(\.box.kind)
        Index(\.box.rank)
      }
    }
  }

  enum Second: EnumLayout {
    static let name = "second"
    static var schema: Schema<Item<Self>> {
      Schema {
        Index(\.rank, \.kind)
        Index(\.kind, \.maybe, \.number)
        Index(\.number, \.rank)
        Index(\.level, \.kinds)
        Index(\.maybe, \.level)
      }
    }
  }

  private static func items<Layout: EnumLayout>(
    _: Layout.Type, _ count: Int, _ random: inout SeededGenerator
  ) -> [Item<Layout>] {
    (0..<count).map { _ in
      Item(
        kind: Kind.allCases.randomElement(using: &random)!,
        maybe: Bool.random(using: &random) ? nil : Kind.allCases.randomElement(using: &random),
        rank: Rank.allCases.randomElement(using: &random)!,
        level: Bool.random(using: &random) ? nil : Level.allCases.randomElement(using: &random),
        kinds: Kind.allCases.filter { _ in Bool.random(using: &random) },
        ranks: Set(Rank.allCases.filter { _ in Bool.random(using: &random) }),
        box: Box(
          kind: Kind.allCases.randomElement(using: &random)!,
          rank: Bool.random(using: &random) ? nil : Rank.allCases.randomElement(using: &random)),
        number: Int.random(in: 0..<5, using: &random))
    }
  }

  private static func filters<Layout: EnumLayout>(
    _: Layout.Type
  ) -> [(Query<Item<Layout>>, @Sendable (Item<Layout>) -> Bool)] {
    typealias R = Item<Layout>
    return [
      (R.where { $0.kind == .beta }, { $0.kind == .beta }),
      (R.where { $0.kind != .beta }, { $0.kind != .beta }),
      (R.where { $0.kind > .alpha }, { $0.kind > .alpha }),
      (R.where { ($0.kind <= .gamma) }, { $0.kind <= .gamma }),
      (R.where { [.alpha, .gamma].contains($0.kind) }, { [.alpha, .gamma].contains($0.kind) }),
      (R.where { (Rank.low ... .middle).contains($0.rank) }, { $0.rank <= .middle }),
      (R.where { $0.rank > .low && $0.kind == .alpha }, { $0.rank > .low && $0.kind == .alpha }),
      (R.where { $0.maybe == nil }, { $0.maybe == nil }),
      (R.where { $0.maybe == .gamma }, { $0.maybe == .gamma }),
      (R.where { $0.maybe != .gamma }, { $0.maybe != .gamma }),
      (R.where { $0.maybe > .gamma }, { $0.maybe.map { $0 > .gamma } ?? false }),
      (R.where { $0.maybe == $0.kind }, { $0.maybe == $0.kind }),
      (R.where { $0.level == .last }, { $0.level == .last }),
      (R.where { $0.kinds.contains(.beta) }, { $0.kinds.contains(.beta) }),
      (
        R.where { $0.kinds.containsAny(of: [.alpha, .beta]) },
        { item in item.kinds.contains { [.alpha, .beta].contains($0) } }
      ),
      (R.where { $0.ranks.contains(.high) }, { $0.ranks.contains(.high) }),
      (R.where { $0.box.kind == .gamma }, { $0.box.kind == .gamma }),
      (R.where { $0.box.rank == .low }, { $0.box.rank == .low }),
      (
        R.where { !($0.kind == .alpha || $0.rank == .high) },
        { !($0.kind == .alpha || $0.rank == .high) }
      ),
    ]
  }

  private static func check<Layout: EnumLayout>(_ layout: Layout.Type, _ seed: UInt64) throws {
    typealias R = Item<Layout>
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: R.self)
    try store.write { tx throws in
      for item in items(layout, 120, &random) {
        var item = item
        try tx.insert(&item)
      }
    }
    let all = try store.fetch(R.all)
    for (place, (query, closure)) in filters(layout).enumerated() {
      let wanted = all.filter(closure)
      Decodings.count.withLock { $0 = 0 }
      let count = try store.count(query)
      let ids = try store.ids(query)
      #expect(Decodings.count.withLock { $0 } == 0, "\(layout.name) \(place) decodes")
      #expect(count == wanted.count, "\(layout.name) \(place)")
      #expect(ids == wanted.map(\.id), "\(layout.name) \(place)")
      #expect(try store.fetch(query).map(\.id) == wanted.map(\.id), "\(layout.name) \(place)")
      let byKind = try store.fetch(query.sorted(by: \.kind, .descending).then(by: \.rank))
      let inOrder = wanted.sorted {
        ($1.kind, $0.rank, $0.id.rawValue) < ($0.kind, $1.rank, $1.id.rawValue)
      }
      #expect(byKind.map(\.id) == inOrder.map(\.id), "\(layout.name) \(place)")
      let counts = try store.counts(by: \.maybe, of: query)
      let groups = Dictionary(grouping: wanted, by: \.maybe).mapValues(\.count)
      #expect(Dictionary(uniqueKeysWithValues: counts.map { ($0.value, $0.count) }) == groups)
      #expect(try store.min(\.rank, of: query) == wanted.map(\.rank).min())
      #expect(try store.max(\.maybe, of: query) == wanted.compactMap(\.maybe).max())
      let values = try store.fetch(query.select(\.kind, \.level))
      #expect(values.map(\.0) == wanted.map(\.kind) && values.map(\.1) == wanted.map(\.level))
      let kinds = try store.fetch(query.select(\.box.kind).distinct()).map { $0 }
      #expect(Set(kinds) == Set(wanted.map(\.box.kind)) && kinds.count == Set(kinds).count)
    }
    #expect(try store.verify().isClean)
  }

  @Test("Every filter, order and aggregate agrees with Swift and decodes nothing", arguments: 1...4)
  func oracle(seed: UInt64) throws {
    try Decodings.$count.withValue(Locked(0)) {
      try RawEnumTests.check(Bare.self, seed)
      try RawEnumTests.check(Single.self, seed)
      try RawEnumTests.check(Second.self, seed)
    }
  }

  @Test("Finding one of 101 records decodes one")
  func decodings() throws {
    let store = try Store.temporary(for: Item<Bare>.self)
    try store.write { tx throws in
      for number in 0...100 {
        var item = Item<Bare>(
          kind: number == 77 ? .gamma : .alpha, rank: .low, kinds: [],
          ranks: [], box: Box(kind: .alpha), number: number)
        try tx.insert(&item)
      }
    }
    let count = Locked(0)
    let found = try Decodings.$count.withValue(count) {
      try store.fetch(Item<Bare>.where { $0.kind == .gamma })
    }
    #expect(found.map(\.number) == [77])
    #expect(count.withLock { $0 } == 1)
  }

  @Test("Counts go through the index at 3 matches and at 300", arguments: [3, 300])
  func counting(matches: Int) throws {
    let store = try Store.temporary(for: Item<Single>.self)
    try store.write { tx throws in
      for number in 0..<400 {
        var item = Item<Single>(
          kind: number < matches ? .gamma : .alpha, rank: .low, kinds: [], ranks: [],
          box: Box(kind: .alpha), number: number)
        try tx.insert(&item)
      }
    }
    let query = Item<Single>.where { $0.kind == .gamma }
    #expect(try store.count(query) == matches)
    let text = try store.explain(query, counting: true, running: true)
    #expect(text.hasPrefix("index kind [\"Gamma\"]"), "\(text)")
    #expect(text.hasSuffix("examined 1 index entry, 0 records; returned 0"), "\(text)")
    let counts = try store.counts(by: \Item<Single>.kind)
    #expect(counts.map(\.count) == [matches, 400 - matches])
    #expect(counts.map(\.value) == [.gamma, .alpha])
  }
}
