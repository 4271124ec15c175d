import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What a unit of work promises, one promise a test.
@Suite struct UnitOfWorkTests {
  typealias Entry = Units.Entry
  typealias Folder = Units.Folder
  typealias File = Units.File
  typealias Sheet = Units.Sheet

  let store: Store
  init() throws { store = try Units.store() }

  func entry(_ name: String, code: Int? = nil) throws -> Entry {
    var entry = Entry(name: name, code: code)
    try store.save(&entry)
    return entry
  }

  // MARK: Order

  struct Line: Record {
    var id = RecordID<Line>()
    var position: Int
    nonisolated(unsafe) static var saves = 0
    static let schema = Schema<Line> {
      Unique(\.position)
      WillSave { _, _ in Line.saves += 1 }
    }
  }

  /// Of a chain in which each record waits for the next, each round wrote only the last.
  @Test func aChainOfUniqueValuesIsWrittenInTwoRounds() throws {
    let store = try Store.temporary(for: Line.self)
    let count = 200
    for direction in [1, -1] {
      try store.delete(Line.all)
      try store.saveAll((0..<count).map { Line(position: $0) })
      let work = store.work()
      for draft in try work.drafts(Line.all.sorted(by: \.position)) { draft.position += direction }
      _ = try work.insert(Line(position: direction > 0 ? 0 : count - 1))
      Line.saves = 0
      try work.commit()
      #expect(Line.saves <= 2 * (count + 1))
      #expect(try store.count(Line.all) == count + 1)
    }
  }

  // MARK: Identity

  @Test func loadingTwiceGivesOneObject() throws {
    let saved = try entry("a")
    let work = store.work()
    let first = try #require(try work.draft(Entry.self, saved.id))
    #expect(try work.draft(Entry.self, saved.id) === first)
    #expect(try work.drafts(Entry.where { $0.name == "a" }).first === first)
    #expect(try store.work().draft(Entry.self, saved.id) !== first)
    let absent = try work.draft(Entry.self, .init(99))
    let unassigned = try work.draft(Entry.self, .init())
    #expect(absent == nil && unassigned == nil)
  }

  @Test func twoSpellingsOfOneTextAreOneID() throws {
    let sheet = Sheet(id: "caf\u{e9}", text: "x")
    try store.update(sheet, insertingIn: store)
    let work = store.work()
    let draft = try work.draft(Sheet.self, "caf\u{e9}")
    #expect(draft != nil)
    #expect(try work.draft(Sheet.self, "cafe\u{301}") === draft)
  }

  @Test func relatedRecordsAreDraftsToo() throws {
    let work = store.work()
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: "x", folderID: folder.id))
    try work.commit()
    let related = try work.drafts(folder.record.related(Folder.files))
    #expect(related.count == 1 && related[0] === file)
  }

  @Test func aQueryKeepsEditsAndLeavesOutWhatTheUnitDeletes() throws {
    let (a, b) = (try entry("a"), try entry("b"))
    let work = store.work()
    let drafts = try work.drafts(Entry.all)
    drafts[0].name = "edited"
    try work.delete(drafts[1])
    try work.insert(Entry(name: "a"))
    let again = try work.drafts(Entry.where { $0.name == "a" })
    #expect(again.map(\.id) == [a.id] && again[0].name == "edited")
    #expect(try work.drafts(Entry.all).map(\.id) == [a.id])
    let deleted = try work.draft(Entry.self, b.id)
    #expect(deleted == nil)
    #expect(work.drafts(of: Entry.self, .inserted).map(\.name) == ["a"])
    #expect(work.drafts(of: Entry.self, .updated).map(\.id) == [a.id])
    #expect(work.drafts(of: Entry.self, .deleted).map(\.id) == [b.id])
    #expect(work.drafts(of: Folder.self, .inserted).isEmpty)
  }

  @Test func aDraftWithoutChangesIsBroughtUpToDate() throws {
    var saved = try entry("a")
    let work = store.work()
    let draft = try #require(try work.draft(Entry.self, saved.id))
    saved.name = "b"
    try store.update(saved)
    #expect(draft.name == "a")
    #expect(try work.draft(Entry.self, saved.id) === draft)
    #expect(draft.name == "b" && !draft.hasChanges)
    try store.delete(saved)
    #expect(try work.refresh().isEmpty)
    #expect(draft.isDeleted && !draft.hasChanges && draft.stored == nil)
  }

  // MARK: Edits

  @Test func editsStayInMemoryUntilTheCommit() throws {
    let saved = try entry("a")
    let work = store.work()
    let draft = try #require(try work.draft(Entry.self, saved.id))
    draft.code = 7
    draft.notes.append("n")
    #expect(draft.hasChanges && draft.change == .updated && work.hasChanges)
    #expect(try draft.changes().map(\.description) == ["code: nil -> 7", "notes: [] -> [\"n\"]"])
    #expect(draft.stored == saved)
    #expect(try store.find(Entry.self, saved.id) == saved)
    let before = try store.lastTransactionID
    try work.commit()
    #expect(try store.lastTransactionID == before + 1)
    #expect(try store.find(Entry.self, saved.id) == draft.record)
    #expect(!draft.hasChanges && !work.hasChanges && draft.stored == draft.record)
    try work.commit()
    #expect(try store.lastTransactionID == before + 1)
  }

  @Test func settingTheSameValueIsNoEdit() throws {
    let saved = try entry("a")
    let work = store.work()
    let draft = try #require(try work.draft(Entry.self, saved.id))
    draft.name = "a"
    draft.revert()
    #expect(!work.hasChanges && !work.canUndo)
    draft.name = "b"
    draft.name = "a"
    #expect(!work.hasChanges && work.canUndo)
  }

  @Test func anEditThatThrowsChangesNothing() throws {
    let work = store.work()
    let draft = try work.insert(Entry(name: "a"))
    #expect(throws: Stop.self) {
      try draft.edit {
        $0.name = "b"
        throw Stop()
      }
    }
    #expect(draft.name == "a")
  }

  @Test func aPropertyCanBeReadWhileItIsChanged() throws {
    let work = store.work()
    let draft = try work.insert(Entry(name: "a"))
    func change(_ name: inout String) { name += draft.name + "b" }
    change(&draft.name)
    #expect(draft.name == "aab")
  }

  @Test func aRecordOfAClassIsACopy() throws {
    let work = store.work()
    let sheet = Sheet(id: "s", text: "one")
    let draft = try work.insert(sheet)
    sheet.text = "elsewhere"
    draft.record.text = "on the copy"
    #expect(draft.text == "one")
    draft.text = "two"
    #expect(work.undo() && draft.text == "one")
    #expect(work.redo() && draft.text == "two")
    try work.commit()
    #expect(try store.find(Sheet.self, "s")?.text == "two")
    draft.text = "three"
    #expect(draft.stored?.text == "two" && draft.hasChanges)
  }

  @Test func discardTakesBackEverything() throws {
    let (a, b) = (try entry("a"), try entry("b"))
    let work = store.work()
    let drafts = try work.drafts(Entry.all)
    drafts[0].name = "x"
    try work.delete(drafts[1])
    let added = try work.insert(Entry(name: "c"))
    work.undo()
    work.redo()
    work.discard()
    #expect(!work.hasChanges && !work.canUndo && !work.canRedo && added.isDeleted)
    #expect(drafts.map(\.record) == [a, b])
    try work.commit()
    #expect(try store.fetch(Entry.all) == [a, b])
  }

  // MARK: Inserts and ids

  @Test func anInsertedDraftHasAnIDToReferTo() throws {
    let work = store.work()
    let parent = try work.insert(Entry(name: "parent"))
    #expect(parent.id.isAssigned)
    let child = try work.insert(Entry(name: "child", parentID: parent.id))
    #expect(try work.draft(Entry.self, parent.id) === parent)
    #expect(try store.count(Entry.all) == 0)
    // Somebody else gets another id.
    let other = try entry("other")
    #expect(other.id != parent.id && other.id != child.id)
    try work.commit()
    #expect(try store.find(Entry.self, child.id)?.parentID == parent.id)
    #expect(try store.verify().isClean)
  }

  @Test func theOrderOfInsertsDoesNotMatter() throws {
    let work = store.work()
    let child = try work.insert(Entry(name: "child"))
    let parent = try work.insert(Entry(name: "parent"))
    child.parentID = parent.id
    try work.commit()
    #expect(try store.find(Entry.self, child.id)?.parentID == parent.id)
  }

  @Test func anIDThatWasNeverCommittedIsNotUsedAgain() throws {
    let work = store.work()
    let id = try work.insert(Entry(name: "a")).id
    work.discard()
    #expect(try entry("b").id > id)
    #expect(try store.work().insert(Entry(name: "c")).id > id)
  }

  @Test func anIDOfTheProgramIsKept() throws {
    let work = store.work()
    try work.insert(Sheet(id: "one", text: ""))
    #expect(code { try work.insert(Sheet(id: "one", text: "again")) } == .idExists)
    try work.commit()
    #expect(try store.exists(Sheet.self, "one"))
  }

  @Test func aRecordTakesThePlaceOfADeletedOne() throws {
    let saved = try entry("a")
    let work = store.work()
    let draft = try #require(try work.draft(Entry.self, saved.id))
    try work.delete(draft)
    let again = try work.insert(Entry(id: saved.id, name: "new"))
    #expect(again === draft && draft.change == .updated)
    #expect(work.undo() && draft.isDeleted)
    work.redo()
    try work.commit()
    #expect(try store.fetch(Entry.all).map(\.name) == ["new"])
  }

  @Test func anInsertionThatIsDeletedIsNothing() throws {
    let work = store.work()
    let draft = try work.insert(Entry(name: "a"))
    try work.delete(draft)
    #expect(!work.hasChanges && draft.isDeleted)
    let absent = try work.draft(Entry.self, draft.id)
    #expect(absent == nil)
    #expect(work.undo() && work.hasChanges)
  }

  // MARK: Errors

  @Test func wrongUseIsATypedError() throws {
    struct Unknown: Record { var id = RecordID<Unknown>() }
    let work = store.work()
    let draft = try work.insert(Entry(name: "a"))
    #expect(code { try store.work().delete(draft) } == .foreignDraft)
    #expect(code { try work.insert(Unknown()) } == .unknownCollection)
    #expect(code { try store.write { _ in _ = try work.insert(Entry(name: "b")) } } == .nestedWrite)
    #expect(code { try work.step("s") { try work.commit() } } == .busy)
    #expect(code { try store.write { _ in try work.commit() } } == .nestedWrite)
    draft.record.id = .init(77)
    #expect(code { try work.commit() } == .idChanged)
    work.undo()
    try work.commit()
    #expect(try store.count(Entry.all) == 1)
  }

  @Test func aReadOnlyStoreCanBeEditedAndRefusesToSave() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("unit-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/a.larch"
    var saved = Entry(name: "a")
    try Store(at: path, for: Entry.self).save(&saved)
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store(at: path, for: Entry.self, options: options)
    let work = store.work()
    let draft = try #require(try work.draft(Entry.self, saved.id))
    draft.name = "b"
    #expect(code { try work.commit() } == .readOnly)
    #expect(code { try work.insert(Entry(name: "c")) } == .readOnly)
    #expect(draft.name == "b" && draft.hasChanges)
  }

  @Test func afterAnErrorOfTheCommitEverythingIsAsItWas() throws {
    let (a, b) = (try entry("a", code: 1), try entry("b", code: 2))
    let work = store.work()
    let drafts = try work.drafts(Entry.all)
    let added = try work.insert(Entry(name: "c", code: 3))
    drafts[1].code = 1
    for (value, expected) in [("", LarchError.Code.invalid), ("ok", .uniqueConflict)] {
      added.name = value
      #expect(code { try work.commit() } == expected)
      #expect(try store.fetch(Entry.all) == [a, b])
      #expect(added.change == .inserted && drafts[1].code == 1 && work.canUndo)
    }
    drafts[1].code = 4
    added.parentID = .init(1000)
    #expect(code { try work.commit() } == .danglingReference)
    #expect(try store.fetch(Entry.all) == [a, b])
    added.parentID = b.id
    try work.commit()
    #expect(try store.fetch(Entry.all).map(\.code) == [1, 4, 3])
    #expect(try store.verify().isClean)
  }

  @Test func anErrorOfAHookReachesTheCaller() throws {
    let work = store.work()
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: "refused", folderID: folder.id))
    #expect(throws: File.Refused.self) { try work.commit() }
    #expect(file.change == .inserted && folder.change == .inserted)
    #expect(try store.count(Folder.all) == 0)
  }

  // MARK: The commit

  @Test func aUniqueValueMovesFromADeletedRecord() throws {
    let old = try entry("a", code: 1)
    let work = store.work()
    try work.delete(try #require(try work.draft(Entry.self, old.id)))
    try work.insert(Entry(name: "b", code: 1))
    try work.commit()
    #expect(try store.fetch(Entry.all).map(\.name) == ["b"])
  }

  @Test func uniqueValuesMoveOnInAnyOrder() throws {
    let saved = [try entry("a", code: 1), try entry("b", code: 2), try entry("c", code: 3)]
    let work = store.work()
    let drafts = try work.drafts(Entry.all)
    for draft in drafts { draft.code = draft.code.map { $0 + 1 } }
    try work.commit()
    #expect(try store.fetch(Entry.all).map(\.code) == [2, 3, 4])
    drafts[0].code = 3
    drafts[1].code = 2
    #expect(code { try work.commit() } == .uniqueConflict)
    #expect(try store.find(Entry.self, saved[0].id)?.code == 2)
  }

  @Test func aRecordLeavesBeforeItsOwnerIsDeleted() throws {
    let work = store.work()
    let (first, second) = (
      try work.insert(Folder(name: "1")), try work.insert(Folder(name: "2"))
    )
    let stays = try work.insert(File(name: "stays", folderID: first.id))
    let goes = try work.insert(File(name: "goes", folderID: first.id))
    try work.commit()
    stays.folderID = second.id
    try work.delete(first)
    try work.commit()
    #expect(try store.fetch(File.all).map(\.name) == ["stays"])
    #expect(goes.isDeleted && !goes.hasChanges && first.isDeleted && !stays.isDeleted)
  }

  @Test func draftsHoldWhatWasStored() throws {
    let time = Date(timeIntervalSinceReferenceDate: 1000)
    let store = try Units.store { $0.clock = { time } }
    let work = store.work()
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: " x ", folderID: folder.id))
    try work.commit()
    #expect(file.name == "x" && file.version == 1 && file.createdAt == time)
    // A hook changed the folder after it was saved.
    #expect(folder.count == 1 && !work.hasChanges)
    file.size = 5
    try work.commit()
    #expect(file.version == 2)
    #expect(try store.find(File.self, file.id) == file.record)
    #expect(try store.find(Folder.self, folder.id) == folder.record)
  }

  @Test func theChangesOfHooksAndOfTheUnitAreMerged() throws {
    let work = store.work()
    let folder = try work.insert(Folder(name: "f"))
    try work.commit()
    // The hook of the file changes the folder before the folder is saved.
    try work.insert(File(name: "x", folderID: folder.id))
    folder.name = "renamed"
    try work.commit()
    #expect(folder.name == "renamed" && folder.count == 1)
    #expect(try store.find(Folder.self, folder.id) == folder.record)
  }

  @Test func aCommitThatRunsTwiceStoresOnce() throws {
    let store = try Units.store { $0.runsWritesTwice = true }
    let work = store.work()
    let folder = try work.insert(Folder(name: "f"))
    let file = try work.insert(File(name: "x", folderID: folder.id))
    try work.commit()
    #expect(folder.count == 1 && file.version >= 1)
    #expect(try store.find(File.self, file.id) == file.record)
  }
}

extension Store {
  /// Inserts a record of a class, which is a constant.
  fileprivate func update<R: Record>(_ record: R, insertingIn store: Store) throws {
    var record = record
    try store.insert(&record)
  }
}
