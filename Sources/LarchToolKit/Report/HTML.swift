/// Text that is put into a page: whatever is in a store is shown as text, and never taken for
/// markup, in elements and in quoted attributes alike.
enum HTML {
  static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default:
        if isHidden(scalar) {
          result += "\\u{" + String(scalar.value, radix: 16) + "}"
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }

  /// What a reader would not see, or what would turn the text around it.
  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D: true
    case ..<0x20, 0x7F...0x9F, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF,
      0xFFF9...0xFFFB, 0xFFFE, 0xFFFF:
      true
    default: false
    }
  }

  /// The beginning of a text, with a sign where something is left out.
  static func cut(_ text: String, to limit: Int) -> String {
    // Looking at so many bytes tells that it is short; counting characters would take them all.
    guard text.utf8.count > limit else { return text }
    let start = text.prefix(limit)
    return start.endIndex == text.endIndex ? text : start + "…"
  }
}
