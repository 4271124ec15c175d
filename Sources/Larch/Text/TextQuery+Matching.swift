/// What ``TextQuery`` reads: a text, an optional, or an array or set of these. You never need to conform to
/// it.
@_documentation(visibility: private)
public protocol SearchedText: Sendable {
  /// Calls the closure with each text, until it returns false. Implemented by Larch.
  ///
  /// - Returns: whether the closure never returned false.
  func _forEachText(_ body: (String) -> Bool) -> Bool
}

extension String: SearchedText {
  /// The text itself.
  public func _forEachText(_ body: (String) -> Bool) -> Bool { body(self) }
}

extension Optional: SearchedText where Wrapped: SearchedText {
  /// The texts of the value; nil has none.
  public func _forEachText(_ body: (String) -> Bool) -> Bool { self?._forEachText(body) ?? true }
}

extension Array: SearchedText where Element: SearchedText {
  /// The texts of the elements.
  public func _forEachText(_ body: (String) -> Bool) -> Bool {
    allSatisfy { $0._forEachText(body) }
  }
}

extension Set: SearchedText where Element: SearchedText {
  /// The texts of the elements.
  public func _forEachText(_ body: (String) -> Bool) -> Bool {
    allSatisfy { $0._forEachText(body) }
  }
}

extension TextQuery {
  /// Whether the query is true for texts: the definition of what the same call with fields finds in a store.
  ///
  /// ```swift
  /// let found = articles.filter { typed.matches($0.title, $0.tags) }
  /// ```
  ///
  /// A word may stand in any of the texts. A phrase stands in one text, or in one element of an array. Nil
  /// has no words.
  ///
  /// - Complexity: O(*n* · *m*) in the words of the texts and of the query. Each call makes the query ready.
  public func matches<each Text: SearchedText>(_ texts: repeat each Text) -> Bool {
    let matcher = TextMatcher(self)
    matcher.begin()
    for text in repeat each texts {
      _ = text._forEachText { text in
        matcher.read(text)
        return !matcher.isDecided
      }
    }
    return matcher.finish()
  }
}

extension TextMatcher {
  /// Reads one more text of the record; a string is always UTF-8.
  func read(_ text: String) {
    var text = text
    _ = text.withUTF8 { read(UnsafeRawBufferPointer($0)) }
  }
}
