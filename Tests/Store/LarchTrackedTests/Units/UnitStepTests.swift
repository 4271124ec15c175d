import LarchTestSupport
import Testing

@testable import Larch

/// Steps, undo and redo.
@Suite struct UnitStepTests {
  typealias Entry = Units.Entry

  let store: Store
  let work: UnitOfWork
  init() throws {
    store = try Units.store()
    work = store.work()
  }

  @Test func eachEditOutsideAStepIsAStep() throws {
    let draft = try work.insert(Entry(name: "a"))
    draft.name = "b"
    draft.name = "c"
    #expect(work.canUndo && !work.canRedo && work.undoName == nil)
    #expect(work.undo() && draft.name == "b")
    #expect(work.undo() && draft.name == "a")
    #expect(work.undo() && draft.isDeleted && !work.hasChanges)
    #expect(!work.undo() && !work.canUndo)
    #expect(work.redo() && work.redo() && draft.name == "b" && work.hasChanges)
    draft.name = "x"
    #expect(!work.canRedo && !work.redo())
  }

  @Test func aStepIsUndoneAsAWhole() throws {
    let (a, b) = (try work.insert(Entry(name: "a")), try work.insert(Entry(name: "b")))
    try work.step("Rename both") {
      a.name = "A"
      b.name = "B"
      a.name = "AA"
      try work.delete(b)
    }
    work.step("Nothing") {}
    #expect(work.undoName == "Rename both")
    work.undo()
    #expect(a.name == "a" && b.name == "b" && !b.isDeleted)
    #expect(work.redoName == "Rename both" && work.undoName == nil)
    work.redo()
    #expect(a.name == "AA" && b.name == "B" && b.isDeleted)
  }

  @Test func aStepThatThrowsTakesItsEditsBack() throws {
    let draft = try work.insert(Entry(name: "a"))
    #expect(throws: Stop.self) {
      try work.step("Fails") {
        draft.name = "b"
        draft.code = 1
        throw Stop()
      }
    }
    #expect(draft.name == "a" && draft.code == nil && work.undoName == nil)
    try work.step("Outer") {
      draft.name = "outer"
      try? work.step("Inner") {
        draft.name = "inner"
        throw Stop()
      }
      #expect(draft.name == "outer" && !work.undo() && !work.redo())
      try work.step("Part") { try work.insert(Entry(name: "b")) }
    }
    #expect(work.undoName == "Outer" && work.changedDrafts.count == 2)
    work.undo()
    #expect(draft.name == "a" && work.changedDrafts.count == 1)
  }

  @Test func aCommitAndADiscardClearTheHistoryAndAFailureDoesNot() throws {
    let draft = try work.insert(Entry(name: ""))
    #expect(throws: LarchError.self) { try work.commit() }
    #expect(work.canUndo)
    draft.name = "a"
    try work.commit()
    #expect(!work.canUndo && !work.undo() && draft.name == "a")
    draft.name = "b"
    work.undo()
    #expect(work.canRedo)
    work.discard()
    #expect(!work.canRedo)
    work.step("Discarded inside") {
      draft.name = "c"
      work.discard()
      draft.name = "d"
    }
    work.undo()
    #expect(draft.name == "a" && !work.hasChanges)
  }

  @Test func aLimitForgetsTheOldest() throws {
    let draft = try work.insert(Entry(name: "0"))
    for number in 1...5 { draft.name = "\(number)" }
    work.undoLimit = 2
    while work.undo() {}
    #expect(draft.name == "3" && work.undoLimit == 2)
    work.undoLimit = 0
    draft.name = "x"
    #expect(!work.canUndo)
    work.undoLimit = nil
    draft.name = "y"
    #expect(work.canUndo)
  }

  @Test func revertIsAnEdit() throws {
    var saved = Entry(name: "a")
    try store.save(&saved)
    let draft = try #require(try work.draft(Entry.self, saved.id))
    draft.name = "b"
    try work.delete(draft)
    draft.revert()
    #expect(draft.record == saved && !work.hasChanges)
    work.undo()
    #expect(draft.isDeleted && draft.name == "b")
    let added = try work.insert(Entry(name: "c"))
    added.name = "d"
    added.revert()
    #expect(added.name == "c" && added.change == .inserted)
  }
}
