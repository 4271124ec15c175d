import LarchTestSupport
import Testing

@testable import Larch

@Suite("When an observer delivers")
struct ObservationPaceTests {
  private func store() throws -> Store {
    try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
  }

  private func observer(_ store: Store, _ clock: ManualClock) -> Observer<[Tag]> {
    Observer(store, Tag.all.observedRead(), ObservationPace(.seconds(1), clock))
  }

  @Test("with a least time, changes during it are one value, and the last state comes")
  func every() async throws {
    let store = try store()
    let clock = ManualClock()
    let observer = observer(store, clock)
    #expect(try await observer.next()?.value.count == 0)
    try store.put(Tag(id: "a", color: 1))
    let next = Task { try await observer.next() }
    while clock.sleeperCount == 0 { await Task.yield() }
    try store.put(Tag(id: "b", color: 1))
    clock.advance(by: .milliseconds(999))
    #expect(clock.sleeperCount == 1)
    try store.put(Tag(id: "c", color: 1))
    clock.advance(by: .milliseconds(1))
    #expect(try await next.value?.value.map(\.id) == ["a", "b", "c"])
    #expect(observer.reads + observer.patches == 2)
    // The time has passed while nothing changed: the next value comes at once.
    clock.advance(by: .seconds(1))
    try store.put(Tag(id: "d", color: 1))
    #expect(try await observer.next()?.value.count == 4)
    #expect(clock.sleeperCount == 0)
  }

  @Test("the same for a closure, whose commits look at it")
  func everyCall() async throws {
    let store = try store()
    let clock = ManualClock()
    let values = Locked<[[String]]>([])
    let token = ObservationToken.begin(
      observer(store, clock), .later, on: nil, at: CodePlace(), nil
    ) { tags in
      values.withLock { $0.append(tags.value.map(\.id)) }
    }
    await token.settled()
    try store.put(Tag(id: "a", color: 1))
    while clock.sleeperCount == 0 { await Task.yield() }
    try store.put(Tag(id: "b", color: 1))
    clock.advance(by: .seconds(1))
    await token.settled()
    #expect(values.withLock { $0 } == [[], ["a", "b"]])
  }

  @Test("the least time delays neither the first value nor the end by cancellation")
  func cancelled() async throws {
    let store = try store()
    let clock = ManualClock()
    let observer = observer(store, clock)
    #expect(try await observer.next() != nil)
    try store.put(Tag(id: "a", color: 1))
    let next = Task { try await observer.next() }
    while clock.sleeperCount == 0 { await Task.yield() }
    next.cancel()
    #expect(try await next.value == nil)
    #expect(ObservationPace(.zero) == nil)
  }

  @Test("closing the store ends an observer that waits for its least time")
  func closed() async throws {
    let store = try store()
    let clock = ManualClock()
    let observer = observer(store, clock)
    #expect(try await observer.next() != nil)
    try store.put(Tag(id: "a", color: 1))
    let next = Task { try await observer.next() }
    while clock.sleeperCount == 0 { await Task.yield() }
    store.close()
    #expect(try await next.value == nil)
  }

  @Test("a least time that no clock can count is a long one")
  func longest() async throws {
    let store = try store()
    for interval in [Duration.seconds(Int64.max), .seconds(9_460_800_000_000)] {
      let iterator = store.observe(Tag.all, every: interval).makeAsyncIterator()
      #expect(try await iterator.next() != nil)
      try store.put(Tag(id: "\(interval)", color: 1))
      let next = Task { try await iterator.next() }
      for _ in 0..<20 { await Task.yield() }
      next.cancel()
      #expect(try await next.value == nil)
    }
  }

  @Test("`every:` is accepted by each form")
  func forms() async throws {
    let store = try store()
    let every = Duration.nanoseconds(1)
    let (stream, called) = AsyncStream.makeStream(of: Void.self)
    let tokens = [
      store.observe(Tag.all, every: every) { _ in called.yield() },
      store.observe(every: every) {
        try $0.count(Tag.all)
      } onChange: { _ in
        called.yield()
      },
      store.observe(Tag.self, "a", every: every) { _ in called.yield() },
      try Tag.all.observe(in: store, every: every) { _ in called.yield() },
      try Tag.observe("a", in: store, every: every) { _ in called.yield() },
    ]
    let counts = store.observe(every: every) { try $0.count(Tag.all) }.makeAsyncIterator()
    let ids = Tag.all.observe(in: store, every: every).makeAsyncIterator()
    let one = Tag.observe("a", in: store, every: every).makeAsyncIterator()
    var calls = stream.makeAsyncIterator()
    for _ in tokens { await calls.next() }
    _ = try await (counts.next(), ids.next(), one.next())
    try store.put(Tag(id: "a", color: 1))
    for _ in tokens { await calls.next() }
    #expect(try await counts.next()?.value == 1)
    #expect(try await ids.next()?.count == 1)
    #expect(try await one.next()?.value?.color == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("the end of a task ends its wait for `settled`", .timeLimit(.minutes(15)))
  func cancelledWait() async throws {
    let store = try store()
    let token = store.observe(Tag.all, every: .seconds(3600)) { _ in }
    await token.settled()
    try store.put(Tag(id: "later", color: 1))
    let waits = (0..<3).map { _ in Task { await token.settled() } }
    for _ in 0..<20 { await Task.yield() }
    for wait in waits { wait.cancel() }
    for wait in waits { await wait.value }
    // One that is cancelled before it begins.
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await token.settled()
    }
    await late.value
    // Others still wait.
    let other = Task { await token.settled() }
    for _ in 0..<20 { await Task.yield() }
    token.cancel()
    await other.value
  }

  @Test("after `settled`, all that was committed before it is delivered")
  func settled() async throws {
    let store = try store()
    let seen = Locked(-1)
    let token = store.observe(Tag.all) { tags in seen.withLock { $0 = tags.count } }
    await token.settled()
    #expect(seen.withLock { $0 } == 0)
    for number in 1...200 {
      try store.put(Tag(id: "\(number)", color: 1))
      if number % 3 == 0 { await Task.yield() }
      if number % 7 == 0 { try store.put(Owner(name: "a", city: "b", age: 1)) }
      await token.settled()
      #expect(seen.withLock { $0 } == number)
    }
  }

  @Test("several tasks may wait for `settled`, beside a writer")
  func settledTogether() async throws {
    let store = try store()
    let seen = Locked(-1)
    let token = store.observe(every: .nanoseconds(1)) {
      try $0.count(Tag.all)
    } onChange: { count in
      seen.withLock { $0 = count.value }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<50 {
            try store.put(Tag(id: "\(task)-\(number)", color: 1))
            let count = try store.count(Tag.all)
            await token.settled()
            #expect(seen.withLock { $0 } >= count)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(seen.withLock { $0 } == 200)
  }

  private struct Failed: Error {}

  @Test("`settled` returns after the end of an observation, and after its `onError`")
  func settledAfterTheEnd() async throws {
    let store = try store()
    let failed = Locked(false)
    let token = store.observe(
      { tx in if try tx.count(Tag.all) > 0 { throw Failed() } },
      onError: { _ in failed.withLock { $0 = true } }, onChange: { _ in })
    await token.settled()
    #expect(failed.withLock { !$0 })
    try store.put(Tag(id: "a", color: 1))
    await token.settled()
    #expect(failed.withLock { $0 })
    let other = store.observe(Tag.all) { _ in }
    other.cancel()
    await other.settled()
    let last = store.observe(Tag.all) { _ in }
    store.close()
    await last.settled()
  }
}
