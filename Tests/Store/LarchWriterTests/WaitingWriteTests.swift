import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Extra: Record {
  var id = RecordID<Extra>()
}

@Suite("Writes in the queue")
struct WaitingWriteTests {
  private enum Caller { @TaskLocal static var name = "nobody" }

  @Test("a cancelled one continues at once, while another write runs, and writes nothing")
  func cancelled() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let tasks = (0..<10).map { number in Task { try await store.insert(number) } }
    try await store.untilWaiting(10)
    for task in tasks[..<5] { task.cancel() }
    for task in tasks[..<5] {
      // The write lock is kept all the time: a thread that waits for it would never end.
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    held.end()
    for task in tasks[5...] { try await task.value }
    #expect(try store.numbers().sorted() == Array(5..<10))
  }

  @Test("a closure sees the values and the cancellation of the calling task")
  func values() async throws {
    let store = try Store.temporary(for: Entry.self)
    let began = DispatchSemaphore(value: 0)
    let cancelled = DispatchSemaphore(value: 0)
    let task = Task {
      try await Caller.$name.withValue("ada") {
        try await store.write { _ in
          began.signal()
          cancelled.wait()
          return (Caller.name, Task.isCancelled)
        }
      }
    }
    while began.wait(timeout: .now()) == .timedOut { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    cancelled.signal()
    let seen = try await task.value
    #expect(seen == ("ada", true))
  }

  @Test("a closure in a large group sees the values of its own caller")
  func manyValues() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let tasks = (0..<40).map { number in
      Task {
        try await Caller.$name.withValue("caller \(number)") {
          try await store.write { _ in Caller.name }
        }
      }
    }
    try await store.untilWaiting(40)
    held.end()
    for (number, task) in tasks.enumerated() {
      #expect(try await task.value == "caller \(number)")
    }
  }

  /// Begins tasks one after the other, on its own executor.
  @available(macOS 26, iOS 26, *)
  private actor Asker {
    let store: Store
    init(_ store: Store) { self.store = store }

    /// Returns the writes, and how many of them had a place in the queue before this task waited for anything.
    func ask(
      _ numbers: Range<Int>, _ size: @Sendable (Int) -> Int = { _ in 0 }
    ) -> (tasks: [Task<Void, any Error>], waiting: Int) {
      let tasks = numbers.map { number in
        let size = size(number)
        return Task.immediate {
          try await store.write { tx in
            var entry = Entry(number: number, text: String(repeating: "x", count: size))
            try tx.insert(&entry)
          }
        }
      }
      return (tasks, store.asyncWriter.waitingCount)
    }
  }

  @Test("each takes its place with the call, so the writes of one task have an order")
  @available(macOS 26, iOS 26, *)
  func order() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let asked = await Asker(store).ask(0..<50)
    held.end()
    for task in asked.tasks { try await task.value }
    #expect(asked.waiting == 50)
    #expect(try store.numbers() == Array(0..<50))
  }

  @Test("if the store is closed meanwhile, each of them throws an error")
  func closed() async throws {
    let store = try Store.temporary(for: Entry.self)
    let held = HeldWriter(store)
    let tasks = (0..<5).map { number in Task { try await store.insert(number) } }
    try await store.untilWaiting(5)
    store.close()
    held.end()
    for task in tasks {
      let error = await task.result.failure as? LarchError
      #expect(error?.code == .closed)
    }
  }

  @Test("a store without other references stays open until they have ended")
  func lastReference() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var store: Store? = try Store(at: path, for: Entry.self)
    let task = Task { [store] in try await store!.insert(1) }  // Set on the line before.
    store = nil
    try await task.value
    let again = try Store(at: path, for: Entry.self)
    defer { again.close() }
    #expect(try again.numbers() == [1])
  }

  @Test("the schema may change before they run")
  func schemaChange() async throws {
    let store = try Store.temporary(for: Entry.self)
    try await store.insert(0)
    let held = HeldWriter(store)
    let tasks = (1..<5).map { number in Task { try await store.insert(number) } }
    try await store.untilWaiting(4)
    let changed = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      // After them in the queue; later ones find other handles.
      try? store.environment.write { transaction in
        try CatalogLoader(store.environment, store.schema).raiseGeneration(in: transaction)
      }
      changed.signal()
    }
    held.end()
    for task in tasks { try await task.value }
    while changed.wait(timeout: .now()) == .timedOut {
      try await Task.sleep(for: .milliseconds(1))
    }
    for number in 5..<9 { try await store.insert(number) }
    // The four tasks may have called in any order.
    #expect(try store.numbers().sorted() == Array(0..<9))
    #expect(try await store.verify().isClean)
  }

  @Test("handles are opened again for a group while more writes of the store wait in the queue")
  func otherDeclarations() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, for: Entry.self)
    defer { store.close() }
    // Adds a collection to the file, so that the handles of the first one are out of date.
    let other = try Store(at: path, for: Entry.self, Extra.self)
    defer { other.close() }
    let held = HeldWriter(other)
    let first = Task { try await store.insert(1) }
    try await store.untilWaiting(1)
    let asked = store.turnsAsked()
    Thread.detachNewThread { try? other.write { _ in } }
    while store.turnsAsked() == asked { try await Task.sleep(for: .milliseconds(1)) }
    let second = Task { try await store.insert(2) }
    try await store.untilWaiting(2)
    held.end()
    try await first.value
    try await second.value
    #expect(try store.numbers() == [1, 2])
  }

  @Test("a map that is too small grows under them, and every write is kept once")
  func growth() async throws {
    var options = Store.Options()
    options.initialMapSize = 128 << 10
    let store = try Store.temporary(for: Entry.self, options: options)
    var random = SeededGenerator(seed: 6)
    for round in 0..<10 {
      let held = HeldWriter(store)
      let sizes = (0..<30).map { _ in Int.random(in: 0..<40_000, using: &random) }
      let tasks = sizes.enumerated().map { number, size in
        Task {
          try await store.write { tx in
            var entry = Entry(
              number: round * 100 + number, text: String(repeating: "x", count: size))
            try tx.insert(&entry)
            if number % 7 == 0 { throw Stop() }
          }
        }
      }
      try await store.untilWaiting(30)
      held.end()
      for (number, task) in tasks.enumerated() {
        let failure = await task.result.failure
        #expect((failure is Stop) == (number % 7 == 0), "\(String(describing: failure))")
      }
    }
    let kept = (0..<10).flatMap { round in
      (0..<30).filter { $0 % 7 != 0 }.map { round * 100 + $0 }
    }
    #expect(try store.numbers().sorted() == kept)
    #expect(try await store.verify().isClean)
  }

  @Test("they keep their order when the map grows under them", arguments: [false, true])
  @available(macOS 26, iOS 26, *)
  func orderOfGrowth(_ isMirrored: Bool) async throws {
    for seed in 0..<8 as Range<UInt64> {
      var options = Store.Options.quick
      options.initialMapSize = 128 << 10
      let store = try Store.temporary(for: Entry.self, options: options)
      // Each write is stored twice then, and the second time at the commit of all.
      if isMirrored { try store.environment.beginOutbox(role: .writer, place: .start) }
      var random = SeededGenerator(seed: seed)
      let sizes = (0..<400).map { _ in Int.random(in: 0..<9_000, using: &random) }
      let asker = Asker(store)
      for round in 0..<20 {
        let held = HeldWriter(store)
        let asked = await asker.ask(round * 20..<(round + 1) * 20) { sizes[$0] }
        held.end()
        for task in asked.tasks { try await task.value }
      }
      #expect(try store.numbers() == Array(0..<400), "seed \(seed)")
      store.close()
    }
  }

  @Test("a closure that runs twice in a group assigns each record its own id")
  func rehearsed() async throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let store = try Store.temporary(for: Entry.self, options: options)
    let held = HeldWriter(store)
    let tasks = (0..<20).map { number in Task { try await store.insert(number) } }
    try await store.untilWaiting(20)
    held.end()
    for task in tasks { try await task.value }
    let ids = try store.read { tx throws in try tx.all(Entry.self).map { $0.id.rawValue } }
    // Those of undone runs are excluded.
    #expect(ids.count == 20 && ids == ids.sorted() && Set(ids).count == 20)
  }
}
