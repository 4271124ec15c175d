import Foundation
import LarchCrashSupport

/// The tool, in a process of its own.
struct LarchCommand {
  typealias Result = (code: Int32, output: String, errors: String)

  private let process = Process()
  private let output = Pipe()
  private let errors = Pipe()

  /// Starts a command.
  init(_ arguments: [String]) throws {
    process.executableURL = try Child.builtFile("larch")
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  /// Waits for the end.
  func result() -> Result {
    let texts = [output, errors].map {
      String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    process.waitUntilExit()
    return (process.terminationStatus, texts[0], texts[1])
  }

  /// The next line of the output; nil at its end.
  func line() -> String? {
    var bytes = Data()
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), byte.count == 1 {
      if byte.first == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes += byte
    }
    return nil
  }

  static func run(_ arguments: [String]) throws -> Result { try Self(arguments).result() }
}
