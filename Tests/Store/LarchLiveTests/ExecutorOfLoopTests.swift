import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A commit wakes the observers that it concerns. An executor of the program may run them at once, on
/// the thread of the commit.
@Suite("Loops on an executor of the program")
struct ExecutorOfLoopTests {
  /// Runs each job where it is enqueued.
  private final class Inline: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Follows the tags and answers each new one by a write. Gives the errors of these writes.
  private static func answers(
    in store: Store, _ put: @escaping @Sendable (Store, Tag) async throws -> Void
  ) async throws -> [any Error] {
    let errors = Locked<[any Error]>([])
    let begun = Locked(false)
    let loop = Task(executorPreference: Inline()) {
      for try await tags in store.observe(Tag.all) {
        begun.withLock { $0 = true }
        for tag in tags.rows where tag.color == 1 {
          do { try await put(store, Tag(id: tag.id, color: 2)) } catch {
            errors.withLock { $0.append(error) }
          }
        }
        if tags.rows.count == 20, tags.rows.allSatisfy({ $0.color == 2 }) { return }
        if !errors.withLock({ $0.isEmpty }) { return }
      }
    }
    while !begun.withLock({ $0 }) { await Task.yield() }
    for number in 0..<20 { try await put(store, Tag(id: "\(number)", color: 1)) }
    try await loop.value
    return errors.withLock { $0 }
  }

  @Test("it may write when a write of a thread wakes it", .timeLimit(.minutes(15)))
  func threads() async throws {
    let store = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
    defer { store.close() }
    let errors = try await Self.answers(in: store, Self.put)
    #expect(errors.isEmpty)
  }

  @Test("it may write when an asynchronous write wakes it", .timeLimit(.minutes(15)))
  func tasks() async throws {
    let store = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
    defer { store.close() }
    let errors = try await Self.answers(in: store) { store, tag in
      try await store.write { try $0.put(tag) }
    }
    #expect(errors.isEmpty)
  }

  @Test(
    "the task of an asynchronous write may go on with any other write", .timeLimit(.minutes(15)))
  func callers() async throws {
    struct Refused: Error {}
    let store = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
    defer { store.close() }
    let task = Task(executorPreference: Inline()) {
      for number in 0..<20 {
        try await store.write { try $0.put(Tag(id: "a\(number)", color: 1)) }
        try Self.put(store, Tag(id: "b\(number)", color: 1))
        await #expect(throws: Refused.self) {
          try await store.write { tx in
            try tx.put(Tag(id: "c\(number)", color: 1))
            throw Refused()
          }
        }
        try Self.put(store, Tag(id: "d\(number)", color: 1))
      }
    }
    try await task.value
    #expect(try store.count(Tag.all) == 60)
  }

  @Test("a write that waits for those of its own thread gets an error", .timeLimit(.minutes(15)))
  func ownThread() async throws {
    let store = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
    defer { store.close() }
    let (began, letGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let first = Task(executorPreference: Inline()) {
      try await store.write { tx in
        began.signal()
        letGo.wait()
        try tx.put(Tag(id: "first", color: 1))
      }
      // The thread and the last task asked before this write.
      return Result { try Self.put(store, Tag(id: "second", color: 1)) }
    }
    await Self.wait { began.wait(timeout: .now()) == .success }
    Thread.detachNewThread { try? Self.put(store, Tag(id: "thread", color: 1)) }
    await Self.wait { store.environment.writeQueue.waitingCount == 1 }
    let last = Task { try await store.write { try $0.put(Tag(id: "last", color: 1)) } }
    await Self.wait { store.environment.writeQueue.waitingCount == 2 }
    letGo.signal()
    let outcome = try await first.value
    #expect(
      performing: { try outcome.get() }, throws: { ($0 as? LarchError)?.code == .nestedWrite })
    try await last.value
    #expect(try store.fetch(Tag.all).map(\.id) == ["first", "last", "thread"])
  }

  private static func wait(until condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  private static func put(_ store: Store, _ tag: Tag) throws { try store.put(tag) }
}
