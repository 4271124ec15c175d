/// The exit code of the program.
package enum ExitCode: Int32, Sendable {
  /// Success.
  case well = 0
  /// The answer is no: damage was found, the record does not exist, or a wait was ended.
  case no = 1
  /// The arguments are wrong, or something failed.
  case failed = 2
}

/// A command of `larch`.
///
/// Its declarations are all that is needed: the parser, the help, the manual page and the
/// completion scripts are made from them. A new command is a file in `Commands/` and a line in
/// `Tool.commands`.
package protocol Command: SendableMetatype {
  /// What the user types.
  static var name: String { get }
  /// What it does, on one line, without a full stop.
  static var summary: String { get }
  /// Further paragraphs; empty if the summary is enough.
  static var discussion: String { get }
  /// The positional arguments, in order.
  static var operands: [Operand] { get }
  /// The options, without `--help`, which every command has.
  static var options: [any OptionDeclaration] { get }
  /// Example calls.
  static var examples: [Example] { get }

  /// Whether it does nothing but print, so that it has done its work when nobody reads on.
  static var onlyShows: Bool { get }

  /// Takes arguments that fit the declarations.
  ///
  /// - Throws: `UsageError` for errors that the declarations cannot express, such as two options
  ///   that cannot be used together.
  init(_ arguments: Arguments) throws

  /// Runs the command. A thrown error becomes one line on standard error and exit code 2.
  func run(_ console: Console) throws -> ExitCode
}

extension Command {
  package static var discussion: String { "" }
  package static var options: [any OptionDeclaration] { [] }
  package static var examples: [Example] { [] }
  package static var onlyShows: Bool { true }
}

/// An example call in the help.
package struct Example: Sendable {
  let line: String
  let meaning: String

  /// - Parameters:
  ///   - line: the command line.
  ///   - meaning: what it does, without a full stop.
  package init(_ line: String, _ meaning: String) {
    self.line = line
    self.meaning = meaning
  }
}

/// The values that a shell offers for completion.
package enum Completion: Sendable, Hashable {
  /// Nothing.
  case nothing
  /// Existing files.
  case file
  /// One of these.
  case oneOf([String])
}

/// A positional argument.
package struct Operand: Sendable {
  /// In capitals, for the usage line.
  package let name: String
  let help: String
  let isOptional: Bool
  let isRepeated: Bool
  let completion: Completion

  package init(
    _ name: String, _ help: String, isOptional: Bool = false, isRepeated: Bool = false,
    completion: Completion = .nothing
  ) {
    self.name = name
    self.help = help
    self.isOptional = isOptional
    self.isRepeated = isRepeated
    self.completion = completion
  }

  /// The store file, which nearly every command has first.
  package static let store = Operand("STORE", "the store file", completion: .file)

  /// The form in the usage line: `STORE`, `[COLLECTION]`, `[ID ...]`.
  var usage: String {
    let text = name + (isRepeated ? " ..." : "")
    return isOptional ? "[\(text)]" : text
  }
}
