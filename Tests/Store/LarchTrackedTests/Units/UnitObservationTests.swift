import Foundation
import LarchTestSupport
import Observation
import Testing

@testable import Larch

/// Who reads a draft or a unit hears of changes, on the main actor and elsewhere.
@Suite struct UnitObservationTests {
  typealias Entry = Units.Entry

  /// Whether the change notifies an observer of the properties that `read` reads.
  func isTold(_ read: () -> Void, of change: () throws -> Void) rethrows -> Bool {
    let flag = Locked(false)
    withObservationTracking(read) { flag.withLock { $0 = true } }
    try change()
    return flag.withLock { $0 }
  }

  @Test func readersOfADraftHearOfItsChanges() throws {
    let store = try Units.store()
    let work = store.work()
    let draft = try work.insert(Entry(name: "a"))
    let other = try work.insert(Entry(name: "b"))
    func name() { _ = draft.name }
    #expect(isTold(name) { draft.name = "c" })
    #expect(isTold(name) { draft.record.name = "d" })
    #expect(isTold({ _ = draft.record }) { draft.notes.append("n") })
    #expect(isTold({ _ = try? draft.changes() }) { draft.code = 1 })
    #expect(isTold(name) { work.undo() })
    #expect(isTold(name) { work.redo() })
    #expect(isTold({ _ = draft.stored }) { try? work.commit() })
    #expect(!isTold(name) { other.name = "x" })
    #expect(!isTold(name) { draft.name = draft.name })
    #expect(!isTold({ _ = draft.hasChanges }) { other.name = "y" })
    #expect(isTold({ _ = draft.hasChanges }) { draft.name = "e" })
    #expect(!isTold({ _ = draft.hasChanges }) { draft.name = "f" })
    #expect(try isTold({ _ = draft.isDeleted }) { try work.delete(draft) })
    #expect(isTold({ _ = draft.isDeleted }) { work.discard() })
    var stored = draft.record
    stored.name = "elsewhere"
    try store.update(stored)
    #expect(try isTold(name) { try work.refresh() })
    #expect(try !isTold(name) { try work.refresh() })
  }

  @Test func readersOfAUnitHearOfItsChanges() throws {
    let work = try Units.store().work()
    func hasChanges() { _ = work.hasChanges }
    var draft: Draft<Entry>?
    #expect(try isTold(hasChanges) { draft = try work.insert(Entry(name: "a")) })
    #expect(!isTold(hasChanges) { draft?.name = "b" })
    #expect(try !isTold(hasChanges) { try work.insert(Entry(name: "c")) })
    #expect(try isTold({ _ = work.changedDrafts }) { try work.insert(Entry(name: "d")) })
    #expect(isTold({ _ = work.canRedo }) { work.undo() })
    #expect(isTold({ _ = work.undoName }) { work.step("s") { draft?.name = "e" } })
    #expect(try isTold(hasChanges) { try work.commit() })
    draft?.name = "x"
    #expect(isTold(hasChanges) { work.undo() })
    draft?.name = "y"
    #expect(isTold(hasChanges) { work.discard() })
  }

  /// As a view model: all of it is on the main actor.
  @MainActor @Test func aScreenUsesItOnTheMainActor() async throws {
    let store = try Units.store()
    let screen = Screen(store)
    try screen.add("a")
    screen.drafts[0].name = "b"
    let commit = Task { try await screen.save() }
    try await commit.value
    #expect(try store.fetch(Entry.all).map(\.name) == ["b"])
    #expect(!screen.work.hasChanges && !screen.work.isCommitting)
  }

  @MainActor final class Screen {
    let work: UnitOfWork
    var drafts: [Draft<Entry>] = []
    init(_ store: Store) { work = store.work() }
    func add(_ name: String) throws { drafts.append(try work.insert(Entry(name: name))) }
    func save() async throws { try await work.commit() }
  }

  /// As a server: each request is a task with a unit of its own.
  @Test func tasksUseUnitsOfTheirOwn() async throws {
    let store = try Units.store()
    try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          let work = store.work()
          let draft = try await work.insert(Entry(name: "\(number)"))
          draft.code = number
          try await work.commit(author: "server")
        }
      }
      try await group.waitForAll()
    }
    #expect(Set(try store.fetch(Entry.all).map(\.code)) == Set(0..<20))
  }

  @Test func anActorKeepsAUnit() async throws {
    actor Session {
      let work: UnitOfWork
      init(_ store: Store) { work = store.work() }
      func add(_ name: String) async throws -> Entry.ID {
        let draft = try await work.insert(Entry(name: name))
        try await work.commit()
        return draft.id
      }
    }
    let store = try Units.store()
    let id = try await Session(store).add("a")
    #expect(try store.find(Entry.self, id)?.name == "a")
  }
}
