import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A record that its type could not decode any more prevented the deletion of the record to which
/// it referred: the rule `.nullify` decoded it to remove the id, and threw `decoding_failed`.
@Suite("A record that its type cannot decode, and that refers to others")
struct UndecodableHolderTests {
  enum OldKind: String, Codable, CaseIterable, IndexKey { case open, odd }
  enum Kind: String, Codable, CaseIterable, IndexKey { case open, closed }

  struct ISBN: RawRepresentable, RecordIdentifier {
    var rawValue: String
  }

  struct Place<K: Codable & Sendable>: Codable, Sendable {
    var kind: K
    var roomID: UUID?
  }

  struct Team: Record {
    var id = RecordID<Team>()
    var name: String
    static let schema = Schema<Team> { Index(\.name) }
  }
  struct Tag: Record {
    var id: String
  }
  struct Book: Record {
    var id: ISBN
    var title = ""
  }
  struct Room: Record {
    var id = UUID()
  }

  struct OldTask: Record, Timestamped {
    var id = RecordID<OldTask>()
    var name: String
    var kind: OldKind
    var teamID: Team.ID?
    var otherID: Team.ID?
    var tagIDs: [String]
    var bookIDs: Set<ISBN>
    var place: Place<OldKind>
    var note: String
    var version = 0
    var createdAt: Date?
    var updatedAt: Date?
    var label: String { "\(name) \(kind)" }

    static let collectionName = "Task"
    static let schema = Schema<OldTask> {
      Index(\.teamID, \.kind)
      Index(\.tagIDs, \.name)
      Index(\.label, name: "label")
      Versioned(\.version)
      BelongsTo(\.teamID, to: Team.self)
      BelongsTo(\.otherID, to: Team.self)
      HasMany(Tag.self, in: \.tagIDs)
      HasMany(Book.self, in: \.bookIDs)
      BelongsTo(\.place.roomID, to: Room.self)
    }
  }

  struct Task: Record, Timestamped {
    var id = RecordID<Task>()
    var name: String
    var kind: Kind
    var teamID: Team.ID?
    var otherID: Team.ID?
    var tagIDs: [String]
    var bookIDs: Set<ISBN>
    var place: Place<Kind>
    var note: String
    var version = 0
    var createdAt: Date?
    var updatedAt: Date?
    var label: String { "\(name) \(kind)" }

    static let collectionName = "Task"
    static let schema = Schema<Task> {
      Index(\.teamID, \.kind)
      Index(\.tagIDs, \.name)
      Index(\.label, name: "label")
      Versioned(\.version)
      BelongsTo(\.teamID, to: Team.self)
      BelongsTo(\.otherID, to: Team.self)
      HasMany(Tag.self, in: \.tagIDs)
      HasMany(Book.self, in: \.bookIDs)
      BelongsTo(\.place.roomID, to: Room.self)
    }
  }

  private static let long = String(repeating: "long tag ", count: 30)
  private static let tags = ["a", "b", "c", long + "1", long + "2"]
  private static let rooms = (1...3).map {
    UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)")!
  }
  private static let books = (1...4).map { ISBN(rawValue: "isbn \($0)") }

  private static func task(_ number: Int, _ generator: inout SeededGenerator) -> OldTask {
    func team(_ number: Int) -> Team.ID? { number == 0 ? nil : Team.ID(Int64(number)) }
    var books: Set<ISBN> = []
    for book in UndecodableHolderTests.books where Bool.random(using: &generator) {
      books.insert(book)
    }
    return OldTask(
      name: "task \(number)", kind: Bool.random(using: &generator) ? .odd : .open,
      teamID: team(.random(in: 0...4, using: &generator)),
      otherID: team(.random(in: 0...4, using: &generator)),
      tagIDs: Array(
        tags.shuffled(using: &generator).dropLast(.random(in: 0...5, using: &generator))),
      bookIDs: books,
      place: Place(
        kind: Bool.random(using: &generator) ? .odd : .open,
        roomID: Bool.random(using: &generator) ? rooms.randomElement(using: &generator) : nil),
      // Some records are wide, and one may become narrow.
      note: String(
        repeating: "n", count: [3, 64_900, 65_100, 70_000].randomElement(using: &generator)!))
  }

  /// The stored records, and the deleted ones.
  private struct Sample {
    let tasks: [OldTask]
    let team: Team.ID
    let tags: [String]
    let book: ISBN
    let room: UUID

    init(seed: UInt64) {
      var generator = SeededGenerator(seed: seed)
      var tasks: [OldTask] = []
      for number in 1...20 { tasks.append(UndecodableHolderTests.task(number, &generator)) }
      self.tasks = tasks
      team = Team.ID(Int64.random(in: 1...4, using: &generator))
      var tags: [String] = []
      for tag in UndecodableHolderTests.tags where Bool.random(using: &generator) {
        tags.append(tag)
      }
      self.tags = tags
      book = UndecodableHolderTests.books.randomElement(using: &generator)!
      room = UndecodableHolderTests.rooms.randomElement(using: &generator)!
    }

    /// The task after all these deletions.
    func nullified(_ old: OldTask) -> OldTask {
      var task = old
      if task.teamID == team { task.teamID = nil }
      if task.otherID == team { task.otherID = nil }
      task.tagIDs = task.tagIDs.filter { !tags.contains($0) }
      task.bookIDs.remove(book)
      if task.place.roomID == room { task.place.roomID = nil }
      return task
    }
  }

  private static func compare(_ new: OldTask, with wanted: OldTask, before old: OldTask) {
    let isChanged =
      wanted.teamID != old.teamID || wanted.otherID != old.otherID
      || wanted.tagIDs != old.tagIDs || wanted.bookIDs != old.bookIDs
      || wanted.place.roomID != old.place.roomID
    #expect(new.name == wanted.name)
    #expect(new.kind == wanted.kind)
    #expect(new.note == wanted.note)
    #expect(new.teamID == wanted.teamID)
    #expect(new.otherID == wanted.otherID)
    #expect(new.tagIDs == wanted.tagIDs)
    #expect(new.bookIDs == wanted.bookIDs)
    #expect(new.place.kind == wanted.place.kind)
    #expect(new.place.roomID == wanted.place.roomID)
    #expect(new.createdAt == old.createdAt)
    // It was changed, so a save of an older copy is refused.
    #expect((new.version > old.version) == isChanged)
    let isLater = (new.updatedAt ?? .distantPast) > (old.updatedAt ?? .distantFuture)
    #expect(isLater == isChanged)
  }

  @Test("If the referenced record is deleted, it loses the reference", arguments: 1...12)
  func nullified(seed: UInt64) throws {
    let sample = Sample(seed: seed)
    let (team, tags, book, room) = (sample.team, sample.tags, sample.book, sample.room)
    try withScratchPath { path throws in
      try Store.using(path, OldTask.self, Team.self, Tag.self, Book.self, Room.self) {
        store throws in
        try store.write { tx throws in
          for number in 1...4 {
            var team = Team(name: "team \(number)")
            try tx.insert(&team)
          }
          for tag in UndecodableHolderTests.tags {
            var tag = Tag(id: tag)
            try tx.insert(&tag)
          }
          for book in UndecodableHolderTests.books {
            var book = Book(id: book)
            try tx.insert(&book)
          }
          for room in UndecodableHolderTests.rooms {
            var room = Room(id: room)
            try tx.insert(&room)
          }
          for task in sample.tasks {
            var task = task
            try tx.insert(&task)
          }
        }
      }
      let before = try Store.using(
        path, OldTask.self, Team.self, Tag.self, Book.self, Room.self
      ) { store throws in try store.fetch(OldTask.all) }
      try Store.using(path, Task.self, Team.self, Tag.self, Book.self, Room.self) { store throws in
        try store.write { tx throws in
          #expect(try tx.delete(Team.self, team))
          for tag in tags { #expect(try tx.delete(Tag.self, tag)) }
          #expect(try tx.delete(Book.self, book))
          #expect(try tx.delete(Room.self, room))
        }
        for tag in UndecodableHolderTests.tags {
          let wanted = before.filter { sample.nullified($0).tagIDs.contains(tag) }.count
          let count = try store.count(Task.where { $0.tagIDs.contains(tag) })
          #expect(count == wanted)
        }
        let teamless = try store.count(Task.where { $0.teamID == nil })
        #expect(teamless == before.filter { sample.nullified($0).teamID == nil }.count)
      }
      try Store.using(path, OldTask.self, Team.self, Tag.self, Book.self, Room.self) {
        store throws in
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
        let after = try store.fetch(OldTask.all)
        #expect(after.map(\.id) == before.map(\.id))
        for (old, new) in zip(before, after) {
          UndecodableHolderTests.compare(new, with: sample.nullified(old), before: old)
          // Each is saved and deleted as any other.
          var again = new
          again.note = "again"
          try store.save(&again)
        }
        #expect(try store.verify().isClean)
      }
    }
  }

  struct Cut: Record {
    var id = RecordID<Cut>()
    var kind: Kind
    var teamID: Team.ID?
    var label: String { "\(kind)" }
    static let collectionName = "Cut"
    static let schema = Schema<Cut> {
      BelongsTo(\.teamID, to: Team.self)
      Index(\.teamID, \.label, name: "both")
    }
  }
  struct OldCut: Record {
    var id = RecordID<OldCut>()
    var kind: OldKind
    var teamID: Team.ID?
    var label: String { "\(kind)" }
    static let collectionName = "Cut"
    static let schema = Schema<OldCut> {
      BelongsTo(\.teamID, to: Team.self)
      Index(\.teamID, \.label, name: "both")
    }
  }

  @Test("A reference in an index that needs the decoded record is an error with the id")
  func coveredByComputed() throws {
    try withScratchPath { path throws in
      try Store.using(path, OldCut.self, Team.self) { store throws in
        var team = Team(name: "a")
        try store.save(&team)
        var cut = OldCut(kind: .odd, teamID: team.id)
        try store.save(&cut)
      }
      try Store.using(path, Cut.self, Team.self) { store throws in
        let error = caught { try store.delete(Team.self, 1) }
        #expect(error?.code == .decodingFailed)
        #expect(error?.context.collection == "Cut" && error?.context.id == "1")
        #expect(error?.context.index == "both")
        #expect(try store.count(Team.all) == 1)
        // What the error says helps.
        #expect(try store.delete(Cut.self, 1))
        #expect(try store.delete(Team.self, 1))
        #expect(try store.verify().isClean)
      }
    }
  }
}
