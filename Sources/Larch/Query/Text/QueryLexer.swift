/// Splits a query into words, constants and signs.
struct QueryLexer {
  enum Token: Equatable {
    /// A name or a keyword.
    case word(String)
    /// A name in backquotes, which is never a keyword.
    case name(String)
    case literal(QueryText.Literal.Value)
    /// The place of a value of the program: `?`, or `:name`.
    case placeholder(name: String?)
    /// The value at such a place.
    case value(QueryText.Literal.Value)
    /// The same for a list.
    case values([QueryText.Literal.Value])
    /// A sign, one of `= != < <= > >= ( ) , .`.
    case sign(String)
    case end
  }

  struct Place: Equatable {
    let token: Token
    let column: Int
    let source: String
  }

  /// Longer texts are refused at once.
  static let lengthLimit = 65_536

  private let text: [Character]
  private var next = 0

  private init(_ text: [Character]) { self.text = text }

  /// All tokens, `end` the last one.
  static func tokens(of text: String) throws(QueryTextError) -> [Place] {
    guard text.utf8.count <= lengthLimit else {
      throw QueryTextError(
        1, "a query can have at most \(lengthLimit) bytes, this one has \(text.utf8.count)")
    }
    var lexer = QueryLexer(Array(text))
    var places: [Place] = []
    while true {
      let place = try lexer.place()
      places.append(place)
      if place.token == .end { return places }
    }
  }

  private var character: Character? { next < text.count ? text[next] : nil }

  private func character(ahead distance: Int) -> Character? {
    next + distance < text.count ? text[next + distance] : nil
  }

  private mutating func place() throws(QueryTextError) -> Place {
    while let character, character.isWhitespace { next += 1 }
    let start = next
    let token = try token()
    return Place(token: token, column: start + 1, source: String(text[start..<next]))
  }

  private mutating func token() throws(QueryTextError) -> Token {
    guard let first = character else { return .end }
    if QueryLexer.beginsWord(first) { return .word(word()) }
    if QueryLexer.isDigit(first) { return .literal(try number()) }
    switch first {
    case "`": return .name(try quotedName())
    case "\"", "'": return .literal(.text(try quotedText(first)))
    case "-":
      if let following = character(ahead: 1), QueryLexer.isDigit(following) {
        return .literal(try number())
      }
      if character(ahead: 1)?.lowercased() == "i" {
        let start = next
        next += 1
        if word().lowercased() == "inf" { return .literal(.number("-inf")) }
        next = start
      }
      throw QueryTextError(next + 1, "expected a number after \"-\"")
    case "?":
      next += 1
      return .placeholder(name: nil)
    case ":":
      guard let following = character(ahead: 1), QueryLexer.beginsWord(following) else {
        throw QueryTextError(next + 1, "expected a name after \":\"")
      }
      next += 1
      return .placeholder(name: word())
    case "(", ")", ",", ".":
      next += 1
      return .sign(String(first))
    default: return .sign(try comparison(first))
    }
  }

  private mutating func comparison(_ first: Character) throws(QueryTextError) -> String {
    let second = character(ahead: 1)
    let sign: String? =
      switch (first, second) {
      case ("=", "="), ("!", "="), ("<", "="), (">", "="), ("<", ">"):
        String([first, second ?? " "])
      case ("=", _), ("<", _), (">", _): String(first)
      default: nil
      }
    guard let sign else {
      throw QueryTextError(
        next + 1,
        "expected a field, a constant or an operator, found \(QueryTextError.shown(String(first)))")
    }
    next += sign.count
    return sign == "==" ? "=" : sign == "<>" ? "!=" : sign
  }

  // MARK: Words

  private static func beginsWord(_ character: Character) -> Bool {
    character.isLetter || character == "_"
  }

  private static func isDigit(_ character: Character) -> Bool {
    character.isASCII && character.isNumber
  }

  private mutating func word() -> String {
    let start = next
    while let character, QueryLexer.beginsWord(character) || character.isNumber { next += 1 }
    return String(text[start..<next])
  }

  private mutating func quotedName() throws(QueryTextError) -> String {
    let start = next
    next += 1
    while let character, character != "`" { next += 1 }
    guard character == "`" else {
      throw QueryTextError(start + 1, "the name has no closing backquote")
    }
    next += 1
    let name = String(text[start + 1..<next - 1])
    guard !name.isEmpty else {
      throw QueryTextError(start + 1, "expected a name in the backquotes")
    }
    return name
  }

  // MARK: Texts

  private mutating func quotedText(_ quote: Character) throws(QueryTextError) -> String {
    let start = next
    next += 1
    var result = ""
    while let character {
      next += 1
      if character == quote { return result }
      if character == "\\" { try escape(&result) } else { result.append(character) }
    }
    throw QueryTextError(start + 1, "the text has no closing \(quote)")
  }

  private mutating func escape(_ result: inout String) throws(QueryTextError) {
    guard let character else { return }
    let column = next
    next += 1
    switch character {
    case "\\", "\"", "'": result.append(character)
    case "n": result.append("\n")
    case "r": result.append("\r")
    case "t": result.append("\t")
    case "0": result.append("\0")
    // For `like`, in which a backslash makes these characters literal.
    case "%", "_": result += "\\" + String(character)
    case "u":
      guard self.character == "{" else {
        throw QueryTextError(column, "expected \\u{…} with the number of a character")
      }
      next += 1
      var digits = ""
      while let digit = self.character, digit != "}", digits.count <= 8 {
        digits.append(digit)
        next += 1
      }
      guard self.character == "}", digits.allSatisfy(\.isHexDigit),
        let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
      else { throw QueryTextError(column, "expected \\u{…} with the number of a character") }
      next += 1
      result.unicodeScalars.append(scalar)
    default:
      throw QueryTextError(
        column,
        "expected \\n, \\r, \\t, \\0, \\u{…}, \\%, \\_ or \\ before a quote or itself, found "
          + QueryTextError.shown("\\" + String(character)))
    }
  }

  // MARK: Numbers and dates

  private mutating func digits() -> Int {
    let start = next
    while let character, QueryLexer.isDigit(character) { next += 1 }
    return next - start
  }

  private mutating func number() throws(QueryTextError) -> QueryText.Literal.Value {
    let start = next
    if character == "0", character(ahead: 1)?.lowercased() == "x" {
      next += 2
      let digits = word(ofHexadecimal: ())
      try endNumber(start)
      return .hexadecimal(digits)
    }
    if character == "-" { next += 1 }
    let count = digits()
    if count == 4, next - start == 4, character == "-" { return .date(try date(start)) }
    if character == ".", let following = character(ahead: 1), QueryLexer.isDigit(following) {
      next += 1
      _ = digits()
    }
    if character?.lowercased() == "e" {
      next += 1
      if character == "-" || character == "+" { next += 1 }
      guard digits() > 0 else {
        throw QueryTextError(start + 1, "expected digits in the exponent of the number")
      }
    }
    try endNumber(start)
    return .number(String(text[start..<next]))
  }

  private mutating func word(ofHexadecimal _: Void) -> String {
    let start = next
    while let character, character.isASCII, character.isHexDigit { next += 1 }
    return String(text[start..<next])
  }

  /// The number must not be followed by something that would be read as a part of it.
  private mutating func endNumber(_ start: Int) throws(QueryTextError) {
    guard let character, QueryLexer.beginsWord(character) || character.isNumber else { return }
    _ = word()
    throw QueryTextError(
      start + 1,
      "\(QueryTextError.shown(String(text[start..<next]))) is not a number; put text in quotes, and unusual names in backquotes"
    )
  }

  private mutating func date(_ start: Int) throws(QueryTextError) -> Double {
    while let character,
      QueryLexer.isDigit(character) || "-:.+TtZz".contains(character)
    { next += 1 }
    let source = String(text[start..<next])
    guard let seconds = DateText.seconds(source) else {
      throw QueryTextError(
        start + 1,
        "\(QueryTextError.shown(source)) is not a date; expected 2024-05-01 or 2024-05-01T10:00:00Z"
      )
    }
    return seconds
  }
}
