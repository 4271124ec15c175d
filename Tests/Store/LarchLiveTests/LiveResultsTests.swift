import LarchTestSupport
import Observation
import Testing

@testable import Larch

@Suite("Objects that follow changes on the main actor")
@MainActor
struct LiveResultsTests {
  private func store(log: (@Sendable (LogMessage) -> Void)? = nil) throws -> Store {
    var options = Store.Options()
    options.log = log
    return try Store.temporary(
      for: Owner.self, Pet.self, Note.self, Tag.self, options: options)
  }

  /// Counts the changes of what a closure reads, one for each time that it was read.
  @MainActor
  private final class Reader {
    private let read: @MainActor () -> Void
    private(set) var changes = 0

    init(_ read: @escaping @MainActor () -> Void) {
      self.read = read
      track()
    }

    private func track() {
      withObservationTracking {
        read()
      } onChange: { [weak self] in
        MainActor.assumeIsolated { self?.changes += 1 }
      }
    }

    /// The number of changes since the last call; 0 or 1.
    func take() -> Int {
      if changes == 0 { return 0 }
      defer {
        changes = 0
        track()
      }
      return changes
    }
  }

  @Test("the first rows are there at once, and later ones after `settled`")
  func now() async throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows == [Tag(id: "a", color: 1)])
    #expect(!tags.isLoading && tags.error == nil)
    #expect(tags.version == (try store.version))
    for number in 0..<20 {
      try store.put(Tag(id: "\(number)", color: number))
      await tags.settled()
      #expect(tags.rows.count == number + 2)
    }
    #expect(tags.version == (try store.version))
  }

  @Test("records with their related ones, and families, are requests like others")
  func severalTypes() async throws {
    let store = try store()
    var owner = Owner(name: "o", city: "Oslo", age: 4)
    try await store.write { [owner] tx in
      var owner = owner
      try tx.save(&owner)
    }
    owner = try #require(try store.first(Owner.all))
    let owners = LiveResults(Owner.all.with(Owner.pets, from: Pet.all.with(Pet.tags)), in: store)
    let all = LiveResults(Family<any Record>(Owner.all, Tag.all), in: store)
    #expect(owners.rows.map { $0.1.count } == [0] && all.rows.count == 1)
    try store.put(Tag(id: "a", color: 1))
    await all.settled()
    #expect(all.rows.count == 2)
    #expect(all.rows.last is Tag)
  }

  @Test("with `.later`, it is loading until the first rows are there")
  func later() async throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let tags = LiveResults(Tag.all, in: store, first: .later)
    let loading = Reader { _ = tags.isLoading }
    #expect(tags.isLoading && tags.rows.isEmpty && tags.version == nil)
    await tags.settled()
    #expect(!tags.isLoading && tags.rows.count == 1)
    #expect(loading.take() == 1)
  }

  @Test("an object that nobody reads does nothing")
  func unread() async throws {
    let store = try store()
    let tags = LiveResults(Tag.all.limit(-1), in: store)
    tags.follow(Tag.all)
    #expect(try !store.writesAreLogged())
    #expect(tags.rows.isEmpty)
    #expect(try store.writesAreLogged())
    await tags.settled()
    #expect(tags.rows.isEmpty)
  }

  @Test("readers of a property hear of its changes, and not of those of other properties")
  func tracking() async throws {
    let store = try store()
    let tags = LiveResults(Tag.where { $0.color > 0 }, in: store)
    let rows = Reader { _ = tags.rows }
    let other = Reader { _ = (tags.isLoading, tags.error == nil) }
    try store.put(Tag(id: "a", color: 1))
    await tags.settled()
    #expect(rows.take() == 1)
    try store.put(Tag(id: "b", color: 0))
    try store.put(Tag(id: "a", color: 1))
    await tags.settled()
    #expect(rows.take() == 0)
    try store.put(Tag(id: "a", color: 2))
    await tags.settled()
    #expect(rows.take() == 1)
    #expect(other.take() == 0)
  }

  @Test("`apply` makes each change, on the main actor")
  func apply() async throws {
    let store = try store()
    let tags = LiveResults(Tag.all, in: store)
    var counts: [Int] = []
    tags.apply = { change in
      MainActor.assertIsolated()
      counts.append(tags.rows.count)
      change()
      counts.append(tags.rows.count)
    }
    #expect(tags.rows.isEmpty && counts.isEmpty)
    try store.put(Tag(id: "a", color: 1))
    await tags.settled()
    #expect(counts == [0, 1])
    tags.apply = { $0() }
  }

  @Test("an error is shown and logged, at once or later, and ends it")
  func error() async throws {
    let (stream, told) = AsyncStream.makeStream(of: LogMessage.self)
    let store = try store(log: { if $0.level == .error { told.yield($0) } })
    var messages = stream.makeAsyncIterator()
    for first in [FirstValue.now, .later] {
      let line: UInt = #line + 1
      let broken = LiveResults(Tag.all.limit(-1), in: store, first: first)
      await broken.settled()
      #expect((broken.error as? LarchError)?.code == .invalidQuery)
      #expect(!broken.isLoading && broken.rows.isEmpty)
      let message = await messages.next()
      #expect(message?.event == .observationFailed)
      #expect(message?.details.place == CodePlace(file: #fileID, line: line))
    }
    #expect(try !store.writesAreLogged())
    let missing = LiveResults(Tag.all)
    #expect((missing.error as? LarchError)?.code == .noDefaultStore)
    await missing.settled()
    let chosen = Store.with(store) { LiveResults(Tag.all) }
    #expect(chosen.error == nil)
  }

  @Test("a record: nil, there, changed, deleted")
  func record() async throws {
    let store = try store()
    let tag = LiveRecord(Tag.self, "a", in: store)
    let reader = Reader { _ = tag.record }
    #expect(tag.record == nil && !tag.isLoading && tag.version != nil)
    try store.put(Tag(id: "a", color: 1))
    await tag.settled()
    #expect(tag.record?.color == 1)
    #expect(reader.take() == 1)
    try store.put(Tag(id: "b", color: 1))
    await tag.settled()
    #expect(reader.take() == 0)
    try await store.write { try $0.delete(Tag.self, "a") }
    await tag.settled()
    #expect(tag.record == nil)
    #expect(reader.take() == 1)
  }

  @Test("any value of a closure")
  func value() async throws {
    let store = try store()
    let count = LiveValue(in: store) { try $0.count(Tag.all) }
    let later = LiveValue(in: store, first: .later) { try $0.exists(Tag.all) }
    #expect(count.value == 0)
    #expect(later.value == nil)
    await later.settled()
    #expect(later.value == false)
    try store.put(Tag(id: "a", color: 1))
    await count.settled()
    await later.settled()
    #expect(count.value == 1 && later.value == true)
    count.cancel()
    try store.put(Tag(id: "b", color: 1))
    await count.settled()
    #expect(count.value == 1 && !count.isLoading)
  }

  @Test("another request takes the place of the first one, also without a commit between them")
  func follow() async throws {
    let store = try store()
    for number in 0..<4 { try store.put(Tag(id: "\(number)", color: number)) }
    let tags = LiveResults(Tag.where { $0.color < 1 }, in: store)
    let reader = Reader { _ = tags.rows }
    #expect(tags.rows.count == 1)
    tags.follow(Tag.where { $0.color < 2 })
    #expect(tags.rows.count == 2)
    #expect(reader.take() == 1)
    tags.follow(Tag.where { $0.color < 3 }, first: .later)
    #expect(tags.rows.count == 2 && tags.isLoading)
    await tags.settled()
    #expect(tags.rows.count == 3 && !tags.isLoading)
    try store.put(Tag(id: "a", color: 2))
    await tags.settled()
    #expect(tags.rows.count == 4)
    tags.follow(Tag.all.limit(-1))
    #expect(tags.error != nil && tags.rows.count == 4)
    tags.follow(Tag.all)
    #expect(tags.error == nil && tags.rows.count == 5)
  }

  @Test("another request is followed in the same store, whatever the default store is")
  func followedStore() async throws {
    let store = try store()
    try store.put(Tag(id: "mine", color: 1))
    let other = try self.store()
    try other.put(Tag(id: "other", color: 1))
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows.map(\.id) == ["mine"])
    await Store.with(other) {
      tags.follow(Tag.where { $0.color == 1 })
      await tags.settled()
    }
    #expect(tags.rows.map(\.id) == ["mine"])
  }

  @Test("values of a request that is no longer followed are dropped")
  func dropped() async throws {
    let store = try store()
    for round in 0..<100 {
      let tags = LiveResults(Tag.all, in: store)
      #expect(tags.rows.count == round)
      try store.put(Tag(id: "\(round)", color: 1))
      if round % 2 == 0 { await Task.yield() }
      tags.follow(Tag.where { $0.color == 5 })
      await Task.yield()
      await tags.settled()
      #expect(tags.rows.isEmpty)
    }
  }

  @Test("it ends when nobody keeps it")
  func released() async throws {
    let store = try store()
    var tags: LiveResults<Tag>? = LiveResults(Tag.all, in: store)
    #expect(tags?.rows.isEmpty == true)
    #expect(try store.writesAreLogged())
    weak let released = tags
    tags = nil
    #expect(released == nil)
    while try store.writesAreLogged() { await Task.yield() }
  }

  @Test("it keeps its rows when the store is closed")
  func closed() async throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let tags = LiveResults(Tag.all, in: store)
    #expect(tags.rows.count == 1)
    store.close()
    await tags.settled()
    #expect(tags.rows.count == 1 && tags.error == nil)
  }
}
