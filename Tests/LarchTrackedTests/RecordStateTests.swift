import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The state of a record")
struct RecordStateTests {
  @Test("An assigned id distinguishes new from deleted")
  func assignedIDs() throws {
    let store = try Fixtures.store()
    var ada = Person(name: "Ada")
    #expect(try store.state(of: ada) == .new)
    try store.save(&ada)
    #expect(try store.state(of: ada) == .unchanged)
    ada.age = 36
    #expect(try store.state(of: ada) == .changed)
    try store.save(&ada)
    #expect(try store.state(of: ada) == .unchanged)
    try store.delete(ada)
    #expect(try store.state(of: ada) == .deleted)
    try store.save(&ada)
    #expect(try store.state(of: ada) == .unchanged)
  }

  @Test("A record with an id of its own is new where nothing is stored")
  func ownIDs() throws {
    let store = try Fixtures.store()
    var page = Page(id: "a", text: "x")
    #expect(try store.state(of: page) == .new)
    try store.save(&page)
    #expect(try store.state(of: page) == .unchanged)
    page.text = "y"
    #expect(try store.state(of: page) == .changed)
    try store.delete(page)
    #expect(try store.state(of: page) == .new)
  }

  @Test("A transaction sees the state with its own changes, a snapshot without later ones")
  func transactions() throws {
    let store = try Fixtures.store()
    var ada = Person(name: "Ada")
    try store.write { tx throws in
      #expect(try tx.state(of: ada) == .new)
      try tx.save(&ada)
      #expect(try tx.state(of: ada) == .unchanged)
      try tx.delete(ada)
      #expect(try tx.state(of: ada) == .deleted)
      try tx.save(&ada)
    }
    var older = ada
    older.age = 5
    try store.read { tx throws in
      _ = try tx.find(Person.self, ada.id)
      #expect(try tx.state(of: ada) == .unchanged)
      #expect(try tx.state(of: older) == .changed)
    }
  }

  @Test("The ambient store answers for the record itself")
  func ambient() throws {
    let store = try Fixtures.store()
    try Store.with(store) {
      var ada = Person(name: "Ada")
      #expect(try ada.state() == .new)
      try ada.save()
      ada.name = "Augusta"
      #expect(try ada.state() == .changed)
      #expect(
        try ada.changes().map(\.description) == [
          "name: \"Ada\" -> \"Augusta\""
        ])
      try Store.transaction {
        try ada.save()
        #expect(try ada.state() == .unchanged)
        throw Rollback()
      }
      #expect(try ada.state() == .changed)
    }
    let ada = Person(name: "Ada")
    #expect(caught { _ = try ada.state() }?.code == .noDefaultStore)
  }

  /// Its field shows no kind while it is nil, so its first value makes another shape.
  struct Shaped: Record, Equatable {
    struct Custom: Codable, Equatable, Sendable {
      var text: String
      init(_ text: String) { self.text = text }
      init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
      }
    }
    var id = RecordID<Shaped>()
    var custom: Custom?
    var number = 0
  }

  @Test("Asking makes no shape in the file, whether in a read or in a write")
  func shapes() throws {
    var options = Store.Options()
    options.durability = .none
    let store = try Store.temporary(for: Shaped.self, Page.self, options: options)
    var plain = Shaped()
    try store.save(&plain)
    let count = try store.shapeCount
    var other = plain
    other.custom = .init("x")
    let before = try store.lastTransactionID
    for _ in 0..<3 {
      #expect(try store.state(of: other) == .changed)
      #expect(try store.changes(of: other).map(\.field) == ["custom"])
      // The id of the shape that was not made is free for another one.
      try store.write { tx throws in
        #expect(try tx.state(of: other) == .changed)
        #expect(try tx.state(of: plain) == .unchanged)
      }
    }
    #expect(try store.shapeCount == count)
    #expect(try store.lastTransactionID == before)

    // A read that asked keeps reading right when the id is taken by the shape of another type.
    try store.read { tx throws in #expect(try tx.state(of: other) == .changed) }
    try store.write { tx throws in
      #expect(try tx.state(of: other) == .changed)
      var page = Page(id: "p", text: "t")
      try tx.save(&page)
      #expect(try tx.state(of: other) == .changed)
      #expect(try tx.state(of: page) == .unchanged)
      try tx.save(&other)
      #expect(try tx.state(of: other) == .unchanged)
    }
    try store.read { tx throws in
      #expect(try tx.find(Page.self, "p")?.text == "t")
      #expect(try tx.find(Shaped.self, other.id) == other)
      #expect(try tx.state(of: other) == .unchanged)
    }
    #expect(try store.verify().isClean)
  }

  @Test("A record that was stored in an older shape of its type is unchanged")
  func olderShapes() throws {
    var options = Store.Options()
    options.durability = .none
    let store = try Store.temporary(for: Shaped.self, options: options)
    var plain = Shaped()
    try store.save(&plain)
    var other = Shaped(custom: .init("x"))
    try store.save(&other)
    #expect(try store.state(of: plain) == .unchanged)
    #expect(try store.changes(of: plain).isEmpty)
    #expect(try store.state(of: other) == .unchanged)
  }

  @Test("The times of a timestamped record are no change by themselves")
  func times() throws {
    let store = try Fixtures.store()
    var note = Note(text: "a")
    try store.save(&note)
    var copy = note
    copy.updatedAt = nil
    copy.createdAt = nil
    #expect(try store.state(of: copy) == .unchanged)
    #expect(try store.changes(of: copy).isEmpty)
    copy.text = "b"
    #expect(try store.changes(of: copy).map(\.field) == ["text"])
    copy.createdAt = Date(timeIntervalSinceReferenceDate: 1)
    #expect(try store.changes(of: copy).map(\.field).sorted() == ["createdAt", "text"])
  }

  @Test("What is compared are bits: NaN is NaN, zero has a sign, an é is written in two ways")
  func bits() throws {
    struct Figures: Record {
      var id = RecordID<Figures>()
      var number = Double.nan
      var small = Float.nan
      var zero = 0.0
      var text = "\u{E9}"
      var list: [Double] = [.nan, 0]
    }
    let store = try Store.temporary(for: Figures.self)
    var figures = Figures()
    try store.save(&figures)
    #expect(try store.state(of: figures) == .unchanged)
    #expect(try store.changes(of: figures).isEmpty)
    figures.zero = -0.0
    figures.text = "e\u{301}"
    figures.list = [.nan, -0.0]
    #expect(try store.state(of: figures) == .changed)
    #expect(try store.changes(of: figures).map(\.field).sorted() == ["list", "text", "zero"])
  }

  @Test("A record that cannot be compared gives an error")
  func errors() throws {
    let store = try Fixtures.store()
    struct Stranger: Record { var id = RecordID<Stranger>() }
    #expect(caught { _ = try store.state(of: Stranger()) }?.code == .unknownCollection)
    let long = Page(id: String(repeating: "a", count: 1000))
    #expect(caught { _ = try store.state(of: long) }?.code == .idTooLong)
  }

  @Test("A type whose coding reads the state of its record gets an error, not a wrong answer")
  func reentry() throws {
    struct Curious: Record {
      @TaskLocal static var tx: Box?
      struct Box: @unchecked Sendable { let tx: ReadTransaction }
      var id = RecordID<Curious>()
      var number = 0
      enum CodingKeys: String, CodingKey { case id, number }
      init() {}
      init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(RecordID<Curious>.self, forKey: .id)
        number = try values.decode(Int.self, forKey: .number)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        if let tx = Self.tx?.tx {
          var other = Curious()
          other.id = 5
          try Self.$tx.withValue(nil) {
            if let tx = tx as? WriteTransaction { try tx.save(&other) }
          }
        }
        try container.encode(number, forKey: .number)
      }
    }
    let store = try Store.temporary(for: Curious.self)
    var curious = Curious()
    try store.save(&curious)
    try store.write { tx throws in
      let code = caught {
        try Curious.$tx.withValue(.init(tx: tx)) { _ = try tx.state(of: curious) }
      }
      #expect(code?.underlying != nil || code?.code == .nestedWrite)
      #expect(try tx.state(of: curious) == .unchanged)
      #expect(try tx.count(Curious.all) == 1)
    }
  }
}

@Suite("The state of records of an older version of their type")
struct EvolvedStateTests {
  private struct Old: Record {
    var id = RecordID<Int>()
    var name: String
    var gone = "x"
    static let collectionName = "Item"
  }

  private struct New: Record, Equatable {
    var id = RecordID<Int>()
    var note: String?
    var rank: Int
    var name: String
    static let collectionName = "Item"
    static let schema = Schema<Self> { Default(\.rank, 7) }
  }

  @Test("A field that was added or removed is no change, and asking rewrites nothing")
  func evolved() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var old = Old(name: "a")
    do {
      let store = try Store(at: path, for: Old.self)
      defer { store.close() }
      try store.save(&old)
    }
    let store = try Store(at: path, for: New.self)
    defer { store.close() }
    let before = try store.lastTransactionID
    var new = try #require(try store.find(New.self, old.id))
    #expect(new.rank == 7)
    #expect(try store.state(of: new) == .unchanged)
    #expect(try store.changes(of: new).isEmpty)
    var tracked = try #require(try store.tracked(New.self, old.id))
    #expect(try tracked.persist(in: store) == nil)
    new.note = "n"
    let change = FieldChange(path: ["note"], old: .null, new: .string("n"))
    #expect(try store.changes(of: new) == [change])
    #expect(try store.lastTransactionID == before)
    tracked.note = "n"
    #expect(try tracked.changes() == [change])
    #expect(try tracked.persist(in: store) == .updated)
    #expect(try store.state(of: new) == .unchanged)
  }
}
