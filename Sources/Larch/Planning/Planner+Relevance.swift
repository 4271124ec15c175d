extension Planner {
  /// How well records match, if the query is sorted by that; nil for other orders.
  ///
  /// - Throws: `.invalidQuery` if it is not clear which words count, or no index has them.
  func relevance(of query: QueryDescription) throws -> Plan.Relevance? {
    if !query.isByRelevance { return nil }
    try Planner.check(query)
    var given: [Double]?
    for term in query.order {
      guard let weights = term.field.weights else { continue }
      guard given == nil || given == weights else {
        throw LarchError(
          .invalidQuery, "An order by relevance has one set of weights; name it once.")
      }
      given = weights
    }
    guard let given else { return nil }
    var tests: [WordsFilter] = []
    query.filter.collectWords(into: &tests)
    guard tests.count == 1, let test = tests.first else {
      throw LarchError(
        .invalidQuery,
        tests.isEmpty
          ? "An order by relevance needs words: the condition must have a `matches` over fields of the record itself, joined to the rest by `&&`."
          : "An order by relevance needs one `matches` in the condition, but there are several; join them to one query, or sort by a field."
      )
    }
    guard given.isEmpty || given.count == test.fields.count else {
      throw LarchError(
        .invalidQuery, "An order by relevance has one weight for each field of the `matches`."
      ) { $0.detail = "\(given.count) weights, \(test.fields.count) fields" }
    }
    guard let scan = schema.searchScan(of: test, among: searches),
      let search = schema.searches[scan.search].search
    else { throw noSearch(for: test) }
    var weights = [Double](repeating: 0, count: search.fields.count)
    for (place, field) in test.fields.enumerated() {
      guard let number = search.fields.firstIndex(where: { $0.identity == field.identity }) else {
        continue
      }
      // A field that is named twice has the sum of both weights.
      weights[number] += given.isEmpty ? 1 : given[place]
    }
    return Plan.Relevance(scan: scan, weights: weights)
  }

  private func noSearch(for test: WordsFilter) -> LarchError {
    let isDeclared = schema.searchScan(of: test, among: .max) != nil
    return LarchError(
      .invalidQuery,
      isDeclared
        ? "An order by relevance needs the index of a `Search`, which is not complete, or cannot be used without the types of the records; open the store for writing, with its types."
        : "An order by relevance needs an index of the words: declare a `Search` over all fields of the `matches`, with the rules of the query."
    ) { $0.field = test.fields.map(\.name).joined(separator: ", ") }
  }
}

extension FilterNode {
  /// Appends the tests of words that must be true.
  fileprivate func collectWords(into tests: inout [WordsFilter]) {
    switch self {
    case .words(let filter): tests.append(filter)
    case .all(let nodes): for node in nodes { node.collectWords(into: &tests) }
    case .any, .not, .field, .pair, .record, .related: break
    }
  }
}
