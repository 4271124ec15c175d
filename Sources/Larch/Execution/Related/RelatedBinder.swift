/// Runs inner queries before the outer one is planned, if that is expected to cost no more than
/// testing the rows one by one. Their results replace the filters as tests of fields, which the
/// planner answers like any others, with indexes if there are any.
struct RelatedBinder {
  private let answers: RelatedAnswers
  /// How each filter about related records is answered, in the order of the query.
  private(set) var uses: [RelatedUse] = []

  /// More ids than this are not bounds of a plan: they are kept as a set for testing the rows.
  private static let idLimit = 20_000
  /// The cost of reading the related records of one row.
  private static let rowCost = 20.0
  /// The cost that an inner query may always have, without planning the outer one.
  private static let leastBudget = 200.0

  init(_ answers: RelatedAnswers) { self.answers = answers }

  /// The same query, with the results of inner queries.
  mutating func bind(
    _ query: QueryDescription, for need: QueryNeed, in collection: CollectionHandle
  ) throws -> QueryDescription {
    guard query.filter.asksRelated else { return query }
    var query = query
    let rows = try rowsAsked(of: query, for: need, in: collection)
    query.filter = try bind(query.filter, rows)
    return query
  }

  /// The number of rows whose related records would have to be read, if these filters could not
  /// help to find rows.
  private func rowsAsked(
    of query: QueryDescription, for need: QueryNeed, in collection: CollectionHandle
  ) throws -> RowsAsked {
    switch answers.strategy {
    case .first: return RowsAsked(rows: .infinity, wanted: .infinity)
    case .eachRow, .once, .control: return RowsAsked(rows: -1, wanted: .infinity)
    case .byCost: break
    }
    var plain = query
    plain.filter = query.filter.withoutRelated()
    let limit = plain.limit
    plain.limit = nil
    let statistics = IndexStatistics(collection, answers.context)
    let planner = Planner(
      schema: collection.schema, usable: collection.answering,
      searches: collection.answeringSearches)
    let plan = try planner.plan(plain, for: need, statistics: statistics)
    let rows = try plan.expectedCost(statistics).results
    var wanted = Double.infinity
    // A sort reads all rows, however many are wanted.
    if case .sorted = plan.order {
      wanted = .infinity
    } else if case .exists = need {
      wanted = 1
    } else if let limit {
      wanted = Double(limit) + Double(query.offset)
    }
    return RowsAsked(rows: rows, wanted: wanted)
  }

  private struct RowsAsked {
    var rows: Double
    /// The number of passing rows that are enough.
    var wanted: Double

    /// The cost that is worth spending to avoid testing the rows.
    func budget(share: Double) -> Double {
      if rows < 0 { return -1 }
      return max(leastBudget, min(rows, wanted / max(share, 1e-9)) * rowCost)
    }
  }

  private mutating func bind(_ filter: FilterNode, _ asked: RowsAsked) throws -> FilterNode {
    switch filter {
    case .all(let nodes): return .all(try nodes.map { try bind($0, asked) })
    case .any(let nodes): return .any(try nodes.map { try bind($0, asked) })
    case .not(let node): return .not(try bind(node, asked))
    case .related(let related): return try bind(related, asked)
    case .field, .pair, .words, .record: return filter
    }
  }

  private mutating func bind(_ related: RelatedFilter, _ asked: RowsAsked) throws -> FilterNode {
    let route = try RelatedRoute(related, answers.context)
    if related.least > 1 {
      // In any case a few entries are read for each row.
      uses.append(RelatedUse(related: related, filter: related, inner: []))
      return .related(related)
    }
    var inner = RelatedBinder(answers)
    // A nested filter may cost at most what the rows around it are worth.
    let bound = try inner.bind(
      related.filter, RowsAsked(rows: asked.rows, wanted: .infinity))
    let filter =
      related.filter.asksRelated
      ? RelatedFilter(related.route, related.target, bound) : related
    var use = RelatedUse(related: related, filter: filter, inner: inner.uses)
    defer { uses.append(use) }
    if filter.listedBy != nil { return .related(filter) }
    // Testing for existence is one search per row.
    if bound.isAlways, answers.strategy != .first { return .related(filter) }
    let plan = try answers.plan(bound, in: route.target, for: route.need)
    use.plan = plan
    use.schema = route.target.schema
    let statistics = IndexStatistics(route.target, answers.context)
    use.missed = try route.target.missedIndexes(
      QueryDescription(filter: bound), for: route.need, statistics, answers.context)
    let cost = try plan.expectedCost(statistics)
    let total = Double(try statistics.recordCount())
    let share = cost.results / max(total, 1)
    guard cost.work <= asked.budget(share: share) else { return .related(filter) }
    guard let values = try answers.test(filter).found(plan, upTo: RelatedBinder.idLimit) else {
      return .related(filter)
    }
    use.count = values.count
    if case .links = route.kind {
      let ids = FieldFilter(route.target.idField, .oneOf(values))
      let lists = RelatedFilter(related.route, related.target, .field(ids))
      use.filter = lists
      return values.isEmpty ? .never : .related(lists)
    }
    use.field = route.ownerField
    return .field(FieldFilter(route.ownerField, .oneOf(values)))
  }
}

/// How a filter about related records is answered.
struct RelatedUse {
  /// The filter in the query.
  let related: RelatedFilter
  /// The filter that is tested: nested filters may be bound.
  var filter: RelatedFilter
  var inner: [RelatedUse]
  /// The plan of the inner query, and the schema of its records.
  var plan: Plan?
  var schema: CollectionSchema?
  /// The names of the incomplete indexes that the plan would use if they were complete.
  var missed: [String] = []
  /// How many ids it found, if it was run.
  var count: Int?
  /// The field of the outer records that the ids are compared with.
  var field: FieldReference?
}
