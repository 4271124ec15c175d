import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// LMDB gives no number to a commit that changes nothing. If another process commits next, its commit gets the
/// number that the empty one would have had.
@Suite("Another process commits just after a write that changed nothing", .serialized)
struct EmptyCommitTests {
  /// Lets another process commit when LMDB has ended a transaction, and the writer has not gone on yet.
  private final class Intruder: TransactionWatcher {
    let files: OutboxDirectory
    let what: String
    let isOfObservers: Bool
    private(set) var ending: Result<Child.Ending, any Error>?

    init(_ files: OutboxDirectory, _ what: String, instead transaction: LMDBTransaction) {
      self.files = files
      self.what = what
      isOfObservers = transaction.isObserved
    }

    override var isObserving: Bool { isOfObservers }

    override func didCommit() {
      ending = Result {
        try Child(["commit-once", files.writer, what], in: files.path).wait()
      }
    }
  }

  private let files: OutboxDirectory
  private let store: Store

  init() throws {
    files = try OutboxDirectory()
    store = try Store(at: files.writer, for: Entry.self)
  }

  /// Ends a write, and lets another process commit just after it.
  private func commit(before what: String, _ body: (WriteAttempt) throws -> Void = { _ in }) throws
  {
    let environment = store.environment
    try environment.withWriteLock {
      let attempt = try environment.beginWrite()
      try body(attempt)
      let intruder = Intruder(files, what, instead: attempt.transaction)
      let watched = WriteAttempt(
        environment: environment,
        transaction: LMDBTransaction(pointer: attempt.transaction.pointer, watcher: intruder))
      #expect(try watched.commit(.none))
      #expect(try intruder.ending?.get() == .exit(0))
    }
  }

  private func save(_ id: String) throws {
    var entry = Entry(id: id, owner: 0, text: id, value: nil)
    try store.save(&entry)
  }

  private var ids: [String] { get throws { try store.fetch(Entry.all).map(\.id).sorted() } }

  @Test("the next write is recorded for the mirror that the other one has begun")
  func outbox() throws {
    defer { store.close() }
    try save("before")
    try commit(before: "outbox")
    try save("after")
    #expect(try store.environment.outboxHeader()?.place.position == 1)
    #expect(try store.environment.waiting().count == 1)
  }

  @Test("the next write goes into the file that the other one has put there")
  func compacted() throws {
    try save("before")
    try commit(before: "compact")
    try save("after")
    #expect(try ids == ["after", "before"])
    store.close()
    let again = try Store(at: files.writer, for: Entry.self)
    defer { again.close() }
    #expect(try again.fetch(Entry.all).map(\.id).sorted() == ["after", "before"])
  }

  @Test("the entries of a mirrored store follow each other")
  func entries() throws {
    defer { store.close() }
    try store.environment.beginOutbox(role: .writer, place: .start)
    try save("before")
    try commit(before: "save")
    try save("after")
    #expect(try store.environment.waiting().map(\.place.position) == [1, 2, 3])
    try store.environment.read { try store.environment.checkOutbox(in: $0) }
  }

  @Test("an observer sees what the other one saved", .timeLimit(.minutes(15)))
  func observed() async throws {
    defer { store.close() }
    try save("before")
    let values = store.observe(Entry.all).makeAsyncIterator()
    #expect(try await values.next()?.rows.map(\.id) == ["before"])
    try commit(before: "save")
    #expect(try await values.next()?.rows.map(\.id).sorted() == ["before", "of the child"])
  }

  @Test("changes that were undone make no commit", arguments: [false, true])
  func undone(_ isUndone: Bool) throws {
    defer { store.close() }
    try store.environment.beginOutbox(role: .writer, place: .start)
    try save("before")
    struct Undone: Error {}
    let environment = store.environment
    let tree = try #require(
      try environment.openDatabases { try environment.openDatabase("index.2", in: $0) })
    let key = [UInt8]("key".utf8)
    try commit(before: "save") { attempt in
      try? attempt.runChild { transaction in
        try tree.put(key, key, in: transaction)
        if isUndone { throw Undone() }
      }
    }
    try save("after")
    let positions = try store.environment.waiting().map(\.place.position)
    #expect(positions == Array(1...(isUndone ? 3 : 4)))
  }
}
