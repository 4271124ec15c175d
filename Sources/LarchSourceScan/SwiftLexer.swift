/// The tokens of a Swift source, as far as they are needed to find declarations.
///
/// It knows what can hide a brace or a quote: comments, strings with interpolations, regular
/// expressions. Of operators it knows nothing; each character is a token. What it does not understand
/// is a failure, and nothing is read after that.
struct SwiftLexer {
  struct Token {
    enum Kind: Equatable {
      case word
      /// A name in backticks.
      case quotedWord
      /// `#if`, `#Predicate`: the word has no `#`.
      case directive
      case arrow
      case literal
      case punctuation(UInt8)
      case end
    }
    var kind: Kind
    /// Where it begins, and what is after it.
    var start: Int
    var end: Int
    /// Whether a line break is before it.
    var startsLine: Bool

    func isPunctuation(_ character: Unicode.Scalar) -> Bool {
      kind == .punctuation(UInt8(truncatingIfNeeded: character.value))
    }
  }

  /// Its text is static, so that the lexer is a value of plain memory, which costs nothing to pass.
  struct Failure {
    var offset: Int
    var text: StaticString
  }

  static let maximumDepth = 100

  // A pointer, because the plugin's tool is built without the optimiser, where each access to an array
  // is a call. Nothing reads it but `byte(_:)`, which checks the bounds.
  private let base: UnsafePointer<UInt8>
  let count: Int
  var position = 0
  private(set) var failure: Failure?
  private var last = 0..<0

  /// - Parameter bytes: Must outlive the lexer.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    // An empty buffer may have no address. The literal's is never read.
    base = bytes.baseAddress ?? UnsafePointer(bitPattern: 1)!
    count = bytes.count
    if byte(0) == 0xEF, byte(1) == 0xBB, byte(2) == 0xBF { position = 3 }
    if byte(position) == UInt8(ascii: "#"), byte(position + 1) == UInt8(ascii: "!") { skipLine() }
  }

  /// The byte at a position; 0 after the end.
  @inline(__always)
  func byte(_ at: Int) -> UInt8 { at >= 0 && at < count ? base[at] : 0 }

  func text(_ range: Range<Int>) -> String {
    String(
      decoding: UnsafeBufferPointer(start: base, count: count)[range.clamped(to: 0..<count)],
      as: UTF8.self)
  }

  /// The name that a word or a quoted word is.
  func name(_ token: Token) -> String {
    token.kind == .quotedWord
      ? text(token.start + 1..<token.end - 1) : text(token.start..<token.end)
  }

  mutating func fail(_ text: StaticString, at offset: Int? = nil) {
    if failure == nil { failure = Failure(offset: offset ?? position, text: text) }
    position = count
  }

  mutating func next(depth: Int = 0) -> Token {
    let before = position
    let startsLine = skipBlanks()
    let start = position
    guard failure == nil, start < count else {
      return Token(kind: .end, start: count, end: count, startsLine: true)
    }
    let kind = lex(isFree: start > before || before == 0, depth: depth)
    last = start..<position
    if failure != nil { return Token(kind: .end, start: count, end: count, startsLine: true) }
    return Token(kind: kind, start: start, end: position, startsLine: startsLine)
  }

  /// - Parameter isFree: Whether blanks are before the token.
  private mutating func lex(isFree: Bool, depth: Int) -> Token.Kind {
    let first = byte(position)
    if Self.beginsWord(first) {
      skipWord()
      return .word
    }
    switch first {
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      skipNumber()
      return .literal
    case UInt8(ascii: "`"):
      return quotedWord()
    case UInt8(ascii: "\""):
      skipString(hashes: 0, depth: depth)
      return .literal
    case UInt8(ascii: "#"):
      return afterHash(depth: depth)
    case UInt8(ascii: "/"):
      if isFree || opens(byte(position - 1)), !followsName, let end = endOfPlainRegex() {
        position = end
        return .literal
      }
      position += 1
      return .punctuation(first)
    case UInt8(ascii: "-") where byte(position + 1) == UInt8(ascii: ">"):
      position += 2
      return .arrow
    default:
      position += 1
      return .punctuation(first)
    }
  }

  /// Whether an operator's name is next: `func /(`.
  private var followsName: Bool { last.count == 4 && text(last) == "func" }

  @inline(__always)
  static func beginsWord(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A || byte == 0x5F || byte == 0x24
      || byte >= 0x80
  }

  @inline(__always)
  static func continuesWord(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A || byte >= 0x30 && byte <= 0x39
      || byte == 0x5F || byte == 0x24 || byte >= 0x80
  }

  @inline(__always)
  static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  /// After these a regular expression may begin without a blank.
  private func opens(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","),
      UInt8(ascii: ";"), UInt8(ascii: ":"):
      true
    default: false
    }
  }

  @inline(__always)
  private mutating func skipWord() {
    var at = position
    while Self.continuesWord(byte(at)), !isNoBreakSpace(at) { at += 1 }
    position = at
  }

  /// The compiler warns of U+00A0, and takes it for a blank.
  @inline(__always)
  private func isNoBreakSpace(_ at: Int) -> Bool { byte(at) == 0xC2 && byte(at + 1) == 0xA0 }

  private mutating func skipNumber() {
    while position < count {
      let isPoint =
        byte(position) == UInt8(ascii: ".")
        && byte(position + 1) >= UInt8(ascii: "0") && byte(position + 1) <= UInt8(ascii: "9")
      guard isPoint || Self.continuesWord(byte(position)), !isNoBreakSpace(position) else { return }
      position += 1
    }
  }

  private mutating func quotedWord() -> Token.Kind {
    let start = position
    position += 1
    while position < count, byte(position) != UInt8(ascii: "`"), !Self.endsLine(byte(position)) {
      position += 1
    }
    guard byte(position) == UInt8(ascii: "`"), position > start + 1 else {
      fail("a name in backticks does not end", at: start)
      return .end
    }
    position += 1
    return .quotedWord
  }

  private mutating func afterHash(depth: Int) -> Token.Kind {
    var hashes = 1
    while byte(position + hashes) == UInt8(ascii: "#") { hashes += 1 }
    switch byte(position + hashes) {
    case UInt8(ascii: "\""):
      position += hashes
      skipString(hashes: hashes, depth: depth)
      return .literal
    case UInt8(ascii: "/"):
      skipLongRegex(hashes: hashes)
      return .literal
    case let next where hashes == 1 && Self.beginsWord(next):
      position += 1
      skipWord()
      return .directive
    default:
      position += 1
      return .punctuation(UInt8(ascii: "#"))
    }
  }

  // MARK: Blanks

  mutating func skipLine() {
    while position < count, !Self.endsLine(byte(position)) { position += 1 }
  }

  /// Skips blanks and comments.
  ///
  /// - Returns: Whether a line break was among them.
  private mutating func skipBlanks() -> Bool {
    var startsLine = position == 0
    while position < count {
      let here = byte(position)
      if here == 0x0A || here == 0x0D {
        startsLine = true
        position += 1
      } else if here == 0x20 || here == 0x09 || here == 0 || here == 0x0B || here == 0x0C {
        position += 1
      } else if isNoBreakSpace(position) {
        position += 2
      } else if here == UInt8(ascii: "/"), byte(position + 1) == UInt8(ascii: "/") {
        skipLine()
      } else if here == UInt8(ascii: "/"), byte(position + 1) == UInt8(ascii: "*") {
        if skipComment() { startsLine = true }
      } else {
        return startsLine
      }
    }
    return startsLine
  }

  /// Comments of this form may be nested.
  private mutating func skipComment() -> Bool {
    let start = position
    var isLong = false
    var depth = 1
    position += 2
    while position < count {
      let here = byte(position)
      if here == UInt8(ascii: "/"), byte(position + 1) == UInt8(ascii: "*") {
        depth += 1
        position += 2
      } else if here == UInt8(ascii: "*"), byte(position + 1) == UInt8(ascii: "/") {
        depth -= 1
        position += 2
        if depth == 0 { return isLong }
      } else {
        if Self.endsLine(here) { isLong = true }
        position += 1
      }
    }
    fail("a comment does not end", at: start)
    return isLong
  }
}
