import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("Many logs of one process on PostgreSQL", needsServer)
struct PoolTests {
  /// Logs of their own, each begun, that share connections with nobody else.
  private func withLogs(
    _ count: Int, connections: Int = 32, _ server: PostgresServer,
    _ body: (_ logs: [PostgresLog], _ name: String) throws -> Void
  ) throws {
    let name = freshName("app")
    let logs = try (0..<count).map { number in
      try server.log("\(name) \(number)", at: server.url + "&application_name=\(name)") {
        $0.connections = connections
      }
    }
    defer { for log in logs { log.close() } }
    for log in logs { try #require(try log.beginSome(pairs: 1)) }
    try body(logs, name)
  }

  private func connections(_ name: String, _ server: PostgresServer) throws -> Int {
    try #require(
      Int(
        server.text(
          "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(name)'")))
  }

  /// A wait on a thread of its own.
  private final class Wait: Sendable {
    private let result = Locked<Result<Void, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(_ log: PostgresLog, after position: UInt64 = 0, seconds: Double = 600) {
      let thread = Thread { [self] in
        let result = Result<Void, any Error> { try log.wait(after: position, seconds: seconds) }
        self.result.withLock { $0 = result }
        done.signal()
      }
      thread.stackSize = 256 << 10
      thread.start()
    }

    var isOver: Bool { result.withLock { $0 != nil } }

    /// The code of its error.
    func code() -> LarchError.Code? {
      #expect(done.wait(timeout: .now() + 120) == .success, "the wait did not end")
      // It may be asked again.
      done.signal()
      return caught { try result.withLock { $0 }?.get() }?.code
    }
  }

  @Test("Two hundred that wait use one connection, and each hears of its own entries only")
  func waits() throws {
    let server = try PostgresServer.shared.get()
    try withLogs(200, server) { logs, name in
      let waits = logs.map { Wait($0) }
      usleep(300_000)
      let early = waits.count(where: \.isOver)
      #expect(early == 0)
      let used = try connections(name, server)
      #expect(used <= 4)
      for number in stride(from: 0, to: 200, by: 3) {
        let isDone = try logs[number].append([entry(after: .start)])
        #expect(isDone)
      }
      for (number, wait) in waits.enumerated() where number % 3 == 0 { #expect(wait.code() == nil) }
      usleep(200_000)
      for (number, wait) in waits.enumerated() where number % 3 != 0 { #expect(!wait.isOver) }
      // Closing the one that looks for all, and some others, leaves the rest as they are.
      for number in 0..<100 { logs[number].close() }
      for number in 0..<100 where number % 3 != 0 { #expect(waits[number].code() == .closed) }
      usleep(100_000)
      for number in 100..<200 where number % 3 != 0 {
        #expect(!waits[number].isOver)
        let isDone = try logs[number].append([entry(after: .start)])
        #expect(isDone)
      }
      for number in 100..<200 { #expect(waits[number].code() == nil) }
    }
    usleep(300_000)
  }

  @Test("Calls wait for a connection where as many are in use as there may be")
  func limit() throws {
    let server = try PostgresServer.shared.get()
    try withLogs(20, connections: 3, server) { logs, name in
      let largest = Locked(0)
      let isOver = Locked(false)
      let watcher = Thread {
        while !isOver.withLock({ $0 }) {
          let now = (try? connections(name, server)) ?? 0
          largest.withLock { $0 = max($0, now) }
        }
      }
      watcher.start()
      onThreads(20) { number in
        do {
          var place = LogPlace.start
          for _ in 0..<10 {
            let next = entry(after: place)
            // Turns, too, never keep those from the server that have one.
            _ = try logs[number].takeTurn(after: place, limit: 1)
            let isDone = try logs[number].append([next])
            #expect(isDone)
            place = next.place
          }
        } catch { Issue.record(error) }
      }
      isOver.withLock { $0 = true }
      #expect(largest.withLock { $0 } <= 3 + 1)
    }
  }

  @Test("Who waits for a connection gives up at its own end, and when the time is over")
  func impatient() throws {
    let pool = PostgresPool.shared(
      PostgresPool.Key(
        address: try PostgresAddress("postgres:///nowhere", LibPQ.shared()).identity,
        connectTimeout: 1, answerTimeout: 1, connections: 2))
    let wake = PostgresWake()
    func kind(_ body: () throws -> Void) -> PostgresFailure.Kind? {
      do { try body() } catch { return (error as? PostgresFailure)?.kind }
      return nil
    }
    try pool.using(wake, patience: 1) {
      try pool.using(wake, patience: 1) {
        #expect(kind { try pool.using(wake, patience: 0.2) {} } == .connection)
        let ended = PostgresWake()
        ended.end()
        #expect(kind { try pool.using(ended, patience: 600) {} } == .closed)
      }
      // Nobody holds what those that gave up had waited for.
      #expect(kind { try pool.using(wake, patience: 0) {} } == nil)
    }
    #expect(kind { try pool.using(wake, patience: 0) {} } == nil)
  }

  @Test("Who gets no connection, or none that commits are safe on, knows that nothing was sent")
  func nothingSent() throws {
    let server = try PostgresServer.shared.get()
    try withLogs(1, connections: 2, server) { logs, _ in
      func failure(of log: PostgresLog) -> LarchError? {
        caught { _ = try log.append([entry(after: .start)], mayBeThere: false) }
      }
      let log = logs[0]
      let all = try log.call { _ in
        try log.call { _ in
          log.expectAnswers(within: 0.2)
          return failure(of: log)
        }
      }
      #expect(all?.code == .unavailable && all?.hadNoEffect == true)
      // But not if an earlier call may have done the same.
      for mayBeThere in [false, true] {
        let next = try log.call { _ in
          try log.call { _ in
            log.expectAnswers(within: 0.2)
            return caught {
              _ = try log.transaction(.changing, followsAttempt: mayBeThere) { _ in true }
            }
          }
        }
        #expect(next?.code == .unavailable && next?.hadNoEffect == !mayBeThere)
      }
      log.expectAnswers(within: nil)
      let hasty = try server.log(
        log.store, at: server.url + "&options=-c%20synchronous_commit%3Doff")
      defer { hasty.close() }
      let early = failure(of: hasty)
      #expect(early?.code == .serverRefused && early?.hadNoEffect == true)
    }
  }

  @Test("A server that takes no writes any more is left by all connections of the pool")
  func readOnly() throws {
    let server = try PostgresServer.shared.get()
    try withLogs(1, server) { logs, _ in
      let log = logs[0]
      // As of a primary that has become a standby.
      let script = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
      try log.call { first in
        try log.call { try $0.script(script) }
        try first.script(script)
      }
      let next = entry(after: .start)
      let error = caught { _ = try log.append([next], mayBeThere: false) }
      #expect(error?.serverState == "25006" && error?.hadNoEffect == true)
      #expect(try log.append([next], mayBeThere: false))
    }
  }

  @Test("All that wait hear that the server is gone, and wait again when it is back")
  func outage() throws {
    let server = try PostgresServer()
    try withLogs(30, server) { logs, _ in
      let waits = logs.map { Wait($0) }
      usleep(100_000)
      try server.order("kill")
      for wait in waits { #expect(wait.code() == .unavailable) }
      try server.order("start")
      let again = logs.map { Wait($0) }
      for log in logs {
        let isDone = try log.append([entry(after: .start)])
        #expect(isDone)
      }
      for wait in again { #expect(wait.code() == nil) }
    }
  }

  @Test("A wait ends with its time, and one for what is there ends at once")
  func times() throws {
    let server = try PostgresServer.shared.get()
    try withLogs(2, server) { logs, _ in
      let first = entry(after: .start)
      try #require(try logs[0].append([first]))
      #expect(Wait(logs[0]).code() == nil)
      #expect(Wait(logs[0], after: 1, seconds: 0.05).code() == nil)
      // The other goes on to look when the first, which looked for both, has gone.
      let short = Wait(logs[0], after: 1, seconds: 0.1)
      usleep(30_000)
      let long = Wait(logs[1])
      #expect(short.code() == nil)
      #expect(!long.isOver)
      try #require(try logs[1].append([entry(after: .start)]))
      #expect(long.code() == nil)
    }
  }

  @Test("Logs of one store that differ in address or options share nothing")
  func keys() throws {
    let server = try PostgresServer.shared.get()
    let name = freshName()
    let first = try server.log(name)
    let same = try server.log(name + "x") { $0.schema = "other" }
    let hasty = try server.log(name) { $0.answerTimeout = 3 }
    let elsewhere = try server.log(name, at: server.url + "&application_name=x")
    defer { for log in [first, same, hasty, elsewhere] { log.close() } }
    #expect(first.pool === same.pool)
    #expect(first.pool !== hasty.pool && first.pool !== elsewhere.pool)
    #expect(
      String(reflecting: try PostgresAddress("postgres://a:secret@b/c", LibPQ.shared()).identity)
        .contains("secret") == false)
  }

  @Test("The connections are closed with the last log")
  func closing() throws {
    let server = try PostgresServer.shared.get()
    var app = ""
    try withLogs(3, server) { logs, name in
      app = name
      let used = try connections(name, server)
      #expect(used > 0)
      logs[0].close()
      logs[0].close()
      logs[1].close()
      let head = try logs[2].head()
      #expect(head != nil)
    }
    // The server sees the end a little later.
    for _ in 0..<500 where try connections(app, server) > 0 { usleep(20_000) }
    let left = try connections(app, server)
    #expect(left == 0)
  }
}
