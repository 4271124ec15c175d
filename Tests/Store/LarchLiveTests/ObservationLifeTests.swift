import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The life of an observation")
struct ObservationLifeTests {
  private func withStore(_ body: (Store) async throws -> Void) async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    try await body(store)
  }

  private struct Failed: Error {}

  @Test("closing the store ends a loop that waits")
  func close() async throws {
    try await withStore { store throws in
      let (stream, began) = AsyncStream.makeStream(of: Int.self)
      let loop = Task {
        var seen = 0
        for try await _ in store.observe(Tag.all) {
          seen += 1
          began.yield(seen)
        }
        return seen
      }
      for await _ in stream { break }
      store.close()
      #expect(try await loop.value == 1)
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      let error = await #expect(throws: LarchError.self) { try await iterator.next() }
      #expect(error?.code == .closed)
      #expect(try await iterator.next() == nil)
    }
  }

  @Test("cancelling its task ends a loop that waits, and no other one")
  func cancel() async throws {
    try await withStore { store throws in
      let other = store.observe(Tag.all).makeAsyncIterator()
      _ = try await other.next()
      let (stream, began) = AsyncStream.makeStream(of: Int.self)
      let loop = Task {
        for try await _ in store.observe(Tag.all) { began.yield(1) }
      }
      for await _ in stream { break }
      loop.cancel()
      try await loop.value
      try store.put(Tag(id: "a", color: 1))
      #expect(try await other.next()?.rows.count == 1)
    }
  }

  @Test("an error comes once and ends the loop")
  func error() async throws {
    try await withStore { store throws in
      let iterator = store.observe { tx in
        if try tx.count(Tag.all) == 1 { throw Failed() }
        return 1
      }.makeAsyncIterator()
      #expect(try await iterator.next()?.value == 1)
      try store.put(Tag(id: "a", color: 1))
      await #expect(throws: Failed.self) { try await iterator.next() }
      #expect(try await iterator.next() == nil)

      let (errors, failed) = AsyncStream.makeStream(of: String.self)
      let token = store.observe(
        Owner.all.limit(-1), onError: { failed.yield("\($0)") }, onChange: { _ in })
      var seen = errors.makeAsyncIterator()
      #expect(await seen.next()?.contains("invalid_query") == true)
      withExtendedLifetime(token) {}
    }
  }

  @Test("a closure that reads another store gets an error once that store is closed")
  func otherStore() async throws {
    try await withStore { store throws in
      let other = try Store.temporary(for: CountedItem.self)
      let (errors, failed) = AsyncStream.makeStream(of: LarchError.Code?.self)
      let token = store.observe(
        { tx in
          let count = try tx.count(Tag.all)
          return try count + other.read { try $0.count(CountedItem.all) }
        }, onError: { failed.yield(($0 as? LarchError)?.code) }, onChange: { _ in })
      await token.settled()
      other.close()
      try store.put(Tag(id: "a", color: 1))
      await token.settled()
      failed.finish()
      var seen: [LarchError.Code?] = []
      for await code in errors { seen.append(code) }
      #expect(seen == [.closed])
    }
  }

  @Test("a closure is called with ascending versions until its token is given up")
  func token() async throws {
    try await withStore { store throws in
      let (stream, called) = AsyncStream.makeStream(of: Observed<[Tag]>.self)
      var token: ObservationToken? = store.observe(Tag.all) { called.yield($0) }
      var calls = stream.makeAsyncIterator()
      let first = await calls.next()
      #expect(first?.rows == [])
      var version = try #require(first).version
      for number in 0..<20 {
        try store.put(Tag(id: "\(number)", color: 1))
        let now = try #require(await calls.next())
        #expect(now.rows.count == number + 1)
        #expect(now.version > version)
        version = now.version
      }
      token = nil
      _ = token
      // The task of the token removes its listener, then no write has a log.
      while try store.writesAreLogged() { await Task.yield() }
      called.finish()
      try store.put(Tag(id: "after", color: 1))
      #expect(await calls.next() == nil)
    }
  }

  @MainActor
  private final class Shown {
    var counts: [Int] = []
    var token: ObservationToken?

    func observe(_ store: Store, _ ended: AsyncStream<Void>.Continuation) {
      token = store.observe(Tag.all) { [self] tags in
        MainActor.assertIsolated()
        counts.append(tags.rows.count)
        if tags.rows.count == 2 {
          token?.cancel()
          ended.finish()
        }
      }
    }
  }

  @Test("a closure runs on the actor where it was written, and may cancel itself")
  func isolation() async throws {
    try await withStore { store throws in
      let shown = await MainActor.run { Shown() }
      let (ended, end) = AsyncStream.makeStream(of: Void.self)
      await shown.observe(store, end)
      try store.put(Tag(id: "a", color: 1))
      try store.put(Tag(id: "b", color: 1))
      for await _ in ended {}
      try store.put(Tag(id: "c", color: 1))
      while try store.writesAreLogged() { await Task.yield() }
      let counts = await shown.counts
      #expect(counts.last == 2)
      #expect(counts == counts.sorted())
    }
  }

  @Test("a closure may write, and sees its change afterwards")
  func writingHandler() async throws {
    try await withStore { store throws in
      let (stream, called) = AsyncStream.makeStream(of: Int.self)
      let token = store.observe(Tag.all) { tags in
        called.yield(tags.rows.count)
        if tags.rows.count < 5 {
          try? store.put(Tag(id: "\(tags.rows.count)", color: 1))
        }
      }
      var counts: [Int] = []
      for await count in stream {
        counts.append(count)
        if count == 5 { break }
      }
      #expect(counts == [0, 1, 2, 3, 4, 5])
      token.cancel()
    }
  }

  @Test("an observer that lags far behind gets the newest value, and keeps little")
  func lagging() async throws {
    try await withStore { store throws in
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      _ = try await iterator.next()
      for number in 0..<300 {
        try store.put(Tag(id: "\(number)", color: 1))
      }
      let newest = try await iterator.next()
      #expect(newest?.rows.count == 300)
      #expect(newest?.version == (try store.version))
      #expect(try iterator.polled.poll() == nil)
    }
  }

  @Test("a store may be closed at any moment after an observation has begun, which then ends")
  func closedAtOnce() async throws {
    let errors = Locked<[String]>([])
    let rounds = Locked(0)
    // On their own threads, so that the test fails, and does not hang, if one of them is stuck.
    for kind in 0..<2 {
      Thread.detachNewThread {
        do {
          for round in 0..<300 {
            let path = ScratchFile.freshPath()
            defer { ScratchFile.remove(path) }
            let store = try RandomWrites.openStore(at: path)
            let token: ObservationToken?
            if kind == 0 {
              token = store.observe(
                Tag.all,
                onError: { error in errors.withLock { $0.append("to a closure: \(error)") } },
                onChange: { _ in })
            } else {
              token = nil
              Task {
                do { for try await _ in store.observe(Tag.all) {} } catch {
                  errors.withLock { $0.append("\(error)") }
                }
              }
            }
            if round % 3 > 0 { usleep(UInt32(round)) }
            store.close()
            withExtendedLifetime(token) {}
            rounds.withLock { $0 += 1 }
          }
        } catch {
          errors.withLock { $0.append("\(error)") }
        }
      }
    }
    var waits = 0
    while rounds.withLock({ $0 }) < 600, waits < 60_000 {
      try await Task.sleep(for: .milliseconds(2))
      waits += 1
    }
    #expect(rounds.withLock { $0 } == 600, "\(errors.withLock { $0.first ?? "" })")
    // A loop gets this error if its task starts after the store was closed. A closure gets none.
    #expect(errors.withLock { $0 }.allSatisfy { $0.hasPrefix("closed") })
  }
}
