/// What to look for in texts: words, beginnings of words and phrases, joined by `&&`, `||` and `!`.
///
/// ```swift
/// let typed = TextQuery("lmdb \"object store\" -sql sto", completesLast: true)
/// let built = TextQuery.word("lmdb") && !.word("sql") && .prefix("sto")
///
/// let found = try store.fetch(
///   Article.where { typed.matches($0.title, $0.body) && $0.year > 2020 })
/// ```
///
/// Words are those of ``TextWords``: case does not count, nor do marks of Latin, Greek and Cyrillic letters
/// with the rules ``WordRules/standard``. A word may stand in any of the texts, a phrase in one of them. A query
/// without any word, such as that of an empty text or of `…`, is true for all texts.
public struct TextQuery: Hashable, Sendable {
  indirect enum Node: Hashable, Sendable {
    /// True if all are true; always true if there are none.
    case all([Node])
    case any([Node])
    case not(Node)
    case phrase(Phrase)
  }

  /// Words that follow each other in one text.
  struct Phrase: Hashable, Sendable {
    /// At least one. Only the last one may stand for others.
    let words: [WantedWord]
    let rules: WordRules
  }

  let node: Node

  init(_ node: Node) { self.node = node }

  /// The text has a word.
  ///
  /// What is several words by ``TextWords``, such as `don't` or `设备`, is a phrase.
  ///
  /// - Parameters:
  ///   - word: the word.
  ///   - stemming: which forms of the word count too; nil for none. A phrase has no forms.
  ///   - rules: how the word is cut.
  /// - Complexity: O(*n*) in the length of the word.
  public static func word(
    _ word: String, stemming: Stemming? = nil, rules: WordRules = .standard
  ) -> TextQuery {
    TextQuery(node(word, endsInPrefix: false, stemming: stemming, rules))
  }

  /// The text has a word that begins with this.
  ///
  /// - Complexity: O(*n*) in the length of the beginning.
  public static func prefix(_ beginning: String, rules: WordRules = .standard) -> TextQuery {
    TextQuery(node(beginning, endsInPrefix: true, rules))
  }

  /// The text has these words, one after the other. What stands between words does not count.
  ///
  /// - Parameters:
  ///   - words: the words, as a text.
  ///   - completesLast: whether a longer word may stand in the place of the last one.
  ///   - rules: how the words are cut.
  /// - Complexity: O(*n*) in the length of the words.
  public static func phrase(
    _ words: String, completesLast: Bool = false, rules: WordRules = .standard
  ) -> TextQuery {
    TextQuery(node(words, endsInPrefix: completesLast, rules))
  }

  /// Always true if there are no words.
  private static func node(
    _ text: String, endsInPrefix: Bool, stemming: Stemming? = nil, _ rules: WordRules
  ) -> Node {
    Phrase(text, endsInPrefix: endsInPrefix, stemming: stemming, rules).map { .phrase($0) }
      ?? .all([])
  }

  /// Both are true.
  public static func && (left: TextQuery, right: TextQuery) -> TextQuery {
    TextQuery(.all(left.node.parts(ofAll: true) + right.node.parts(ofAll: true)).simplified)
  }

  /// At least one is true.
  public static func || (left: TextQuery, right: TextQuery) -> TextQuery {
    if left.node.isAlways || right.node.isAlways { return TextQuery(.all([])) }
    return TextQuery(.any(left.node.parts(ofAll: false) + right.node.parts(ofAll: false)))
  }

  /// It is not true.
  public static prefix func ! (query: TextQuery) -> TextQuery {
    if case .not(let node) = query.node { return TextQuery(node) }
    return TextQuery(.not(query.node))
  }

  /// Whether it asks for no word, and so is true for all texts.
  ///
  /// A search field shows all records, or none, for such a text.
  ///
  /// - Complexity: O(1).
  public var hasNoWords: Bool { node.isAlways }
}

extension TextQuery.Phrase {
  /// Nil if the text has no words.
  ///
  /// - Parameter stemming: which forms of the word count, if there is only one.
  init?(
    _ text: String, endsInPrefix: Bool, stemming: Stemming? = nil, _ rules: WordRules
  ) {
    var words: [WantedWord] = []
    var text = text
    text.withUTF8 { utf8 in
      var cutter = WordCutter(rules)
      while cutter.next(in: UnsafeRawBufferPointer(utf8)) {
        words.append(WantedWord([UInt8](cutter.bytes), isBeginning: false))
      }
    }
    guard let last = words.popLast() else { return nil }
    if let stemming, words.isEmpty, stemming.hasForms(last.beginning) {
      words = [WantedWord(formsOf: last.beginning, stemming, isBeginning: endsInPrefix)]
    } else {
      words.append(WantedWord(last.beginning, isBeginning: endsInPrefix))
    }
    self.init(words: words, rules: rules)
  }
}

extension TextQuery.Node {
  var isAlways: Bool {
    if case .all(let nodes) = self { return nodes.isEmpty }
    return false
  }

  /// One node in place of a list of one.
  var simplified: TextQuery.Node {
    switch self {
    case .all(let nodes) where nodes.count == 1: nodes[0]
    case .any(let nodes) where nodes.count == 1: nodes[0]
    default: self
    }
  }

  fileprivate func parts(ofAll: Bool) -> [TextQuery.Node] {
    switch self {
    case .all(let nodes) where ofAll: nodes
    case .any(let nodes) where !ofAll: nodes
    default: [self]
    }
  }
}

extension TextQuery: CustomStringConvertible {
  /// The query in Swift's operators: `lmdb && "object store" && !sql && sto*`.
  public var description: String { node.text(isInside: false) }
}

extension TextQuery.Node {
  fileprivate func text(isInside: Bool) -> String {
    switch self {
    case .all(let nodes) where nodes.isEmpty: return "true"
    case .all(let nodes): return Self.text(nodes, " && ", isInside)
    case .any(let nodes): return Self.text(nodes, " || ", isInside)
    case .not(let node): return "!" + node.text(isInside: true)
    case .phrase(let phrase):
      let text = phrase.words.map(\.description).joined(separator: " ")
      return phrase.words.count == 1 ? text : "\"\(text)\""
    }
  }

  private static func text(
    _ nodes: [TextQuery.Node], _ separator: String, _ isInside: Bool
  ) -> String {
    let text = nodes.map { $0.text(isInside: true) }.joined(separator: separator)
    return isInside ? "(\(text))" : text
  }
}
