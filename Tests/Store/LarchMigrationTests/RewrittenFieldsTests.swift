import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Fields that a rewrite keeps, changes and refuses")
struct RewrittenFieldsTests {
  struct Item: Record, Equatable {
    var id: Int
    var name: String
    var level: Int?
    static let schema = Schema<Item> {
      Default(\.level, 5)
      Index(\.level)
    }
  }

  struct Graded: Record, Equatable {
    var id: Int
    var name: String
    var level: Int?
    static let schema = Schema<Graded> {
      Renamed(\.level, from: "grade")
      Default(\.level, 5)
    }
  }

  enum Older {
    struct Item: Record {
      var id: Int
      var name: String
    }
    struct Graded: Record {
      var id: Int
      var name: String
      var grade: Int?
    }
  }

  struct Label: Record {
    var id: Int
    var text: String
    var number: Double
    var counts: [String: Int]
  }

  struct Badge: Record, Equatable {
    var id = RecordID<Badge>()
    var label: String
  }

  struct Keyed: Record, Equatable {
    var id: Int
    var label: String
    enum CodingKeys: String, CodingKey {
      case id = "key"
      case label
    }
  }

  /// The fields of a record did not have its nil, so the rewritten record had no such field, like
  /// one that is older than the field: nil became the default.
  @Test("A nil that was saved stays nil beside a default", arguments: [true, false])
  func savedNil(_ hasType: Bool) throws {
    try withScratchPath { path throws in
      try Store.using(path, Older.Item.self) { store in
        try store.saveAll([Older.Item(id: 3, name: "a")])
      }
      try Store.using(path, Item.self) { store in
        try store.saveAll([Item(id: 1, name: "a", level: nil), Item(id: 2, name: "a", level: 3)])
      }
      let notes = Notes()
      let migration = Migration("names") { tx in
        func change(_ fields: inout StoredFields) {
          notes.add(fields["level"]?.description ?? "missing")
          fields["name"] = "b"
        }
        if hasType {
          try tx.rewrite(Item.self) { change(&$0) }
        } else {
          try tx.rewrite("Item") { change(&$0) }
        }
      }
      try Store.using(path, Item.self, migrations: [migration]) { store throws in
        let records = try store.everything(Item.self)
        #expect(records.map(\.level) == [nil, 3, 5])
        #expect(records.map(\.name) == ["b", "b", "b"])
        #expect(try store.ids(Item.where { $0.level == nil }) == [1])
        #expect(try store.ids(Item.where { $0.level == 5 }) == [3])
        #expect(try store.faults == [])
      }
      #expect(notes.all == ["nil", "3", "missing"])
    }
  }

  @Test("So does one that was saved under an older name", arguments: [true, false])
  func savedNilUnderAnOlderName(_ hasType: Bool) throws {
    try withScratchPath { path throws in
      try Store.using(path, Older.Graded.self) { store in
        try store.saveAll([
          Older.Graded(id: 1, name: "a", grade: 2), Older.Graded(id: 2, name: "a", grade: nil),
        ])
      }
      let migration = Migration("names") { tx in
        if hasType {
          try tx.rewrite(Graded.self) { $0["name"] = "b" }
        } else {
          try tx.rewrite("Graded") { $0["name"] = "b" }
        }
      }
      try Store.using(path, Graded.self, migrations: [migration]) { store throws in
        let records = try store.everything(Graded.self)
        #expect(records.map(\.level) == [2, nil])
        #expect(records.map(\.name) == ["b", "b"])
        #expect(try store.faults == [])
      }
    }
  }

  /// The record was written only if its fields were not equal to those before, and Swift finds two
  /// encodings of é equal, and both zeros: the migration was noted, and had changed nothing.
  @Test("A change of the bytes alone is written, without a type too")
  func bytes() throws {
    try withScratchPath { path throws in
      try Store.using(path, Label.self) { store in
        try store.saveAll([
          Label(id: 1, text: "e\u{301}", number: 0, counts: ["e\u{301}": 1])
        ])
      }
      let migration = Migration("bytes") { tx in
        try tx.rewrite("Label") { fields in
          let text = fields["text"]?.string ?? ""
          fields["text"] = .string(text.precomposedStringWithCanonicalMapping)
        }
        try tx.rewrite("Label") { $0["number"] = .double(-0.0) }
        try tx.rewrite("Label") { $0["counts"] = .record(["\u{E9}": .int(1)]) }
      }
      try Store.using(path, Label.self, migrations: [migration]) { store throws in
        let label = try #require(try store.find(Label.self, 1))
        #expect(Array(label.text.utf8) == [0xC3, 0xA9])
        #expect(label.number.sign == .minus)
        #expect(label.counts.keys.map { Array($0.utf8) } == [[0xC3, 0xA9]])
        #expect(try store.faults == [])
      }
    }
  }

  /// A record could get the id of another one in its fields, and keep its own as its key.
  @Test("Another id is refused without a type too, under each name that it is stored under")
  func ids() throws {
    try withScratchPath { path throws in
      try Store.using(path, Badge.self, Keyed.self) { store in
        try store.saveAll([Badge(label: "a")])
        try store.saveAll([Keyed(id: 4, label: "a")])
      }
      let changes: [(String, Migration)] = [
        ("7", Migration("other") { tx in try tx.rewrite("Badge") { $0["id"] = 7 } }),
        ("", Migration("none") { tx in try tx.rewrite("Badge") { $0["id"] = nil } }),
        ("9", Migration("key") { tx in try tx.rewrite("Keyed") { $0["key"] = 9 } }),
      ]
      for (id, migration) in changes {
        let error = caught {
          try Store.using(path, Badge.self, Keyed.self, migrations: [migration])
        }
        let cause = error?.underlying as? LarchError
        #expect(cause?.code == .idExists, "\(migration.name)")
        #expect(cause?.context.detail ?? "" == id, "\(migration.name)")
        #expect(cause?.context.id == (migration.name == "key" ? "4" : "1"))
      }
      // Also if no type declares the collection.
      let gone = Migration("gone") { tx in try tx.rewrite("Badge") { $0["id"] = 7 } }
      let error = caught { try Store.using(path, Keyed.self, migrations: [gone]) }
      #expect((error?.underlying as? LarchError)?.code == .idExists)
      let labels = Migration("labels") { tx in
        for name in ["Badge", "Keyed"] { try tx.rewrite(name) { $0["label"] = "b" } }
      }
      try Store.using(path, Badge.self, Keyed.self, migrations: [labels]) { store throws in
        #expect(try store.everything(Badge.self) == [Badge(id: 1, label: "b")])
        #expect(try store.everything(Keyed.self) == [Keyed(id: 4, label: "b")])
        #expect(try store.faults == [])
      }
    }
  }
}
