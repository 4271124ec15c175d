/// A test of the words of texts: those of all its fields together.
package final class WordsFilter: Sendable {
  /// Texts, or arrays and sets of texts.
  package let fields: [FieldReference]
  let query: TextQuery

  package init(_ fields: [FieldReference], _ query: TextQuery) {
    self.fields = fields
    self.query = query
  }

  /// Whether the filter is true.
  ///
  /// - Parameter values: gives the values of a field, one by one, until its closure returns false.
  package func matches(
    _ values: (FieldReference, (KeyValue) -> Bool) throws -> Void
  ) rethrows -> Bool {
    let matcher = TextMatcher(query)
    matcher.begin()
    for field in fields where !matcher.isDecided {
      try values(field) { value in
        if case .string(let text) = value { matcher.read(text) }
        return !matcher.isDecided
      }
    }
    return matcher.finish()
  }
}

extension FilterNode {
  /// Whether any part reads the words of texts.
  var readsWords: Bool {
    switch self {
    case .all(let nodes), .any(let nodes): nodes.contains(where: \.readsWords)
    case .not(let node): node.readsWords
    case .words: true
    case .field, .pair, .record, .related: false
    }
  }
}

extension FieldReference {
  /// Whether each of its values is a text, or nil.
  var holdsTexts: Bool { calculation == nil && form.unwrapped == .primitive(.string) }
}
