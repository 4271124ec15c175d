import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What one can write in a schema by mistake; each is refused before a file is touched.
private enum Wrong {
  struct TwoOfOneName: Record {
    var id = RecordID<Self>()
    var city = ""
    static let schema = Schema<Self> {
      Index(\.city)
      Unique(\.city)
    }
  }
  struct TwoGivenNames: Record {
    var id = RecordID<Self>()
    var city = ""
    var age = 0
    static let schema = Schema<Self> {
      Index(\.city, name: "x")
      Index(\.age, name: "x")
    }
  }
  struct ComputedWithoutName: Record {
    var id = RecordID<Self>()
    var city = ""
    var initial: String { String(city.prefix(1)) }
    static let schema = Schema<Self> { Index(\.initial) }
  }
  struct EmptyIndexName: Record {
    var id = RecordID<Self>()
    var age = 0
    static let schema = Schema<Self> { Index(\.age, name: "") }
  }
  struct LineInIndexName: Record {
    var id = RecordID<Self>()
    var age = 0
    static let schema = Schema<Self> { Index(\.age, name: "a\nb") }
  }
  struct EmptyCollectionName: Record {
    var id = RecordID<Self>()
    static let collectionName = ""
  }
  struct LongCollectionName: Record {
    var id = RecordID<Self>()
    static let collectionName = String(repeating: "n", count: 65)
  }
  struct PathAsCollectionName: Record {
    var id = RecordID<Self>()
    static let collectionName = "../etc"
  }
  struct ComputedDefault: Record {
    var id = RecordID<Self>()
    var age = 0
    var half: Int { age / 2 }
    static let schema = Schema<Self> { Default(\.half, 1) }
  }
  struct NestedDefault: Record {
    struct Inner: Codable, Sendable { var age = 0 }
    var id = RecordID<Self>()
    var inner = Inner()
    static let schema = Schema<Self> { Default(\.inner.age, 1) }
  }
  struct TwoDefaults: Record {
    var id = RecordID<Self>()
    var age = 0
    static let schema = Schema<Self> {
      Default(\.age, 1)
      Default(\.age, 2)
    }
  }
  struct TooMany: Record {
    var id = RecordID<Self>()
    var age = 0
    static let schema = Schema<Self> {
      for number in 0..<65 { Index(\.age, name: "age\(number)") }
    }
  }
  struct UnencodableDefault: Record {
    struct Refuses: Codable, Sendable {
      func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    }
    var id = RecordID<Self>()
    var value = Refuses()
    static let schema = Schema<Self> { Default(\.value, Refuses()) }
  }
}

/// Everything that may stand in a schema, on one type.
private struct Everything: Record, Equatable {
  struct Inner: Codable, Sendable, Equatable {
    struct Deep: Codable, Sendable, Equatable { var code = 0 }
    var city = ""
    var deep = Deep()
    var maybe: Deep?
  }
  struct Money: Codable, Sendable, Equatable, IndexKey {
    var cents: Int64
    var indexValue: Int64 { cents }
  }
  struct Version: Codable, Sendable, Equatable, IndexKey {
    var major = 0
    var minor = 0
    var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
  }
  enum Rank: Int, Codable, IndexKey { case low = 1, high = 9 }
  enum CodingKeys: String, CodingKey {
    case id, city, age, tags, notes, numbers, inner, optionalInner, price, version, rank, isActive
    case renamed = "stored_under_another_name"
  }

  var id = RecordID<Everything>()
  var city = ""
  var age: Int?
  var tags: [String] = []
  var notes: [String]?
  var numbers: Set<Int16> = []
  var inner = Inner()
  var optionalInner: Inner?
  var price = Money(cents: 0)
  var version = Version()
  var rank = Rank.low
  var isActive = true
  var renamed = ""
  var initial: String { String(city.prefix(1)) }

  static let schema = Schema<Everything> {
    Index(\.city, \.age)
    Index(\.age)
    Index(\.tags)
    Index(\.notes)
    Index(\.numbers)
    Index(\.inner.city)
    Index(\.inner.deep.code)
    Index(\.optionalInner?.city)
    Index(\.inner.maybe?.code)
    Index(\.city, options: .caseInsensitive, name: "cityFolded")
    Index(\.price)
    Index(\.version)
    Index(\.rank)
    Index(\.initial, name: "initial")
    Index(\.age, name: "active", where: { $0.isActive })
    Index(\.tags, \.numbers, name: "product")
    Index(\.renamed)
  }
}

@Suite("Declarations")
struct DeclarationTests {
  @Test(
    "A wrong declaration is refused with the collection and a sentence that says what to change",
    arguments: [
      (Wrong.TwoOfOneName.self, "name:"), (Wrong.TwoGivenNames.self, "name:"),
      (Wrong.ComputedWithoutName.self, "needs a name"),
      (Wrong.EmptyIndexName.self, "name"), (Wrong.LineInIndexName.self, "name"),
      (Wrong.EmptyCollectionName.self, "collectionName"),
      (Wrong.LongCollectionName.self, "collectionName"),
      (Wrong.PathAsCollectionName.self, "collectionName"),
      (Wrong.ComputedDefault.self, "stored property"),
      (Wrong.NestedDefault.self, "stored property"), (Wrong.TwoDefaults.self, "remove one"),
      (Wrong.TooMany.self, "64"), (Wrong.UnencodableDefault.self, "default"),
    ] as [(any Record.Type, String)])
  func wrong(type: any Record.Type, hint: String) throws {
    try withScratchPath { path throws in
      let error = caught {
        try Store(path: path, types: [type], options: .quick, isTemporary: false).close()
      }
      #expect(error?.code == .invalidSchema, "\(type): \(String(describing: error))")
      #expect(error?.message.contains(hint) == true, "\(type): \(error?.message ?? "")")
      #expect(error?.context.collection == type.collectionName)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("Two types of one collection name are refused, one type named twice is not")
  func sameCollection() throws {
    struct Other: Record {
      var id = RecordID<Other>()
      static let collectionName = "Company"
    }
    let error = caught { _ = try Store.temporary(for: Company.self, Other.self) }
    #expect(error?.code == .invalidSchema)
    #expect(error?.context.collection == "Company")
    _ = try Store.temporary(for: Company.self, Company.self)
  }

  @Test("Every kind of index has exactly the entries that its declaration asks for")
  func entries() throws {
    let store = try Store.temporary(for: Everything.self)
    typealias Inner = Everything.Inner
    try store.saveAll([
      Everything(
        city: "Oslo", age: 3, tags: ["b", "a", "b"], notes: nil, numbers: [-1, 2],
        inner: Inner(city: "x", deep: .init(code: -7), maybe: nil), optionalInner: nil,
        price: .init(cents: 250), version: .init(major: 1, minor: -2), rank: .high,
        isActive: false, renamed: "r"),
      Everything(
        city: "LONDON", age: nil, tags: [], notes: ["n"], numbers: [],
        inner: Inner(city: "", deep: .init(code: 9), maybe: .init(code: 4)),
        optionalInner: Inner(city: "y"), price: .init(cents: -1), version: .init(),
        rank: .low, isActive: true, renamed: ""),
    ])
    let expected: [String: [String]] = [
      "city_age": ["[\"LONDON\", nil] -> 2", "[\"Oslo\", 3] -> 1"],
      "age": ["[nil] -> 2", "[3] -> 1"],
      "tags": ["[\"a\"] -> 1", "[\"b\"] -> 1"],
      "notes": ["[\"n\"] -> 2"],
      "numbers": ["[-1] -> 1", "[2] -> 1"],
      "inner.city": ["[\"\"] -> 2", "[\"x\"] -> 1"],
      "inner.deep.code": ["[-7] -> 1", "[9] -> 2"],
      "optionalInner.city": ["[nil] -> 1", "[\"y\"] -> 2"],
      "inner.maybe.code": ["[nil] -> 1", "[4] -> 2"],
      "cityFolded": ["[\"london\"] -> 2", "[\"oslo\"] -> 1"],
      "price": ["[-1] -> 2", "[250] -> 1"],
      "version": ["[0, 0] -> 2", "[1, -2] -> 1"],
      "rank": ["[1] -> 2", "[9] -> 1"],
      "initial": ["[\"L\"] -> 2", "[\"O\"] -> 1"],
      "active": ["[nil] -> 2"],
      "product": [
        "[\"a\", -1] -> 1", "[\"a\", 2] -> 1", "[\"b\", -1] -> 1", "[\"b\", 2] -> 1",
      ],
      "renamed": ["[\"\"] -> 2", "[\"r\"] -> 1"],
    ]
    for (index, lines) in expected { #expect(try store.entries(index) == lines, "\(index)") }
    #expect(try store.verify().isClean)
    let before = try store.dump()
    try store.rebuild()
    #expect(try store.dump() == before)
  }

  @Test("A type that stores an indexed property as something else is refused, and works by name")
  func fieldMismatch() throws {
    struct Upper: Record {
      var id = RecordID<Upper>()
      var word: String
      enum CodingKeys: CodingKey { case id, word }
      init(word: String) { self.word = word }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(RecordID<Upper>.self, forKey: .id)
        word = try container.decode(String.self, forKey: .word).lowercased()
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(word.uppercased(), forKey: .word)
      }
      static let schema = Schema<Upper> { Index(\.word) }
    }
    let store = try Store.temporary(for: Upper.self)
    let error = caught { try store.saveAll([Upper(word: "abc")]) }
    #expect(error?.code == .fieldMismatch)
    #expect(error?.context.index == "word")
    #expect(error?.message.contains("name:") == true)
    #expect(try store.dump() == "collection Upper: 0 records\n  index word: 0 entries\n")

    struct Named: Record {
      var id = RecordID<Named>()
      var word: String
      enum CodingKeys: CodingKey { case id, word }
      init(word: String) { self.word = word }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(RecordID<Named>.self, forKey: .id)
        word = try container.decode(String.self, forKey: .word).lowercased()
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(word.uppercased(), forKey: .word)
      }
      static let schema = Schema<Named> { Index(\.word, name: "word") }
    }
    let named = try Store.temporary(for: Named.self)
    try named.saveAll([Named(word: "abc")])
    #expect(try named.entries("word") == ["[\"abc\"] -> 1"])
    #expect(try named.verify().isClean)
  }
}
