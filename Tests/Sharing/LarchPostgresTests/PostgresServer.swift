import Foundation
import Larch
import Testing

@testable import LarchPostgres

/// A server that `Scripts/postgres.sh` made for this process. It ends when the process does, in whatever
/// way, since its input ends then.
final class PostgresServer: Sendable {
  /// The one that most tests share. Tests that kill or stop a server have their own.
  static let shared = Result { try PostgresServer() }

  /// Whether tests that need a server can run. With LARCH_POSTGRES=required they fail where none is found.
  static let isAvailable: Bool = {
    if ProcessInfo.processInfo.environment["LARCH_POSTGRES"] == "required" { return true }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: script)
    process.arguments = ["--find"]
    process.standardOutput = Pipe()
    process.standardError = Pipe()
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  private static let script = URL(fileURLWithPath: #filePath)
    .appending(path: "../../../../Scripts/postgres.sh").standardized.path

  struct Failure: Error { let text: String }

  /// As a trusted user, through the socket.
  let url: String
  let port: String
  let directory: String
  let pid: pid_t
  private let process: Process
  private let input: FileHandle
  private let output: FileHandle

  /// - Parameter isQuick: without flushes.
  init(isQuick: Bool = true) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: Self.script)
    process.arguments = isQuick ? ["--quick"] : []
    let input = Pipe()
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    self.input = input.fileHandleForWriting
    self.output = output.fileHandleForReading
    // The children of other tests must not keep this end open: the server would outlive the tests.
    _ = fcntl(self.input.fileDescriptor, F_SETFD, FD_CLOEXEC)
    try process.run()
    var values: [String: String] = [:]
    while let line = Self.line(from: self.output), line != "ready" {
      let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
      if parts.count == 2 { values[parts[0]] = parts[1] }
    }
    guard let url = values["socket"], let port = values["tls"], let directory = values["directory"],
      let pid = values["pid"].flatMap({ pid_t($0) })
    else { throw Failure(text: "Scripts/postgres.sh made no server") }
    (self.url, self.port, self.directory, self.pid) = (url, port, directory, pid)
  }

  deinit {
    try? input.close()
    process.waitUntilExit()
  }

  private static func line(from file: FileHandle) -> String? {
    var bytes: [UInt8] = []
    while let byte = try? file.read(upToCount: 1)?.first {
      if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return nil
  }

  /// `kill`, `start`, `pause` or `resume`.
  func order(_ command: String) throws {
    try input.write(contentsOf: Data("\(command)\n".utf8))
    guard Self.line(from: output) == "done" else { throw Failure(text: "\(command) failed") }
  }

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
