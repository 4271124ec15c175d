import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Records are joined by fields of any type")
struct JoinFieldTests {
  enum Rank: Int, Codable, IndexKey { case low, high }

  struct Money: Codable, IndexKey, Equatable {
    var cents: Int64
    var indexValue: Int64 { cents }
  }

  struct Version: Codable, IndexKey, Equatable {
    var major: Int
    var name: String
    var indexValue: CompositeKey<Int, String> { CompositeKey(major, name) }
  }

  /// A value that is not nil, although parts of it may be.
  struct Span: Codable, IndexKey, Equatable {
    var name: String?
    var length: Double?
    var indexValue: CompositeKey<String?, Double?> { CompositeKey(name, length) }
  }

  struct Place: Codable, Equatable {
    var town: String
    var zone: Int8?
  }

  struct Values: Codable {
    var flag: Bool
    var rank: Rank?
    var price: Money
    var version: Version?
    var span: Span?
    var day: Date
    var mark: UUID
    var bytes: Data?
    var link: URL
    var small: Int8
    var ratio: Float?
    var place: Place?
    var words: [String]?
    var marks: Set<UUID>
    var wide: UInt64

    init(_ random: inout SeededGenerator) {
      func pick<T>(_ list: [T]) -> T { list[Int.random(in: list.indices, using: &random)] }
      let texts = ["", "a", "e\u{301}", "\u{E9}", JoinSamples.long, JoinSamples.long + "1"]
      flag = pick([true, false])
      rank = pick([nil, .low, .high])
      price = Money(cents: pick([.min, -1, 0, .max]))
      version = pick([nil, Version(major: 1, name: pick(texts)), Version(major: 2, name: "x")])
      span = pick([
        nil, Span(name: nil, length: nil), Span(name: nil, length: pick([0, .nan])),
        Span(name: pick(texts), length: pick([nil, -0.0, .nan])),
      ])
      day = Date(timeIntervalSinceReferenceDate: pick([-0.0, 0, .nan, 1e9, -1e9]))
      mark = UUID(uuid: (pick([0, 1]), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, pick([0, 255])))
      bytes = pick([nil, Data(), Data([0]), Data([0, 0]), Data(repeating: 0, count: 200)])
      link =
        pick(texts).isEmpty
        ? URL(filePath: "/a") : URL(filePath: pick(["/a", "/b", "/" + JoinSamples.long]))
      small = pick([.min, -1, 0, .max])
      ratio = pick([nil, -0.0, 0, .nan, .infinity])
      place = pick([
        nil, Place(town: pick(texts), zone: nil), Place(town: pick(texts), zone: pick([1, 2])),
      ])
      words = pick([nil, [], [pick(texts)], [pick(texts), pick(texts)]])
      marks = pick([
        [], [mark], [mark, UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))],
      ])
      wide = pick([0, 1, .max])
    }
  }

  protocol Thing: Record where ID == Int {
    init(id: Int, _ values: Values)
    var values: Values { get }
  }

  struct PlainThing: Thing {
    var id: Int
    var values: Values
    init(id: Int, _ values: Values) {
      self.id = id
      self.values = values
    }
  }

  struct IndexedThing: Thing {
    var id: Int
    var values: Values
    init(id: Int, _ values: Values) {
      self.id = id
      self.values = values
    }

    static let schema = Schema<IndexedThing> {
      Index(\.values.flag)
      Index(\.values.rank, \.values.flag)
      Index(\.values.price)
      Index(\.values.version)
      Index(\.values.version, \.values.rank)
      Index(\.values.span)
      Index(\.values.day)
      Index(\.values.mark)
      Index(\.values.bytes)
      Index(\.values.bytes, \.values.words)
      Index(\.values.link, \.values.small)
      Index(\.values.small)
      Index(\.values.ratio)
      Index(\.values.words)
      Index(\.values.marks, \.values.flag)
      Index(\.values.wide)
    }
  }

  private struct Case<T: Thing> {
    var name: String
    var field: TypedField<T>
    /// Whether two values are equal, and not nil.
    var areEqual: (Values, Values) -> Bool
  }

  private static func value<T: Thing, V: IndexKey & Equatable>(
    _ name: String, _ path: any KeyPath<T, V> & Sendable,
    _ member: any KeyPath<Values, V> & Sendable
  ) -> Case<T> {
    Case(name: name, field: .joining(path)) { $0[keyPath: member] == $1[keyPath: member] }
  }

  private static func optional<T: Thing, V: IndexKey & Equatable>(
    _ name: String, _ path: any KeyPath<T, V?> & Sendable,
    _ member: any KeyPath<Values, V?> & Sendable
  ) -> Case<T> {
    Case(name: name, field: .joining(path)) {
      $0[keyPath: member] != nil && $0[keyPath: member] == $1[keyPath: member]
    }
  }

  private static var plainCases: [Case<PlainThing>] {
    [
      value("flag", \.values.flag, \.flag), optional("rank", \.values.rank, \.rank),
      value("price", \.values.price, \.price), optional("version", \.values.version, \.version),
      optional("span", \.values.span, \.span),
      value("day", \.values.day, \.day), value("mark", \.values.mark, \.mark),
      optional("bytes", \.values.bytes, \.bytes), value("link", \.values.link, \.link),
      value("small", \.values.small, \.small), optional("ratio", \.values.ratio, \.ratio),
      optional("town", \.values.place?.town, \.place?.town),
      optional("zone", \.values.place?.zone, \.place?.zone),
      value("wide", \.values.wide, \.wide),
      Case(name: "words", field: .joining(\.values.words)) { left, right in
        left.words?.contains { right.words?.contains($0) ?? false } ?? false
      },
      Case(name: "marks", field: .joining(\.values.marks)) { !$0.marks.isDisjoint(with: $1.marks) },
    ]
  }

  private static var indexedCases: [Case<IndexedThing>] {
    [
      value("flag", \.values.flag, \.flag), optional("rank", \.values.rank, \.rank),
      value("price", \.values.price, \.price), optional("version", \.values.version, \.version),
      optional("span", \.values.span, \.span),
      value("day", \.values.day, \.day), value("mark", \.values.mark, \.mark),
      optional("bytes", \.values.bytes, \.bytes), value("link", \.values.link, \.link),
      value("small", \.values.small, \.small), optional("ratio", \.values.ratio, \.ratio),
      value("wide", \.values.wide, \.wide),
      Case(name: "words", field: .joining(\.values.words)) { left, right in
        left.words?.contains { right.words?.contains($0) ?? false } ?? false
      },
      Case(name: "marks", field: .joining(\.values.marks)) { !$0.marks.isDisjoint(with: $1.marks) },
    ]
  }

  private static func check<T: Thing>(
    _ cases: [Case<T>], _ store: Store, seed: UInt64, isIndexed: Bool
  ) throws {
    var random = SeededGenerator(seed: seed)
    try store.write { tx in
      for number in 0..<30 {
        var thing = T(id: number - 15, Values(&random))
        try tx.save(&thing)
      }
    }
    let things = try store.fetch(T.all)
    for one in cases {
      let join = Join(T.all, T.all, on: one.field, equals: one.field, .full)
      let text = try store.explain(
        Join(T.all, T.all, on: one.field, equals: one.field, .inner))
      #expect(text.contains("by index") == isIndexed, "\(one.name)")
      var expected: [[Int?]] = []
      var found: Set<Int> = []
      for left in things {
        let partners = things.filter { one.areEqual(left.values, $0.values) }
        found.formUnion(partners.map(\.id))
        expected += partners.map { [left.id, $0.id] }
        if partners.isEmpty { expected.append([left.id, nil]) }
      }
      for right in things where !found.contains(right.id) { expected.append([nil, right.id]) }
      #expect(
        try store.fetch(join).map { [$0.0?.id, $0.1?.id] } == expected,
        "seed \(seed), \(one.name)")
      let pairs = Join(T.all, T.all, on: one.field, equals: one.field, .inner)
      #expect(
        try store.fetch(pairs).map { [$0.0.id, $0.1.id] }
          == expected.filter { $0[0] != nil && $0[1] != nil }, "seed \(seed), \(one.name)")
    }
  }

  @Test("With indexes and without", arguments: 0..<4)
  func everyType(number: UInt64) throws {
    var options = Store.Options()
    options.checksQueries = true
    let store = try Store.temporary(
      for: PlainThing.self, IndexedThing.self, options: options)
    try Self.check(Self.plainCases, store, seed: 9_000 + number, isIndexed: false)
    try Self.check(Self.indexedCases, store, seed: 9_000 + number, isIndexed: true)
  }

  struct Owner: Record {
    var id: String
    var narrowID: Int16
    var town: String
    var upper: String { town.uppercased() }

    enum CodingKeys: CodingKey { case id, narrowID, town }

    static let schema = Schema<Owner> {
      Index(\.town, options: .caseInsensitive)
      Index(\.narrowID, where: { $0.narrowID > 0 })
    }
  }

  struct Ward: Record {
    var id: Int16
    var ownerID: String?
    var town: String
  }

  @Test("Ids of any kind find their records, also long strings and narrow numbers")
  func ids() throws {
    var options = Store.Options()
    options.checksQueries = true
    let store = try Store.temporary(for: Owner.self, Ward.self, options: options)
    let texts = [
      "a", "e\u{301}", String(repeating: "x", count: 127), String(repeating: "x", count: 128),
      String(repeating: "x", count: 128) + "e\u{301}", String(repeating: "x", count: 499),
    ]
    try store.write { tx in
      for (number, text) in texts.enumerated() {
        var owner = Owner(id: text, narrowID: Int16(number) - 3, town: "Rome")
        try tx.save(&owner)
        var ward = Ward(
          id: Int16(number) - 3, ownerID: text.precomposedStringWithCanonicalMapping,
          town: "ROME")
        try tx.save(&ward)
      }
      // No record can have this id.
      var ward = Ward(id: 100, ownerID: String(repeating: "y", count: 2_000), town: "")
      try tx.save(&ward)
      var alone = Ward(id: 101, ownerID: nil, town: "rome")
      try tx.save(&alone)
    }
    let byText = Ward.all.joined(with: Owner.all, on: \.ownerID, kind: .left)
    #expect(try store.explain(byText).contains("by id"))
    let rows = try store.fetch(byText)
    #expect(rows.count == 8)
    #expect(rows.prefix(6).allSatisfy { $0.1?.id == $0.0.ownerID })
    #expect(rows.suffix(2).allSatisfy { $0.1 == nil })
    let byNumber = Owner.all.joined(with: Ward.all, on: \.narrowID)
    #expect(try store.explain(byNumber).contains("by id"))
    #expect(try store.fetch(byNumber).allSatisfy { $0.0.narrowID == $0.1.id })
    #expect(try store.count(byNumber) == 6)
    // Neither an index that ignores case nor one over a part of the records can answer.
    let byTown = Ward.all.joined(with: Owner.all, on: \.town, equals: \.town)
    #expect(try store.count(byTown) == 0)
    let bySome = Ward.all.joined(with: Owner.all, on: \.id, equals: \.narrowID)
    #expect(try store.count(bySome) == 6)
    let computed = Ward.all.joined(with: Owner.all, on: \.town, equals: \.upper)
    #expect(try store.count(computed) == 36)
  }
}
