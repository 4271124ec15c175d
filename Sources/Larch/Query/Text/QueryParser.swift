/// Parses the text of a query, by the grammar in `docs/query-language.md`.
package struct QueryParser {
  /// Deeper nesting is refused, since each level takes a part of the stack.
  static let depthLimit = 100
  /// With more tests, planning would take too long.
  static let testLimit = 1_000

  private let places: [QueryLexer.Place]
  private var next = 0
  private var depth = 0
  private var tests = 0

  /// - Parameter values: the values at its placeholders; nil if it cannot have any.
  /// - Throws: `QueryTextError` if the text is not a query.
  package static func parse(
    _ text: String, _ values: QueryValues? = nil
  ) throws(QueryTextError) -> QueryText {
    let tokens = try QueryLexer.tokens(of: text)
    var parser = QueryParser(places: try QueryValues.put(values, into: tokens))
    return try parser.query()
  }

  private init(places: [QueryLexer.Place]) { self.places = places }

  // MARK: Tokens

  /// The last one is `end`; the parser never moves past it.
  private var here: QueryLexer.Place { places[next] }

  private var following: QueryLexer.Place { places[min(next + 1, places.count - 1)] }

  private mutating func advance() { if next < places.count - 1 { next += 1 } }

  private func isWord(_ word: String, _ place: QueryLexer.Place) -> Bool {
    if case .word(let text) = place.token { return text.lowercased() == word }
    return false
  }

  private mutating func skip(word: String) -> Bool {
    guard isWord(word, here) else { return false }
    advance()
    return true
  }

  private mutating func skip(sign: String) -> Bool {
    guard here.token == .sign(sign) else { return false }
    advance()
    return true
  }

  private mutating func expect(sign: String, _ what: String) throws(QueryTextError) {
    guard skip(sign: sign) else { throw expected(what) }
  }

  private func expected(_ what: String) -> QueryTextError {
    let found =
      switch here.token {
      case .end: "the end"
      case .value(let value): "\(here.source), which is \(value.name)"
      case .values: "\(here.source), which is a list"
      default: QueryTextError.shown(here.source)
      }
    return QueryTextError(here.column, "expected \(what), found \(found)")
  }

  // MARK: Clauses

  private mutating func query() throws(QueryTextError) -> QueryText {
    var query = QueryText()
    if here.token != .end, !beginsClause { query.filter = try any() }
    if isWord("order", here) {
      advance()
      guard skip(word: "by") else { throw expected("by") }
      repeat { query.order.append(try term()) } while skip(sign: ",")
    }
    var seen: Set<String> = []
    while case .word(let word) = here.token {
      let clause = word.lowercased()
      guard clause == "limit" || clause == "offset" else { break }
      guard seen.insert(clause).inserted else {
        throw QueryTextError(here.column, "the \(clause) is repeated")
      }
      advance()
      let number = try wholeNumber()
      if clause == "limit" { query.limit = number } else { query.offset = number }
    }
    guard here.token == .end else {
      let clauses =
        !seen.isEmpty
        ? "limit, offset or the end"
        : query.order.isEmpty
          ? "and, or, order by, limit, offset or the end" : "a comma, limit, offset or the end"
      throw expected(clauses)
    }
    return query
  }

  /// Whether the filter ends here, or there is none: words that may also be fields are recognized
  /// by the next token.
  private var beginsClause: Bool {
    if isWord("order", here) { return isWord("by", following) }
    guard isWord("limit", here) || isWord("offset", here) else { return false }
    switch following.token {
    case .literal(.number), .value(.number): return true
    default: return false
    }
  }

  private mutating func term() throws(QueryTextError) -> QueryText.Term {
    let field = try name()
    let textForm = try isWord("localized", here) ? localized() : ignoring()
    let descends = skip(word: "desc") || skip(word: "descending")
    let ascends = !descends && (skip(word: "asc") || skip(word: "ascending"))
    return QueryText.Term(
      field: field, descends: descends, hasDirection: descends || ascends, textForm: textForm)
  }

  private mutating func wholeNumber() throws(QueryTextError) -> Int {
    switch here.token {
    case .literal(.number(let text)), .value(.number(let text)):
      guard let number = Int(text), number >= 0 else { break }
      advance()
      return number
    default: break
    }
    throw expected("a whole number, 0 or more")
  }

  // MARK: Conditions

  private mutating func any() throws(QueryTextError) -> QueryText.Condition {
    var parts = [try all()]
    while skip(word: "or") { parts.append(try all()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func all() throws(QueryTextError) -> QueryText.Condition {
    var parts = [try condition()]
    while skip(word: "and") { parts.append(try condition()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func condition() throws(QueryTextError) -> QueryText.Condition {
    let column = here.column
    depth += 1
    defer { depth -= 1 }
    guard depth <= QueryParser.depthLimit else {
      throw QueryTextError(
        column, "conditions can be nested at most \(QueryParser.depthLimit) levels deep")
    }
    if skip(word: "not") { return .not(try condition()) }
    if skip(sign: "(") {
      let inner = try any()
      try expect(sign: ")", "and, or or a closing bracket")
      return inner
    }
    tests += 1
    guard tests <= QueryParser.testLimit else {
      throw QueryTextError(column, "a query can have at most \(QueryParser.testLimit) tests")
    }
    return try test()
  }

  private mutating func test() throws(QueryTextError) -> QueryText.Condition {
    if let literal = literalHere(isOperand: false) {
      advance()
      let place = here
      guard let comparison = comparison(here) else {
        throw expected("a comparison after the constant")
      }
      advance()
      let field = try name()
      return .test(
        QueryText.Test(
          field: field, operation: .compare(comparison.turned, literal), column: place.column,
          word: place.source))
    }
    let field = try name()
    var others: [QueryText.Name] = []
    while skip(sign: ",") { others.append(try name()) }
    let place = here
    if !others.isEmpty {
      guard isWord("matches", here) || (isWord("not", here) && isWord("matches", following)) else {
        throw expected("matches after several fields")
      }
    }
    let isNegated = isWord("not", here)
    if isNegated { advance() }
    let word = here.source
    guard let operation = try operation(isNegated: isNegated, field, others) else {
      return .test(
        QueryText.Test(
          field: field, operation: .isTrue, column: field.column, word: field.text))
    }
    let test = QueryText.Condition.test(
      QueryText.Test(field: field, operation: operation.0, column: place.column, word: word))
    return isNegated != operation.isNegated ? .not(test) : test
  }

  private func comparison(_ place: QueryLexer.Place) -> QueryText.Comparison? {
    guard case .sign(let sign) = place.token else { return nil }
    return switch sign {
    case "=": .equal
    case "!=": .notEqual
    case "<": .less
    case "<=": .lessOrEqual
    case ">": .greater
    case ">=": .greaterOrEqual
    default: nil
    }
  }

  private typealias Found = (QueryText.Operation, isNegated: Bool)

  /// Nil if there is only the field.
  private mutating func operation(
    isNegated: Bool, _ field: QueryText.Name, _ others: [QueryText.Name]
  ) throws(QueryTextError) -> Found? {
    if !isNegated, let comparison = comparison(here) {
      advance()
      return (try compared(comparison), false)
    }
    if case .word(let word) = here.token {
      switch word.lowercased() {
      case "in":
        advance()
        return (.oneOf(try list()), false)
      case "between":
        advance()
        let lower = try literal()
        guard skip(word: "and") else { throw expected("and with the upper bound") }
        return (.between(lower, try literal()), false)
      case "matches":
        advance()
        return (.words(try literal(), others), false)
      case "like":
        advance()
        return (try text(.like), false)
      case "contains":
        advance()
        let literal = try literal()
        return (.contains(literal, try ignoring()), false)
      case "has":
        advance()
        return (.has(try literal()), false)
      case "begins", "starts", "ends":
        advance()
        guard skip(word: "with") else { throw expected("with") }
        return (try text(word.lowercased() == "ends" ? .hasSuffix : .hasPrefix), false)
      case "is" where !isNegated:
        advance()
        let isNot = skip(word: "not")
        guard skip(word: "nil") || skip(word: "null") else { throw expected("nil or not nil") }
        return (.isNil, isNot)
      case "and", "or", "order", "limit", "offset":
        if !isNegated { return nil }
      default: break
      }
    }
    if !isNegated, here.token == .end || here.token == .sign(")") { return nil }
    let operators =
      isNegated
      ? "in, between, like, matches, contains, has, begins with or ends with"
      : "=, !=, <, <=, >, >=, in, between, like, matches, contains, has, begins with, ends with or is nil"
    throw expected("\(operators) after \(QueryTextError.shown(field.text))")
  }

  private mutating func compared(
    _ comparison: QueryText.Comparison
  ) throws(QueryTextError) -> QueryText.Operation {
    if let literal = literalHere(isOperand: true) {
      advance()
      let form = try ignoring()
      guard form.isFolded else { return .compare(comparison, literal) }
      guard comparison == .equal else {
        throw QueryTextError(literal.column, "only = and text can ignore case")
      }
      return .equalText(literal, form)
    }
    switch here.token {
    case .word, .name: return .compareField(comparison, try name())
    default: throw expected("a constant or a field")
    }
  }

  private mutating func text(
    _ kind: TextTest.Kind
  ) throws(QueryTextError) -> QueryText.Operation {
    let literal = try literal()
    return .text(kind, literal, try ignoring())
  }

  private mutating func ignoring() throws(QueryTextError) -> TextForm {
    guard skip(word: "ignoring") else { return .exact }
    if skip(word: "diacritics") { return .caseAndDiacriticInsensitive }
    guard skip(word: "case") else { throw expected("case or diacritics") }
    return .caseInsensitive
  }

  private mutating func localized() throws(QueryTextError) -> TextForm {
    advance()
    let language: String
    switch here.token {
    case .word(let word): language = word
    case .literal(.text(let text)), .value(.text(let text)): language = text
    default: throw expected("a language, such as \"nb\"")
    }
    guard let collation = try? Collation(language) else {
      throw QueryTextError(here.column, "\(here.source) is no language that texts can be sorted by")
    }
    advance()
    return TextForm(collation)
  }

  // MARK: Constants and names

  private mutating func list() throws(QueryTextError) -> [QueryText.Literal] {
    if case .values(let values) = here.token {
      let place = here
      advance()
      return values.map {
        QueryText.Literal(value: $0, column: place.column, source: place.source, isValue: true)
      }
    }
    try expect(sign: "(", "an opening bracket")
    var list: [QueryText.Literal] = []
    if skip(sign: ")") { return list }
    repeat { list.append(try literal()) } while skip(sign: ",")
    try expect(sign: ")", "a comma or a closing bracket")
    return list
  }

  private mutating func literal() throws(QueryTextError) -> QueryText.Literal {
    guard let literal = literalHere(isOperand: true) else {
      throw expected("a constant: a text in quotes, a number, a date, true, false or nil")
    }
    advance()
    return literal
  }

  /// The constant at this place.
  ///
  /// - Parameter isOperand: whether it follows an operator, where `inf` and `nan` are numbers and
  ///   not fields.
  private func literalHere(isOperand: Bool) -> QueryText.Literal? {
    if case .value(let value) = here.token {
      return QueryText.Literal(
        value: value, column: here.column, source: here.source, isValue: true)
    }
    let value: QueryText.Literal.Value? =
      switch here.token {
      case .literal(let value): value
      case .word(let word):
        switch word.lowercased() {
        case "true": .bool(true)
        case "false": .bool(false)
        case "nil", "null": .null
        case "inf" where isOperand: .number("inf")
        case "nan" where isOperand: .number("nan")
        default: nil
        }
      default: nil
      }
    return value.map { QueryText.Literal(value: $0, column: here.column, source: here.source) }
  }

  /// Words that are never meant as a field.
  private static let reserved: Set<String> = ["and", "or", "not", "true", "false", "nil", "null"]

  private mutating func name() throws(QueryTextError) -> QueryText.Name {
    let column = here.column
    var names: [String] = []
    repeat {
      switch here.token {
      case .name(let name): names.append(name)
      case .word(let word) where !(QueryParser.reserved.contains(word.lowercased())):
        names.append(word)
      default: throw expected(names.isEmpty ? "a field" : "the name of a field after the dot")
      }
      advance()
    } while skip(sign: ".")
    return QueryText.Name(names: names, column: column)
  }
}
