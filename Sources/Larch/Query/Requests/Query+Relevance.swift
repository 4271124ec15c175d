// Orders in which the best match of a search comes first. They have a name of their own: as a form of
// `sorted(by:)` they would take the compiler's words for a misspelt field.

extension Query {
  /// Sorts by how well records match the words of the condition, the best first.
  ///
  /// ```swift
  /// let best = Article.where { typed.matches($0.title, $0.body) && $0.year > 2020 }
  ///   .sortedByRelevance(weights: 4, 1).limit(20)
  /// ```
  ///
  /// A record matches better the more often it has the words of the query, the fewer other words it has, and the
  /// fewer records have them (BM25). The words are those of the `matches` in the condition: there must be one,
  /// joined to the rest by `&&`, and a ``Search`` over its fields. Running the query is an `.invalidQuery`
  /// otherwise. What is excluded by `!` does not count.
  ///
  /// The counts are those of the whole collection at the moment of the read, so saving another record may change
  /// the order of two that stay the same. Records that match equally come in the order of their ids.
  ///
  /// - Parameter weights: how much a word counts in each field of the `matches`, in the same order, from 0 to
  ///   1,000,000; without any, each field counts the same. Running the query is an `.invalidQuery` if their
  ///   number is another one, or a weight is not in this range.
  /// - Complexity: when it runs, O(*n*) in the records that have the words, from the index alone. With a
  ///   limit, and no other field in the order, only the records that are returned are read, and those before them
  ///   that fail other conditions.
  public func sortedByRelevance(weights: Double...) -> Query {
    sortedByRelevance(weights: weights)
  }

  /// The same with computed weights.
  public func sortedByRelevance(weights: [Double]) -> Query {
    sorted(by: .relevance(weights), first: true)
  }

  /// Sorts records that are equal in the order so far by how well they match. See
  /// `sortedByRelevance`.
  public func thenByRelevance(weights: Double...) -> Query { thenByRelevance(weights: weights) }

  /// The same with computed weights.
  public func thenByRelevance(weights: [Double]) -> Query {
    sorted(by: .relevance(weights), first: false)
  }

  /// - Parameter first: whether it matters more than the order so far.
  fileprivate func sorted(by term: OrderTerm, first: Bool) -> Query {
    with { $0.order.insert(term, at: first ? 0 : $0.order.count) }
  }
}

extension Selection {
  /// Sorts by how well records match the words of the condition, the best first. See
  /// `Query.sortedByRelevance(weights:)`.
  public func sortedByRelevance(weights: Double...) -> Selection {
    sortedByRelevance(weights: weights)
  }

  /// The same with computed weights.
  public func sortedByRelevance(weights: [Double]) -> Selection {
    with { $0.sorted(by: .relevance(weights), first: true) }
  }

  /// Sorts records that are equal in the order so far by how well they match.
  public func thenByRelevance(weights: Double...) -> Selection { thenByRelevance(weights: weights) }

  /// The same with computed weights.
  public func thenByRelevance(weights: [Double]) -> Selection {
    with { $0.sorted(by: .relevance(weights), first: false) }
  }
}

extension OrderTerm {
  /// The best match first.
  ///
  /// - Parameter weights: those of the fields; none if all are the same.
  static func relevance(_ weights: [Double] = []) -> OrderTerm {
    OrderTerm(field: FieldReference(ofRelevance: weights), descends: true)
  }
}

extension FieldReference {
  /// The score of a record in an order by relevance.
  ///
  /// - Parameter weights: those of the fields; none if all are the same.
  package convenience init(ofRelevance weights: [Double]) {
    let isValid = weights.allSatisfy { (0...1_000_000).contains($0) }
    let shown = weights.map { $0.description.replacing(/\.0$/, with: "") }.joined(separator: ", ")
    self.init(
      form: .primitive(.double), isMultiple: false, isStandard: false,
      name: weights.isEmpty ? "relevance" : "relevance(\(shown))",
      identity: .computed(\RelevanceWeights.[weights]), weights: weights,
      error: isValid
        ? nil
        : LarchError(
          .invalidQuery, "A weight of a field must be a number from 0 to 1,000,000; change it."
        ) { $0.detail = shown })
  }
}

/// Its key paths identify orders by relevance.
private struct RelevanceWeights {
  subscript(weights: [Double]) -> [Double] { weights }
}

extension QueryDescription {
  /// Whether it is sorted by relevance, so that rows depend on all records of the collection.
  var isByRelevance: Bool { order.contains { $0.field.weights != nil } }
}
