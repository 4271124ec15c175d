import Foundation
import LarchToolKit

@testable import Larch

/// The output of a command, and its exit code.
struct ToolRun {
  let code: ExitCode
  let output: String
  let errors: String

  init(_ arguments: String...) { self.init(arguments: arguments) }

  init(arguments: [String]) {
    let output = TextOutput()
    let errors = TextOutput()
    let console = Console(
      output: output, errors: errors, width: nil, isTerminal: false, errorsAreTerminal: false,
      environment: [:])
    code = Tool.run(arguments, on: console)
    self.output = output.text
    self.errors = errors.text
  }
}

/// A folder that is removed after `body`.
func withFolder<T>(_ body: (String) throws -> T) throws -> T {
  let folder = NSTemporaryDirectory() + "larch-page-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try body(folder)
}
