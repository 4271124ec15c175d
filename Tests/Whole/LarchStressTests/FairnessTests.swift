import Foundation
import Larch
import LarchCrashSupport
import LarchTestSupport
import Testing

/// Counts writes, not time: the number of writes of others between the call of a writer and its own
/// write.
@Suite("No write waits forever")
struct FairnessTests {
  struct Turn: Record {
    var id: Int
    var count = 0
  }

  private static let asked = 60

  @Test("one thread among 64 tasks that write without a pause")
  func threadAmongTasks() async throws {
    let crowd = try Crowd()
    let thread = Task { try await crowd.tasks(64) }
    let waits = try await onThread { try crowd.askOften(Self.asked) }
    crowd.stop()
    try await thread.value
    // Each task has at most one write in the queue, and earlier ones may not have arrived there
    // yet.
    expectBounded(waits, by: 2 * 64)
  }

  @Test("one task among eight threads that write without a pause")
  func taskAmongThreads() async throws {
    let crowd = try Crowd()
    crowd.threads(8)
    var waits: [Int] = []
    for _ in 0..<Self.asked {
      let before = crowd.turns
      waits.append(try await crowd.store.write { tx in try crowd.take(tx) } - before)
    }
    crowd.stop()
    await crowd.joinThreads()
    expectBounded(waits, by: 3 * 8)
  }

  @Test("one thread among eight threads, and one task among 64 tasks")
  func amongTheirOwn() async throws {
    let threads = try Crowd()
    threads.threads(8)
    expectBounded(
      try await onThread { try threads.askOften(Self.asked) }, by: 3 * 8)
    threads.stop()
    await threads.joinThreads()

    let tasks = try Crowd()
    let others = Task { try await tasks.tasks(64) }
    var waits: [Int] = []
    for _ in 0..<Self.asked {
      let before = tasks.turns
      waits.append(try await tasks.store.write { tx in try tasks.take(tx) } - before)
    }
    tasks.stop()
    try await others.value
    expectBounded(waits, by: 3 * 64)
  }

  /// Between reading the count and joining the queue, the system may stop a thread for a long time.
  /// That happens sometimes, but an unfair queue would show each time.
  private func expectBounded(_ waits: [Int], by bound: Int) {
    let sorted = waits.sorted()
    #expect(sorted.count == Self.asked)
    #expect(sorted[sorted.count * 3 / 4] <= bound, "waited for \(sorted) turns of others")
  }

  /// A store, and writers that keep it busy until they are stopped.
  private final class Crowd: Sendable {
    let store: Store
    private let state = Guarded((turns: 0, isStopped: false))
    private let running = DispatchGroup()
    /// This number of turns ends a test in which a thread waits endlessly.
    private static let patience = 200_000

    init() throws { store = try Store.temporary(for: Turn.self) }

    var turns: Int { state.withLock { $0.turns } }

    /// Called in each write: the number of the turn.
    func take(_ tx: WriteTransaction) throws -> Int {
      var turn = try tx.find(Turn.self, 0) ?? Turn(id: 0)
      turn.count += 1
      try tx.save(&turn)
      return state.withLock { state in
        state.turns += 1
        return state.turns
      }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    private var goesOn: Bool { state.withLock { !$0.isStopped && $0.turns < Self.patience } }

    func tasks(_ count: Int) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<count {
          group.addTask { [self] in
            while goesOn { _ = try await store.write { tx in try self.take(tx) } }
          }
        }
        try await group.waitForAll()
      }
    }

    func threads(_ count: Int) {
      for _ in 0..<count {
        running.enter()
        Thread.detachNewThread { [self] in
          defer { running.leave() }
          while goesOn { _ = try? store.write { tx in try take(tx) } }
        }
      }
    }

    func joinThreads() async {
      await withCheckedContinuation { ended in
        running.notify(queue: .global()) { ended.resume() }
      }
    }

    /// How many turns others had, each time.
    func askOften(_ times: Int) throws -> [Int] {
      try (0..<times).map { _ in
        let before = turns
        return try store.write { tx in try take(tx) } - before
      }
    }
  }
}
