extension Query: CustomStringConvertible {
  /// The query on a few lines, in the words of plans: the collection, the condition, the order, the
  /// offset and the limit.
  ///
  /// ```text
  /// Person
  ///   filter city == "London" && age >= 18
  ///   sort by age descending
  ///   limit 20
  /// ```
  ///
  /// The text contains the values of the filter, shortened if they are long. To see how a store
  /// answers the query, use `RecordReading.explain(_:running:)`.
  public var description: String { lines.joined(separator: "\n  ") }

  fileprivate var lines: [String] {
    var lines = [R.collectionName]
    if !details.filter.isAlways { lines.append("filter " + details.filter.text) }
    if let order = orderText { lines.append("sort by " + order) }
    if let after = details.after { lines.append("after " + text(of: after)) }
    if details.offset != 0 { lines.append("offset \(details.offset)") }
    if let limit = details.limit { lines.append("limit \(limit)") }
    for field in [FieldReference](unnamedIn: [details.filter], details.order) {
      lines.append(field.reasonUnlessIndexed)
    }
    return lines
  }

  private var orderText: String? {
    if details.order.isEmpty { return details.idsDescend ? "id descending" : nil }
    return details.order.map(\.text).joined(separator: ", ")
      + (details.idsDescend ? ", ids descending" : "")
  }

  private func text(of token: PageToken) -> String {
    if PlanText.hidesValues { return PlanText.hidden }
    let id = token.id.withUnsafeBytes { R.ID.idKind.text(of: $0) }
    return (token.values.map { PlanText.value($0) } + ["id \(id)"]).joined(separator: ", ")
  }
}

extension Related: CustomStringConvertible {
  /// The description of ``query``.
  public var description: String { query.description }
}

extension Selection: CustomStringConvertible {
  /// The description of the query, with the names of the fields.
  public var description: String {
    let selected =
      (isDistinct ? "select distinct " : "select ") + fields.map(\.name).joined(separator: ", ")
    return (query.lines + [selected]).joined(separator: "\n  ")
  }
}
