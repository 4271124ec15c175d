import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// PgBouncer, which gives each transaction another connection to the server.
private let pooler: String? = [
  "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer", "/usr/local/bin/pgbouncer",
]
.first { FileManager.default.isExecutableFile(atPath: $0) }

@Suite(
  "Behind a pooler in transaction mode", needsServer,
  .enabled(if: pooler != nil, "pgbouncer is not installed, so its tests are left out"))
struct PoolerTests {
  @Test("A log does what every shared log does")
  func conformance() throws {
    let server = try PostgresServer.shared.get()
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
      default_pool_size = 3
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
    while process.isRunning, !FileManager.default.fileExists(atPath: directory + "/.s.PGSQL.6543") {
      usleep(10_000)
    }
    let url = "postgres:///app?host=\(directory)&port=6543&user=larch"
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
