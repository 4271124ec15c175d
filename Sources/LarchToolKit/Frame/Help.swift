/// A page of help: headings, paragraphs and lists of names with descriptions.
struct Help {
  enum Part {
    case heading(String)
    case paragraph(String)
    /// A command line; never wrapped.
    case code(String)
    case list([(name: String, meaning: String)])
  }

  let parts: [Part]

  /// The help of the whole program.
  static var ofTool: Help {
    Help(parts: [
      .paragraph("larch \(Tool.summary)."),
      .heading("Usage"),
      .code("larch COMMAND STORE [OPTION ...]"),
      .heading("Commands"),
      .list(Tool.commands.map { ($0.name, $0.summary) }),
      .heading("Options"),
      .list([
        ("--help", "show this, or the help of a command"),
        ("--version", "show the version of Larch"),
      ]),
      .heading("Exit codes"),
      .list(exitCodes),
      .paragraph(
        "After `--` nothing is an option: use it before an ID or QUERY that begins with a dash."),
      .paragraph("`larch help COMMAND` shows more, with examples."),
    ])
  }

  static let exitCodes = [
    ("0", "all went well"),
    ("1", "the answer is no: damage was found, the record does not exist, or a wait was ended"),
    ("2", "the arguments are wrong, the store cannot be read, or something failed"),
  ]

  static func of(_ command: any Command.Type) -> Help {
    var parts: [Part] = [.paragraph("larch \(command.name): \(command.summary).")]
    parts += paragraphs(command.discussion).map { .paragraph($0) }
    parts += [.heading("Usage"), .code(usage(command)), .heading("Arguments")]
    var list = command.operands.map { (name: $0.name, meaning: $0.help) }
    list += options(command)
    parts.append(.list(list))
    if !command.examples.isEmpty {
      parts.append(.heading("Examples"))
      for example in command.examples {
        parts += [.paragraph("\(example.meaning):"), .code(example.line)]
      }
    }
    return Help(parts: parts)
  }

  /// `larch dump STORE [COLLECTION] [--entries] [--json]`.
  static func usage(_ command: any Command.Type) -> String {
    let operands = command.operands.map(\.usage)
    let options = command.options.map { option in
      "[\(option.name)\(option.valueName.map { " \($0)" } ?? "")]"
    }
    return (["larch", command.name] + operands + options).joined(separator: " ")
  }

  static func options(_ command: any Command.Type) -> [(name: String, meaning: String)] {
    command.options.map { option in
      let names = [option.short, option.name].compactMap { $0 }.joined(separator: ", ")
      return (names + (option.valueName.map { " \($0)" } ?? ""), option.help)
    } + [("--help", "show this")]
  }

  /// The paragraphs of a text, which empty lines separate, each on one line.
  static func paragraphs(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .split(separator: "").map { $0.joined(separator: " ") }
  }

  func print(on console: Console) throws {
    // Shorter lines are easier to read.
    let width = min(console.width ?? 80, 96)
    for (number, part) in parts.enumerated() {
      switch part {
      case .heading(let text):
        try console.printEmptyLine()
        try console.print(Line(text, .strong))
      case .paragraph(let text):
        if number > 0 { try console.printEmptyLine() }
        for line in Line(text).wrapped(to: width) { try console.print(line) }
      case .code(let text): try console.print(Line("  \(text)"))
      case .list(let items):
        var table = Table([.init(""), .init("", .wrap)])
        for item in items { table.add([Line(item.name, .strong), Line(item.meaning)]) }
        for line in table.lines(width: width - 2) { try console.print(Line("  ") + line) }
      }
    }
  }
}
