import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("Turns on PostgreSQL", needsServer)
struct TurnTests {
  /// Two clients of a log with one entry.
  private func withClients(
    _ name: String = freshName(),
    _ body: (_ a: PostgresLog, _ b: PostgresLog, _ newest: LogEntry) throws -> Void
  ) throws {
    let server = try PostgresServer.shared.get()
    // Connections of their own: a process has so many turns at most, and other tests take some.
    let (a, b) = (
      try server.log(name) { $0.connections = 24 }, try server.log(name) { $0.connections = 24 }
    )
    defer {
      a.close()
      b.close()
    }
    try #require(try a.beginSome())
    let newest = entry(after: .start)
    try #require(try a.append([newest]))
    try body(a, b, newest)
  }

  /// What a client sees once it has the turn, on a thread of its own.
  private func begin(
    _ log: PostgresLog, after place: LogPlace
  ) -> (isDone: @Sendable () -> Bool, result: () throws -> [LogPlace]) {
    let found = Locked<Result<[LogPlace], any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread {
      let result = Result<[LogPlace], any Error> {
        guard case .entries(let entries) = try log.takeTurn(after: place, limit: 1 << 20) else {
          throw PostgresFailure(.form, "no entries")
        }
        return entries.map(\.place)
      }
      found.withLock { $0 = result }
      done.signal()
    }.start()
    return (
      { found.withLock { $0 != nil } },
      {
        #expect(done.wait(timeout: .now() + 120) == .success, "the turn did not come")
        return try found.withLock { $0 }?.get() ?? []
      }
    )
  }

  @Test("A turn with its entries is one round trip, and its end is none")
  func trips() throws {
    try withClients { a, _, newest in
      func expect(_ count: Int, _ body: () throws -> Void) throws {
        let before = a.roundTrips
        try body()
        #expect(a.roundTrips - before == count)
      }
      for _ in 0..<3 {
        try expect(1) { _ = try a.takeTurn(after: newest.place, limit: 1 << 20) }
        try expect(0) { a.endTurn() }
      }
      try expect(1) { _ = try a.takeTurn(after: newest.place, limit: 1 << 20) }
      let next = entry(after: newest.place)
      try expect(1) { _ = try a.append([next]) }
      try expect(1) { _ = try a.takeTurn(after: next.place, limit: 1 << 20) }
    }
  }

  @Test("Who waits for a turn sees what the one before has appended")
  func order() throws {
    try withClients { a, b, newest in
      _ = try a.takeTurn(after: newest.place, limit: 1 << 20)
      let waiting = begin(b, after: newest.place)
      usleep(300_000)
      #expect(!waiting.isDone())
      let next = entry(after: newest.place)
      #expect(try a.append([next]))
      #expect(try waiting.result() == [next.place])
      // Its transaction is older than that entry, and its own entry is not.
      #expect(try b.append([entry(after: next.place)]))
      let times = try a.allEntries().map { $0.time ?? 0 }
      #expect(times.count == 3 && times == times.sorted())
    }
  }

  @Test("A turn that ends without an entry lets the next one begin")
  func orderWithoutEntry() throws {
    try withClients { a, b, newest throws in
      let next = entry(after: newest.place)
      #expect(try a.append([next]))
      let first = begin(b, after: newest.place)
      #expect(try first.result() == [next.place])
      // Now the other one waits.
      let again = begin(a, after: newest.place)
      usleep(100_000)
      #expect(!again.isDone())
      b.endTurn()
      #expect(try again.result() == [next.place])
    }
  }

  enum Ending: CaseIterable { case close, failedAppend, lostPlace, anotherTurn }

  @Test("A turn ends in every way in which its client can go on", arguments: Ending.allCases)
  func endings(ending: Ending) throws {
    try withClients { a, b, newest in
      _ = try a.takeTurn(after: newest.place, limit: 1 << 20)
      let waiting = begin(b, after: newest.place)
      switch ending {
      case .close: a.close()
      case .failedAppend:
        let gap = entry(after: LogPlace(position: 9, token: newest.place.token))
        #expect(throws: LarchError.self) { try a.append([newest, gap]) }
      case .lostPlace: #expect(try a.append([entry(after: .start)]) == false)
      case .anotherTurn:
        // Whoever asks again goes to the end of the line.
        _ = try a.takeTurn(after: newest.place, limit: 1 << 20)
      }
      #expect(try waiting.result() == [])
    }
  }

  @Test("Whoever keeps a turn for too long loses it, and can still append")
  func slow() async throws {
    // Ten seconds, in which no other test waits for this one's thread.
    try await onThread {
      try withClients { a, b, newest in
        _ = try a.takeTurn(after: newest.place, limit: 1 << 20)
        let waiting = begin(b, after: newest.place)
        #expect(try waiting.result() == [])
        b.endTurn()
        // The server has ended the connection of the turn meanwhile, which nobody needs to know.
        let next = entry(after: newest.place)
        #expect(try a.append([next]))
        #expect(try a.takeTurn(after: newest.place, limit: 1 << 20).count == 1)
        #expect(a.hasTurn)
      }
    }
  }

  @Test("The connection of a turn that the server has ended harms no later call")
  func lost() throws {
    let server = try PostgresServer.shared.get()
    // A pool that nobody else uses, so that the next call takes this very connection.
    let log = try server.log(freshName()) { $0.connections = 25 }
    defer { log.close() }
    try #require(try log.beginSome())
    func loseTurn() throws {
      _ = try log.takeTurn(after: .start, limit: 1)
      let pid = try #require(
        try log.turn.withLock { turn in
          try turn.connection?.run("SELECT pg_backend_pid()::text").text(0, 0)
        })
      _ = try server.text("SELECT pg_terminate_backend(\(pid))")
      let deadline = Date.now + 120
      while try server.text("SELECT count(*) FROM pg_stat_activity WHERE pid = \(pid)") != "0" {
        try #require(Date.now < deadline, "the server keeps the turn")
        usleep(20_000)
      }
      log.endTurn()
    }
    try loseTurn()
    #expect(try log.head()?.newest == .start)
    try loseTurn()
    _ = try log.takeTurn(after: .start, limit: 1)
    #expect(log.hasTurn)
  }

  @Test("Where a turn cannot be had, the entries come without one")
  func without() throws {
    let server = try PostgresServer.shared.get()
    try withClients { a, _, newest in
      let name = a.store
      var options = PostgresOptions()
      options.answerTimeout = 3
      let hasty = try PostgresLog(server.url, store: name, options)
      defer { hasty.close() }
      _ = try a.takeTurn(after: .start, limit: 1 << 20)
      #expect(try hasty.takeTurn(after: .start, limit: 1 << 20).count == 1)
      let next = entry(after: newest.place)
      #expect(try hasty.append([next]))
      #expect(try a.append([entry(after: newest.place)]) == false)
    }
    // The wait for a turn takes no more than half of the time that its writer has.
    try withClients { a, b, newest in
      _ = try a.takeTurn(after: newest.place, limit: 1 << 20)
      b.expectAnswers(within: 5)
      #expect(try b.takeTurn(after: newest.place, limit: 1 << 20).count == 0)
      b.expectAnswers(within: nil)
      #expect(a.hasTurn && !b.hasTurn)
    }
    // Neither tables nor a log.
    var options = PostgresOptions()
    options.schema = "no tables"
    let missing = try PostgresLog(server.url, store: "x", options)
    defer { missing.close() }
    guard case .diverged = try missing.takeTurn(after: .start, limit: 1) else {
      Issue.record("there are entries")
      return
    }
  }

  @Test("Names are no part of the statement", arguments: ["it's", "'; --", "\\", "größe", "$1"])
  func names(name: String) throws {
    try withClients(freshName() + name) { a, _, _ in
      let tail = try a.takeTurn(after: .start, limit: 1 << 20)
      #expect(tail.count == 1)
    }
  }

  @Test("Stores of other names do not wait for each other")
  func others() throws {
    try withClients { a, _, first in
      try withClients { c, _, second in
        _ = try a.takeTurn(after: first.place, limit: 1)
        let found = try begin(c, after: second.place).result()
        #expect(found == [])
      }
    }
  }
}

extension PostgresLog {
  fileprivate var hasTurn: Bool { turn.withLock { $0.connection != nil } }
}

extension LogTail {
  fileprivate var count: Int? {
    if case .entries(let entries) = self { return entries.count }
    return nil
  }
}
