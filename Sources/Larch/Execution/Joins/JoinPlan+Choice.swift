extension QueryDescription {
  /// Whether the result depends on more than the values of each record.
  var isPart: Bool { limit != nil || offset != 0 || after != nil }
}

extension JoinDescription {
  /// The order of the left query, and the part of the join's order that it does not give.
  ///
  /// An order by left fields alone becomes that of the left query, which an index may serve. This
  /// does not work if there are rows without a left record, or if the left query has a limit, whose
  /// records depend on its own order.
  var ordersByLeft: (left: [OrderTerm], rest: [JoinOrderTerm]) {
    guard !keepsRight, !left.isPart, order.allSatisfy(\.isLeft) else { return (left.order, order) }
    return (order.map(\.term) + left.order, [])
  }
}

extension JoinPlan {
  /// Chooses how partners are found, and which side is read row by row.
  ///
  /// - Parameters:
  ///   - leftPlan: how the left is read row by row.
  ///   - rightPlan: the same of the right.
  ///   - takesIncomplete: whether incomplete indexes count as complete, to tell what would be chosen.
  init(
    _ join: JoinDescription, order: [JoinOrderTerm], _ leftPlan: Plan, _ left: CollectionHandle,
    _ rightPlan: Plan, _ right: CollectionHandle, _ context: TransactionContext,
    takesIncomplete: Bool = false
  ) throws {
    let ways = JoinPlan.ways(
      join, order: order, leftPlan, left, rightPlan, right, takesIncomplete: takesIncomplete)
    self = ways[0]
    let turned = ways.first { !$0.isLeftOuter }
    if access == .table, turned == nil { return }
    let leftCount = try leftPlan.rowsRead(in: left, context)
    let rightCount = try rightPlan.rowsRead(in: right, context)
    if leftCount <= rightCount { return }
    // The expected number of rows, if the values are spread evenly.
    let picked = Double(min(rightCount, rightPlan.limit ?? .max))
    let all = try right.records.statistics(in: context.transaction()).entries
    let rows = Double(leftCount) * picked / Double(max(1, all))
    var straight = Double(leftCount)
    if order.isEmpty, let limit = join.limit {
      // It ends with the last wanted row, long before the last record.
      straight *= min(1, (Double(limit) + Double(join.offset)) / max(1, rows))
    }
    // An index finds the partners that the filter refuses, too: of few that pass, nearly all are
    // read for nothing, and once again for each row.
    if rightCount <= JoinPlan.mostInTable, rightCount * 8 <= all, Double(rightCount) * 2 < straight,
      let table = ways.first(where: { $0.access == .table })
    {
      self = table
    }
    guard let turned else { return }
    // A row costs a search and a place in the sort; a record of a scan costs one step.
    if (Double(rightCount) + rows * 4) * 2 < straight { self = turned }
  }

  /// More records are kept in a table only if they cannot be looked up.
  private static let mostInTable = 20_000

  /// All plans for the join: first the best one that reads the left side row by row, and the table
  /// as the last of these.
  static func ways(
    _ join: JoinDescription, order: [JoinOrderTerm], _ leftPlan: Plan, _ left: CollectionHandle,
    _ rightPlan: Plan, _ right: CollectionHandle, takesIncomplete: Bool = false
  ) -> [JoinPlan] {
    var ways: [JoinPlan] = []
    func add(_ access: JoinAccess, isLeftOuter: Bool = true) {
      ways.append(
        JoinPlan(
          join: join, outer: isLeftOuter ? leftPlan : rightPlan,
          inner: isLeftOuter ? rightPlan : leftPlan, isLeftOuter: isLeftOuter, access: access,
          order: order))
    }
    // All records of the right are needed, so they are read anyway; or the right query has a limit,
    // and a single record does not show whether it is within it.
    if !join.keepsRight, !join.right.isPart,
      let found = access(to: join.rightField, of: right, takesIncomplete: takesIncomplete)
    {
      add(found)
    }
    add(.table)
    // Rows have to be sorted then, so every row must have a place in the order of the left.
    if !join.keepsRight, !join.keepsLeft, !join.left.isPart,
      let found = access(to: join.leftField, of: left, takesIncomplete: takesIncomplete)
    {
      add(found, isLeftOuter: false)
    }
    return ways
  }

  /// How to find records by the value of a field; nil if all of them must be read.
  static func access(
    to field: FieldReference, of collection: CollectionHandle, takesIncomplete: Bool = false
  ) -> JoinAccess? {
    if field.identity == .id, !field.isMultiple,
      ReferenceForm(field.form.unwrapped, collection.stored.idKind) != nil
    {
      return .id
    }
    var best: IndexHandle?
    let usable = collection.answering | (takesIncomplete ? collection.incomplete : 0)
    for index in collection.indexes where usable.hasBit(index.position) {
      let first = index.schema.fields[0]
      guard first.identityHash == field.identityHash, first.identity == field.identity,
        first.form.unwrapped == field.form.unwrapped, !first.isFolded,
        first.isMultiple == field.isMultiple
      else { continue }
      // A record has no entry if another field of the index is an empty list.
      if index.schema.fields.dropFirst().contains(where: \.isMultiple) { continue }
      // Fewer fields mean fewer keys per value.
      if let best, best.schema.fields.count <= index.schema.fields.count { continue }
      best = index
    }
    return best.map { .index($0.position) }
  }
}

extension Plan {
  /// The approximate number of rows that are read to get the wanted ones.
  fileprivate func rowsRead(
    in collection: CollectionHandle, _ context: TransactionContext
  ) throws -> Int {
    let count = try source.rows(IndexStatistics(collection, context))
    guard let limit, isInOrder, residue.isEmpty else { return count }
    let (wanted, isTooGreat) = limit.addingReportingOverflow(offset)
    return isTooGreat ? count : min(count, wanted)
  }
}

extension Plan.Source {
  fileprivate func rows(_ statistics: IndexStatistics) throws -> Int {
    switch self {
    case .nothing: return 0
    case .records(let ranges):
      let count = try statistics.recordCount()
      // A range of one id goes from the id to the same id with a zero after it.
      let isSingle = ranges.allSatisfy { $0.upper?.count == $0.lower.count + 1 }
      return isSingle ? min(ranges.count, count) : count
    case .index(let scan): return try statistics.estimate(index: scan.index, ranges: scan.ranges)
    case .list(let scan): return try statistics.estimate(scan)
    case .search(let scan): return try statistics.estimate(scan)
    case .union(let parts):
      return try parts.reduce(0) { $0 + (try $1.rows(statistics)) }
    case .intersection(let parts):
      return try parts.reduce(Int.max) { min($0, try $1.rows(statistics)) }
    }
  }
}
