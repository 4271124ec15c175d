/// Escapes text for a page: stored data is shown as text and never becomes markup, in elements and
/// in quoted attributes. Invisible characters are shown by their number.
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

  /// The beginning of a text, with a sign if it is cut.
  static func cut(_ text: String, to limit: Int) -> String {
    // This number of bytes shows that it is short; counting characters would read all of it.
    guard text.utf8.count > limit else { return text }
    let start = text.prefix(limit)
    return start.endIndex == text.endIndex ? text : start + "…"
  }
}
