/// Chooses the plan of a query. A plan depends only on the parameters, so the same query with the
/// same statistics has the same plan.
struct Planner {
  let schema: CollectionSchema
  /// The indexes that can answer, by bit: the compiler of schemas allows 64.
  let usable: UInt64
  /// The searches that can answer, by bit.
  let searches: UInt64

  /// - Parameters:
  ///   - usable: the indexes that are complete and over all records, by bit.
  ///   - searches: the searches that are complete, by bit.
  init(schema: CollectionSchema, usable: UInt64, searches: UInt64 = 0) {
    self.schema = schema
    self.usable = usable
    self.searches = searches
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
    searches = 0
  }

  /// The plan with the lowest expected cost.
  ///
  /// - Throws: `.invalidQuery` for a negative limit or offset, the error of a filter that cannot be
  ///   used, and the errors of the statistics.
  func plan(
    _ query: QueryDescription, for need: QueryNeed, statistics: some PlanStatistics
  ) throws -> Plan {
    let relevance = try relevance(of: query)
    guard let task = try task(query, for: need) else { return .nothing(query) }
    var plan = try task.choose(statistics)
    plan.relevance = relevance
    return plan
  }

  /// The task of planning; nil if no record can be in the result.
  func task(_ query: QueryDescription, for need: QueryNeed) throws -> PlanTask? {
    try Planner.check(query)
    let filter = try query.filter.normalized()
    return filter.isNever || query.limit == 0 ? nil : task(filter, query, need)
  }

  /// - Parameter filter: the normalized filter of the query.
  func task(_ filter: FilterNode, _ query: QueryDescription, _ need: QueryNeed) -> PlanTask {
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
      after: query.after, offset: query.offset, limit: query.limit,
      relevance: try relevance(of: query))
  }

  static func check(_ query: QueryDescription) throws {
    guard query.offset >= 0, query.limit.map({ $0 >= 0 }) ?? true else {
      throw LarchError(
        .invalidQuery, "A limit or an offset is negative; use 0 or more.")
    }
    for term in query.order { if let error = term.error { throw error } }
  }
}

/// One query on its way to a plan: its conjuncts, and the order that is left to keep.
struct PlanTask {
  let schema: CollectionSchema
  /// The indexes that can answer, by bit.
  let usable: UInt64
  /// The searches that can answer, by bit.
  let searches: UInt64
  let conjuncts: [Conjunct]
  var need: QueryNeed
  var order: WantedOrder
  let after: PageToken?
  let offset: Int
  let limit: Int?

  init(_ planner: Planner, _ conjuncts: [Conjunct], _ query: QueryDescription, _ need: QueryNeed) {
    schema = planner.schema
    usable = planner.usable
    searches = planner.searches
    self.conjuncts = conjuncts
    self.need = need
    offset = query.offset
    limit = query.limit
    if query.after == nil, need.isAnyOrder {
      order = .any
      after = nil
    } else if query.order.isEmpty {
      order = .byID(descends: query.idsDescend)
      after = query.after
    } else {
      (order, after) = PlanTask.order(of: query, conjuncts)
    }
  }

  /// A part of another task: rows in any order, whose ids are needed.
  init(partOf task: PlanTask, _ conjuncts: [Conjunct]) {
    schema = task.schema
    usable = task.usable
    searches = task.searches
    self.conjuncts = conjuncts
    need = .ids
    order = .any
    after = nil
    offset = 0
    limit = nil
  }

  /// The order without the terms that are equal for all rows, and the token without their values.
  private static func order(
    of query: QueryDescription, _ conjuncts: [Conjunct]
  ) -> (WantedOrder, PageToken?) {
    var idsDescend = query.idsDescend
    var kept: [Int] = []
    for (place, term) in query.order.enumerated() {
      if term.field.identity == .id, !term.textForm.isFolded {
        // No two records have the same id, so later terms do not matter.
        idsDescend = term.descends
        break
      }
      let isRepeated = kept.contains {
        query.order[$0].textForm == term.textForm
          && query.order[$0].field.isSame(as: term.field)
      }
      if isRepeated { continue }
      if let value = constant(of: term.field, conjuncts) {
        guard let after = query.after else { continue }
        // A token of another query may hold another value, which then decides.
        if place < after.values.count, KeyValue.compare(after.values[place], value) == 0 {
          continue
        }
      } else if query.after == nil, case .place(let field, _) = term.field.identity,
        isConstant(field, conjuncts)
      {
        continue
      }
      kept.append(place)
    }
    if kept.count == query.order.count {
      return (.terms(query.order, idsDescend: idsDescend), query.after)
    }
    var after = query.after
    if let token = query.after {
      after?.values = kept.compactMap { $0 < token.values.count ? token.values[$0] : nil }
    }
    if kept.isEmpty { return (.byID(descends: idsDescend), after) }
    return (.terms(kept.map { query.order[$0] }, idsDescend: idsDescend), after)
  }

  /// The one value that every row has in the field.
  private static func constant(
    of field: FieldReference, _ conjuncts: [Conjunct]
  ) -> [KeyValue]? {
    if field.isMultiple { return nil }
    for conjunct in conjuncts {
      if case .field(let filter) = conjunct.node, case .equal(let values) = filter.test,
        filter.field.isSame(as: field)
      {
        return values
      }
    }
    return nil
  }

  /// Whether every row has the same case of an enum.
  private static func isConstant(_ field: FieldIdentity, _ conjuncts: [Conjunct]) -> Bool {
    conjuncts.contains { conjunct in
      guard case .field(let filter) = conjunct.node, case .equal = filter.test else { return false }
      return filter.field.identity == field && !filter.field.isMultiple
    }
  }

  /// The one value that every row has in the field.
  func constant(of field: FieldReference) -> [KeyValue]? {
    PlanTask.constant(of: field, conjuncts)
  }

  /// How many rows are enough; nil for all.
  var wanted: Int? { need.wanted(offset: offset, limit: limit) }

  /// Rows of ranges of ids come as they are wanted.
  var isByID: Bool {
    switch order {
    case .any, .byID: true
    case .terms: false
    }
  }
}

extension QueryDescription {
  /// How many rows are enough; nil for all.
  func wanted(for need: QueryNeed) -> Int? { need.wanted(offset: offset, limit: limit) }
}

extension QueryNeed {
  fileprivate func wanted(offset: Int, limit: Int?) -> Int? {
    let count: Int? = if case .exists = self { 1 } else { limit }
    guard let count else { return nil }
    let (sum, isTooGreat) = count.addingReportingOverflow(offset)
    return isTooGreat ? nil : sum
  }

  var isAnyOrder: Bool {
    switch self {
    case .count, .exists, .values, .counts, .distinctCount: true
    case .records, .recordValues, .ids, .fields, .distinct: false
    }
  }
}

extension UInt64 {
  func hasBit(_ place: Int) -> Bool { place < 64 && self & (1 &<< UInt64(place)) != 0 }

  mutating func setBit(_ place: Int) { self |= 1 &<< UInt64(place) }
}
