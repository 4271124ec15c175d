extension PreparedQuery {
  /// The plan, and those of the inner queries.
  var text: String {
    let text = plan.text(in: collection.schema)
    if relatedUses.isEmpty { return text }
    return ([text] + relatedUses.flatMap { $0.lines(in: plan, indent: 1) }).joined(separator: "\n")
  }
}

extension RelatedUse {
  /// How the filter is answered, and behind it the plan of the inner query.
  fileprivate func lines(in outer: Plan?, indent: Int) -> [String] {
    var lines = [FilterNode.related(related).text + ": " + manner(in: outer)]
    var isShown = plan != nil
    if case .nothing? = outer?.source { isShown = false }
    if isShown, let plan, let schema {
      for line in plan.text(in: schema).split(separator: "\n") { lines.append("  " + line) }
    }
    for use in inner { lines += use.lines(in: plan, indent: 1) }
    return lines.map { String(repeating: "  ", count: indent) + $0 }
  }

  private func manner(in outer: Plan?) -> String {
    if filter.listedBy != nil, count == nil {
      return outer?.source.reads(filter) ?? false ? "its list is read" : "asked of each row"
    }
    guard let count else { return "asked of each row, or collected once when that costs less" }
    let isDriving =
      field.map { outer?.source.isBounded(by: $0) ?? false } ?? outer?.source.reads(filter) ?? false
    return "collected first, \(count) \(count == 1 ? "id" : "ids")"
      + (isDriving ? "; the rows are found by it" : "; each row is compared")
  }
}

extension Plan.Source {
  /// Whether rows come from the lists that the filter names.
  fileprivate func reads(_ filter: RelatedFilter) -> Bool {
    switch self {
    case .list(let scan): scan.filter === filter
    case .union(let parts), .intersection(let parts): parts.contains { $0.reads(filter) }
    case .nothing, .records, .index: false
    }
  }

  /// Whether rows are looked for by values of the field.
  fileprivate func isBounded(by field: FieldReference) -> Bool {
    switch self {
    case .records(let ranges): field.identity == .id && ranges != [.everything]
    case .index(let scan):
      scan.bounds.contains { Conjunct($0).field.map { $0.isSame(as: field) } ?? false }
    case .union(let parts), .intersection(let parts):
      parts.contains { $0.isBounded(by: field) }
    case .nothing, .list: false
    }
  }
}
