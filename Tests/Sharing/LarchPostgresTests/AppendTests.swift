import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

@Suite("Appends to PostgreSQL", needsServer)
struct AppendTests {
  @Test("An append is one round trip, of one entry or of many; so are head and tail")
  func roundTrips() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let first = entries(1, after: .start)
    let many = entries(64, after: first[0].place)
    /// Round trips of an append, and whether it succeeded.
    func trips(_ entries: [LogEntry]) throws -> [Int] {
      let before = log.roundTrips
      let isDone = try log.append(entries)
      return [log.roundTrips - before, isDone ? 1 : 0]
    }
    #expect(try trips(first) == [1, 1])
    #expect(try trips(many) == [1, 1])
    // A lost place needs a second look, if an earlier attempt may have taken it; and what that has appended is
    // confirmed.
    #expect(try trips(many) == [3, 1])
    #expect(try trips(entries(1, after: .start)) == [2, 0])
    let before = log.roundTrips
    _ = try log.head()
    _ = try log.tail(after: .start, limit: 1 << 20)
    #expect(log.roundTrips - before == 2)
  }

  @Test(
    "An entry of any size comes back as it was, in parts of 8 MiB",
    arguments: [0, (8 << 20) - 100, 8 << 20, (8 << 20) + 1, 20_000_000]
      + (ProcessInfo.processInfo.environment["LARCH_POSTGRES_LARGE"] == nil ? [] : [268_000_000]))
  func sizes(size: Int) throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    let log = try server.log(store)
    defer { log.close() }
    try #require(try log.beginSome())
    let small = entry(after: .start)
    let large = entry(after: small.place, size: size)
    let last = entry(after: large.place)
    #expect(try log.append([small, large, last]))
    // What was appended in a transaction is found again like everything else.
    #expect(try log.append([small, large, last]))
    let found = try log.allEntries()
    #expect(found.map(\.place) == [small, large, last].map(\.place))
    #expect(found.map(\.changes) == [small, large, last].map(\.changes))
    let parts = try server.text(
      "SELECT count(*) FROM larch.log JOIN larch.store USING (era) WHERE name = '\(store)' AND position = 2"
    )
    #expect(Int(parts) == max(1, (large.changes.count + (8 << 20) - 1) / (8 << 20)))
    #expect(try log.head()?.bytes == found.reduce(0) { $0 + $1.changes.count })
    #expect(try log.fold(through: .max) == last.place)
    var sizes: [Int] = []
    _ = try log.state { tree, _, value in if tree == records { sizes.append(value.count) } }
    #expect(sizes.max() == max(20, size))
    #expect(sizes.count == 33)
  }

  @Test("A tail has as many entries as reach its limit, whatever their sizes are")
  func tails() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    var random = SeededGenerator(seed: 6)
    var all: [LogEntry] = []
    // More than one statement reads, and some that are larger than the limits.
    for number in 0..<4300 {
      let size = number % 400 == 7 ? Int.random(in: 1000..<60_000, using: &random) : number % 50
      all.append(entry(after: all.last?.place ?? .start, size: size))
    }
    #expect(try log.append(all))
    for limit in [0, 1, 10, 1000, 20_000, 40_000, 300_000, 1 << 30] {
      for start in [0, 5, 6, 7, 8, 406, 1200, 4299, 4300] {
        var bytes = 0
        let wanted = all[start...].prefix { entry in
          defer { bytes += entry.changes.count }
          return bytes < max(limit, 1)
        }
        let place = start == 0 ? LogPlace.start : all[start - 1].place
        guard case .entries(let found) = try log.tail(after: place, limit: limit) else {
          Issue.record("no entries after \(start)")
          continue
        }
        #expect(found.map(\.place) == wanted.map(\.place), "limit \(limit), after \(start)")
      }
    }
  }

  @Test("Whether an entry is there is not known once its place is cut")
  func cutEntry() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let some = entries(4, after: .start)
    #expect(try log.append(some))
    let other = entry(after: some[0].place)
    #expect(try log.isThere(some[1].place) == true && log.isThere(other.place) == false)
    #expect(try log.fold(through: 3) == some[2].place)
    #expect(try log.isThere(some[1].place) == nil && log.isThere(other.place) == nil)
    #expect(try log.isThere(some[3].place) == true)
    #expect(try log.isThere(entry(after: some[3].place).place) == false)
  }

  @Test("A commit of more than 256 MB is refused, with advice")
  func tooLarge() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let large = entry(after: .start, size: 256 << 20)
    #expect(caught { _ = try log.append([large]) }?.code == .recordTooLarge)
    #expect(try log.head()?.newest == .start)
  }

  @Test("Of entries that lose their place none is appended, however many they are")
  func allOrNone() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let winner = entries(1, after: .start)
    let losers = entries(3, after: .start)
    // In one statement, and in a transaction of several.
    let large = [losers[0], entry(after: losers[0].place, size: 9 << 20)]
    #expect(try log.append(winner))
    #expect(try !log.append(losers))
    #expect(try !log.append(large))
    #expect(try log.allEntries().map(\.place) == winner.map(\.place))
  }

  @Test("Entries that do not follow each other are not appended")
  func gaps() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let right = entries(3, after: .start)
    for wrong in [
      [right[0], right[2]], [right[1], right[0]], [right[0], right[0]],
      [right[0], entry(after: LogPlace(position: 1, token: .start))],
      [entry(after: LogPlace(position: .max - 1, token: .start))],
      [entry(after: LogPlace(position: 1 << 62, token: .start))],
    ] {
      #expect(caught { _ = try log.append(wrong) }?.code == .damagedLog)
    }
    #expect(try log.append([]))
    #expect(try log.head()?.newest == .start)
    #expect(try log.append(right))
  }

  @Test("A transaction that failed inside is not taken for one that was committed")
  func failedInside() throws {
    let log = try PostgresServer.shared.get().log(freshName())
    defer { log.close() }
    let error = caught {
      _ = try log.transaction(.changing) { connection -> Bool? in
        _ = try? connection.run("SELECT 1 / 0")
        return true
      }
    }
    #expect(error?.code == .unavailable)
    #expect(try log.head() == nil)
  }

  @Test("Nothing was begun: nothing is found, and nothing is appended", arguments: [false, true])
  func neverBegun(hasTables: Bool) throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName()
    let log = try server.log("main") { $0.schema = schema }
    defer { log.close() }
    if hasTables { try log.prepare(for: nil, readsOnly: false) }
    #expect(try log.head() == nil)
    #expect(try !log.append(entries(2, after: .start)))
    #expect(try !log.append(entries(1, after: .start)))
    guard case .diverged = try log.tail(after: .start, limit: 1) else {
      Issue.record("a tail of nothing")
      return
    }
    try log.wait(after: 0, seconds: 0)
    #expect(caught { _ = try log.state { _, _, _ in } }?.code == .logNotFound)
    #expect(caught { _ = try log.fold(through: 1) }?.code == .logNotFound)
    #expect(try !log.beginSome(expecting: .start))
    #expect(try log.beginSome())
    #expect(try log.head()?.newest == .start)
  }

  @Test("A database with another isolation than the usual one loses nothing")
  func isolation() throws {
    let server = try PostgresServer.shared.get()
    let store = freshName()
    for level in ["serializable", "repeatable%5C%20read"] {
      let url = server.url + "&options=-c%20default_transaction_isolation%3D" + level
      let logs = try (0..<3).map { _ in try server.log(store, at: url) }
      defer { for log in logs { log.close() } }
      let isolation = try logs[0].call {
        try $0.run("SELECT current_setting('transaction_isolation')").text(0, 0)
      }
      #expect(isolation == level.replacing("%5C%20", with: " "))
      let newest = try logs[0].head()?.newest
      try #require(try logs[0].beginSome(expecting: newest))
      let told = Locked<[LogPlace]>([])
      onThreads(3) { number in
        for _ in 0..<20 {
          do {
            guard let newest = try logs[number].head()?.newest else { continue }
            let more = entries(number + 1, after: newest)
            if try logs[number].append(more) { told.withLock { $0 += more.map(\.place) } }
          } catch { Issue.record(error) }
        }
      }
      let found = try logs[0].allEntries().map(\.place)
      #expect(found == told.withLock { $0.sorted { $0.position < $1.position } })
      #expect(!found.isEmpty)
    }
  }

  @Test("What is there is never told as having had no effect")
  func refusedConfirmation() throws {
    let server = try PostgresServer.shared.get()
    // What is revoked is revoked in a whole database.
    let name = "refused_\(UInt32.random(in: .min ... .max))"
    try server.run("CREATE DATABASE \(name)")
    try server.run("CREATE ROLE \(name) LOGIN")
    let url = server.url.replacing("/postgres?", with: "/\(name)?")
    try #require(url != server.url)
    try ServerLog.preparePostgres(url, for: name)
    let owner = try server.log("main", at: url)
    defer { owner.close() }
    try owner.call {
      try $0.script(
        """
        DO $$ DECLARE f regprocedure; BEGIN
          FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
            EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
          END LOOP;
        END $$
        """)
    }
    let log = try server.log("main", at: url.replacing("user=larch", with: "user=\(name)"))
    defer { log.close() }
    try #require(try log.beginSome())
    let first = entry(after: .start)
    #expect(try log.append([first]))
    // A second attempt finds the first one, and waits for the standbys with a message that it may not send.
    let error = try #require(caught { _ = try log.append([first], mayBeThere: true) })
    #expect(error.code == .serverRefused)
    #expect(!(error.underlying is CallHadNoEffect))
  }

  @Test("Names of stores and schemas may have any characters but zero")
  func names() throws {
    let server = try PostgresServer.shared.get()
    let log = try server.log("it's \"a\"; DROP TABLE é 🐟") {
      $0.schema = "my \"own\" " + freshName()
    }
    defer { log.close() }
    #expect(try log.beginSome())
    #expect(try log.append(entries(2, after: .start)))
    #expect(try log.allEntries().count == 2)
    for name in ["", "a\0b", String(repeating: "n", count: 201)] {
      #expect(caught { _ = try server.log(name) }?.code == .invalidAddress)
    }
  }
}
