import LarchTestSupport
import Testing

@testable import Larch

@Suite("The first call of a closure")
struct FirstCallTests {
  private static func store(log: (@Sendable (LogMessage) -> Void)? = nil) throws -> Store {
    var options = Store.Options()
    options.log = log
    let store = try Store.temporary(
      for: Owner.self, Pet.self, Note.self, Tag.self, options: options)
    try store.put(Tag(id: "a", color: 1))
    return store
  }

  private actor Counter {
    var counts: [Int] = []

    /// Returns the counts when `observe` has returned.
    func begin(_ store: Store) -> (ObservationToken, [Int]) {
      let token = store.observe(Tag.all, first: .now) { tags in
        self.assertIsolated()
        self.counts.append(tags.count)
      }
      return (token, counts)
    }
  }

  @Test("with `.now`, it comes before `observe` returns: on the main actor")
  @MainActor
  func mainActor() async throws {
    let store = try Self.store()
    var counts: [Int] = []
    let token = store.observe(Tag.all, first: .now) { tags in
      MainActor.assertIsolated()
      counts.append(tags.count)
    }
    #expect(counts == [1])
    try store.put(Tag(id: "b", color: 1))
    await token.settled()
    #expect(counts == [1, 2])
  }

  @Test("in an actor")
  func actor() async throws {
    let store = try Self.store()
    let counter = Counter()
    let (token, first) = await counter.begin(store)
    #expect(first == [1])
    try await store.write { try $0.put(Tag(id: "b", color: 1)) }
    await token.settled()
    #expect(await counter.counts == [1, 2])
  }

  @Test("and on no actor, for each form of `observe`")
  func noActor() async throws {
    let store = try Self.store()
    let found = Locked<[String]>([])
    @Sendable func add(_ text: String) { found.withLock { $0.append(text) } }
    func take() -> [String] {
      found.withLock { found in
        defer { found = [] }
        return found
      }
    }
    let request = store.observe(Tag.all, first: .now) { tags in add("rows \(tags.count)") }
    #expect(take() == ["rows 1"])
    let read = store.observe(first: .now) {
      (try $0.count(Tag.all), try $0.exists(Pet.all))
    } onChange: { now in
      add("value \(now.value)")
    }
    #expect(take() == ["value (1, false)"])
    let record = store.observe(Tag.self, "a", first: .now) { add("record \($0.value?.color ?? 0)") }
    #expect(take() == ["record 1"])
    let verb = try Tag.all.observe(in: store, first: .now) { add("verb \($0.count)") }
    #expect(take() == ["verb 1"])
    let typed = try Tag.observe("b", in: store, first: .now) { add("typed \($0.value == nil)") }
    #expect(take() == ["typed true"])
    try await store.write { try $0.put(Tag(id: "b", color: 1)) }
    for token in [request, read, record, verb, typed] { await token.settled() }
    #expect(take().sorted() == ["rows 2", "typed false", "value (2, false)", "verb 2"])
  }

  @Test("a closure of another actor gets it there, before all others")
  func otherActor() async throws {
    let store = try Self.store()
    let counts = Locked<[Int]>([])
    let token = store.observe(Tag.all, first: .now) { @MainActor tags in
      MainActor.assertIsolated()
      counts.withLock { $0.append(tags.count) }
    }
    try await store.write { try $0.put(Tag(id: "b", color: 1)) }
    await token.settled()
    #expect(counts.withLock { $0 } == [1, 2])
  }

  @Test("with `.later`, it comes after `observe` has returned")
  @MainActor
  func later() async throws {
    let store = try Self.store()
    var counts: [Int] = []
    let token = store.observe(Tag.all, first: .later) { counts.append($0.count) }
    #expect(counts.isEmpty)
    await token.settled()
    #expect(counts == [1])
  }

  @Test("while others write, no value comes twice, and what was written after it comes")
  func noGap() async throws {
    let store = try Self.store()
    let writer = Task.detached {
      var number = 1
      while !Task.isCancelled {
        number += 1
        try await store.write { [number] in try $0.put(Tag(id: "a", color: number)) }
      }
    }
    for round in 0..<200 {
      let colors = Locked<[Int]>([])
      let last = Locked(-1)
      let token = store.observe(Tag.all, first: .now, delivery: .each) { tags in
        colors.withLock { $0.append(tags.first { $0.id == "a" }?.color ?? 0) }
        last.withLock { $0 = tags.first { $0.id == "b" }?.color ?? -1 }
      }
      #expect(!colors.withLock { $0.isEmpty })
      try await store.write { try $0.put(Tag(id: "b", color: round)) }
      await token.settled()
      #expect(last.withLock { $0 } == round)
      token.cancel()
      let all = colors.withLock { $0 }
      // The write of this test leaves the color as it is.
      let repeated = zip(all, all.dropFirst()).count { $0 == $1 }
      #expect(all == all.sorted() && repeated <= 1)
    }
    writer.cancel()
    _ = await writer.result
  }

  @Test("an error comes at once too, and ends the observation")
  func error() async throws {
    let messages = Locked<[LogMessage]>([])
    let store = try Self.store { message in messages.withLock { $0.append(message) } }
    let codes = Locked<[LarchError.Code?]>([])
    let token = store.observe(
      Tag.all.limit(-1), first: .now,
      onError: { error in codes.withLock { $0.append((error as? LarchError)?.code) } }
    ) { _ in Issue.record("there is no value") }
    #expect(codes.withLock { $0 } == [.invalidQuery])
    await token.settled()
    #expect(codes.withLock { $0 } == [.invalidQuery])
    #expect(try !store.writesAreLogged())
    let logged = store.observe(Tag.all.limit(-1), first: .now) { _ in }
    await logged.settled()
    #expect(messages.withLock { $0.count { $0.event == .observationFailed } } == 1)
  }

  @Test("the closure may write, and gets what it has written")
  func writing() async throws {
    let store = try Self.store()
    let counts = Locked<[Int]>([])
    let token = store.observe(Tag.all, first: .now) { tags in
      counts.withLock { $0.append(tags.count) }
      if tags.count < 3 {
        do {
          try store.put(Tag(id: "\(tags.count)", color: 1))
        } catch {
          Issue.record(error)
        }
      }
    }
    await token.settled()
    #expect(counts.withLock { $0 } == [1, 2, 3])
  }
}
