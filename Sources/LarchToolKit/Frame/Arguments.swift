internal import Larch

/// The arguments of a command, parsed by its declarations.
package struct Arguments {
  private var values: [String: String] = [:]
  private var texts: [String: [String]] = [:]
  /// Whether the help is requested, whatever the other arguments are.
  private(set) var asksForHelp = false

  /// Parses the arguments after the name of a command.
  ///
  /// Options may be anywhere; `--` ends them. A value follows its option, or an `=`.
  ///
  /// - Throws: `UsageError` for arguments that are unknown, missing or of the wrong type.
  init(_ arguments: [String], of command: any Command.Type) throws {
    let declared = command.options
    // Before any error: a user who asks for help may have made a mistake.
    let ahead = arguments.prefix { $0 != "--" }
    asksForHelp = ahead.contains("--help") || ahead.contains("-h")
    if asksForHelp { return }
    var plain: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        plain += rest
        break
      }
      guard Arguments.isOption(argument) else {
        plain.append(argument)
        continue
      }
      let (name, attached) = Arguments.split(argument)
      guard let option = declared.first(where: { $0.name == name || $0.short == name }) else {
        throw UsageError.unknownOption(name, of: command)
      }
      try take(option, attached, &rest)
    }
    try take(plain, command.operands)
  }

  private mutating func take(
    _ option: any OptionDeclaration, _ attached: String?, _ rest: inout ArraySlice<String>
  ) throws {
    guard option.valueName != nil else {
      if attached != nil { throw UsageError("\(option.name) takes no value") }
      values[option.name] = ""
      return
    }
    guard values[option.name] == nil else { throw UsageError("\(option.name) is repeated") }
    guard let text = attached ?? rest.popFirst() else {
      throw UsageError("\(option.name) needs a value")
    }
    try option.check(text)
    values[option.name] = text
  }

  private mutating func take(_ plain: [String], _ operands: [Operand]) throws {
    var rest = plain[...]
    for operand in operands {
      if operand.isRepeated {
        texts[operand.name] = Array(rest)
        rest = []
      } else if let text = rest.popFirst() {
        texts[operand.name] = [text]
      }
      if texts[operand.name]?.isEmpty ?? true, !operand.isOptional {
        throw UsageError("\(operand.name) is missing: \(operand.help)")
      }
    }
    if let extra = rest.first { throw UsageError("\(Quoted(extra)) is one argument too many") }
  }

  /// A dash alone is a common name for standard input, and -5 is a number.
  private static func isOption(_ text: String) -> Bool {
    text.hasPrefix("-") && text != "-" && Double(text) == nil
  }

  private static func split(_ argument: String) -> (name: String, value: String?) {
    guard argument.hasPrefix("--"), let end = argument.firstIndex(of: "=") else {
      return (argument, nil)
    }
    return (String(argument[..<end]), String(argument[argument.index(after: end)...]))
  }
}

extension Arguments {
  /// Whether a flag is present.
  package subscript(_ flag: Flag) -> Bool { values[flag.name] != nil }

  /// The value of an option; nil if it is not present.
  package subscript<Value>(_ option: Option<Value>) -> Value? {
    values[option.name].flatMap(option.value)
  }

  /// A required operand, or an optional one, which may be empty.
  package subscript(_ operand: Operand) -> String { texts[operand.name]?.first ?? "" }

  /// An optional operand.
  package func optional(_ operand: Operand) -> String? { texts[operand.name]?.first }

  /// All values of a repeatable operand.
  package func all(_ operand: Operand) -> [String] { texts[operand.name] ?? [] }
}

/// Arguments that no command understands.
package struct UsageError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  static func unknownOption(_ name: String, of command: any Command.Type) -> UsageError {
    let known = command.options.flatMap { [$0.name, $0.short].compactMap { $0 } } + ["--help"]
    let hint = SimilarName.best(for: name, among: known).map { "; did you mean \($0)?" } ?? ""
    let dashes = hint.isEmpty ? "; if it is not an option, put -- before it" : hint
    return UsageError("there is no option \(Quoted(name))\(dashes)")
  }

  static func unknownCommand(_ name: String) -> UsageError {
    let known = Tool.commands.map { $0.name } + ["help"]
    let hint = SimilarName.best(for: name, among: known).map { "; did you mean \($0)?" } ?? ""
    return UsageError("there is no command \(Quoted(name))\(hint)")
  }
}

/// A text from the user, in quotation marks, without characters that a terminal would obey.
package struct Quoted: CustomStringConvertible {
  package let description: String

  package init(_ text: String) {
    // An error is one short line.
    let limit = 200
    let shown = text.count > limit ? text.prefix(limit) + "…" : text[...]
    description = "“\(Printable.escaped(shown))”"
  }
}
