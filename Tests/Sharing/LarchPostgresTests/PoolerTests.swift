import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// PgBouncer, which gives each transaction another connection to the server.
private let pooler: String? = [
  "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer",
  "/usr/local/bin/pgbouncer",
]
.first { FileManager.default.isExecutableFile(atPath: $0) }

@Suite(
  "Behind a pooler in transaction mode", needsServer,
  .enabled(if: pooler != nil, "pgbouncer is not installed, so its tests are left out"))
struct PoolerTests {
  /// Calls with the address of a pooler that has some connections to the server.
  private func withPooler(
    connections: Int, _ server: PostgresServer, _ body: (_ url: String) throws -> Void
  ) throws {
    let directory = "/tmp/" + freshName("larch-pooler-")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
    // It does not run as root; the mode above is not that of the mask.
    chmod(directory, 0o777)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let settings = """
      [databases]
      app = host=\(server.directory)/s port=\(server.port) dbname=postgres user=larch
      [pgbouncer]
      listen_port = 6543
      unix_socket_dir = \(directory)
      auth_type = any
      pool_mode = transaction
      default_pool_size = \(connections)
      server_reset_query =
      logfile = \(directory)/log
      \(getuid() == 0 ? "user = nobody" : "")
      """
    try settings.write(toFile: directory + "/settings", atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(pooler))
    process.arguments = ["-q", directory + "/settings"]
    try process.run()
    defer {
      // It inherits that the threads of tests take no other signals.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    let url = "postgres:///app?host=\(directory)&port=6543&user=larch"
    let first = try server.log("none", at: url)
    // Its socket is there before anybody listens.
    while process.isRunning, (try? first.call { $0.isPooled }) == nil { usleep(10_000) }
    first.close()
    try body(url)
  }

  @Test("A log does what every shared log does")
  func conformance() throws {
    let server = try PostgresServer.shared.get()
    try withPooler(connections: 3, server) { url in
      let store = freshName()
      // More clients than connections to the server, so that these change hands.
      let clients = try (0..<5).map { _ in try server.log(store, at: url) }
      defer { for client in clients { client.close() } }
      try SharedLogConformance(seed: 3, clients).run(steps: 150)
      let more = try (0..<4).map { number in try server.log("\(store) \(number)", at: url) }
      defer { for log in more { log.close() } }
      onThreads(4) { number in
        do {
          try SharedLogConformance(seed: UInt64(10 + number), [more[number]]).run(steps: 60)
        } catch {
          Issue.record(error)
        }
      }
    }
  }

  @Test("Who has the turn can append, though those that wait have all other connections")
  func turns() throws {
    let server = try PostgresServer.shared.get()
    try withPooler(connections: 3, server) { url in
      let store = freshName()
      let logs = try (0..<8).map { _ in try server.log(store, at: url) }
      defer { for log in logs { log.close() } }
      try #require(try logs[0].beginSome())
      let appended = Locked<Set<LogPlace>>([])
      onThreads(8) { number in
        var place = LogPlace.start
        for round in 0..<10 {
          // Where the machine is busy, a turn may be lost.
          guard
            case .entries(let others)? = try? logs[number].takeTurn(after: place, limit: 1 << 28)
          else { continue }
          place = others.last?.place ?? place
          // One is so large that several statements carry it, in the same transaction.
          let isLarge = number == 0 && round == 5
          let next = entry(after: place, size: isLarge ? 9 << 20 : 20)
          guard (try? logs[number].append([next])) == true else { continue }
          place = next.place
          appended.withLock { _ = $0.insert(next.place) }
        }
      }
      let places = appended.withLock { $0 }
      // Without a connection for it, one append in seven succeeds.
      #expect(places.count > 40)
      let found = try logs[0].allEntries().map(\.place)
      #expect(places.isSubset(of: found))
      #expect(found.map(\.position) == (0..<UInt64(found.count)).map { $0 + 1 })
    }
  }

  @Test("A connection knows whether it is one of a pooler")
  func isPooled() throws {
    let server = try PostgresServer.shared.get()
    let direct = try server.log("none")
    defer { direct.close() }
    #expect(try !direct.call { $0.isPooled })
    try withPooler(connections: 1, server) { url in
      let pooled = try server.log("none", at: url)
      defer { pooled.close() }
      #expect(try pooled.call { $0.isPooled })
    }
  }

  @Test("No statement has a name: the next one may be run by another session")
  func names() throws {
    let server = try PostgresServer.shared.get()
    try withPooler(connections: 1, server) { url in
      let log = try server.log(freshName(), at: url)
      defer { log.close() }
      try #require(try log.beginSome())
      for entry in entries(5, after: .start) { #expect(try log.append([entry])) }
      let names = try log.call {
        try $0.run("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''").int(0, 0)
      }
      #expect(names == 0)
    }
  }
}
