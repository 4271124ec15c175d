import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite(
  "`settled` returns only when the server has what was committed", .timeLimit(.minutes(5)))
struct SettledTests {
  private func error(
    of store: Store, within limit: Duration = .seconds(60)
  ) async throws -> LarchError? {
    let mirror = try #require(store.mirror)
    do {
      try await mirror.settled(within: limit)
      return nil
    } catch let error as LarchError {
      return error
    }
  }

  private func pause() async throws { try await Task.sleep(for: .milliseconds(5)) }

  /// Waits until the mirror does something.
  private func wait(for activity: String, _ store: Store) async throws {
    while true {
      let now = try #require(try store.mirror?.status.activity)
      if "\(now)".hasPrefix(activity) { return }
      try await pause()
    }
  }

  @Test("Not when another program has ended the mirror")
  func ended() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      try store.environment.endOutbox()
      try store.saveAll([Shop(name: "b")])
      #expect(try await error(of: store)?.code == .closed)
      // Nor when the thread has noticed it.
      try await Task.sleep(for: .milliseconds(300))
      #expect(try await error(of: store)?.code == .closed)
      #expect(throws: LarchError.self) { try store.mirror?.status }
    }
  }

  @Test("Not when another program has begun another outbox, whose positions are those of the first")
  func begunAgain() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      for number in 0..<5 { try store.saveAll([Shop(name: "\(number)")]) }
      try await store.mirror?.settled()
      try store.environment.endOutbox()
      let place = LogEntry(after: .start, random: 7, changes: []).place
      try store.environment.beginOutbox(role: .writer, place: place, isOwnPlace: true)
      try store.saveAll([Shop(name: "b")])
      for _ in 0..<2 {
        // Closed, if the thread has looked at the moment without an outbox.
        let code = try await error(of: store)?.code
        #expect(code == .diverged || code == .closed)
      }
    }
  }

  @Test("Not while the whole store is sent again, since the server has lost it")
  func lostByTheServer() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      var shopping = RandomShopping(seed: 4)
      for _ in 0..<30 { try shopping.write(to: store) }
      try await store.mirror?.settled()
      // So that the outbox has no copy of them any more.
      let newest = try #require(try store.mirror?.status.committed)
      while try store.environment.outboxHeader()?.shipped.position != newest { try await pause() }
      let mayArrive = DispatchSemaphore(value: 0)
      server.atState = { mayArrive.wait() }
      server.isUnreachable = true
      server.forget(10)
      try await wait(for: "waiting", store)
      server.isUnreachable = false
      try await wait(for: "copying", store)
      let status = try #require(try store.mirror?.status)
      #expect(status.shipped == nil && status.waiting == status.committed)
      #expect(try await error(of: store, within: .milliseconds(50))?.code == .unavailable)
      mayArrive.signal()
      try await store.mirror?.settled()
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("`startOver` goes on until it has taken the place of what others append")
  func raced() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      // Twice, another program appends while the store is sent.
      let left = Locked(2)
      server.atState = {
        guard left.withLock({ $0 > 0 }) else { return }
        left.withLock { $0 -= 1 }
        let log = MemoryLog(server)
        guard let head = try? log.head() else { return }
        _ = try? log.append(
          [LogEntry(after: head.newest, random: 9, changes: [])], mayBeThere: false)
      }
      try store.mirror?.startOver()
      try await store.mirror?.settled()
      #expect(left.withLock { $0 } == 0)
      let log = MemoryLog(server)
      #expect(try log.everything() == store.everyPair())
      let newest = try #require(try log.head()?.newest)
      #expect(newest == (try store.environment.outboxHeader()?.place))
    }
  }
}
