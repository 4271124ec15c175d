// `typed.matches($0.title, $0.body)` is written with the query first, as over an array: so one closure is
// a filter and its definition, and a property that is called `matches` or `search` keeps its name.

extension TextQuery {
  /// The words of fields: texts, optional texts, and arrays and sets of texts, also of related records.
  ///
  /// ```swift
  /// let typed = TextQuery("larch tree*")
  /// let found = try store.fetch(
  ///   Article.where { typed.matches($0.title, $0.author.name) && $0.year > 2000 })
  /// ```
  ///
  /// A word may stand in any of the fields. A phrase stands in one field, or in one element of an array. Nil
  /// has no words. The answer is that of the same call over the values.
  ///
  /// A ``Search`` over the fields answers it without reading texts. Without one, Larch cuts the texts of each
  /// record that passes all other conditions into words, without decoding the record.
  ///
  /// - Complexity: with a ``Search``, O(*n*) in the records that have the words; else O(*n* · *m*) in the words of a
  ///   record and of the query, for each record that is tested.
  public func matches<Root, First: SearchedText, each Text: SearchedText>(
    _ first: Field<Root, First>, _ rest: repeat Field<Root, each Text>
  ) -> Filter<Root> {
    var places = WordPlaces<Root>()
    places.add(first)
    for field in repeat each rest { places.add(field) }
    return Filter(places.filter(node))
  }
}

extension Field where Value: SearchedText {
  /// Not available: the query comes first.
  @available(
    *, unavailable,
    message: "the query comes first: `TextQuery(typed).matches($0.title, $0.body)`"
  )
  public func matches(_ query: TextQuery) -> Filter<Root> { query.matches(self) }

  /// Not available: the query comes first.
  @available(
    *, unavailable,
    message: "the query comes first: `TextQuery(typed).matches($0.title, $0.body)`"
  )
  public func matches(_ typed: String) -> Filter<Root> { TextQuery(typed).matches(self) }
}

/// The places at which words are looked for: those that one test reads together.
private struct WordPlaces<Root> {
  private struct Place {
    /// That of a related record; empty for the record itself.
    var path: [String]
    var fields: [FieldReference]
    let wrap: RelatedWrap?
    /// For a field that only the decoded record has.
    let decoded: ((TextQuery) -> FilterNode)?
  }

  private var places: [Place] = []

  mutating func add<Text: SearchedText>(_ field: Field<Root, Text>) {
    let node = field.node
    guard node.error == nil, let reference = node.textField else {
      places.append(
        Place(path: [], fields: [], wrap: nil) { query in
          field.filter("matches …", decoded: { query.matches($0) }).node
        })
      return
    }
    let path = node.related?.path ?? []
    let known = places.firstIndex { $0.decoded == nil && $0.path == path }
    if let known {
      places[known].fields.append(reference)
    } else {
      places.append(
        Place(path: path, fields: [reference], wrap: node.related?.wrap, decoded: nil))
    }
  }

  /// The query over all places: as a whole if there is one, otherwise phrase by phrase, since a phrase may
  /// be in any of them.
  func filter(_ node: TextQuery.Node) -> FilterNode {
    if places.count == 1 { return filter(node, places[0]) }
    switch node {
    case .all(let nodes): return .all(nodes.map { filter($0) })
    case .any(let nodes): return .any(nodes.map { filter($0) })
    case .not(let node): return .not(filter(node))
    case .phrase: return .any(places.map { filter(node, $0) })
    }
  }

  private func filter(_ node: TextQuery.Node, _ place: Place) -> FilterNode {
    let query = TextQuery(node)
    if let decoded = place.decoded { return decoded(query) }
    let filter = FilterNode.words(WordsFilter(place.fields, query))
    return place.wrap?(filter, query.matches()) ?? filter
  }
}

extension FieldNode {
  /// The field of its texts; nil if only the decoded record has them.
  fileprivate var textField: FieldReference? {
    if let field = key?.field, field.holdsTexts { return field }
    if let field = elementField, field.holdsTexts { return field }
    return nil
  }
}
