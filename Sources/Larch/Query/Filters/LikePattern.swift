/// A parsed pattern as in SQL: `%` stands for any text, `_` for one character, and `\` before `%`,
/// `_` or `\` makes it literal.
struct LikePattern: Sendable {
  private enum Token: Sendable, Equatable {
    case text(Character)
    case one
    case any
  }

  private let tokens: [Token]
  /// The tokens as bytes, if matching bytes gives the same result as matching characters.
  private let bytes: [UInt8]?

  // Stands for `_`; ASCII text does not have this byte.
  private static let oneByte: UInt8 = 0x80
  private static let anyByte: UInt8 = 0x81

  init(_ pattern: String) {
    var tokens: [Token] = []
    var rest = Substring(pattern)
    while let character = rest.popFirst() {
      switch character {
      case "%": if tokens.last != .any { tokens.append(.any) }
      case "_": tokens.append(.one)
      case "\\":
        if let next = rest.first, next == "%" || next == "_" || next == "\\" {
          rest.removeFirst()
          tokens.append(.text(next))
        } else {
          tokens.append(.text(character))
        }
      default: tokens.append(.text(character))
      }
    }
    self.tokens = tokens
    var bytes: [UInt8]? = []
    for token in tokens {
      switch token {
      case .one: bytes?.append(Self.oneByte)
      case .any: bytes?.append(Self.anyByte)
      case .text(let character):
        // The `asciiValue` of CR LF is that of LF.
        if let byte = character.asciiValue, character.utf8.count == 1 {
          bytes?.append(byte)
        } else {
          bytes = nil
        }
      }
    }
    self.bytes = bytes
  }

  /// The text that every match begins with.
  var prefix: String {
    var prefix = ""
    for case .text(let character) in tokens.prefix(while: { $0 != .any && $0 != .one }) {
      prefix.append(character)
    }
    return prefix
  }

  /// The time is at most the length of the text times that of the pattern.
  func matches(_ text: String) -> Bool {
    if let bytes {
      var text = text
      let answer: Bool? = text.withUTF8 { utf8 in
        guard utf8.isPlainASCII else { return nil }
        return Self.matches(
          utf8, bytes, isAny: { $0 == Self.anyByte },
          isMatch: { $0 == $1 || $1 == Self.oneByte })
      }
      if let answer { return answer }
    }
    return Self.matches(
      Array(text), tokens, isAny: { $0 == .any },
      isMatch: { character, token in
        switch token {
        case .one: true
        case .any: false
        case .text(let wanted): character == wanted
        }
      })
  }

  /// If the text stops matching, only the last `%` has to match one more character: the matches of
  /// earlier ones can stay.
  private static func matches<Text: RandomAccessCollection, Token>(
    _ text: Text, _ pattern: [Token], isAny: (Token) -> Bool,
    isMatch: (Text.Element, Token) -> Bool
  ) -> Bool where Text.Index == Int {
    var place = text.startIndex
    var token = 0
    var retry: (place: Int, token: Int)?
    while place < text.endIndex {
      if token < pattern.count, isAny(pattern[token]) {
        token += 1
        retry = (place, token)
      } else if token < pattern.count, isMatch(text[place], pattern[token]) {
        place += 1
        token += 1
      } else if let last = retry {
        place = last.place + 1
        token = last.token
        retry = (place, token)
      } else {
        return false
      }
    }
    while token < pattern.count, isAny(pattern[token]) { token += 1 }
    return token == pattern.count
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Every byte is one character: ASCII without CR, which forms one character with a following LF.
  var isPlainASCII: Bool { allSatisfy { $0 < 0x80 && $0 != 0x0D } }
}
