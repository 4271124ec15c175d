/// A JSON value, as the hooks of an ``ImportMap`` see an element.
///
/// ```swift
/// WillImport { person in
///   person["name"] = .text("\(person["first"]?.text ?? "") \(person["last"]?.text ?? "")")
/// }
/// ```
public enum JSONValue: Sendable, Hashable {
  /// The value `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number with all its digits, as the text has it.
  case number(String)
  /// A text.
  case text(String)
  /// A list.
  case list([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// The value under a key of an object; nil for another value, and for a key that is absent.
  ///
  /// To set nil removes the key. To set a key of another value than an object has no effect.
  public subscript(key: String) -> JSONValue? {
    get {
      guard case .object(let members) = self else { return nil }
      return members[key]
    }
    set {
      guard case .object(var members) = self else { return }
      self = .null  // So that the members are not copied.
      members[key] = newValue
      self = .object(members)
    }
  }

  /// The value at a place of a list; nil for another value, and for a place that it does not have.
  public subscript(index: Int) -> JSONValue? {
    guard case .list(let items) = self, items.indices.contains(index) else { return nil }
    return items[index]
  }

  /// The text; nil for another value.
  public var text: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }

  /// The number; nil for another value.
  public var number: Double? {
    guard case .number(let digits) = self else { return nil }
    return Double(digits)
  }

  /// The number, if it is whole and fits; nil for another value.
  public var int: Int? {
    guard case .number(let digits) = self else { return nil }
    return Int(digits) ?? JSONValue.whole(digits)
  }

  /// The truth value; nil for another value.
  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }
}

extension JSONValue {
  /// The number of a text such as `-12.50e3`, if it is whole and fits. A `Double` would round it.
  private static func whole(_ text: String) -> Int? {
    let parts = text.lowercased().split(separator: "e")
    guard Double(text) != nil, let number = parts.first?.split(separator: ".") else { return nil }
    var digits = number.joined()[...]
    var zeros = -(number.count > 1 ? number[1].count : 0)
    while digits.hasSuffix("0") {
      digits.removeLast()
      zeros += 1
    }
    if digits.isEmpty || digits == "-" { return 0 }
    guard let power = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
    let (shift, isTooMuch) = zeros.addingReportingOverflow(power)
    // No whole number that fits has more digits than these.
    guard !isTooMuch, shift >= 0, shift < 20 else { return nil }
    return Int(digits + String(repeating: "0", count: shift))
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// A number.
  public init(integerLiteral value: Int) { self = .number(String(value)) }
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

// MARK: - Text

extension JSONValue {
  /// The value of the bytes.
  ///
  /// - Throws: `JSONCursor.Malformed`.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>? = nil) throws {
    var cursor = JSONCursor(bytes, range)
    self = try cursor.parsed(depth: 0)
    guard cursor.isAtEnd() else { throw JSONCursor.Malformed() }
  }

  /// Appends the value as JSON.
  func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number(let digits): bytes += digits.utf8
    case .text(let text): JSONValue.write(text, to: &bytes)
    case .list(let items):
      bytes.append(UInt8(ascii: "["))
      for (place, item) in items.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        item.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (place, member) in members.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONValue.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        bytes += ("\\u00" + (digits.utf8.count < 2 ? "0" : "") + digits).utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
