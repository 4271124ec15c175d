/// Walks over the bytes of one JSON value and checks them: strings, numbers and brackets are those
/// of RFC 8259.
struct JSONCursor {
  /// The text is not JSON, or nested too deep.
  struct Malformed: Error {}

  /// A string without its quotation marks.
  struct Text {
    let range: Range<Int>
    let isEscaped: Bool
  }

  enum Kind { case null, bool, number, text, list, object }

  /// The limit of Foundation's decoder.
  private static let depthLimit = 512

  let bytes: UnsafeRawBufferPointer
  private(set) var place: Int
  private let end: Int
  /// The depth of the value in its element.
  private let depth: Int

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>? = nil, depth: Int = 0) {
    self.bytes = bytes
    place = range?.lowerBound ?? 0
    end = range?.upperBound ?? bytes.count
    self.depth = depth
  }

  /// The kind of the value that begins here.
  mutating func kind() throws -> Kind {
    skipSpace()
    guard place < end else { throw Malformed() }
    switch bytes[place] {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .list
    case UInt8(ascii: "\""): return .text
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    default: return .number
    }
  }

  /// Whether nothing follows.
  mutating func isAtEnd() -> Bool {
    skipSpace()
    return place == end
  }

  // MARK: Objects and lists

  /// Calls with each key and the place of its value; the value is checked.
  mutating func forEachMember(_ body: (Text, Range<Int>) throws -> Void) throws {
    try forEachPart(UInt8(ascii: "}")) { cursor in
      try body(try cursor.key(), try cursor.value(depth: cursor.depth + 1))
    }
  }

  /// Calls with the place of each value of a list.
  mutating func forEachItem(_ body: (Range<Int>) throws -> Void) throws {
    try forEachPart(UInt8(ascii: "]")) { cursor in
      try body(try cursor.value(depth: cursor.depth + 1))
    }
  }

  private mutating func forEachPart(
    _ closing: UInt8, _ body: (inout JSONCursor) throws -> Void
  ) throws {
    skipSpace()
    place += 1
    skipSpace()
    if place < end, bytes[place] == closing {
      place += 1
      return
    }
    while true {
      skipSpace()
      try body(&self)
      skipSpace()
      guard place < end else { throw Malformed() }
      if bytes[place] == closing {
        place += 1
        return
      }
      try take(UInt8(ascii: ","))
    }
  }

  // MARK: Values

  /// Skips a value and returns its place.
  mutating func value(depth: Int) throws -> Range<Int> {
    skipSpace()
    let start = place
    try skipValue(depth)
    return start..<place
  }

  /// Skips a value without recursion for each level, since the stack of a thread may be small.
  private mutating func skipValue(_ depth: Int) throws {
    /// A bit for each open bracket: whether it is a brace.
    var braces: UInt64 = 0
    var open = 0
    while true {
      switch try kind() {
      case .text: _ = try string()
      case .number: try skipNumber()
      case .null: try skip("null")
      case .bool: try skip(bytes[place] == UInt8(ascii: "t") ? "true" : "false")
      case .list, .object:
        guard depth + open < JSONCursor.depthLimit else { throw Malformed() }
        if open == UInt64.bitWidth {
          try skipValue(depth + open)
        } else {
          let isBrace = bytes[place] == UInt8(ascii: "{")
          place += 1
          skipSpace()
          guard place < end else { throw Malformed() }
          if bytes[place] == JSONCursor.closing(isBrace) {
            place += 1
          } else {
            braces = braces << 1 | (isBrace ? 1 : 0)
            open += 1
            if isBrace { _ = try key() }
            continue
          }
        }
      }
      while true {
        if open == 0 { return }
        let isBrace = braces & 1 == 1
        skipSpace()
        guard place < end else { throw Malformed() }
        if bytes[place] == JSONCursor.closing(isBrace) {
          place += 1
          braces >>= 1
          open -= 1
          continue
        }
        try take(UInt8(ascii: ","))
        if isBrace {
          skipSpace()
          _ = try key()
        }
        break
      }
    }
  }

  private static func closing(_ isBrace: Bool) -> UInt8 {
    isBrace ? UInt8(ascii: "}") : UInt8(ascii: "]")
  }

  /// A key and its colon, which begin here.
  private mutating func key() throws -> Text {
    let key = try string()
    skipSpace()
    try take(UInt8(ascii: ":"))
    return key
  }

  /// A string, which begins here.
  mutating func string() throws -> Text {
    try take(UInt8(ascii: "\""))
    let start = place
    var isEscaped = false
    while place < end {
      switch bytes[place] {
      case UInt8(ascii: "\""):
        place += 1
        return Text(range: start..<(place - 1), isEscaped: isEscaped)
      case UInt8(ascii: "\\"):
        isEscaped = true
        try skipEscape()
      case 0..<0x20: throw Malformed()
      default: place += 1
      }
    }
    throw Malformed()
  }

  private mutating func skipEscape() throws {
    guard place + 1 < end else { throw Malformed() }
    switch bytes[place + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      place += 2
    case UInt8(ascii: "u"):
      guard place + 6 <= end,
        (place + 2..<place + 6).allSatisfy({ JSONCursor.hex(bytes[$0]) != nil })
      else { throw Malformed() }
      place += 6
    default: throw Malformed()
    }
  }

  private mutating func skipNumber() throws {
    if place < end, bytes[place] == UInt8(ascii: "-") { place += 1 }
    if place < end, bytes[place] == UInt8(ascii: "0") { place += 1 } else { try skipDigits() }
    if place < end, bytes[place] == UInt8(ascii: ".") {
      place += 1
      try skipDigits()
    }
    if place < end, bytes[place] | 0x20 == UInt8(ascii: "e") {
      place += 1
      if place < end, bytes[place] == UInt8(ascii: "+") || bytes[place] == UInt8(ascii: "-") {
        place += 1
      }
      try skipDigits()
    }
  }

  private mutating func skipDigits() throws {
    let start = place
    while place < end, JSONCursor.isDigit(bytes[place]) { place += 1 }
    guard place > start else { throw Malformed() }
  }

  private mutating func skip(_ word: StaticString) throws {
    let count = word.utf8CodeUnitCount
    guard end - place >= count,
      UnsafeRawBufferPointer(rebasing: bytes[place..<(place + count)])
        .elementsEqual(UnsafeRawBufferPointer(start: word.utf8Start, count: count))
    else { throw Malformed() }
    place += count
  }

  private mutating func take(_ byte: UInt8) throws {
    guard place < end, bytes[place] == byte else { throw Malformed() }
    place += 1
  }

  private mutating func skipSpace() {
    while place < end {
      switch bytes[place] {
      case 0x20, 0x0A, 0x0D, 0x09: place += 1
      default: return
      }
    }
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private static func hex(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  // MARK: Texts

  /// The value that begins here.
  mutating func parsed(depth: Int) throws -> JSONValue {
    guard depth <= JSONCursor.depthLimit else { throw Malformed() }
    switch try kind() {
    case .text: return .text(try JSONCursor.characters(try string(), of: bytes))
    case .list:
      var items: [JSONValue] = []
      try forEachPart(UInt8(ascii: "]")) { items.append(try $0.parsed(depth: depth + 1)) }
      return .list(items)
    case .object:
      var members: [String: JSONValue] = [:]
      try forEachPart(UInt8(ascii: "}")) { cursor in
        let key = try JSONCursor.characters(try cursor.key(), of: cursor.bytes)
        let value = try cursor.parsed(depth: depth + 1)
        // Of a key that occurs twice the first counts, as for the decoder.
        if members[key] == nil { members[key] = value }
      }
      return .object(members)
    case let plain:
      let range = try value(depth: depth)
      switch plain {
      case .number: return .number(String(decoding: bytes[range], as: UTF8.self))
      case .bool: return .bool(bytes[range.lowerBound] == UInt8(ascii: "t"))
      default: return .null
      }
    }
  }

  /// The characters of a string.
  ///
  /// - Throws: `Malformed` for bytes that are not UTF-8, and for half of a surrogate pair.
  static func characters(_ text: Text, of bytes: UnsafeRawBufferPointer) throws -> String {
    let raw = UnsafeRawBufferPointer(rebasing: bytes[text.range])
    guard text.isEscaped else {
      guard let string = String(validating: raw, as: UTF8.self) else { throw Malformed() }
      return string
    }
    var plain: [UInt8] = []
    plain.reserveCapacity(raw.count)
    var at = 0
    while at < raw.count {
      guard raw[at] == UInt8(ascii: "\\") else {
        plain.append(raw[at])
        at += 1
        continue
      }
      switch raw[at + 1] {
      case UInt8(ascii: "b"): plain.append(0x08)
      case UInt8(ascii: "f"): plain.append(0x0C)
      case UInt8(ascii: "n"): plain.append(0x0A)
      case UInt8(ascii: "r"): plain.append(0x0D)
      case UInt8(ascii: "t"): plain.append(0x09)
      case UInt8(ascii: "u"):
        plain += try JSONCursor.scalar(raw, &at)
        continue
      case let other: plain.append(other)
      }
      at += 2
    }
    guard let string = String(validating: plain, as: UTF8.self) else { throw Malformed() }
    return string
  }

  /// The bytes of a `\u` escape, or of the two that make a character.
  private static func scalar(_ raw: UnsafeRawBufferPointer, _ at: inout Int) throws -> [UInt8] {
    func unit(_ start: Int) -> UInt32? {
      guard start + 6 <= raw.count, raw[start] == UInt8(ascii: "\\"),
        raw[start + 1] == UInt8(ascii: "u")
      else { return nil }
      return (start + 2..<start + 6).reduce(0) { $0 << 4 | (hex(raw[$1]) ?? 0) }
    }
    guard var code = unit(at) else { throw Malformed() }
    at += 6
    if code & 0xFC00 == 0xD800 {
      guard let low = unit(at), low & 0xFC00 == 0xDC00 else { throw Malformed() }
      at += 6
      code = 0x10000 + (code & 0x3FF) << 10 + (low & 0x3FF)
    }
    guard let scalar = Unicode.Scalar(code) else { throw Malformed() }
    return Array(String(Character(scalar)).utf8)
  }
}
