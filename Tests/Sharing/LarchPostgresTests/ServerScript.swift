import Foundation

/// A script that made servers for this process, and takes orders. They end when the process does, in whatever
/// way, since the script's input ends then.
final class ServerScript: Sendable {
  /// What the script printed of itself.
  let values: [String: String]
  private let name: String
  private let process: Process
  private let input: FileHandle
  private let output: FileHandle

  static func path(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).appending(path: "../../../../Scripts/\(name)").standardized.path
  }

  init(_ name: String, _ arguments: [String]) throws {
    self.name = name
    process = Process()
    process.executableURL = URL(fileURLWithPath: Self.path(name))
    process.arguments = arguments
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
    self.values = values
  }

  deinit {
    try? input.close()
    process.waitUntilExit()
  }

  /// A value that the script must have printed.
  func value(_ key: String) throws -> String {
    guard let value = values[key] else {
      throw PostgresServer.Failure(text: "Scripts/\(name) made no server")
    }
    return value
  }

  /// Gives an order, and waits until it is done.
  func order(_ command: String) throws {
    try input.write(contentsOf: Data("\(command)\n".utf8))
    guard Self.line(from: output) == "done" else {
      throw PostgresServer.Failure(text: "\(command) failed")
    }
  }

  private static func line(from file: FileHandle) -> String? {
    var bytes: [UInt8] = []
    while let byte = try? file.read(upToCount: 1)?.first {
      if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return nil
  }
}
