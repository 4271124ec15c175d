extension PreparedQuery {
  /// The plan, and those of the inner queries; after a run, also what these did.
  var text: String {
    let text = plan.text(in: collection.schema)
    let unnamed = plan.unnamedFields(in: collection.schema, incomplete: collection.incomplete)
    let reasons =
      unnamed.map(\.reasonWithoutIndex) + missed.map(CollectionHandle.reason(missing:))
    if relatedUses.isEmpty, reasons.isEmpty { return text }
    let lines =
      [text] + reasons.map { "  " + $0 } + relatedUses.flatMap { $0.lines(in: plan, answers) }
    return lines.joined(separator: "\n")
  }
}

extension RelatedUse {
  /// How the filter is answered, followed by the plan of the inner query.
  fileprivate func lines(in outer: Plan?, _ answers: RelatedAnswers?) -> [String] {
    let name =
      related.filter.isAlways && related.least == 1
      ? related.name : FilterNode.related(related).text
    var lines = [name + ": " + manner(in: outer, answers)]
    if let plan, let schema {
      for line in plan.text(in: schema).split(separator: "\n") { lines.append("  " + line) }
      lines += missed.map { "    " + CollectionHandle.reason(missing: $0) }
    }
    for use in inner { lines += use.lines(in: plan, answers) }
    return lines.map { "  " + $0 }
  }

  private func manner(in outer: Plan?, _ answers: RelatedAnswers?) -> String {
    if count == nil, outer?.source.reads(filter) ?? false { return "its list is read" }
    guard let count else {
      guard let test = answers?.knownTest(filter), test.isCollected || test.rowsAsked > 0 else {
        return "asked of each row, or collected once when that costs less"
      }
      let rows = "\(test.rowsAsked) \(test.rowsAsked == 1 ? "row was" : "rows were") asked"
      return test.isCollected ? "collected once, after \(rows)" : rows
    }
    let isDriving =
      field.map { outer?.source.isBounded(by: $0) ?? false } ?? outer?.source.reads(filter) ?? false
    return "collected first, \(count) \(count == 1 ? "id" : "ids")"
      + (isDriving ? "; the rows are found by it" : "; each row is compared")
  }
}

extension Plan.Source {
  /// Whether rows come from the lists of the filter.
  fileprivate func reads(_ filter: RelatedFilter) -> Bool {
    switch self {
    case .list(let scan): scan.filter === filter
    case .union(let parts), .intersection(let parts): parts.contains { $0.reads(filter) }
    case .nothing, .records, .index, .search: false
    }
  }

  /// Whether rows are found by values of the field.
  fileprivate func isBounded(by field: FieldReference) -> Bool {
    switch self {
    case .records(let ranges): field.identity == .id && ranges != [.everything]
    case .index(let scan):
      scan.bounds.contains { Conjunct($0).field.map { $0.isSame(as: field) } ?? false }
    case .union(let parts), .intersection(let parts):
      parts.contains { $0.isBounded(by: field) }
    case .nothing, .list, .search: false
    }
  }
}
