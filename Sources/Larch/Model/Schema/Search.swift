/// Declares an index of the words of one or several texts, which answers ``TextQuery`` in filters.
///
/// ```swift
/// Search(\.title, \.body)                 // one index over both
/// Search(\.notes, rules: .keepingDiacritics)     // other rules for words
/// Search(\.place.name, \.tags)            // nested texts, arrays and sets of texts
/// ```
///
/// The index answers `typed.matches($0.title, $0.body)`, and the same for some of its fields, if the query has the
/// rules of the index. Any other test of words reads records, with the same answer. The fields must be stored.
///
/// The index is kept in the transaction of each save, and only words that a save changes are written: none if the
/// texts are the same. Other fields or rules make another index, which is built when the store is opened.
public struct Search<R: Record>: Sendable {
  let declaration: SearchDeclaration<R>

  /// Declares an index of the words of the fields.
  ///
  /// - Parameters:
  ///   - first: a text, an optional text, or an array or a set of texts.
  ///   - rest: further fields; at most 32 in all.
  ///   - rules: how the texts are cut into words.
  ///   - name: the name of the index; without one, `title_body_words`.
  /// - Complexity: at each save O(*n* log *n*) in the words of a record whose texts change.
  public init<First: SearchedText, each Text: SearchedText>(
    _ first: any KeyPath<R, First> & Sendable, _ rest: repeat any KeyPath<R, each Text> & Sendable,
    rules: WordRules = .standard, name: String? = nil
  ) {
    var fields = [SearchFieldDeclaration(first)]
    for field in repeat each rest { fields.append(SearchFieldDeclaration(field)) }
    declaration = SearchDeclaration(name: name, rules: rules, fields: fields)
  }

  /// Not available: a field that has no texts.
  @available(
    *, unavailable,
    message:
      "a search is of fields with words: a `String`, a `String?`, or an array or a set of these; use `Index` for other values"
  )
  @_disfavoredOverload
  public init(_ fields: PartialKeyPath<R>..., rules: WordRules = .standard, name: String? = nil) {
    declaration = SearchDeclaration(name: name, rules: rules, fields: [])
  }
}

extension Search: SchemaEntry, SchemaLine {
  var element: SchemaElement<R> { .search(declaration) }
}

/// A declared search with its record type.
final class SearchDeclaration<R: Record>: Sendable {
  let name: String?
  let rules: WordRules
  let fields: [SearchFieldDeclaration<R>]

  init(name: String?, rules: WordRules, fields: [SearchFieldDeclaration<R>]) {
    self.name = name
    self.rules = rules
    self.fields = fields
  }
}

/// A declared field of a search; closures keep its type.
final class SearchFieldDeclaration<R: Record>: @unchecked Sendable {
  /// Immutable, and only compared.
  let keyPath: AnyKeyPath
  let resolve: @Sendable () -> FieldNaming.Resolution
  /// Calls with each text of the field.
  let forEachText: @Sendable (_ record: R, _ body: (String) -> Void) -> Void

  init<Text: SearchedText>(_ keyPath: any KeyPath<R, Text> & Sendable) {
    self.keyPath = keyPath
    resolve = { FieldNaming.storedPath(of: keyPath) }
    forEachText = { record, body in
      _ = record[keyPath: keyPath]._forEachText { text in
        body(text)
        return true
      }
    }
  }
}
