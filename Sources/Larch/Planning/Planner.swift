/// Chooses the plan of a query. A plan depends only on the parameters, so the same query with the
/// same statistics has the same plan.
struct Planner {
  let schema: CollectionSchema
  /// The indexes that can answer, by bit: the compiler of schemas allows 64.
  let usable: UInt64

  /// - Parameter usable: the indexes that are complete and over all records, by bit.
  init(schema: CollectionSchema, usable: UInt64) {
    self.schema = schema
    self.usable = usable
  }

  /// - Parameter isReadable: whether an index is complete.
  init(schema: CollectionSchema, isReadable: (Int) -> Bool) {
    self.schema = schema
    var usable: UInt64 = 0
    for (number, index) in schema.indexes.enumerated()
    where number < UInt64.bitWidth && !index.isPartial && isReadable(number) {
      usable |= 1 << UInt64(number)
    }
    self.usable = usable
  }

  /// The plan with the lowest expected cost.
  ///
  /// - Throws: `.invalidQuery` for a negative limit or offset, the error of a filter that cannot be
  ///   used, and the errors of the statistics.
  func plan(
    _ query: QueryDescription, for need: QueryNeed, statistics: some PlanStatistics
  ) throws -> Plan {
    guard let task = try task(query, for: need) else {
      return Plan(
        source: .nothing, residue: [], order: .any, isCovering: true, offset: query.offset,
        limit: query.limit)
    }
    return try task.choose(statistics)
  }

  /// The task of planning; nil if no record can be in the result.
  func task(_ query: QueryDescription, for need: QueryNeed) throws -> PlanTask? {
    try Planner.check(query)
    let filter = try query.filter.normalized()
    if filter.isNever || query.limit == 0 { return nil }
    var conjuncts: [Conjunct] = []
    if case .all(let nodes) = filter {
      conjuncts.reserveCapacity(nodes.count)
      for node in nodes { conjuncts.append(Conjunct(node)) }
    } else {
      conjuncts.append(Conjunct(filter))
    }
    return PlanTask(self, conjuncts, query, need)
  }

  /// A full scan with the filter as written: the reference for checking other plans.
  ///
  /// - Throws: `.invalidQuery` for a negative limit or offset.
  func fullScan(_ query: QueryDescription, for need: QueryNeed) throws -> Plan {
    try Planner.check(query)
    _ = try query.filter.normalized()
    let order: Plan.RowOrder =
      query.order.isEmpty
      ? .byID(descends: query.idsDescend) : .sorted(query.order, idsDescend: query.idsDescend)
    return Plan(
      source: .records([.everything]), residue: [query.filter], order: order, isCovering: false,
      after: query.after, offset: query.offset, limit: query.limit)
  }

  private static func check(_ query: QueryDescription) throws {
    guard query.offset >= 0, query.limit.map({ $0 >= 0 }) ?? true else {
      throw LarchError(
        .invalidQuery, "A limit or an offset is negative; use 0 or more.")
    }
    for term in query.order { if let error = term.field.error { throw error } }
  }
}
