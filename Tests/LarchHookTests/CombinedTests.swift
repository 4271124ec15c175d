import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks, times and rules together")
struct CombinedTests {
  fileprivate struct Ticket: Timestamped, MemberwiseCoded, Hashable {
    var id = RecordID<Ticket>()
    var title: String
    var log = ""
    var createdAt: Date?
    var updatedAt: Date?

    static let schema = Schema<Ticket> {
      Unique(\.title)
      Validate(\.title, .presence)
      WillSave { try $0.willSave(in: $1) }
      WillInsert { try $0.willInsert(in: $1) }
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      title = title.trimmingCharacters(in: .whitespaces)
    }
    mutating func willInsert(in tx: WriteTransaction) throws { log += "i" }
    mutating func willUpdate(from stored: Ticket, in tx: WriteTransaction) throws {
      log += "u"
      #expect(updatedAt == stored.updatedAt)
    }
  }

  private func options() -> Store.Options {
    var options = Store.Options()
    options.clock = { Date(timeIntervalSinceReferenceDate: 5) }
    return options
  }

  @Test("Rules check a record after its hooks, and a refused save leaves no changes")
  func all() throws {
    let store = try Store.temporary(for: Ticket.self, options: options())
    let time = Date(timeIntervalSinceReferenceDate: 5)
    var blank = Ticket(title: "   ")
    do {
      try store.save(&blank)
      Issue.record("a blank title was saved")
    } catch let error as LarchError { #expect(error.code == .invalid) }
    #expect(blank == Ticket(title: "   "))
    var ticket = Ticket(title: " one ")
    try store.save(&ticket)
    #expect(ticket.title == "one" && ticket.log == "i")
    #expect(ticket.createdAt == time && ticket.updatedAt == time)
    ticket.title = "two"
    ticket.updatedAt = nil
    try store.save(&ticket)
    #expect(ticket.log == "iu" && ticket.updatedAt == time)
    let last = try store.lastTransaction()
    ticket.title = "  two"
    try store.save(&ticket)
    #expect(ticket.log == "iu" && ticket.title == "two")
    #expect(try store.lastTransaction() == last)
    let before = ticket
    ticket.title = ""
    do {
      try store.update(&ticket)
      Issue.record("an empty title was saved")
    } catch let error as LarchError { #expect(error.code == .invalid) }
    #expect(ticket.log == "iu" && ticket.updatedAt == before.updatedAt)
    #expect(try store.find(Ticket.self, ticket.id) == before)
    #expect(try store.verify().isClean)
  }

  // MARK: Code that runs while a record is taken in

  fileprivate struct Sneaky: Record {
    @TaskLocal static var codes: Locked<[LarchError.Code]>?

    var id = RecordID<Sneaky>()
    var name: String

    /// Saves another record, where it must not.
    var shout: String {
      if let codes = Sneaky.codes {
        var other = Plain(name: "sneaked in")
        do { try other.save() } catch let error as LarchError {
          codes.withLock { $0.append(error.code) }
        } catch {}
      }
      return name.uppercased()
    }

    static let schema = Schema<Sneaky> {
      Index(\.shout, name: "shout")
      WillSave { _, _ in }
    }
  }

  fileprivate struct Plain: Record {
    var id = RecordID<Plain>()
    var name: String
  }

  @Test("A computed property cannot save in the middle of a save with hooks")
  func takenIn() throws {
    let store = try Store.temporary(for: Sneaky.self, Plain.self)
    let codes = Locked<[LarchError.Code]>([])
    try Sneaky.$codes.withValue(codes) {
      var sneaky = Sneaky(name: "a")
      try store.save(&sneaky)
    }
    let found = codes.withLock { $0 }
    #expect(!found.isEmpty && found.allSatisfy { $0 == .nestedWrite })
    #expect(try store.count(Plain.all) == 0)
    #expect(try store.verify().isClean)
  }

  // MARK: Rules with code, in a deletion

  fileprivate struct Room: Record {
    var id = RecordID<Room>()
    static let schema = Schema<Room> { HasMany(\Chair.room, onDelete: .nullify) }
  }

  fileprivate struct Chair: Record {
    var id = RecordID<Chair>()
    var room: RecordID<Room>?
    static let schema = Schema<Chair> {
      BelongsTo(\.room, to: Room.self)
      Validate("alone") { chair in
        if chair.room == nil { try Chair.where { $0.id > chair.id }.delete() }
        return true
      }
    }
  }

  @Test("A rule that deletes others while its record loses a reference leaves a whole store")
  func rulesThatWrite() throws {
    let store = try Store.temporary(for: Room.self, Chair.self)
    var room = Room()
    try store.save(&room)
    try store.write { tx in
      for _ in 0..<5 {
        var chair = Chair(room: room.id)
        try tx.save(&chair)
      }
    }
    #expect(try store.delete(room))
    #expect(try store.fetch(Chair.all).map(\.room) == [nil])
    #expect(try store.verify().isClean)
  }
}
