/// Text from a file or a user for a terminal, which would obey some characters in it.
package enum Printable {
  /// The text on one line: control characters, and characters that change the writing direction or
  /// break lines, become `\u{1b}`.
  package static func escaped(_ text: some StringProtocol) -> String {
    // In UTF-8, every character beyond ASCII that must be escaped begins with one of these bytes.
    let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0xC2 && $0 != 0xE2 }
    if isPlain { return String(text) }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where isUnsafe(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The text on one line, otherwise unchanged, for programs: only control characters are escaped.
  static func escapedControls(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
      if scalar.value < 0x20 || scalar.value == 0x7F {
        result += escaped(String(scalar))
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }

  /// JSON that is safe for a terminal: unsafe characters can only be in strings, in which they can
  /// be escaped.
  static func escapedJSON(_ json: String) -> String {
    if json.utf8.allSatisfy({ $0 != 0xC2 && $0 != 0xE2 }) { return json }
    return json.unicodeScalars.reduce(into: "") { result, scalar in
      if scalar.value >= 0x7F, isUnsafe(scalar) {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case ..<0x20, 0x7F...0x9F: true
    // Line separators, and marks for writing from right to left.
    case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The width of the text in columns of a terminal.
  package static func width(_ text: some StringProtocol) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + width($1) }
  }

  /// Whether the text is wider than so many columns. It looks at no more of the text than it must.
  static func isWider(_ text: some StringProtocol, than limit: Int) -> Bool {
    var room = limit
    for character in text {
      room -= width(character)
      if room < 0 { return true }
    }
    return false
  }

  static func width(_ character: Character) -> Int {
    if character.isASCII { return 1 }
    guard let first = character.unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if character.unicodeScalars.contains("\u{FE0F}") || first.properties.isEmojiPresentation {
      return 2
    }
    return wide.contains { $0.contains(first.value) } ? 2 : 1
  }

  /// The blocks of ideographs, Hangul syllables, full-width forms and emoji.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
    0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]
}
