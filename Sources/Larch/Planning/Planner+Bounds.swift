/// Where all records are that pass a filter: with these ids, or with these keys in an index.
enum RowBounds: Sendable, Equatable {
  case ids([KeyRange])
  /// The place of the index in the schema.
  case index(Int, [KeyRange])
}

extension Planner {
  /// How many ranges the bounds of a filter may have.
  private static var rangeLimit: Int { 1000 }

  /// Parts that together have every record that passes a filter; nil if any record may pass.
  ///
  /// They are those of a plan that counts no costs: nothing is read, so any bound is better than
  /// none, and the one with the fewest records is guessed without statistics. Like the ranges of a
  /// scan they may have other records too, but lack none.
  ///
  /// - Throws: the error of a filter that cannot be used.
  func bounds(of filter: FilterNode) throws -> [RowBounds]? {
    guard let task = try task(QueryDescription(filter: filter), for: .count) else { return [] }
    guard let bounds = try task.bounds() else { return nil }
    var count = 0
    for part in bounds {
      switch part {
      case .ids(let ranges), .index(_, let ranges):
        if ranges.contains(where: \.isEverything) { return nil }
        count += ranges.count
      }
    }
    return count <= Planner.rangeLimit ? bounds : nil
  }
}

extension PlanTask {
  fileprivate func bounds() throws -> [RowBounds]? {
    let ids = boundsOfID()
    if let ids, ids.isPoints || ids.ranges.isEmpty { return [.ids(ids.ranges)] }
    let found = matches(among: usable).filter { $0.used != 0 }
    for match in found.sorted(by: isNarrower) {
      guard let candidate = scan(match) else { continue }
      if case .index(let scan) = candidate.source { return [.index(scan.index, scan.ranges)] }
      if case .nothing = candidate.source { return [] }
    }
    if let ids { return [.ids(ids.ranges)] }
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .any(let branches) = conjunct.node else { continue }
      var rest = conjuncts.map(\.node)
      rest.remove(at: place)
      if let parts = try bounds(of: branches, and: rest) { return parts }
    }
    return nil
  }

  /// The bounds of all branches; nil if one of them has none.
  private func bounds(of branches: [FilterNode], and rest: [FilterNode]) throws -> [RowBounds]? {
    var parts: [RowBounds] = []
    for branch in branches {
      let filter = try FilterNode.all([branch] + rest).normalized()
      if filter.isNever { continue }
      let nodes: [FilterNode]
      if case .all(let list) = filter { nodes = list } else { nodes = [filter] }
      let task = PlanTask(partOf: self, nodes.map { Conjunct($0) })
      guard let found = try task.bounds() else { return nil }
      parts += found
    }
    return parts
  }

  /// Whether an index probably has fewer records in its ranges than another one.
  private func isNarrower(_ a: IndexMatch, _ b: IndexMatch) -> Bool {
    if a.isUnique != b.isUnique { return a.isUnique }
    let (points, others) = (selectivePoints(a), selectivePoints(b))
    if points != others { return points > others }
    let (used, usedByOther) = (a.used.nonzeroBitCount, b.used.nonzeroBitCount)
    if used != usedByOther { return used > usedByOther }
    if a.rangeCount != b.rangeCount { return a.rangeCount < b.rangeCount }
    // A whole key is found sooner than the beginning of one.
    let (fields, othersFields) = (
      schema.indexes[a.index].fields.count, schema.indexes[b.index].fields.count
    )
    return fields == othersFields ? a.index < b.index : fields < othersFields
  }

  /// The components with constants, without those that have two values only.
  private func selectivePoints(_ match: IndexMatch) -> Int {
    schema.indexes[match.index].fields.prefix(match.pointCount).count { !$0.isBool }
  }
}
