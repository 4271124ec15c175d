/// The plan of a join.
struct JoinPlan: Sendable {
  var join: JoinDescription
  /// The side that is read row by row.
  var outer: Plan
  /// The other side, if it is read as a whole.
  var inner: Plan
  /// Whether the outer side is the left one.
  var isLeftOuter = true
  /// How partners are found on the inner side.
  var access: JoinAccess
  /// The rest of the order, after that of the outer plan.
  var order: [JoinOrderTerm]

  /// Whether rows are collected and sorted.
  var isSorting: Bool { !order.isEmpty || !isLeftOuter }

  /// The filter and the order of partners that are looked up.
  var innerQuery: QueryDescription {
    if isLeftOuter { return join.right }
    // Sorted with all other rows.
    return QueryDescription(filter: join.left.filter)
  }
}

extension JoinPlan {
  /// The plan on a few lines: the outer side, then how its partners are found.
  ///
  /// - Parameters:
  ///   - outer: the text of the outer plan, if it has more than the plan itself.
  ///   - inner: the same of the inner one.
  func text(
    left: CollectionSchema, right: CollectionSchema, outer outerText: String? = nil,
    inner innerText: String? = nil
  ) -> String {
    let outerSchema = isLeftOuter ? left : right
    let innerSchema = isLeftOuter ? right : left
    var lines = [
      "\(join.kind) join, \(left.name).\(join.leftField.name) == "
        + "\(right.name).\(join.rightField.name)"
    ]
    lines.append("  outer " + outerSchema.name)
    lines += JoinPlan.indented(outerText ?? outer.text(in: outerSchema))
    lines.append("  inner " + innerSchema.name)
    switch access {
    case .table:
      lines.append("    table of")
      lines += JoinPlan.indented(innerText ?? inner.text(in: innerSchema)).map { "  " + $0 }
    case .id, .index:
      var way = "by id"
      if case .index(let place) = access { way = "by index " + innerSchema.indexes[place].name }
      lines.append("    " + way)
      if !innerQuery.filter.isAlways { lines.append("      filter " + innerQuery.filter.text) }
      if !innerQuery.order.isEmpty || innerQuery.idsDescend {
        lines.append("      sort those of each row")
      }
    }
    if isSorting { lines.append("  " + sortText) }
    if join.offset > 0 { lines.append("  offset \(join.offset)") }
    if let limit = join.limit { lines.append("  limit \(limit)") }
    return lines.joined(separator: "\n")
  }

  private var sortText: String {
    var terms = order.map { term in
      (term.isLeft ? "left." : "right.") + term.term.field.name
        + term.term.textForm.words
        + (term.term.descends ? " descending" : "")
    }
    if !isLeftOuter { terms.append("the order of the left") }
    return "sort by " + terms.joined(separator: ", ")
  }

  private static func indented(_ text: String) -> [String] {
    text.split(separator: "\n").map { "    " + $0 }
  }
}
