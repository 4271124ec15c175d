internal import Larch

/// Parsed JSON: numbers keep their digits, and members keep their order.
///
/// Foundation's numbers lose digits and the sign of zero, which an export must not.
enum JSONNode {
  case null
  case bool(Bool)
  /// The token, which is a valid JSON number.
  case number(String)
  case string(String)
  case array([JSONNode])
  /// Names may repeat; the reader of an object decides what that means.
  case object([Member])

  struct Member {
    let name: String
    let value: JSONNode
  }

  /// Reads one value; nothing may follow it.
  ///
  /// - Throws: `Problem` for anything that is not JSON.
  init(_ bytes: UnsafeRawBufferPointer) throws {
    var parser = JSONNodeParser(bytes)
    self = try parser.whole()
  }

  /// A fault in a text, as a sentence, and its place.
  struct Problem: Error {
    let reason: StaticString
    let offset: Int
  }

  /// The name of the kind, for errors.
  var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a text"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The members of an object by name; nil if it is not an object, or if a name repeats.
  var members: [String: JSONNode]? {
    guard case .object(let list) = self else { return nil }
    var found: [String: JSONNode] = [:]
    for member in list {
      guard found.updateValue(member.value, forKey: member.name) == nil else { return nil }
    }
    return found
  }

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  var array: [JSONNode]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// A number that is written as an integer.
  func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
    guard case .number(let text) = self else { return nil }
    return T(text)
  }
}

/// A parser over the bytes of an arbitrary text.
private struct JSONNodeParser {
  /// Deeper than any record, including the names of kinds between its values.
  private static let depthLimit = 600

  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func whole() throws -> JSONNode {
    let value = try self.value(depth: 0)
    skipSpace()
    guard place == bytes.count else { throw problem("There is text after the value.") }
    return value
  }

  private func problem(_ reason: StaticString) -> JSONNode.Problem {
    JSONNode.Problem(reason: reason, offset: place)
  }

  private mutating func skipSpace() {
    while place < bytes.count {
      switch bytes[place] {
      case 0x20, 0x09, 0x0A, 0x0D: place += 1
      default: return
      }
    }
  }

  /// The next byte after white space, without consuming it.
  private mutating func peek() throws -> UInt8 {
    skipSpace()
    guard place < bytes.count else { throw problem("The text ends in the middle of a value.") }
    return bytes[place]
  }

  private mutating func value(depth: Int) throws -> JSONNode {
    guard depth < Self.depthLimit else { throw problem("Values are nested too deeply.") }
    switch try peek() {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func word(_ text: StaticString, _ value: JSONNode) throws -> JSONNode {
    let count = text.utf8CodeUnitCount
    let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: count)
    guard bytes.count - place >= count,
      UnsafeRawBufferPointer(rebasing: bytes[place..<place + count]).equals(expected)
    else { throw problem("Expected a value.") }
    place += count
    return value
  }

  private mutating func object(depth: Int) throws -> JSONNode {
    place += 1
    var members: [JSONNode.Member] = []
    if try peek() == UInt8(ascii: "}") {
      place += 1
      return .object([])
    }
    while true {
      guard try peek() == UInt8(ascii: "\"") else { throw problem("Expected a name.") }
      let name = try string()
      guard try peek() == UInt8(ascii: ":") else { throw problem("Expected a colon.") }
      place += 1
      members.append(JSONNode.Member(name: name, value: try value(depth: depth + 1)))
      switch try peek() {
      case UInt8(ascii: ","): place += 1
      case UInt8(ascii: "}"):
        place += 1
        return .object(members)
      default: throw problem("Expected a comma or the end of the object.")
      }
    }
  }

  private mutating func array(depth: Int) throws -> JSONNode {
    place += 1
    var elements: [JSONNode] = []
    if try peek() == UInt8(ascii: "]") {
      place += 1
      return .array([])
    }
    while true {
      elements.append(try value(depth: depth + 1))
      switch try peek() {
      case UInt8(ascii: ","): place += 1
      case UInt8(ascii: "]"):
        place += 1
        return .array(elements)
      default: throw problem("Expected a comma or the end of the array.")
      }
    }
  }

  // MARK: Numbers

  private mutating func number() throws -> String {
    let start = place
    if next(is: UInt8(ascii: "-")) { place += 1 }
    let isZero = next(is: UInt8(ascii: "0"))
    let digits = skipDigits()
    guard digits == 1 || (digits > 1 && !isZero) else {
      throw problem("Expected a value.")
    }
    if next(is: UInt8(ascii: ".")) {
      place += 1
      guard skipDigits() > 0 else { throw problem("Expected a digit.") }
    }
    if next(is: UInt8(ascii: "e")) || next(is: UInt8(ascii: "E")) {
      place += 1
      if next(is: UInt8(ascii: "+")) || next(is: UInt8(ascii: "-")) { place += 1 }
      guard skipDigits() > 0 else { throw problem("Expected a digit.") }
    }
    return String(decoding: bytes[start..<place], as: UTF8.self)
  }

  private func next(is byte: UInt8) -> Bool { place < bytes.count && bytes[place] == byte }

  private mutating func skipDigits() -> Int {
    let start = place
    while place < bytes.count, (0x30...0x39).contains(bytes[place]) { place += 1 }
    return place - start
  }

  // MARK: Texts

  private mutating func string() throws -> String {
    place += 1
    let start = place
    while place < bytes.count, bytes[place] != UInt8(ascii: "\""),
      bytes[place] != UInt8(ascii: "\\"), bytes[place] >= 0x20
    { place += 1 }
    // Usually nothing is escaped.
    if next(is: UInt8(ascii: "\"")) {
      defer { place += 1 }
      return try text(UnsafeRawBufferPointer(rebasing: bytes[start..<place]))
    }
    var unescaped = [UInt8](bytes[start..<place])
    while place < bytes.count {
      let byte = bytes[place]
      switch byte {
      case UInt8(ascii: "\""):
        place += 1
        return try unescaped.withUnsafeBytes { try text($0) }
      case UInt8(ascii: "\\"):
        place += 1
        try escape(into: &unescaped)
      case ..<0x20: throw problem("A string has a control character that is not escaped.")
      default:
        unescaped.append(byte)
        place += 1
      }
    }
    throw problem("The text ends in the middle of a value.")
  }

  private func text(_ utf8: UnsafeRawBufferPointer) throws -> String {
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw problem("A string is not valid UTF-8.")
    }
    return text
  }

  private mutating func escape(into text: inout [UInt8]) throws {
    guard place < bytes.count else { throw problem("The text ends in the middle of a value.") }
    let byte = bytes[place]
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      var code = UInt32(try fourDigits())
      if (0xD800..<0xDC00).contains(code), next(is: UInt8(ascii: "\\")) {
        place += 1
        guard next(is: UInt8(ascii: "u")) else {
          throw problem("An escape is half of a surrogate pair.")
        }
        place += 1
        let low = UInt32(try fourDigits())
        guard (0xDC00..<0xE000).contains(low) else {
          throw problem("An escape is half of a surrogate pair.")
        }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else {
        throw problem("An escape is half of a surrogate pair.")
      }
      text.append(contentsOf: Array(String(Character(scalar)).utf8))
    default: throw problem("JSON does not have this escape.")
    }
  }

  private mutating func fourDigits() throws -> UInt16 {
    guard bytes.count - place >= 4 else { throw problem("Expected four hexadecimal digits.") }
    var number: UInt16 = 0
    for byte in bytes[place..<place + 4] {
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x41...0x46: digit = byte - 0x41 + 10
      case 0x61...0x66: digit = byte - 0x61 + 10
      default: throw problem("Expected four hexadecimal digits.")
      }
      number = number << 4 | UInt16(digit)
    }
    place += 4
    return number
  }
}
