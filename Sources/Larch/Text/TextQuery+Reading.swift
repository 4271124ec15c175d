// A query as people type it: `lmdb "object store" -sql sto*`.

extension TextQuery {
  /// Reads what a person typed. No text is an error: what is not a sign below is cut into words.
  ///
  /// | Typed | Finds texts with |
  /// |---|---|
  /// | `larch tree` | both words, in any order |
  /// | `"larch tree"` | the words one after the other |
  /// | `tre*` | a word that begins with `tre` |
  /// | `larch -tree` | the first word and not the second one |
  /// | `larch OR pine needles` | one of the first two words, and the third |
  /// | `don't`, `20.04`, `@nasa` | `don t`, `20 04` as phrases, and `nasa` |
  ///
  /// Curly quotes and « » are quotes too, since keyboards type them. A quote that is not closed ends with the
  /// text. `OR` without a word on both sides is the word `or`; at the end of a text that is still being typed
  /// it is passed over, since a word is still to come.
  ///
  /// - Parameters:
  ///   - typed: the text of a search field.
  ///   - completesLast: whether the last word is still being typed: a longer word may stand in its place,
  ///     unless a space or a closing quote follows it, or a `-` excludes it.
  ///   - stemming: which forms of a word count too; nil for none. Words in quotes are as they are typed.
  ///   - rules: how texts are cut into words.
  /// - Complexity: O(*n*) in the length of the text. Cut very long texts of strangers: a query has as many
  ///   words as its text.
  public init(
    _ typed: String, completesLast: Bool = false, stemming: Stemming? = nil,
    rules: WordRules = .standard
  ) {
    let terms = TypedTerm.terms(of: typed)
    self.init(
      TypedQuery(rules: rules, stemming: stemming, completesLast: completesLast).node(terms))
  }

  /// Reads the same language as ``init(_:completesLast:stemming:rules:)``, and refuses a text that may not mean what
  /// it says, so that its author can correct it.
  ///
  /// - Throws: `.invalidQuery` for a text without words, a quote that is not closed, a `-`, an `OR` or a
  ///   pair of quotes without a word, and a `*` that does not end a word. The detail has the place, counted
  ///   in characters from 1.
  /// - Complexity: O(*n*) in the length of the text.
  public init(
    validating text: String, stemming: Stemming? = nil, rules: WordRules = .standard
  ) throws {
    let terms = TypedTerm.terms(of: text)
    try TypedQuery.check(terms, in: text, rules)
    self.init(TypedQuery(rules: rules, stemming: stemming, completesLast: false).node(terms))
  }
}

extension TextQuery: ExpressibleByStringLiteral {
  /// Reads a literal as if it were typed.
  ///
  /// - Complexity: O(*n*) in the length of the text.
  public init(stringLiteral text: String) { self.init(text, completesLast: false) }
}

/// A part of what was typed, up to the next space or in quotes.
private struct TypedTerm {
  var text: Substring
  /// The first character, with its signs.
  var start: String.Index
  var isExcluded = false
  var isQuoted = false
  /// Whether a quote, or a space, ends it.
  var isClosed = false

  private static let quotes: Set<Unicode.Scalar> = ["\"", "“", "”", "„", "‟", "«", "»"]

  /// The terms in order. All of the text but spaces, quotes and leading `-` is in one of them.
  static func terms(of typed: String) -> [TypedTerm] {
    let scalars = typed.unicodeScalars
    var terms: [TypedTerm] = []
    var place = scalars.startIndex
    func isSpace(_ index: String.Index) -> Bool { scalars[index].properties.isWhitespace }
    while place < scalars.endIndex {
      if isSpace(place) {
        place = scalars.index(after: place)
        continue
      }
      let start = place
      let isExcluded = scalars[place] == "-"
      if isExcluded { place = scalars.index(after: place) }
      var term = TypedTerm(text: typed[place..<place], start: start, isExcluded: isExcluded)
      if place < scalars.endIndex, quotes.contains(scalars[place]) {
        term.isQuoted = true
        place = scalars.index(after: place)
        let end = scalars[place...].firstIndex { quotes.contains($0) }
        term.text = typed[place..<(end ?? scalars.endIndex)]
        term.isClosed = end != nil
        place = end.map { scalars.index(after: $0) } ?? scalars.endIndex
      } else {
        // A quote within a word, as in 5"x7", begins a phrase: what is typed is not lost.
        let end = scalars[place...].firstIndex {
          $0.properties.isWhitespace || quotes.contains($0)
        }
        term.text = typed[place..<(end ?? scalars.endIndex)]
        term.isClosed = end != nil
        place = end ?? scalars.endIndex
      }
      terms.append(term)
    }
    return terms
  }

  var isOr: Bool { text == "OR" && !isQuoted && !isExcluded }

  /// Whether a `*` ends the term and follows a word: what stands before it.
  func beforeStar(_ rules: WordRules) -> Substring? {
    guard text.unicodeScalars.last == "*" else { return nil }
    let before = Substring(text.unicodeScalars.dropLast())
    return Self.endsInWord(before, rules) ? before : nil
  }

  static func endsInWord(_ text: Substring, _ rules: WordRules) -> Bool {
    var text = text
    return text.withUTF8 { utf8 in
      var cutter = WordCutter(rules)
      var end = -1
      while cutter.next(in: UnsafeRawBufferPointer(utf8)) { end = cutter.end }
      return end == utf8.count
    }
  }

  func phrase(
    _ rules: WordRules, completes: Bool, stemming: Stemming? = nil
  ) -> TextQuery.Phrase? {
    if let before = beforeStar(rules) {
      return TextQuery.Phrase(String(before), endsInPrefix: true, rules)
    }
    return TextQuery.Phrase(
      String(text), endsInPrefix: completes, stemming: isQuoted ? nil : stemming, rules)
  }
}

/// Joins what was typed.
private struct TypedQuery {
  let rules: WordRules
  let stemming: Stemming?
  let completesLast: Bool

  /// `OR` joins the terms beside it; all else must be true together.
  func node(_ terms: [TypedTerm]) -> TextQuery.Node {
    var all: [TextQuery.Node] = []
    /// The choices of the last node.
    var choices: [TextQuery.Node] = []
    func endChoices() {
      if choices.isEmpty { return }
      all.append(TextQuery.Node.any(choices).simplified)
      choices = []
    }
    /// Whether the next term is one more of them.
    var joins = false
    for (place, term) in terms.enumerated() {
      if term.isOr, !joins, place > 0, place + 1 < terms.count, !choices.isEmpty,
        node(of: terms[place - 1], isLast: false) != nil,
        node(of: terms[place + 1], isLast: false) != nil
      {
        joins = true
        continue
      }
      if isUnfinishedOr(place, in: terms), !joins, !choices.isEmpty { continue }
      guard let node = node(of: term, isLast: place == terms.count - 1) else { continue }
      if !joins { endChoices() }
      choices.append(node)
      joins = false
    }
    endChoices()
    // A text may exclude the same word a thousand times, and each time costs a search.
    var excluded: Set<TextQuery.Node> = []
    all.removeAll { if case .not = $0 { !excluded.insert($0).inserted } else { false } }
    return TextQuery.Node.all(all).simplified
  }

  /// Whether a term is an `OR` for which the second word is still to be typed.
  private func isUnfinishedOr(_ place: Int, in terms: [TypedTerm]) -> Bool {
    completesLast && terms[place].isOr
      && !terms[(place + 1)...].contains { node(of: $0, isLast: false) != nil }
  }

  /// Nil if the term has no words.
  private func node(of term: TypedTerm, isLast: Bool) -> TextQuery.Node? {
    // A sign after the last word ends it, as a space does. What is excluded is not completed: else the
    // first letter after a `-` would exclude most texts.
    let completes =
      completesLast && isLast && !term.isClosed && !term.isExcluded
      && TypedTerm.endsInWord(term.text, rules)
    return term.phrase(rules, completes: completes, stemming: stemming).map {
      term.isExcluded ? .not(.phrase($0)) : .phrase($0)
    }
  }

  // MARK: The strict reading

  static func check(_ terms: [TypedTerm], in text: String, _ rules: WordRules) throws {
    func refuse(_ what: String, at index: String.Index) -> LarchError {
      let place = text[..<index].count + 1
      return LarchError(
        .invalidQuery,
        "A text to search for may not mean what it says; correct it at the place in the detail, or read it with `TextQuery(_:)`, which accepts every text."
      ) { $0.detail = "character \(place): \(what)" }
    }
    if terms.isEmpty { throw refuse("there is no word to search for", at: text.startIndex) }
    for (place, term) in terms.enumerated() {
      if term.isQuoted, !term.isClosed { throw refuse("the quote is not closed", at: term.start) }
      if term.isOr {
        let isBetween =
          place > 0 && place + 1 < terms.count && !terms[place - 1].isOr
          && !terms[place + 1].isOr
        guard isBetween else {
          throw refuse("OR stands between two words; in quotes it is a word", at: term.start)
        }
        continue
      }
      guard term.phrase(rules, completes: false) != nil else {
        throw refuse("there is no word in this part of the text", at: term.start)
      }
      let rest = term.beforeStar(rules) ?? term.text
      if let star = rest.firstIndex(of: "*") {
        throw refuse("* stands only at the end of a word", at: star)
      }
    }
  }
}
