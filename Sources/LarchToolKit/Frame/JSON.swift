/// A JSON value for output. The keys of objects are sorted, so that equal values give equal texts.
package enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])
  /// Encoded JSON on one line, such as a stored record.
  case text(String)

  /// A text or null.
  package static func string(optional text: String?) -> JSON { text.map { .string($0) } ?? .null }

  /// A number or null.
  package static func int(optional number: Int?) -> JSON { number.map { .int($0) } ?? .null }

  /// The value as text; on several lines if it is indented.
  package func text(isIndented: Bool) -> String {
    var text = ""
    write(to: &text, indent: isIndented ? 0 : nil)
    return text
  }

  private func write(to text: inout String, indent: Int?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .int(let value): text += "\(value)"
    // JSON has no NaN and no infinity.
    case .double(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): JSON.write(value, to: &text)
    case .text(let json): text += json
    case .array(let elements):
      JSON.write(elements, "[", "]", to: &text, indent) { $0.write(to: &$1, indent: $2) }
    case .object(let members):
      let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      JSON.write(sorted, "{", "}", to: &text, indent) { member, text, indent in
        JSON.write(member.key, to: &text)
        text += indent == nil ? ":" : ": "
        member.value.write(to: &text, indent: indent)
      }
    }
  }

  private static func write<T>(
    _ items: [T], _ open: String, _ close: String, to text: inout String, _ indent: Int?,
    _ body: (T, inout String, Int?) -> Void
  ) {
    text += open
    let inner = indent.map { $0 + 2 }
    for (index, item) in items.enumerated() {
      if index > 0 { text += "," }
      breakLine(&text, inner)
      body(item, &text, inner)
    }
    if !items.isEmpty { breakLine(&text, indent) }
    text += close
  }

  private static func breakLine(_ text: inout String, _ indent: Int?) {
    if let indent { text += "\n" + String(repeating: " ", count: indent) }
  }

  private static func write(_ value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      // Control characters, and two that JavaScript would treat as line ends.
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .int(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  /// If keys repeat, the last one wins.
  package init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(members, uniquingKeysWith: { $1 }))
  }
}
