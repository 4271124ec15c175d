/// Runs inner queries before the outer one is planned, where that is expected to cost no more than
/// asking the rows one by one, and puts what they found in their place: tests of fields, which the
/// planner answers as any others, by indexes where there are such.
struct RelatedBinder {
  private let answers: RelatedAnswers
  /// How each filter about related records is answered, in the order they were written in.
  private(set) var uses: [RelatedUse] = []

  /// More ids than these are no bounds of a plan: they are kept as a set for the rows.
  private static let idLimit = 20_000
  /// A look at the related records of one row.
  private static let rowCost = 20.0
  /// So much is spent on an inner query without a look at the outer one.
  private static let leastBudget = 200.0

  init(_ answers: RelatedAnswers) { self.answers = answers }

  /// The same query, with what inner queries found.
  mutating func bind(
    _ query: QueryDescription, for need: QueryNeed, in collection: CollectionHandle
  ) throws -> QueryDescription {
    guard query.filter.asksRelated else { return query }
    var query = query
    let rows = try rowsAsked(of: query, for: need, in: collection)
    query.filter = try bind(query.filter, rows)
    return query
  }

  /// How many rows would have to be asked for their related records, if these had no say in how
  /// they are found.
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
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let plan = try planner.plan(plain, for: need, statistics: statistics)
    let rows = try plan.figures(statistics).results
    var wanted = Double.infinity
    // A sort has to see all rows, whatever is wanted of them.
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
    /// Of those that pass, so many are enough.
    var wanted: Double

    /// What may be spent so as not to ask the rows.
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
    case .field, .pair, .record: return filter
    }
  }

  private mutating func bind(_ related: RelatedFilter, _ asked: RowsAsked) throws -> FilterNode {
    let route = try RelatedRoute(related, answers.context)
    if related.least > 1 {
      // A look at a few entries for each row, whatever it is.
      uses.append(RelatedUse(related: related, filter: related, inner: []))
      return .related(related)
    }
    var inner = RelatedBinder(answers)
    // What lies inside costs at most what the rows outside are worth.
    let bound = try inner.bind(
      related.filter, RowsAsked(rows: asked.rows, wanted: .infinity))
    let filter =
      related.filter.asksRelated
      ? RelatedFilter(related.route, related.target, bound) : related
    var use = RelatedUse(related: related, filter: filter, inner: inner.uses)
    defer { uses.append(use) }
    if filter.listedBy != nil { return .related(filter) }
    // Whether there is any is one search for each row.
    if bound.isAlways, answers.strategy != .first { return .related(filter) }
    let plan = try answers.plan(bound, in: route.target, for: route.need)
    use.plan = plan
    use.schema = route.target.schema
    let statistics = IndexStatistics(route.target, answers.context)
    use.missed = try route.target.missedIndexes(
      QueryDescription(filter: bound), for: route.need, statistics, answers.context)
    let figures = try plan.figures(statistics)
    let total = Double(try statistics.recordCount())
    let share = figures.results / max(total, 1)
    guard figures.work <= asked.budget(share: share) else { return .related(filter) }
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
  /// As it was written.
  let related: RelatedFilter
  /// As it is asked: parts in it may be bound.
  var filter: RelatedFilter
  var inner: [RelatedUse]
  /// The plan of the inner query, and the schema of its records.
  var plan: Plan?
  var schema: CollectionSchema?
  /// The names of the unfinished indexes that the plan would use if they were complete.
  var missed: [String] = []
  /// How many ids it found, if it was run.
  var count: Int?
  /// The field of the outer records that the ids are compared with.
  var field: FieldReference?
}
