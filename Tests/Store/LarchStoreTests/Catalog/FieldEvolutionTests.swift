import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// One collection with the type of several versions of a program.
private enum V {
  struct Old: Record, Equatable {
    var id = RecordID<Int>()
    var name: String
    var size: Int32
    var extra = "x"
    static let collectionName = "Item"
    static let schema = Schema<Self> { Index(\.name) }
  }
  struct Optionals: Record, Equatable {
    var id = RecordID<Int>()
    var name: String?
    var added: Int?
    var list: [String]?
    static let collectionName = "Item"
    static let schema = Schema<Self> {
      Index(\.name)
      Index(\.added)
      Index(\.list)
      Index(\.added, \.name, name: "both")
    }
  }
  struct Defaults: Record, Equatable {
    enum Rank: String, Codable, IndexKey { case low, high }
    struct Place: Codable, Equatable, Sendable {
      var city: String
      var code: Int
    }
    // Another order than before, and without `extra`.
    var size: Int64
    var rank: Rank
    var note: String?
    var tags: [String]
    var place: Place
    var name: String
    var id = RecordID<Int>()
    static let collectionName = "Item"
    static let schema = Schema<Self> {
      Index(\.rank)
      Index(\.tags)
      Index(\.place.city)
      Index(\.note)
      Index(\.size)
      Index(\.rank, name: "small", where: { $0.size < 2 })
      Unique(\.name, \.rank)
      Default(\.rank, .high)
      Default(\.note, "none yet")
      Default(\.tags, ["new", "old"])
      Default(\.place, Place(city: "Oslo", code: 7))
    }
  }
  struct OtherDefault: Record, Equatable {
    var id = RecordID<Int>()
    var name: String
    var rank: Defaults.Rank
    static let collectionName = "Item"
    static let schema = Schema<Self> {
      Index(\.rank)
      Default(\.rank, .low)
    }
  }
  struct Required: Record, Equatable {
    var id = RecordID<Int>()
    var name: String
    var missing: Int
    static let collectionName = "Item"
  }
  struct RequiredIndexed: Record, Equatable {
    var id = RecordID<Int>()
    var name: String
    var missing: Int
    static let collectionName = "Item"
    static let schema = Schema<Self> { Index(\.missing) }
  }
  struct Narrow: Record, Equatable {
    var id = RecordID<Int>()
    var name: String
    var size: Int8
    static let collectionName = "Item"
    static let schema = Schema<Self> { Index(\.name) }
  }
  struct OtherKind: Record, Equatable {
    var id = RecordID<Int>()
    var name: Int
    static let collectionName = "Item"
  }
}

@Suite("Fields that change between versions")
struct FieldEvolutionTests {
  /// A file with records of `V.Old`.
  private func old(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, V.Old.self) {
        try $0.saveAll([V.Old(name: "a", size: 1), V.Old(name: "b", size: 70_000)])
      }
      try body(path)
    }
  }

  @Test("Added optionals are nil in old records and in indexes, and can be updated")
  func optionals() throws {
    try old { path throws in
      try Store.using(path, V.Optionals.self) { store throws in
        #expect(
          try store.everything(V.Optionals.self)
            == [V.Optionals(id: 1, name: "a"), V.Optionals(id: 2, name: "b")])
        #expect(try store.entries("added") == ["[nil] -> 1", "[nil] -> 2"])
        #expect(try store.entries("list") == [])
        #expect(try store.entries("both") == ["[nil, \"a\"] -> 1", "[nil, \"b\"] -> 2"])
        #expect(try store.verify().isClean)
        try store.saveAll([V.Optionals(id: 1, name: nil, added: 5, list: ["l"])])
        try store.saveAll([V.Optionals(id: 0, name: "c", added: 4)])
        #expect(try store.entries("added") == ["[nil] -> 2", "[4] -> 3", "[5] -> 1"])
        #expect(try store.entries("name") == ["[nil] -> 1", "[\"b\"] -> 2", "[\"c\"] -> 3"])
        #expect(try store.entries("list") == ["[\"l\"] -> 1"])
        #expect(try store.verify().isClean)
        let before = try store.dump()
        try store.rebuild()
        #expect(try store.dump() == before)
      }
    }
  }

  @Test("A declared default replaces a field that old records do not have, for indexes too")
  func defaults() throws {
    try old { path throws in
      try Store.using(path, V.Defaults.self) { store throws in
        let place = V.Defaults.Place(city: "Oslo", code: 7)
        let expected = [
          V.Defaults(
            size: 1, rank: .high, note: "none yet", tags: ["new", "old"], place: place, name: "a",
            id: 1),
          V.Defaults(
            size: 70_000, rank: .high, note: "none yet", tags: ["new", "old"], place: place,
            name: "b", id: 2),
        ]
        #expect(try store.everything(V.Defaults.self) == expected)
        #expect(try store.write { tx throws in try tx.find(V.Defaults.self, 2) } == expected[1])
        #expect(try store.entries("rank") == ["[\"high\"] -> 1", "[\"high\"] -> 2"])
        #expect(try store.entries("small") == ["[\"high\"] -> 1"])
        #expect(
          try store.entries("tags")
            == ["[\"new\"] -> 1", "[\"new\"] -> 2", "[\"old\"] -> 1", "[\"old\"] -> 2"])
        #expect(try store.entries("place.city") == ["[\"Oslo\"] -> 1", "[\"Oslo\"] -> 2"])
        #expect(try store.entries("size") == ["[1] -> 1", "[70000] -> 2"])
        #expect(try store.verify().isClean)

        // A stored nil is nil, not the default; a record that was saved again has all fields.
        var first = expected[0]
        first.note = nil
        first.rank = .low
        try store.saveAll([first])
        #expect(try store.everything(V.Defaults.self) == [first, expected[1]])
        #expect(try store.entries("note") == ["[nil] -> 1", "[\"none yet\"] -> 2"])
        #expect(try store.entries("rank") == ["[\"high\"] -> 2", "[\"low\"] -> 1"])
        try store.write { tx throws in _ = try tx.delete(V.Defaults.self, 2) }
        #expect(try store.entries("tags") == ["[\"new\"] -> 1", "[\"old\"] -> 1"])
        #expect(try store.verify().isClean)
        let before = try store.dump()
        try store.rebuild()
        #expect(try store.dump() == before)
      }
    }
  }

  @Test("A changed default rebuilds the indexes over its field")
  func changedDefault() throws {
    try old { path throws in
      try Store.using(path, V.Defaults.self) { store throws in
        #expect(try store.entries("rank") == ["[\"high\"] -> 1", "[\"high\"] -> 2"])
      }
      try Store.using(path, V.OtherDefault.self) { store throws in
        #expect(try store.entries("rank") == ["[\"low\"] -> 1", "[\"low\"] -> 2"])
        #expect(try store.verify().isClean)
      }
    }
  }

  /// The result of reading if the opening does not refuse.
  private let unchecked = Store.Options.quick.with { $0.evolution = .off }

  @Test("A new field without a default is an error that names record and field")
  func required() throws {
    try old { path throws in
      try Store.using(path, V.Required.self, options: unchecked) { store throws in
        let error = caught { try store.read { tx throws in _ = try tx.find(V.Required.self, 2) } }
        #expect(error?.code == .decodingFailed)
        #expect(error?.context.collection == "Item")
        #expect(error?.context.id == "2")
        #expect(error?.context.field == "missing")
        #expect(error?.message.contains("default") == true)
        #expect(caught { _ = try store.everything(V.Required.self) }?.context.id == "1")
        let report = try store.verify()
        #expect(report.faults.map(\.kind) == [.record, .record])
        #expect(report.faults.map(\.id) == ["1", "2"])
      }
      // An index over such a field stays incomplete, and says which records it misses.
      try Store.using(path, V.RequiredIndexed.self, options: unchecked) { store throws in
        let missing = try store.rebuild().records
        #expect(missing.map(\.collection) == ["Item", "Item"])
        #expect(missing.map(\.id) == ["1", "2"])
        #expect(missing.map(\.field) == ["missing", "missing"])
      }
      try Store.using(path, V.Old.self) { store throws in
        #expect(try store.everything(V.Old.self).map(\.name) == ["a", "b"])
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("A number that does not fit a narrower field is an error; one that fits is read")
  func narrowing() throws {
    try old { path throws in
      try Store.using(path, V.Narrow.self, options: unchecked) { store throws in
        #expect(
          try store.read { tx throws in try tx.find(V.Narrow.self, 1) }
            == V.Narrow(id: 1, name: "a", size: 1))
        let error = caught { try store.read { tx throws in _ = try tx.find(V.Narrow.self, 2) } }
        #expect(error?.code == .decodingFailed)
        #expect(error?.context.id == "2")
        #expect(error?.context.field == "size")
      }
      try Store.using(path, V.OtherKind.self, options: unchecked) { store throws in
        let error = caught { try store.read { tx throws in _ = try tx.find(V.OtherKind.self, 2) } }
        #expect(error?.code == .decodingFailed)
        #expect(error?.context.field == "name")
      }
    }
  }

  @Test("An older program reads the records of a newer one as far as it knows their fields")
  func backwards() throws {
    try old { path throws in
      try Store.using(path, V.Defaults.self) { store throws in
        try store.saveAll([
          V.Defaults(
            size: 5, rank: .low, note: nil, tags: [], place: .init(city: "", code: 0), name: "c")
        ])
      }
      try Store.using(path, V.Optionals.self) { store throws in
        #expect(try store.everything(V.Optionals.self).map(\.name) == ["a", "b", "c"])
        #expect(try store.entries("name").count == 3)
        #expect(try store.verify().isClean)
      }
    }
  }
}
