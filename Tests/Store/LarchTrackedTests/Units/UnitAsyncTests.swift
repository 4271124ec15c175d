import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Commits that wait without blocking, and what is edited meanwhile.
@MainActor @Suite struct UnitAsyncTests {
  typealias Entry = Units.Entry
  typealias Folder = Units.Folder
  typealias File = Units.File

  let store: Store
  let work: UnitOfWork
  init() throws {
    store = try Units.store()
    work = store.work()
  }

  /// Runs `edit` on this actor while a commit waits for the write lock, which another thread has.
  /// That one then writes too.
  func committing(
    elsewhere: @escaping @Sendable (WriteTransaction) throws -> Void = { _ in },
    _ edit: () throws -> Void
  ) async throws {
    let (store, entered, leave) = (store, Signal(), Signal())
    Thread.detachNewThread {
      try? store.write { tx in
        entered.set()
        leave.wait()
        try elsewhere(tx)
      }
    }
    entered.wait()
    let commit = Task { try await work.commit() }
    // The commit has begun once it is visible.
    while !work.isCommitting { await Task.yield() }
    try edit()
    leave.set()
    try await commit.value
  }

  final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func set() { semaphore.signal() }
    func wait() { semaphore.wait() }
  }

  @Test func editsMadeMeanwhileStay() async throws {
    let draft = try await work.insert(Entry(name: "a"))
    let other = try await work.insert(Entry(name: "b"))
    try await committing {
      draft.code = 5
      #expect(work.isCommitting)
      #expect(code { try self.commitBlocking() } == .busy)
    }
    #expect(try store.find(Entry.self, draft.id)?.code == nil)
    #expect(draft.change == .updated && draft.code == 5 && draft.stored?.code == nil)
    #expect(!other.hasChanges && !work.canUndo && !work.isCommitting)
    try await work.commit()
    #expect(try store.find(Entry.self, draft.id)?.code == 5)
  }

  func commitBlocking() throws { try work.commit() }

  @Test func editsMadeMeanwhileAreMergedWithWhatHooksStored() async throws {
    let folder = try await work.insert(Folder(name: "f"))
    let file = try await work.insert(File(name: " x ", folderID: folder.id))
    try await committing {
      folder.name = "renamed"
      file.size = 9
    }
    #expect(folder.count == 1 && folder.name == "renamed")
    #expect(file.name == "x" && file.size == 9 && file.version == 1)
    try await work.commit()
    #expect(try store.find(Folder.self, folder.id) == folder.record)
    #expect(try store.find(File.self, file.id) == file.record)
  }

  @Test func aDiscardMeanwhileTakesBackWhatCameAfter() async throws {
    let draft = try await work.insert(Entry(name: "a"))
    try await committing {
      draft.name = "later"
      work.discard()
      #expect(draft.name == "a")
    }
    #expect(draft.name == "a" && !work.hasChanges)
    #expect(try store.fetch(Entry.all).map(\.name) == ["a"])
  }

  @Test func aDiscardMeanwhileTakesBackAnUndoToo() async throws {
    let draft = try await work.insert(Entry(name: "a"))
    try await committing {
      work.undo()
      #expect(draft.isDeleted)
      work.discard()
    }
    #expect(!draft.isDeleted && !work.hasChanges && draft.stored == draft.record)
  }

  @Test func whatOthersWroteMeanwhileIsNotOverwritten() async throws {
    let edited = try await work.insert(Entry(name: "edited"))
    let idle = try await work.insert(Entry(name: "idle"))
    let other = try await work.insert(Entry(name: "other"))
    try await work.commit()
    let (first, second) = (edited.id, idle.id)
    other.code = 1
    try await committing(
      elsewhere: { tx in
        for id in [first, second] {
          guard var entry = try tx.find(Entry.self, id) else { continue }
          entry.name = "theirs"
          try tx.update(entry)
        }
      }
    ) {
      // It has no part in the commit that is running.
      edited.name = "mine"
      try work.refresh()
    }
    #expect(edited.name == "mine" && idle.name == "theirs" && !other.hasChanges)
    #expect(try work.conflicts().map(\.clashes) == [["name"]])
    await #expect(throws: LarchError.self) { try await work.commit() }
    #expect(try store.find(Entry.self, first)?.name == "theirs")
  }

  @Test func anUndoMeanwhileIsAnEditOfWhatWasStored() async throws {
    let stays = try await work.insert(Entry(name: "stays"))
    try await work.commit()
    stays.name = "edited"
    let added = try await work.insert(Entry(name: "added"))
    try await committing {
      work.undo()
      work.undo()
    }
    #expect(added.change == .deleted && stays.change == .updated && stays.name == "stays")
    try await work.commit()
    #expect(try store.fetch(Entry.all).map(\.name) == ["stays"])
  }

  @Test func aDeletionThatIsUndoneMeanwhileIsAnInsertion() async throws {
    let draft = try await work.insert(Entry(name: "a"))
    try await work.commit()
    try work.delete(draft)
    try await committing { work.undo() }
    #expect(draft.change == .inserted)
    #expect(try store.count(Entry.all) == 0)
    try await work.commit()
    #expect(try store.fetch(Entry.all) == [draft.record])
  }

  @Test func anEditOfARecordThatARuleDeletesMeanwhileIsAConflict() async throws {
    let folder = try await work.insert(Folder(name: "f"))
    let file = try await work.insert(File(name: "x", folderID: folder.id))
    try await work.commit()
    try work.delete(folder)
    try await committing { file.size = 3 }
    #expect(try store.count(File.all) == 0 && file.size == 3)
    #expect(try work.conflicts().map(\.kind) == [.deleted])
    await #expect(throws: LarchError.self) { try await work.commit() }
  }

  @Test func aCancelledCommitWritesNothing() async throws {
    let draft = try await work.insert(Entry(name: "a"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await work.commit()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(draft.change == .inserted && !work.isCommitting && work.canUndo)
    try await work.commit()
    #expect(try store.count(Entry.all) == 1)
  }

  @Test func aCommitTellsItsAuthor() async throws {
    let values = store.observe(Entry.all).makeAsyncIterator()
    _ = try await values.next()
    try await work.insert(Entry(name: "a"))
    try await work.commit(author: "editor")
    let next = try await values.next()
    #expect(next?.value.count == 1 && next?.authors == ["editor"])
  }
}
