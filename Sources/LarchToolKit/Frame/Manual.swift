internal import Larch

/// The manual page, in the format of `man`.
enum Manual {
  static var page: String {
    var roff = Roff()
    roff.line(".TH LARCH 1 \"\" \"Larch \(LarchVersion.library)\" \"Larch\"")
    roff.heading("NAME")
    roff.text("larch - \(Tool.summary)")
    roff.heading("SYNOPSIS")
    roff.line(".B larch")
    roff.line(".I COMMAND STORE")
    roff.line("[\\fIOPTION\\fR ...]")
    roff.heading("DESCRIPTION")
    roff.text(
      "A store file describes its own collections, fields, indexes and associations. larch shows "
        + "them and the records, whichever program wrote them. Other programs may write the store "
        + "meanwhile. Only the commands that say so change anything.")
    roff.heading("COMMANDS")
    for command in Tool.commands { write(command, to: &roff) }
    roff.heading("EXIT STATUS")
    for (code, meaning) in Help.exitCodes { roff.item(code, meaning) }
    roff.heading("ENVIRONMENT")
    roff.item("COLUMNS", "the width of tables; by default that of the terminal")
    roff.item("NO_COLOR", "if it is set and not empty, the output has no colours")
    return roff.lines.joined(separator: "\n") + "\n"
  }

  private static func write(_ command: any Command.Type, to roff: inout Roff) {
    roff.line(".SS " + Roff.quoted(String(Help.usage(command).dropFirst("larch ".count))))
    roff.text(sentence(command.summary))
    for paragraph in Help.paragraphs(command.discussion) {
      roff.line(".PP")
      roff.text(paragraph)
    }
    let items =
      command.operands.map { (name: $0.name, meaning: $0.help) } + Help.options(command)
    for item in items { roff.item(item.name, item.meaning) }
    for example in command.examples {
      roff.line(".PP")
      roff.text("\(example.meaning):")
      roff.line(".PP")
      roff.line(".nf")
      roff.line("    " + Roff.escaped(example.line))
      roff.line(".fi")
    }
  }

  private static func sentence(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst() + "."
  }
}

/// Lines in the format of `man`.
private struct Roff {
  private(set) var lines: [String] = []

  mutating func line(_ text: String) { lines.append(text) }

  mutating func heading(_ text: String) { lines.append(".SH \(text)") }

  mutating func item(_ name: String, _ meaning: String) {
    lines += [".TP", ".B " + Roff.quoted(name)]
    text(meaning)
  }

  mutating func text(_ text: String) {
    let escaped = Roff.escaped(text)
    // A line that begins with one of these would be a request.
    lines.append(escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped)
  }

  /// Characters that roff would treat as an escape, or print as a different sign.
  private static let special: [Character: String] = [
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "~": "\\(ti", "^": "\\(ha",
  ]

  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { text, character in
      if let sign = special[character] {
        text += sign
      } else if character.isASCII {
        text.append(character)
      } else {
        for scalar in character.unicodeScalars {
          text += "\\[u\(hexadecimal(scalar.value))]"
        }
      }
    }
  }

  private static func hexadecimal(_ number: UInt32) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// An argument of a request.
  static func quoted(_ text: String) -> String {
    "\"" + escaped(text).replacing("\"", with: "\\(dq") + "\""
  }
}
