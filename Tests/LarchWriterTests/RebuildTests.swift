import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// An asynchronous program could repair its indexes only by blocking a thread of all tasks, and was not
/// told how far it was.
@Suite("Rebuilding in asynchronous code")
struct RebuildTests {
  struct Entry: Record {
    var id = RecordID<Entry>()
    var number: Int
    var text: String
    static let schema = Schema<Entry> {
      Index(\.number)
      Unique(\.text)
    }
  }

  private struct Enough: Error {}

  private func filled() async throws -> Store {
    var options = Store.Options()
    options.indexBatchSize = 10
    let store = try Store.temporary(for: Entry.self, options: options)
    try await store.write { tx in
      for number in 0..<95 {
        var entry = Entry(number: number % 7, text: "text \(number)")
        try tx.insert(&entry)
      }
    }
    return store
  }

  @Test("It reports the progress of each index, and leaves a valid store")
  func progress() async throws {
    let store = try await filled()
    let steps = Locked<[Store.IndexProgress]>([])
    try await store.rebuild { step in steps.withLock { $0.append(step) } }
    let told = steps.withLock { $0 }
    #expect(
      told.map(\.index) == Array(repeating: "number", count: 10)
        + Array(repeating: "text", count: 10))
    #expect(told.prefix(10).map(\.done) == [10, 20, 30, 40, 50, 60, 70, 80, 90, 95])
    #expect(told.allSatisfy { $0.total == 95 && $0.collection == "Entry" })
    #expect(try await store.verify().isClean)
    #expect(try store.explain(Entry.where { $0.number == 3 }).hasPrefix("index number"))
  }

  @Test("Stopped at any batch, the store answers and takes saves as before, and can be rebuilt")
  func stopped() async throws {
    for count in [1, 4, 10, 11, 19] {
      let store = try await filled()
      let steps = Locked(0)
      await #expect(throws: Enough.self) {
        try await store.rebuild { _ in
          let done = steps.withLock { steps in
            steps += 1
            return steps
          }
          if done == count { throw Enough() }
        }
      }
      let query = Entry.where { $0.number == 3 }
      let ids = try store.fetch(Entry.all).filter { $0.number == 3 }.map(\.id)
      #expect(try store.ids(query) == ids, "after \(count)")
      var entry = Entry(number: 3, text: "new")
      try await entry.save(in: store)
      #expect(try store.ids(query) == ids + [entry.id], "after \(count)")
      try await store.rebuild()
      #expect(try store.explain(query).hasPrefix("index number"))
      #expect(try store.ids(query) == ids + [entry.id])
      #expect(try store.find(Entry.self, by: \.text, equals: "new")?.id == entry.id)
      #expect(try await store.verify().isClean)
    }
  }

  @Test("A task that is cancelled stops it")
  func cancelled() async throws {
    let store = try await filled()
    let task = Task {
      try await store.rebuild { _ in withUnsafeCurrentTask { $0?.cancel() } }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    try await store.rebuild()
    #expect(try await store.verify().isClean)
  }
}
