import LarchTestSupport
import Testing

@testable import Larch

@Suite("The ways to say what is observed")
struct ObserveVerbTests {
  private func store() throws -> Store {
    try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
  }

  @Test("one record: nil, there, changed, deleted, there again; others read nothing")
  func record() throws {
    let store = try store()
    let observer = store.observe(Tag.self, "a").makeAsyncIterator().polled
    let first = try #require(try observer.poll())
    #expect(first.value == nil)
    try store.put(Tag(id: "b", color: 1))
    #expect(try observer.poll() == nil)
    #expect(observer.reads == 1)
    try store.put(Tag(id: "a", color: 1))
    #expect(try observer.poll()?.value == Tag(id: "a", color: 1))
    try store.put(Tag(id: "a", color: 2))
    try store.put(Tag(id: "b", color: 2))
    #expect(try observer.poll()?.value == Tag(id: "a", color: 2))
    #expect(observer.reads == 3)
    try store.write { try $0.delete(Tag.self, "b") }
    #expect(try observer.poll() == nil)
    #expect(observer.reads == 3)
    try store.write { try $0.erase(Tag.self) }
    let deleted = try #require(try observer.poll())
    #expect(deleted.value == nil)
    try store.put(Tag(id: "a", color: 2))
    #expect(try observer.poll()?.value == Tag(id: "a", color: 2))
    #expect(observer.reads == 5)
  }

  @Test("one record by a closure, and by the type")
  func recordClosure() async throws {
    let store = try store()
    let (stream, called) = AsyncStream.makeStream(of: Int?.self)
    let token = store.observe(Tag.self, "a") { called.yield($0.value?.color) }
    let other = try Tag.observe("b", in: store) { called.yield($0.value?.color) }
    var calls = stream.makeAsyncIterator()
    #expect(await calls.next() == .some(nil))
    #expect(await calls.next() == .some(nil))
    try store.put(Tag(id: "a", color: 1))
    #expect(await calls.next() == 1)
    try store.put(Tag(id: "b", color: 2))
    #expect(await calls.next() == 2)
    let loop = Tag.observe("b", in: store).makeAsyncIterator()
    #expect(try await loop.next()?.value == Tag(id: "b", color: 2))
    withExtendedLifetime((token, other)) {}
  }

  @Test("a request has the verb of the store, and without a store uses that of the task")
  func request() async throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let named = Tag.all.observe(in: store).makeAsyncIterator()
    #expect(try await named.next()?.rows.map(\.id) == ["a"])
    let (stream, called) = AsyncStream.makeStream(of: Int.self)
    // The store is chosen by the call, and not by the first value.
    let (colors, pairs, one, token) = try Store.with(store) {
      (
        Tag.select(\.color).observe(),
        Pet.all.joined(with: Owner.all, on: \.ownerID).observe(),
        Tag.observe("a"),
        try Tag.where { $0.color == 1 }.observe { called.yield($0.count) }
      )
    }
    #expect(try await colors.makeAsyncIterator().next()?.rows == [1])
    #expect(try await pairs.makeAsyncIterator().next()?.isEmpty == true)
    #expect(try await one.makeAsyncIterator().next()?.value?.color == 1)
    for await count in stream {
      #expect(count == 1)
      break
    }
    withExtendedLifetime(token) {}
  }

  @Test("without any store, the loop throws, and so does the closure form")
  func missing() async throws {
    let loop = Tag.all.observe().makeAsyncIterator()
    let error = await #expect(throws: LarchError.self) { try await loop.next() }
    #expect(error?.code == .noDefaultStore)
    let one = Tag.observe("a").makeAsyncIterator()
    await #expect(throws: LarchError.self) { try await one.next() }
    #expect(throws: LarchError.self) { try Tag.all.observe { _ in } }
    #expect(throws: LarchError.self) { try Tag.observe("a") { _ in } }
  }

  @Test("an observed value of rows is a collection of them")
  func collection() async throws {
    let store = try store()
    for number in 0..<4 { try store.put(Tag(id: "\(number)", color: number)) }
    let iterator = store.observe(Tag.all).makeAsyncIterator()
    let tags = try #require(try await iterator.next())
    var colors: [Int] = []
    for tag in tags { colors.append(tag.color) }
    #expect(colors == [0, 1, 2, 3])
    #expect(tags.count == 4 && !tags.isEmpty)
    #expect(tags[2].color == 2)
    #expect(tags.first?.id == "0" && tags.last?.id == "3")
    #expect(tags.reversed().map(\.color) == [3, 2, 1, 0])
    #expect(tags.index(tags.startIndex, offsetBy: 3) == tags.indices.last)
    #expect(tags.distance(from: 1, to: 4) == 3)
    #expect(Array(tags.enumerated()).map(\.offset) == [0, 1, 2, 3])
  }
}
