import Foundation
import Larch
import Testing

@testable import LarchPostgres

/// A server that `Scripts/postgres.sh` made for this process.
final class PostgresServer: Sendable {
  /// The one that most tests share. Tests that kill or stop a server have their own.
  static let shared = Result { try PostgresServer() }

  /// Whether tests that need a server can run. With LARCH_POSTGRES=required they fail where none is found.
  static let isAvailable: Bool = {
    if ProcessInfo.processInfo.environment["LARCH_POSTGRES"] == "required" { return true }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: ServerScript.path("postgres.sh"))
    process.arguments = ["--find"]
    process.standardOutput = Pipe()
    process.standardError = Pipe()
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  struct Failure: Error { let text: String }

  /// As a trusted user, through the socket.
  let url: String
  let port: String
  let directory: String
  let pid: pid_t
  private let script: ServerScript

  /// - Parameter isQuick: without flushes.
  init(isQuick: Bool = true) throws {
    script = try ServerScript("postgres.sh", isQuick ? ["--quick"] : [])
    url = try script.value("socket")
    port = try script.value("tls")
    directory = try script.value("directory")
    pid = pid_t(try script.value("pid")) ?? 0
  }

  /// `kill`, `start`, `pause` or `resume`.
  func order(_ command: String) throws { try script.order(command) }

  // MARK: Logs

  /// A client of the log of a store.
  func log(
    _ store: String, at url: String? = nil, _ change: (inout PostgresOptions) -> Void = { _ in }
  ) throws -> PostgresLog {
    var options = PostgresOptions()
    change(&options)
    return try PostgresLog(url ?? self.url, store: store, options)
  }

  /// Runs statements as the owner of everything.
  func run(_ statements: String) throws {
    let log = try log("none")
    defer { log.close() }
    try log.call { try $0.script(statements) }
  }

  /// The first value of a query.
  func text(_ query: String) throws -> String {
    let log = try log("none")
    defer { log.close() }
    return try log.call { try $0.run("SELECT (\(query))::text").text(0, 0) }
  }

  /// The address with another user, password or host.
  func url(user: String, _ rest: String = "") -> String {
    url.replacing("user=larch", with: "user=\(user)\(rest)")
  }
}

/// A name that no other test has.
func freshName(_ prefix: String = "s") -> String {
  prefix + String(UInt64.random(in: 0 ... .max), radix: 36)
}

/// The trait of tests that need a server. A run without one says that they were left out.
let needsServer = ConditionTrait.enabled(
  if: PostgresServer.isAvailable,
  "PostgreSQL's server is not installed, so its tests are left out; see Scripts/setup.sh --postgres"
)
