/// What the shell is told at the end.
package enum ExitCode: Int32, Sendable {
  /// All went well.
  case well = 0
  /// The answer is no: damage was found, there is no such record, or a wait was ended.
  case no = 1
  /// The arguments are wrong, or something failed.
  case failed = 2
}

/// One of the things that `larch` does.
///
/// What a command declares of itself is all there is: the parser, the help, the manual page and the
/// completion of shells are made from it. A new command is a file in `Commands/` and a line in
/// `Tool.commands`.
package protocol Command: SendableMetatype {
  /// What the user types.
  static var name: String { get }
  /// What it does, on one line, without a full stop.
  static var summary: String { get }
  /// More than that, in paragraphs; empty where the summary says it all.
  static var discussion: String { get }
  /// What stands without a name behind the command, in its order.
  static var operands: [Operand] { get }
  /// What has a name, without `--help`, which every command has.
  static var options: [any OptionDeclaration] { get }
  /// Calls that a reader can try.
  static var examples: [Example] { get }

  /// Takes over arguments that fit what is declared.
  ///
  /// - Throws: `UsageError` for what the declarations cannot tell, such as two options that
  ///   exclude each other.
  init(_ arguments: Arguments) throws

  /// Does it. Whatever is thrown becomes one line on standard error and exit code 2.
  func run(_ console: Console) throws -> ExitCode
}

extension Command {
  package static var discussion: String { "" }
  package static var options: [any OptionDeclaration] { [] }
  package static var examples: [Example] { [] }
}

/// A call that the help shows.
package struct Example: Sendable {
  let line: String
  let meaning: String

  /// - Parameters:
  ///   - line: as it would be typed.
  ///   - meaning: what it does, without a full stop.
  package init(_ line: String, _ meaning: String) {
    self.line = line
    self.meaning = meaning
  }
}

/// What a shell offers where a value is to be typed.
package enum Completion: Sendable, Hashable {
  /// Nothing.
  case nothing
  /// The files that there are.
  case file
  /// One of these.
  case oneOf([String])
}

/// An argument that is known by its place.
package struct Operand: Sendable {
  /// In capitals, as the usage shows it.
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

  /// As the usage shows it: `STORE`, `[COLLECTION]`, `[ID ...]`.
  var usage: String {
    let text = name + (isRepeated ? " ..." : "")
    return isOptional ? "[\(text)]" : text
  }
}
