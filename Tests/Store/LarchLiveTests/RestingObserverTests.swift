import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// An observer with a closure has no task while it waits: a commit begins one.
@Suite("Observers that rest")
struct RestingObserverTests {
  private static func store() throws -> Store {
    try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
  }

  @Test("calls have the store of the task that began the observation, whoever commits")
  func taskStore() async throws {
    let (store, other) = (try Self.store(), try Self.store())
    defer {
      store.close()
      other.close()
    }
    try store.put(Tag(id: "a", color: 1))
    let counts = Locked<[Int?]>([])
    let token = try await Store.with(store) { () async throws in
      try Tag.all.observe { _ in
        let count = try? Tag.all.count()
        counts.withLock { $0.append(count) }
      }
    }
    await token.settled()
    for id in ["b", "c"] {
      try await Store.with(other) { () async throws in
        try store.put(Tag(id: id, color: 1))
      }
      await token.settled()
    }
    #expect(counts.withLock { $0 } == [1, 2, 3])
  }

  @Test("calls have the priority of the task that began the observation")
  func priority() async throws {
    let store = try Self.store()
    defer { store.close() }
    let seen = Locked<[TaskPriority]>([])
    let kept = Locked<ObservationToken?>(nil)
    // Whoever waits for one of the tasks would raise it.
    Task.detached(priority: .utility) {
      let token = store.observe(Tag.all) { _ in
        withUnsafeCurrentTask { task in seen.withLock { $0.append(task?.priority ?? .high) } }
      }
      kept.withLock { $0 = token }
    }
    while kept.withLock({ $0 == nil }) || seen.withLock({ $0.isEmpty }) { await Task.yield() }
    try store.put(Tag(id: "a", color: 1))
    while seen.withLock({ $0.count }) < 2 { await Task.yield() }
    #expect(seen.withLock { $0.allSatisfy { $0 == .utility } })
    kept.withLock { $0.take() }?.cancel()
  }

  @Test("after the end, settled waits for the call that still runs")
  func lastCall() async throws {
    let store = try Self.store()
    defer { store.close() }
    let order = Locked<[String]>([])
    let holder = Locked<(token: ObservationToken?, waiter: Task<Void, Never>?)>((nil, nil))
    let token = store.observe(Tag.all) { tags in
      guard !tags.isEmpty, let token = holder.withLock({ $0.token.take() }) else { return }
      token.cancel()
      let waiter = Task.detached {
        await token.settled()
        order.withLock { $0.append("settled") }
      }
      holder.withLock { $0.waiter = waiter }
      // If it does not wait, it is the first one now.
      usleep(50_000)
      order.withLock { $0.append("call") }
    }
    await token.settled()
    holder.withLock { $0.token = token }
    try store.put(Tag(id: "a", color: 1))
    await token.settled()
    await holder.withLock { $0.waiter.take() }?.value
    #expect(order.withLock { $0 } == ["call", "settled"])
    #expect(try !store.writesAreLogged())
    // There is nothing to wait for any more.
    await token.settled()
  }

  @Test("what is committed during a call is delivered before the work rests")
  func commitDuringCall() async throws {
    let store = try Self.store()
    defer { store.close() }
    let counts = Locked<[Int]>([])
    let token = store.observe(Tag.all) { tags in
      counts.withLock { $0.append(tags.count) }
      if tags.count < 5 { try? store.put(Tag(id: "\(tags.count)", color: 1)) }
    }
    await token.settled()
    #expect(counts.withLock { $0 } == [0, 1, 2, 3, 4, 5])
  }

  /// Work whose end begins other work.
  private final class EndingWork: ListenerWork, @unchecked Sendable {
    private let end: () -> Void

    init(end: @escaping () -> Void) {
      self.end = end
      super.init(priority: 1)
    }

    deinit { end() }

  }

  @Test("the end of one that has begun may begin others", .timeLimit(.minutes(15)))
  func endOfWork() {
    let lines = WorkLines()
    var ended = 0
    func begin() { lines.begin([EndingWork { lines.begin([EndingWork { ended += 1 }]) }]) }
    for _ in 0..<100 {
      begin()
      // Its task, and then that of the other one.
      for _ in 0..<3 { lines.beginNext(1) }
    }
    #expect(ended == 100)
  }

  @Test("one whose read takes long is in the way of no other", .timeLimit(.minutes(15)))
  func slowRead() async throws {
    let store = try Self.store()
    defer { store.close() }
    let letGo = DispatchSemaphore(value: 0)
    let called = Locked(0)
    var tokens: [ObservationToken] = []
    for number in 0..<12 {
      if number == 5 {
        tokens.append(
          store.observe({ tx in
            let tags = try tx.fetch(Tag.all)
            if !tags.isEmpty { letGo.wait() }
            return tags
          }) { _ in })
      }
      tokens.append(
        store.observe(Tag.all.limit(20 + number)) { tags in
          if !tags.isEmpty { called.withLock { $0 += 1 } }
        })
    }
    for token in tokens { await token.settled() }
    // All of them begin with one commit.
    try store.put(Tag(id: "a", color: 1))
    while called.withLock({ $0 < 12 }) { await Task.yield() }
    letGo.signal()
    for token in tokens { await token.settled() }
  }

  @Test("an observation that is cancelled while it begins leaves nothing behind")
  func cancelledAtOnce() async throws {
    let store = try Self.store()
    defer { store.close() }
    var random = SeededGenerator(seed: runSeed)
    for _ in 0..<600 {
      let isGivenUp = Bool.random(using: &random)
      let yields = Int.random(in: 0..<3, using: &random)
      var token: ObservationToken? = store.observe(Tag.all) { _ in }
      for _ in 0..<yields { await Task.yield() }
      if !isGivenUp { token?.cancel() }
      token = nil
      _ = token
    }
    var rounds = 0
    while try store.writesAreLogged(), rounds < 100_000 {
      rounds += 1
      await Task.yield()
    }
    #expect(try !store.writesAreLogged(), "seed \(runSeed)")
  }

  @Test(
    "after settled, each closure has had all that was committed before, in order and one by one")
  func settled() async throws {
    let store = try Self.store()
    defer { store.close() }
    final class Calls: Sendable {
      let state = Locked((last: 0, running: 0, faults: 0))

      func note(_ count: Int) {
        state.withLock { state in
          if count < state.last || state.running != 0 { state.faults += 1 }
          state.last = count
          state.running += 1
        }
        state.withLock { $0.running -= 1 }
      }
    }
    let calls = (0..<6).map { _ in Calls() }
    let tokens = calls.enumerated().map { place, calls in
      place % 2 == 0
        ? store.observe(Tag.all.sorted(by: \.color)) { calls.note($0.count) }
        : store.observe({ tx in try tx.count(Tag.where { $0.color >= 0 }) }) {
          calls.note($0.value)
        }
    }
    let committed = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          for number in 0..<60 {
            try store.put(Tag(id: "\(writer) \(number)", color: number))
            let least = committed.withLock { count in
              count += 1
              return count
            }
            let place = (writer + number) % tokens.count
            await tokens[place].settled()
            let last = calls[place].state.withLock { $0.last }
            #expect(last >= least)
          }
        }
      }
      try await group.waitForAll()
    }
    for (token, calls) in zip(tokens, calls) {
      await token.settled()
      let state = calls.state.withLock { $0 }
      #expect(state.last == 180 && state.faults == 0)
    }
  }
}

@Suite("Sets of trees")
struct TreeSetTests {
  @Test("have the same elements as a set, also beyond the first word")
  func model() {
    var random = SeededGenerator(seed: runSeed)
    func trees() -> Set<UInt32> {
      let most: UInt32 = [10, 63, 64, 65, 300].randomElement(using: &random)!
      let count = Int.random(in: 0..<12, using: &random)
      return Set((0..<count).map { _ in UInt32.random(in: 0...most, using: &random) })
    }
    for _ in 0..<5_000 {
      let (a, b) = (trees(), trees())
      let (one, other) = (TreeSet(a), TreeSet(b))
      var union = one
      union.formUnion(other)
      #expect(Array(one) == a.sorted() && one.trees == a.sorted(), "seed \(runSeed)")
      #expect(union == TreeSet(a.union(b)))
      #expect(one.intersection(other) == TreeSet(a.intersection(b)))
      #expect(one.intersects(other) == !a.isDisjoint(with: b))
      #expect((one == other) == (a == b) && one.isEmpty == a.isEmpty)
      #expect((0...301).allSatisfy { one.contains($0) == a.contains($0) })
    }
  }
}
