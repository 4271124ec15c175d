/// Finds the declarations of types, extensions and imports in a file, and what their members say.
///
/// It reads declarations and skips everything else by its braces. So it needs not to know statements
/// and expressions; but a brace that does not match is a failure, since then something was read wrong.
struct SourceParser {
  struct Result {
    var types: [SourceType] = []
    var extensions: [SourceExtension] = []
    var imports: [SourceImport] = []
    var failure: (line: Int, text: String)?
  }

  /// Where members are declared.
  struct Scope {
    var path: [String] = []
    var spelling: [String] = []
    /// The most that a declaration here can be.
    var limit = SourceAccess.public
    /// What it is without a modifier.
    var usual = SourceAccess.internal
    var availability: [String] = []
    var isUsableFromInline = false
    var extended: [String]?
    /// What forbids an extension of the types here.
    var doubts: [String] = []
    var isType = false
  }

  /// What is before the keyword of a declaration.
  struct Prefix {
    var attributes: [(name: String, text: String)] = []
    var access: SourceAccess?
    var hasDirective = false

    var unknown: [String] {
      attributes.filter { !KnownNames.attributes.contains($0.name) }.map(\.name)
    }
    var availability: [String] { attributes.filter { $0.name == "available" }.map(\.text) }
  }

  private static let maximumDepth = 50

  private(set) var result = Result()
  private var lexer: SwiftLexer
  var token: SwiftLexer.Token
  private var previous: SwiftLexer.Token?
  /// The open `#if`s; nil for one whose condition cannot be repeated.
  private var conditions: [String?] = []
  private var depth = 0
  private var lineMark = (offset: 0, line: 1)

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    lexer = SwiftLexer(bytes)
    token = lexer.next()
  }

  mutating func parse() {
    _ = members(of: Scope())
    if !conditions.isEmpty { fail("an #if does not end") }
    if let failure = lexer.failure {
      lineMark = (0, 1)
      result = Result(failure: (line(of: failure.offset), failure.text.description))
    }
  }

  mutating func advance() {
    previous = token
    token = lexer.next()
  }

  func name() -> String { lexer.name(token) }
  func spelling() -> String { lexer.text(token.start..<token.end) }
  var isWord: Bool { token.kind == .word || token.kind == .quotedWord }
  func isWord(_ word: String) -> Bool { token.kind == .word && name() == word }
  /// Whether nothing is between this token and the one before.
  private var isAdjacent: Bool { previous?.end == token.start }

  mutating func fail(_ text: StaticString) {
    lexer.fail(text, at: token.start)
    token = lexer.next()
  }

  /// Lines are asked in the order of the source.
  mutating func line(of offset: Int) -> Int {
    if offset < lineMark.offset { lineMark = (0, 1) }
    while lineMark.offset < min(offset, lexer.count) {
      if lexer.byte(lineMark.offset) == 0x0A { lineMark.line += 1 }
      lineMark.offset += 1
    }
    return lineMark.line
  }

  // MARK: Members

  /// Reads declarations up to the brace that closes, or of the whole file.
  private mutating func members(of scope: Scope) -> MemberFacts {
    var facts = MemberFacts()
    var prefix = Prefix()
    let isFile = depth == 0
    let outerConditions = conditions.count
    while true {
      switch token.kind {
      case .end:
        if !isFile { fail("a brace is not closed") }
        return facts
      case .punctuation(UInt8(ascii: "}")):
        if isFile { fail("a brace closes nothing") }
        if conditions.count != outerConditions { fail("an #if is not ended between its braces") }
        advance()
        return facts
      case .punctuation(UInt8(ascii: "{")), .punctuation(UInt8(ascii: "(")),
        .punctuation(UInt8(ascii: "[")):
        skipGroup()
      case .punctuation(UInt8(ascii: ")")), .punctuation(UInt8(ascii: "]")):
        fail("a bracket closes nothing")
      case .punctuation(UInt8(ascii: "@")):
        attribute(into: &prefix)
      case .directive:
        directive(into: &facts, &prefix, scope)
      case .word where previous?.isPunctuation(".") != true:
        word(into: &facts, &prefix, scope)
      default:
        advance()
      }
    }
  }

  private mutating func word(
    into facts: inout MemberFacts, _ prefix: inout Prefix, _ scope: Scope
  ) {
    let word = name()
    let start = token.start
    if let access = SourceAccess(modifier: word) {
      advance()
      // `private(set)` says nothing of who sees it.
      if token.isPunctuation("(") {
        skipGroup()
      } else if isWord || token.isPunctuation("@") {
        prefix.access = access
      }
      return
    }
    if KnownNames.modifiers.contains(word) {
      advance()
      if token.isPunctuation("("), isAdjacent { skipGroup() }
      return
    }
    guard KnownNames.declarations.contains(word) else { return advance() }
    advance()
    if word == "class", !isWord || token.kind == .word && KnownNames.isAfterClass(name()) { return }
    if word == "actor", !isWord || token.startsLine { return }
    facts.doubts += prefix.unknown.map { "a member has the attribute @\($0)" }
    if prefix.hasDirective { facts.doubts.append("attributes of a member are in #if") }
    switch word {
    case "struct", "enum", "class", "actor", "protocol":
      type(word, start, prefix, scope)
    case "extension": self.extension(start, prefix, scope)
    case "typealias", "associatedtype": alias(word, start, prefix, scope)
    case "import": self.import(prefix)
    case "init": initializer(start, prefix.access ?? scope.usual, into: &facts)
    case "func": function(start, prefix.access ?? scope.usual, into: &facts)
    default:
      // The name may be a word that begins a declaration elsewhere: `var actor`. On the next line
      // there is none: the word itself is a name then, as in `var source = macro`.
      if token.kind == .word, !token.startsLine { advance() }
    }
    prefix = Prefix()
  }

  private mutating func attribute(into prefix: inout Prefix) {
    let start = token.start
    advance()
    guard isWord else { return }
    var path = name()
    advance()
    while token.isPunctuation("."), isAdjacent {
      advance()
      guard isWord else { break }
      path += "." + name()
      advance()
    }
    if token.isPunctuation("<"), isAdjacent { skipAngles() }
    if token.isPunctuation("("), isAdjacent || path == "available" && !token.startsLine {
      skipGroup()
    }
    let text = lexer.text(start..<(previous?.end ?? start))
    prefix.attributes.append((path, text))
  }

  private mutating func directive(
    into facts: inout MemberFacts, _ prefix: inout Prefix, _ scope: Scope
  ) {
    let word = String(name().dropFirst())
    let start = token.end
    switch word {
    case "if", "elseif", "else", "endif":
      if !prefix.attributes.isEmpty || prefix.access != nil { prefix.hasDirective = true }
      if scope.isType { facts.doubts.append("members are in #if") }
      switch word {
      case "if":
        var end = start
        while end < lexer.count, !SwiftLexer.endsLine(lexer.byte(end)) { end += 1 }
        conditions.append(Self.condition(lexer.text(start..<end)))
      case "endif":
        if conditions.isEmpty { return fail("an #endif ends nothing") }
        conditions.removeLast()
      default:
        if conditions.isEmpty { return fail("an #else is after no #if") }
        conditions[conditions.count - 1] = nil
      }
      advance()
    default:
      if !KnownNames.directives.contains(word) {
        facts.doubts.append("a macro #\(word) may declare members")
      }
      advance()
    }
  }

  /// A condition that another file can repeat; nil for one that may go on in the next line.
  private static func condition(_ text: String) -> String? {
    let code = text.split(separator: "//", omittingEmptySubsequences: false).first ?? ""
    let words = code.split { $0 == " " || $0 == "\t" }
    let trimmed = words.joined(separator: " ")
    let isPlain = trimmed.utf8.allSatisfy {
      SwiftLexer.continuesWord($0) && $0 < 0x80 || " .,()!&|<>=".utf8.contains($0)
    }
    let open = trimmed.count { $0 == "(" } - trimmed.count { $0 == ")" }
    guard isPlain, open == 0, let ends = trimmed.last, !"&|!,<>=".contains(ends) else { return nil }
    return trimmed
  }

  // MARK: Declarations

  private mutating func type(_ word: String, _ start: Int, _ prefix: Prefix, _ scope: Scope) {
    guard isWord else { return fail("a type has no name") }
    var made = SourceType(
      kind: word == "struct" ? .structure : word == "protocol" ? .protocolType : .other,
      path: scope.path + [name()], spelling: (scope.spelling + [spelling()]).joined(separator: "."),
      line: line(of: start), access: min(prefix.access ?? scope.usual, scope.limit))
    let spelled = spelling()
    made.isUsableFromInline =
      scope.isUsableFromInline || prefix.attributes.contains { $0.name == "usableFromInline" }
    made.availability = scope.availability + prefix.availability
    made.conditions = conditions.compactMap(\.self)
    made.extended = scope.extended
    made.facts.doubts = scope.doubts
    if conditions.contains(nil) { made.facts.doubts.append("it is in an #if that is not simple") }
    if prefix.hasDirective { made.facts.doubts.append("its attributes are in #if") }
    made.facts.doubts += prefix.attributes.map(\.name)
      .filter { !KnownNames.typeAttributes.contains($0) }.map { "it has the attribute @\($0)" }
    advance()
    if token.isPunctuation("<") { skipAngles() }
    made.references = inherited()
    if let constraint = constraints(), constraint.namesSelf, made.kind == .protocolType {
      made.facts.doubts.append("the protocol \(made.name) has a constraint on Self")
    }
    guard token.isPunctuation("{") else { return fail("a type has no members") }
    var inner = scope
    inner.path = made.path
    inner.spelling.append(spelled)
    inner.limit = made.access
    inner.usual = min(.internal, made.access)
    inner.availability = made.availability
    inner.isUsableFromInline = made.isUsableFromInline
    inner.isType = true
    // Macros on the outer type can add attributes to the types in it.
    inner.doubts += prefix.unknown.map { "the type around it has the attribute @\($0)" }
    let members = body(inner)
    made.facts.coding = members.coding
    made.facts.doubts += members.doubts
    result.types.append(made)
  }

  private mutating func body(_ scope: Scope) -> MemberFacts {
    guard depth < Self.maximumDepth else {
      fail("types are nested too deep")
      return MemberFacts()
    }
    depth += 1
    defer { depth -= 1 }
    advance()
    return members(of: scope)
  }

  private mutating func `extension`(_ start: Int, _ prefix: Prefix, _ scope: Scope) {
    let startLine = line(of: start)
    var path: [String] = []
    var spelled: [String] = []
    var isConstrained = false
    if token.isPunctuation("[") { skipGroup() }
    while isWord {
      path.append(name())
      spelled.append(spelling())
      advance()
      if token.isPunctuation("<") {
        skipAngles()
        isConstrained = true
      }
      guard token.isPunctuation(".") else { break }
      advance()
    }
    while token.isPunctuation("?") || token.isPunctuation("!") {
      advance()
      isConstrained = true
    }
    let references = inherited()
    if constraints() != nil { isConstrained = true }
    guard token.isPunctuation("{") else { return fail("an extension has no members") }
    var inner = Scope(path: path, spelling: spelled)
    inner.usual = prefix.access ?? .internal
    if inner.usual == .private { inner.limit = .private }
    inner.availability = prefix.availability
    inner.extended = path
    inner.doubts = prefix.unknown.map { "the extension around it has the attribute @\($0)" }
    if isConstrained { inner.doubts.append("the extension around it has constraints") }
    let isConditional = !conditions.isEmpty
    var facts = body(inner)
    facts.doubts += prefix.unknown.map { "an extension has the attribute @\($0)" }
    result.extensions.append(
      SourceExtension(
        path: path, line: startLine, references: references, isConstrained: isConstrained,
        isConditional: isConditional, hasAvailability: !prefix.availability.isEmpty, facts: facts))
  }

  private mutating func alias(_ word: String, _ start: Int, _ prefix: Prefix, _ scope: Scope) {
    guard isWord else { return fail("a type alias has no name") }
    var made = SourceType(
      kind: word == "typealias" ? .alias : .other, path: scope.path + [name()],
      spelling: spelling(), line: line(of: start),
      access: min(prefix.access ?? scope.usual, scope.limit))
    made.extended = scope.extended
    made.isOpaque = !conditions.isEmpty
    advance()
    if word == "typealias" {
      if token.isPunctuation("<") {
        skipAngles()
        made.isOpaque = true
      }
      guard token.isPunctuation("=") else { return fail("a type alias has no type") }
      advance()
      made.references = references()
      let isOver =
        token.startsLine || token.isPunctuation("}") || token.isPunctuation(";")
        || token.kind == .end
      if made.references.isEmpty || !isOver { made.isOpaque = true }
    }
    result.types.append(made)
  }

  private mutating func `import`(_ prefix: Prefix) {
    if token.kind == .word, KnownNames.importKinds.contains(name()) { advance() }
    guard isWord else { return }
    result.imports.append(
      SourceImport(
        module: name(), access: prefix.access,
        isExported: prefix.attributes.contains { $0.name == "_exported" }))
    advance()
    while token.isPunctuation(".") {
      advance()
      if !token.startsLine { advance() }
    }
  }

  /// Notes a struct that is declared where no other file can extend it.
  mutating func local() {
    let start = token.start
    advance()
    guard isWord else { return }
    guard depth < Self.maximumDepth else { return fail("types are nested too deep") }
    depth += 1
    defer { depth -= 1 }
    var made = SourceType(
      kind: .structure, path: [name()], spelling: spelling(), line: line(of: start),
      access: .private)
    made.isLocal = true
    advance()
    if token.isPunctuation("<") { skipAngles() }
    made.references = inherited()
    result.types.append(made)
  }
}
