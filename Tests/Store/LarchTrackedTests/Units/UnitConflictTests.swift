import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What happens when somebody else writes what a unit edits.
@Suite struct UnitConflictTests {
  typealias Entry = Units.Entry
  typealias Folder = Units.Folder
  typealias File = Units.File

  let store: Store
  let work: UnitOfWork
  init() throws {
    store = try Units.store()
    work = store.work()
  }

  /// A draft that was edited, of a record that was stored.
  func edited(_ name: String, _ edit: (Draft<Entry>) -> Void) throws -> Draft<Entry> {
    var entry = Entry(name: name, code: nil, notes: ["first"])
    try store.save(&entry)
    let draft = try #require(try work.draft(Entry.self, entry.id))
    edit(draft)
    return draft
  }

  func elsewhere(_ id: Entry.ID, _ change: (inout Entry) -> Void) throws {
    var entry = try #require(try store.find(Entry.self, id))
    change(&entry)
    try store.update(entry)
  }

  /// Expects that a commit fails because of these drafts, and writes nothing.
  func expectConflicts(_ drafts: [AnyDraft]) throws {
    let before = try store.fetch(Entry.all)
    do {
      try work.commit()
      Issue.record("the commit did not throw")
    } catch let error as LarchError {
      #expect(error.code == .conflict)
      #expect(
        error.context.detail
          == drafts.map { "\($0.collection) \($0.idText)" }.joined(separator: ", "))
    }
    #expect(try work.conflicts().map { ObjectIdentifier($0.draft) } == drafts.map { .init($0) })
    #expect(try store.fetch(Entry.all) == before)
  }

  @Test func aConflictNamesTheRecordsAndWritesNothing() throws {
    let a = try edited("a") { $0.code = 1 }
    let b = try edited("b") { $0.code = 2 }
    let c = try edited("c") { $0.code = 3 }
    try elsewhere(a.id) { $0.name = "A" }
    try store.delete(Entry.self, c.id)
    try expectConflicts([a, c])
    let conflicts = try work.conflicts()
    #expect(conflicts.map(\.kind) == [.changed, .deleted])
    #expect(conflicts[0].mine.map(\.field) == ["code"])
    #expect(conflicts[0].theirs.map(\.field) == ["name"])
    #expect(conflicts[0].clashes.isEmpty && conflicts[0].isMergeable)
    #expect(conflicts[0].stored(Entry.self)?.name == "A")
    #expect(conflicts[0].stored(Folder.self) == nil)
    #expect(!conflicts[1].isMergeable && conflicts[1].stored(Entry.self) == nil)
    #expect("\(conflicts[1])" == "Entry \(c.id) was deleted")
    #expect(b.hasChanges)
  }

  @Test func manyConflictsAreCounted() throws {
    for number in 0..<25 {
      let draft = try edited("e") { $0.code = number }
      try store.delete(Entry.self, draft.id)
    }
    do {
      try work.commit()
      Issue.record("the commit did not throw")
    } catch let error as LarchError {
      #expect(error.context.detail?.hasSuffix("Entry 20 and 5 more") == true)
    }
  }

  @Test func aConflictThatIsOutOfDateIsRefused() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) { $0.name = "theirs" }
    let conflict = try #require(try work.conflicts().first)
    try work.resolve(conflict, by: .keepMine)
    #expect(code { try work.resolve(conflict, by: .takeTheirs) } == .conflict)
    // Undone, it is the conflict of now again.
    work.undo()
    try work.resolve(conflict, by: .keepMine)
    try work.commit()
    #expect(code { try work.resolve(conflict, by: .takeTheirs) } == .conflict)
    #expect(draft.name == "mine" && !draft.hasChanges)
    #expect(try store.find(Entry.self, draft.id)?.name == "mine")
  }

  @Test func aDraftThatIsReplacedAsAWholeHasTheStoredVersion() throws {
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: "a", folderID: folder.id))
    try work.commit()
    #expect(file.version == 1)
    file.record = File(id: file.id, name: "b", folderID: folder.id)
    try work.commit()
    #expect(file.version == 2)
    // Deleted, and inserted again under its id.
    try work.delete(file)
    try work.insert(File(id: file.id, name: "c", folderID: folder.id))
    #expect(try work.conflicts().isEmpty)
    try work.commit()
    #expect(try store.find(File.self, file.id)?.name == "c")
    #expect(file.version == 3)
    // Another's change is a conflict nevertheless.
    try store.update(File.where { $0.id == file.id }) { $0.size = 4 }
    file.record = File(id: file.id, name: "d", folderID: folder.id)
    #expect(code { try work.commit() } == .conflict)
  }

  @Test func keepingMineOverwrites() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) {
      $0.name = "theirs"
      $0.notes = ["theirs"]
    }
    try expectConflicts([draft])
    try work.resolveConflicts(by: .keepMine)
    #expect(draft.name == "mine" && draft.notes == ["first"] && draft.stored?.name == "theirs")
    try work.commit()
    #expect(try store.find(Entry.self, draft.id) == draft.record && draft.name == "mine")
  }

  @Test func takingTheirsLosesTheEdits() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) { $0.name = "theirs" }
    try work.resolveConflicts(by: .takeTheirs)
    #expect(draft.name == "theirs" && !work.hasChanges)
    #expect(work.undo() && draft.name == "mine")
    try expectConflicts([draft])
    #expect(work.redo() && !work.hasChanges)
  }

  @Test func differentFieldsAreMerged() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) { $0.notes.append("theirs") }
    #expect(try work.resolveConflicts(by: .merge).isEmpty)
    #expect(draft.name == "mine" && draft.notes == ["first", "theirs"])
    #expect(try draft.changes().map(\.field) == ["name"])
    try work.commit()
    #expect(try store.find(Entry.self, draft.id) == draft.record)
  }

  @Test func clashesAreNamedAndNotMerged() throws {
    let draft = try edited("a") {
      $0.name = "mine"
      $0.code = 5
      $0.notes.append("mine")
    }
    try elsewhere(draft.id) {
      $0.name = "theirs"
      $0.code = 5
      $0.notes.append("theirs")
    }
    let conflict = try #require(try work.conflicts().first)
    #expect(conflict.clashes == ["name", "notes"] && !conflict.isMergeable)
    #expect("\(conflict)" == "Entry 1 was changed, both changed name, notes")
    #expect(code { try work.resolve(conflict, by: .merge) } == .conflict)
    #expect(try work.resolveConflicts(by: .merge).count == 1 && draft.name == "mine")
    // One who merges by hand keeps that.
    let theirs = try #require(conflict.stored(Entry.self))
    draft.edit {
      $0.name = theirs.name
      $0.notes = theirs.notes + ["mine"]
    }
    #expect(try work.conflicts().first?.clashes == ["notes"])
    try work.resolve(conflict, by: .keepMine)
    #expect(try draft.changes().map(\.field) == ["notes"])
    try work.commit()
    #expect(try store.find(Entry.self, draft.id)?.notes == ["first", "theirs", "mine"])
  }

  @Test func aRecordThatOthersDeletedIsInsertedAgainOrGoes() throws {
    let kept = try edited("a") { $0.name = "mine" }
    let taken = try edited("b") { $0.name = "mine" }
    try store.delete(Entry.all)
    let conflicts = try work.conflicts()
    #expect(conflicts.map(\.kind) == [.deleted, .deleted])
    #expect(code { try work.resolve(conflicts[0], by: .merge) } == .conflict)
    try work.resolve(conflicts[0], by: .keepMine)
    try work.resolve(conflicts[1], by: .takeTheirs)
    #expect(kept.change == .inserted && taken.isDeleted && !taken.hasChanges)
    try work.commit()
    #expect(try store.fetch(Entry.all) == [kept.record])
  }

  @Test func aDeletionOfWhatOthersChangedIsAConflict() throws {
    let kept = try edited("a") { _ in }
    let taken = try edited("b") { _ in }
    try work.delete(kept)
    try work.delete(taken)
    for id in [kept.id, taken.id] { try elsewhere(id) { $0.code = Int(id.rawValue) } }
    let conflicts = try work.conflicts()
    #expect(conflicts.map(\.mine.count) == [0, 0] && !conflicts[0].isMergeable)
    try work.resolve(conflicts[0], by: .keepMine)
    try work.resolve(conflicts[1], by: .takeTheirs)
    #expect(!taken.isDeleted && taken.code == 2)
    try work.commit()
    #expect(try store.fetch(Entry.all) == [taken.record] && kept.isDeleted)
  }

  @Test func whatBothDidIsNoConflict() throws {
    let same = try edited("a") { $0.name = "same" }
    let gone = try edited("b") { _ in }
    try work.delete(gone)
    try elsewhere(same.id) { $0.name = "same" }
    try store.delete(Entry.self, gone.id)
    #expect(try work.conflicts().isEmpty)
    try work.commit()
    #expect(try store.fetch(Entry.all) == [same.record] && !work.hasChanges)
  }

  @Test func aRecordUnderTheIDOfAnInsertedOneIsAConflict() throws {
    let store = try Units.store()
    let work = store.work()
    let draft = try work.insert(Entry(id: 9, name: "mine", code: 1))
    var theirs = Entry(id: 9, name: "theirs", notes: ["x"])
    try store.insert(&theirs)
    let conflict = try #require(try work.conflicts().first)
    #expect(conflict.kind == .inserted && conflict.clashes == ["code", "name", "notes"])
    #expect(code { try work.commit() } == .conflict)
    #expect(code { try work.resolve(conflict, by: .merge) } == .conflict)
    try work.resolve(conflict, by: .keepMine)
    #expect(draft.change == .updated)
    try work.commit()
    #expect(try store.find(Entry.self, 9)?.name == "mine")
  }

  @Test func aVersionCountsAndTimesDoNot() throws {
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: "x", folderID: folder.id))
    try work.commit()
    file.size = 1
    for size in [5, 0] {
      var theirs = try #require(try store.find(File.self, file.id))
      theirs.size = size
      try store.update(theirs)
    }
    // It is what it was, except for its version.
    #expect(code { try work.commit() } == .conflict)
    let conflict = try #require(try work.conflicts().first)
    #expect(conflict.theirs.map(\.field).contains("version") && conflict.clashes.isEmpty)
    try work.resolve(conflict, by: .merge)
    try work.commit()
    #expect(file.version == 4 && file.size == 1)
    var theirs = file.record
    theirs.name = "y"
    try store.update(theirs)
    file.name = "mine"
    try work.resolveConflicts(by: .keepMine)
    try work.commit()
    #expect(file.version == 6 && file.name == "mine")
  }

  @Test func aResolvedConflictMayComeBack() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) { $0.code = 1 }
    let conflict = try #require(try work.conflicts().first)
    try elsewhere(draft.id) { $0.code = 2 }
    try work.resolve(conflict, by: .merge)
    try expectConflicts([draft])
    #expect(try work.resolveConflicts(by: .merge).isEmpty)
    try work.commit()
    #expect(draft.code == 2 && draft.name == "mine")
  }

  @Test func aConflictOfADraftWithoutEditsTakesWhatIsStored() throws {
    let draft = try edited("a") { $0.name = "mine" }
    try elsewhere(draft.id) { $0.name = "theirs" }
    let conflict = try #require(try work.conflicts().first)
    work.discard()
    try work.resolve(conflict, by: .keepMine)
    #expect(draft.name == "theirs" && !work.hasChanges)
    #expect(code { try store.work().resolve(conflict, by: .takeTheirs) } == .foreignDraft)
  }

  @Test func refreshKeepsEditsAndTellsTheConflicts() throws {
    let mine = try edited("a") { $0.name = "mine" }
    let clean = try edited("b") { _ in }
    try elsewhere(mine.id) { $0.code = 1 }
    try elsewhere(clean.id) { $0.code = 2 }
    #expect(try work.refresh().map(\.draft) == [mine])
    #expect(clean.code == 2 && mine.code == nil && mine.name == "mine")
  }

  @Test func anOlderStepOverwritesNothingSilently() throws {
    let draft = try edited("a") { $0.name = "mine" }
    work.undo()
    try elsewhere(draft.id) { $0.code = 7 }
    try work.refresh()
    #expect(draft.code == 7)
    work.redo()
    #expect(draft.name == "mine" && draft.code == nil)
    try expectConflicts([draft])
    try work.resolveConflicts(by: .merge)
    try work.commit()
    #expect(draft.code == 7 && draft.name == "mine")
  }

  @Test func aRecordThatCannotBeReadAnyMoreIsAConflict() throws {
    struct Other: Record {
      var id = RecordID<Other>()
      var name: Int
      static let collectionName = "Plain"
    }
    struct Plain: Record {
      var id = RecordID<Plain>()
      var name: String
    }
    let store = try Store.temporary(for: Plain.self)
    let work = store.work()
    let draft = try work.insert(Plain(name: "a"))
    try work.commit()
    draft.name = "b"
    // A record whose bytes are no `Plain`, with a correct checksum.
    try store.write { tx in
      try tx.storage { transaction in
        let collection = try tx.context.collection(of: Plain.self)
        let bytes = [UInt8](
          try tx.context.coder.encode(Other(id: .init(draft.id.rawValue), name: 3)))
        let id = try tx.context.key(of: draft.id)
        try bytes.withUnsafeBytes {
          try RecordEnvelope.put(
            $0, id: id, collection: collection.number, into: collection.records, in: transaction,
            isLast: false)
        }
      }
    }
    #expect(code { try work.commit() } == .conflict)
    #expect(code { _ = try work.conflicts() } == .decodingFailed)
    #expect(draft.name == "b")
  }
}
