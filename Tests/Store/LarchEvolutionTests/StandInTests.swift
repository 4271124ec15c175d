import LarchTestSupport
import Testing

@testable import Larch

/// Defaults that stand in for nil, and records that are written as maps.
@Suite struct StandInTests {
  struct Place: Codable, Equatable {
    var city: String?
    var zip: Int
  }
  struct Old: Record {
    static let collectionName = "Thing"
    var id: Int
    var size: Int?
    var name: String?
    var tags: [String]?
    var place: Place?
    var isOpen: Bool?
    var score: Double?
  }
  struct New: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<New> {
      Default(\.size, 7)
      Default(\.name, "none")
      Default(\.tags, ["new"])
      Default(\.place, Place(city: "Bern", zip: 3))
      Default(\.isOpen, true)
      Default(\.score, 0.5)
      Index(\.size)
      Index(\.name)
      Index(\.tags)
      Index(\.place.city)
      Index(\.isOpen, \.score)
    }
    var id: Int
    var size: Int
    var name: String
    var tags: [String]
    var place: Place
    var isOpen: Bool
    var score: Double
  }
  /// The same without indexes.
  struct Scanned: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<Scanned> {
      Default(\.size, 7)
      Default(\.tags, ["new"])
      Default(\.place, Place(city: "Bern", zip: 3))
    }
    var id: Int
    var size: Int
    var tags: [String]
    var place: Place
    var score: Double?
  }

  struct Roomy: Record, Equatable {
    static let schema = Schema<Roomy> {
      Default(\.place, Place(city: "Bern", zip: 3))
      Default(\.tags, ["new"])
      Default(\.table, ["a": 1])
      Default(\.name, "none")
    }
    var id: Int
    var place: Place?
    var tags: [String]?
    var table: [String: Int]?
    var name: String?
  }
  struct FastRoomy: Record, Equatable, MemberwiseCoded {
    static let schema = Schema<FastRoomy> {
      Default(\.place, Place(city: "Bern", zip: 3))
      Default(\.tags, ["new"])
    }
    var id: Int
    var place: Place?
    var tags: [String]?
  }

  /// The kind of a nested value is unknown while it is nil, so the field was not in the shape of
  /// the first records. They were read like records that are older than the field: nil became the
  /// default.
  @Test("A nil is nil, even in the first record of a type with a default that is not nil")
  func savedNil() throws {
    try Store.scratch(Roomy.self, FastRoomy.self) { store throws in
      let none = Roomy(id: 1, place: nil, tags: nil, table: nil, name: nil)
      let some = Roomy(
        id: 2, place: Place(city: nil, zip: 1), tags: [], table: [:], name: "x")
      let fast = [
        FastRoomy(id: 1, place: nil, tags: nil),
        FastRoomy(id: 2, place: Place(city: "x", zip: 2), tags: ["y"]),
      ]
      for (record, other) in zip([none, some], fast) {
        try store.write { tx in
          var record = record
          var other = other
          try tx.insert(&record)
          try tx.insert(&other)
        }
        #expect(try store.find(Roomy.self, record.id) == record)
        #expect(try store.find(FastRoomy.self, other.id) == other)
      }
      #expect(try store.fetch(Roomy.all) == [none, some])
      #expect(try store.fetch(FastRoomy.all) == fast)
    }
  }

  private func file() throws -> EvolutionFile {
    let file = try EvolutionFile()
    try file.save(
      Old(id: 1),
      Old(
        id: 2, size: 1, name: "b", tags: ["old"], place: Place(city: nil, zip: 1), isOpen: false,
        score: 2),
      Old(id: 3, size: 7, name: "c", tags: [], place: Place(city: "Roma", zip: 2)))
    return file
  }

  @Test func `A default replaces the nil of an older record`() throws {
    let file = try file()
    var options = Store.Options.quick
    options.checksQueries = true
    try file.open(New.self, options: options) { store throws in
      let all = try store.all(New.self)
      #expect(
        all == [
          New(
            id: 1, size: 7, name: "none", tags: ["new"], place: Place(city: "Bern", zip: 3),
            isOpen: true, score: 0.5),
          New(
            id: 2, size: 1, name: "b", tags: ["old"], place: Place(city: nil, zip: 1),
            isOpen: false, score: 2),
          New(
            id: 3, size: 7, name: "c", tags: [], place: Place(city: "Roma", zip: 2), isOpen: true,
            score: 0.5),
        ])
      func ids(_ query: Query<New>) throws -> [Int] {
        try store.read { tx throws in try tx.fetch(query).map(\.id) }
      }
      #expect(try ids(New.where { $0.size == 7 }) == [1, 3])
      #expect(try ids(New.where { $0.name == "none" }) == [1])
      #expect(try ids(New.where { $0.tags.contains("new") }) == [1])
      #expect(try ids(New.where { $0.place.city == "Bern" }) == [1])
      #expect(try ids(New.where { $0.place.city == nil }) == [2])
      #expect(try ids(New.where { $0.isOpen == true && $0.score < 1 }) == [1, 3])
      #expect(try ids(New.all.sorted(by: \.name)) == [2, 3, 1])
      #expect(try ids(New.all.sorted(by: \.score)) == [1, 3, 2])
      try store.expectSound()
    }
    try file.open(Scanned.self, options: options) { store throws in
      func ids(_ query: Query<Scanned>) throws -> [Int] {
        try store.read { tx throws in try tx.fetch(query).map(\.id) }
      }
      #expect(try ids(Scanned.where { $0.size == 7 }) == [1, 3])
      #expect(try ids(Scanned.where { $0.size < 7 }) == [2])
      #expect(try ids(Scanned.where { $0.tags.contains("new") }) == [1])
      #expect(try ids(Scanned.where { $0.place.city == "Bern" }) == [1])
      #expect(try ids(Scanned.where { $0.place.city == nil }) == [2])
      #expect(try ids(Scanned.where { $0.place.zip > 1 }) == [1, 3])
      #expect(try ids(Scanned.where { $0.score == nil }) == [1, 3])
      #expect(try ids(Scanned.all.sorted(by: \.size)) == [2, 1, 3])
      #expect(try store.read { tx throws in try tx.sum(\Scanned.size) } == 15)
      let cities = try store.read { tx throws in
        try tx.fetch(Scanned.all.select(\.place.city))
      }
      #expect(cities == ["Bern", nil, "Roma"])
    }
  }

  struct Renamed: Codable, Equatable {
    var id: Int
    var label: String?
    var size: Int
    var more: Int
  }

  @Test func `A record that is a map has its older names and defaults too`() throws {
    let writer = RecordCoder(shapes: ShapeTable(), writesMaps: true)
    let bytes = Array(try writer.encode(Old(id: 1, name: "x")))
    var aliases = FieldAliases()
    aliases.add("title", to: "label", of: ObjectIdentifier(Renamed.self))
    aliases.add("name", to: "label", of: ObjectIdentifier(Renamed.self))
    let reader = RecordCoder(shapes: ShapeTable())
    reader.setAliases(aliases)
    try reader.setDefaults(for: Renamed.self, ["size": 4, "more": 5])
    let reading = try #require(
      FieldReading(Renamed.self, aliases: aliases, defaults: ["size", "more"]))
    let path = try #require(reading.path(["label"]))
    let size = try #require(reading.path(["size"]))
    #expect(reading.path(["id"]) == nil)
    try bytes.withUnsafeBytes { bytes in
      let value = try reader.decode(Renamed.self, from: bytes)
      #expect(value == Renamed(id: 1, label: "x", size: 4, more: 5))
      guard case .value(.string, let text) = try path.read(in: bytes, shapes: reader.shapes) else {
        Issue.record("no text")
        return
      }
      #expect(Array(text) == [0x78])
      guard case .missing = try size.read(in: bytes, shapes: reader.shapes) else {
        Issue.record("only decoding knows the default")
        return
      }
    }
  }
}
