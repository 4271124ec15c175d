import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

@Suite("References are checked when records are saved")
struct ReferenceCheckTests {
  struct Firm: Record {
    var id = RecordID<Firm>()
    var name = ""

    static let schema = Schema<Firm> { HasMany(\Worker.firmID, onDelete: .nullify) }
  }

  struct Worker: Record {
    var id = RecordID<Worker>()
    var firmID: Firm.ID?
    var deskID: UUID?
    var partID: Part.ID?

    static let schema = Schema<Worker> {
      BelongsTo(\.deskID, to: Desk.self)
      BelongsTo(\.partID, to: Part.self)
    }
  }

  struct Desk: Record {
    var id = UUID()
  }

  struct Part: Record {
    var id: String
  }

  private func store() throws -> Store {
    try Store.temporary(for: Firm.self, Worker.self, Desk.self, Part.self)
  }

  @Test("A reference to an unsaved record is an error that changes nothing")
  func unsaved() throws {
    let store = try store()
    var worker = Worker(firmID: Firm().id)
    let error = #expect(throws: LarchError.self) { try store.write { try $0.save(&worker) } }
    #expect(error?.code == .unsavedReference)
    #expect(error?.context.field == "Worker.firmID")
    #expect(try store.read { try $0.count(Worker.all) } == 0)
  }

  @Test("A reference to a record that is never saved fails the transaction")
  func dangling() throws {
    let store = try store()
    var worker = Worker(deskID: UUID())
    let error = #expect(throws: LarchError.self) { try store.write { try $0.save(&worker) } }
    #expect(error?.code == .danglingReference)
    #expect(error?.context.field == "Worker.deskID")
    #expect(try store.read { try $0.count(Worker.all) } == 0)
  }

  @Test("Both ends may be saved in any order in one transaction")
  func anyOrder() throws {
    let store = try store()
    var desk = Desk()
    var worker = Worker(deskID: desk.id)
    try store.write { tx in
      try tx.save(&worker)
      try tx.save(&desk)
    }
    #expect(try store.read { try $0.find(Worker.self, worker.id) }?.deskID == desk.id)
  }

  @Test("A record with a dangling reference may be deleted before the commit")
  func deletedMeanwhile() throws {
    let store = try store()
    var worker = Worker(deskID: UUID())
    try store.write { tx in
      try tx.save(&worker)
      try tx.delete(worker)
    }
    #expect(try store.read { try $0.count(Worker.all) } == 0)
  }

  @Test("References of an undone savepoint are not checked")
  func savepoint() throws {
    let store = try store()
    struct Undo: Error {}
    try store.write { tx in
      try? tx.savepoint {
        var worker = Worker(deskID: UUID())
        try tx.save(&worker)
        throw Undo()
      }
    }
    #expect(try store.read { try $0.count(Worker.all) } == 0)
  }

  @Test("Text ids longer than keys are distinguished")
  func longIDs() throws {
    let store = try store()
    let long = String(repeating: "x", count: 200)
    var part = Part(id: long + "1")
    try store.write { try $0.save(&part) }
    var worker = Worker(partID: long + "2")
    let error = #expect(throws: LarchError.self) { try store.write { try $0.save(&worker) } }
    #expect(error?.code == .danglingReference)
    worker.partID = part.id
    try store.write { try $0.save(&worker) }
    #expect(try store.fetch(Worker.where { $0.partID == long + "1" }).count == 1)
  }

  /// Its index value is not its raw value.
  struct Turned: RawRepresentable, RecordIdentifier {
    var rawValue: Int
    var indexValue: Int { -rawValue }
  }

  struct Plain: RawRepresentable, RecordIdentifier { var rawValue: Int }

  struct Thing<Key: RecordIdentifier>: Record {
    var id: Key
    var nextID: Key?

    static var collectionName: String { "Thing" }
    static var schema: Schema<Self> { Schema { BelongsTo(\.nextID, to: Self.self) } }
  }

  @Test("An id with the key of another id is refused as a reference")
  func turned() throws {
    let store = try Store.temporary(for: Thing<Turned>.self)
    // The index value of zero is its raw value.
    var thing = Thing(id: Turned(rawValue: 0), nextID: Turned(rawValue: 1))
    let error = #expect(throws: LarchError.self) { try store.write { try $0.save(&thing) } }
    #expect(error?.code == .fieldMismatch)
    #expect(error?.context.field == "Thing.nextID")
    #expect(try store.count(Thing<Turned>.all) == 0)

    let plain = try Store.temporary(for: Thing<Plain>.self)
    try plain.write { tx in
      var one = Thing(id: Plain(rawValue: 1))
      var two = Thing(id: Plain(rawValue: 2), nextID: one.id)
      try tx.save(&one)
      try tx.save(&two)
    }
    #expect(try plain.count(Thing<Plain>.where { $0.nextID == Plain(rawValue: 1) }) == 1)
  }

  @Test("An association that is declared at one end alone has its index in the other type")
  func index() throws {
    let store = try store()
    #expect(try store.explain(Worker.where { $0.firmID == 3 }).contains("index firmID [3]"))
  }

  // MARK: Many at once

  private static let decodes = Mutex(0)

  struct Label: Record {
    var id: Int
  }

  struct Letter: Record {
    var id: Int
    var labelIDs: [Int]

    static let schema = Schema<Letter> { HasMany<Letter, Label>(in: \.labelIDs) }

    init(id: Int, labelIDs: [Int]) { (self.id, self.labelIDs) = (id, labelIDs) }

    init(from decoder: any Decoder) throws {
      ReferenceCheckTests.decodes.withLock { $0 += 1 }
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      id = try fields.decode(Int.self, forKey: .id)
      labelIDs = try fields.decode([Int].self, forKey: .labelIDs)
    }
  }

  /// Each of them made the record be decoded again, with all of its ids looked up again.
  @Test("A record that refers to many that are saved after it is checked once")
  func manyAfter() throws {
    let store = try Store.temporary(for: Label.self, Letter.self)
    let ids = Array(1...2_000)
    try store.write { tx in
      var letter = Letter(id: 1, labelIDs: ids)
      try tx.save(&letter)
      letter.labelIDs.reverse()
      try tx.save(&letter)
      for id in ids {
        var label = Label(id: id)
        try tx.save(&label)
      }
      Self.decodes.withLock { $0 = 0 }
    }
    #expect(Self.decodes.withLock { $0 } < 10)
    let error = caught {
      try store.write { tx in
        var letter = Letter(id: 2, labelIDs: [1, 5_000, 2])
        try tx.save(&letter)
      }
    }
    #expect(error?.code == .danglingReference && error?.context.otherID == "5000")
    #expect(try store.count(Letter.all) == 1)
  }
}
