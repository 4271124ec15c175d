/// Text that is put into a page: whatever is in a store is shown as text, and never taken for
/// markup, in elements and in quoted attributes alike. What a reader would not see is shown by its
/// number.
enum HTML {
  static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    for character in Printable.escaped(text).unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }

  /// The beginning of a text, with a sign where something is left out.
  static func cut(_ text: String, to limit: Int) -> String {
    // Looking at so many bytes tells that it is short; counting characters would take them all.
    guard text.utf8.count > limit else { return text }
    let start = text.prefix(limit)
    return start.endIndex == text.endIndex ? text : start + "…"
  }
}
