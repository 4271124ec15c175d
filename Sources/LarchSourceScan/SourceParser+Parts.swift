extension SourceParser {
  /// Skips what is between two brackets of any kind, and those inside.
  mutating func skipGroup() {
    var closers: [UInt8] = []
    var afterDot = false
    while true {
      switch token.kind {
      case .end: return fail("a bracket is not closed")
      case .punctuation(UInt8(ascii: "{")): closers.append(UInt8(ascii: "}"))
      case .punctuation(UInt8(ascii: "(")): closers.append(UInt8(ascii: ")"))
      case .punctuation(UInt8(ascii: "[")): closers.append(UInt8(ascii: "]"))
      case .punctuation(let it)
      where it == UInt8(ascii: "}") || it == UInt8(ascii: ")") || it == UInt8(ascii: "]"):
        guard closers.popLast() == it else { return fail("a bracket closes another one") }
        if closers.isEmpty { return advance() }
      // In other brackets it is a label: `func draw(struct value: Int)`.
      case .word
      where token.end - token.start == 6 && !afterDot && closers.last == UInt8(ascii: "}")
        && isWord("struct"):
        local()
        afterDot = false
        continue
      default: break
      }
      afterDot = token.isPunctuation(".")
      advance()
    }
  }

  /// Skips generic parameters or arguments.
  mutating func skipAngles() {
    var open = 0
    while true {
      switch token.kind {
      case .punctuation(UInt8(ascii: "<")): open += 1
      case .punctuation(UInt8(ascii: ">")):
        open -= 1
        if open == 0 { return advance() }
      case .punctuation(UInt8(ascii: "(")), .punctuation(UInt8(ascii: "[")):
        skipGroup()
        continue
      case .end, .punctuation(UInt8(ascii: "{")), .punctuation(UInt8(ascii: "}")),
        .punctuation(UInt8(ascii: ")")), .punctuation(UInt8(ascii: "]")):
        return fail("generic parameters do not end")
      default: break
      }
      advance()
    }
  }

  /// An inheritance clause, if there is one.
  mutating func inherited() -> [TypeReference] {
    guard token.isPunctuation(":") else { return [] }
    var all: [TypeReference] = []
    repeat {
      advance()
      all += references()
      // Whatever it is, it ends in front of the next name.
      while token.kind != .end, !token.isPunctuation(","), !token.isPunctuation("{"),
        !isWord("where")
      {
        all.append(TypeReference(path: [spelling()], doubt: "it is not a name"))
        if token.isPunctuation("(") || token.isPunctuation("[") { skipGroup() } else { advance() }
      }
    } while token.isPunctuation(",")
    return all
  }

  /// Names with `&` between them. Ends at what it does not know.
  mutating func references() -> [TypeReference] {
    var all: [TypeReference] = []
    while true {
      var doubt: String?
      while true {
        if token.isPunctuation("@") {
          advance()
          if name() != "unchecked" { doubt = "it has the attribute @\(name())" }
          advance()
        } else if token.isPunctuation("~") {
          doubt = "it is suppressed"
          advance()
        } else if token.kind == .word, ["any", "some", "nonisolated", "unsafe"].contains(name()) {
          doubt = "it is \(name())"
          advance()
        } else {
          break
        }
      }
      guard isWord, !isWord("where") else { return all }
      var path: [String] = []
      while isWord {
        path.append(name())
        advance()
        if token.isPunctuation("<") { skipAngles() }
        guard token.isPunctuation(".") else { break }
        advance()
      }
      all.append(TypeReference(path: path, doubt: doubt))
      guard token.isPunctuation("&") else { return all }
      advance()
    }
  }

  /// A `where` clause in front of a brace, if there is one.
  mutating func constraints() -> (namesSelf: Bool, Void)? {
    guard isWord("where") else { return nil }
    var namesSelf = false
    while token.kind != .end, !token.isPunctuation("{"), !token.isPunctuation("}") {
      if isWord("Self") { namesSelf = true }
      if token.isPunctuation("(") || token.isPunctuation("[") { skipGroup() } else { advance() }
    }
    return (namesSelf, ())
  }

  /// The parameters of a function, from its parenthesis to what is after it.
  ///
  /// One that does not begin with a name and a colon belongs to the default value of the one before:
  /// `= Pair<Int, Int>()`.
  mutating func parameters() -> [(label: String, type: String?)] {
    var all: [(label: String, type: String?)] = []
    advance()
    while token.kind != .end, !token.isPunctuation(")") {
      var words: [String] = []
      while isWord || token.isPunctuation("@") {
        if token.isPunctuation("@") { advance() } else { words.append(name()) }
        advance()
        if words.isEmpty, token.isPunctuation("(") { skipGroup() }
      }
      let isParameter = token.isPunctuation(":") && !words.isEmpty
      if isParameter { advance() }
      // The type, while it is the only token.
      let isList = token.isPunctuation("[")
      let type = isWord ? name() : nil
      var tokens = 0
      var angles = 0
      var isDefault = false
      while token.kind != .end, !token.isPunctuation(")") {
        if token.isPunctuation(","), angles <= 0 { break }
        if token.isPunctuation("=") { isDefault = true }
        if !isDefault {
          tokens += 1
          if token.isPunctuation("<") { angles += 1 }
          if token.isPunctuation(">") { angles -= 1 }
        }
        if token.isPunctuation("(") || token.isPunctuation("[") || token.isPunctuation("{") {
          skipGroup()
        } else {
          advance()
        }
      }
      if isParameter {
        all.append((words[0], isList && tokens == 1 ? "[]" : tokens == 1 ? type : nil))
      }
      if token.isPunctuation(",") { advance() }
    }
    if token.isPunctuation(")") { advance() } else { fail("parameters do not end") }
    return all
  }

  // MARK: Members that may be what the compiler would make

  mutating func initializer(
    _ start: Int, _ access: SourceAccess, into facts: inout MemberFacts
  ) {
    while token.isPunctuation("?") || token.isPunctuation("!") { advance() }
    if token.isPunctuation("<") { skipAngles() }
    guard token.isPunctuation("(") else { return }
    let parameters = self.parameters()
    if parameters.count == 1, parameters[0].label == "from" {
      facts.coding.append(
        CodingMember(
          name: "init(from:)", line: line(of: start), access: access,
          parameter: parameters[0].type))
    }
  }

  mutating func function(
    _ start: Int, _ access: SourceAccess, into facts: inout MemberFacts
  ) {
    guard isWord else { return }
    let name = name()
    advance()
    if token.isPunctuation("<") { skipAngles() }
    guard token.isPunctuation("(") else { return }
    if KnownNames.containerFunctions.contains(name) {
      facts.containerFunctions.append(("\(name) in line \(line(of: start))", access))
    }
    guard name == "encode" else { return }
    let parameters = self.parameters()
    if parameters.count == 1, parameters[0].label == "to" {
      facts.coding.append(
        CodingMember(
          name: "encode(to:)", line: line(of: start), access: access,
          parameter: parameters[0].type))
    }
  }
}
