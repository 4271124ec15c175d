internal import Larch

/// The arguments of a command, read by its declarations.
package struct Arguments {
  private var values: [String: String] = [:]
  private var texts: [String: [String]] = [:]
  /// Whether the help is asked for, whatever else there is.
  private(set) var asksForHelp = false

  /// Reads what stands behind the name of a command.
  ///
  /// Options may stand anywhere; `--` ends them. A value stands behind its option, or after `=`.
  ///
  /// - Throws: `UsageError` for what is not declared, missing or of the wrong type.
  init(_ arguments: [String], of command: any Command.Type) throws {
    let declared = command.options
    // Before anything can be wrong: who asks for help may have made a mistake.
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

  /// A dash alone is a name that some give to standard input, and -5 is a number.
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
  /// Whether a flag is there.
  package subscript(_ flag: Flag) -> Bool { values[flag.name] != nil }

  /// The value of an option; nil where it is not given.
  package subscript<Value>(_ option: Option<Value>) -> Value? {
    values[option.name].flatMap(option.value)
  }

  /// An operand that must be there, or one that may; empty where it is not given.
  package subscript(_ operand: Operand) -> String { texts[operand.name]?.first ?? "" }

  /// An operand that may be missing.
  package func optional(_ operand: Operand) -> String? { texts[operand.name]?.first }

  /// All of an operand that may be repeated.
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

/// A text that a user gave, in quotation marks, with nothing in it that a terminal would obey.
package struct Quoted: CustomStringConvertible {
  package let description: String

  package init(_ text: String) {
    // An error is one line that can be read at a glance.
    let limit = 200
    let shown = text.count > limit ? text.prefix(limit) + "…" : text[...]
    description = "“\(Printable.escaped(shown))”"
  }
}
