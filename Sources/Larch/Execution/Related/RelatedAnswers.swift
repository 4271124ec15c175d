/// Answers the filters about related records of one run. Each filter is tested on many records, and
/// an answer for one record serves the others.
final class RelatedAnswers {
  /// How answers are found. All but the first exist for tests, which compare them.
  enum Strategy {
    /// The strategy with the lowest expected cost.
    case byCost
    /// Inner queries run before the outer one is planned, whatever they cost.
    case first
    /// The related records of each row are read.
    case eachRow
    /// Inner queries run when the first row needs them.
    case once
    /// Like `once`, with a full scan: the reference for checking other answers.
    case control
  }

  let context: TransactionContext
  let strategy: Strategy
  private var tests: [ObjectIdentifier: RelatedTest] = [:]
  private var orders: [OrderKey: RelatedOrder] = [:]
  /// The counts of what was read for the answers.
  private(set) var counters = ExecutionCounters()

  init(_ context: TransactionContext, _ strategy: Strategy = .byCost) {
    self.context = context
    self.strategy = strategy
  }

  func test(_ filter: RelatedFilter) throws -> RelatedTest {
    let key = ObjectIdentifier(filter)
    if let known = tests[key] { return known }
    let test = RelatedTest(filter, try RelatedRoute(filter, context), self)
    tests[key] = test
    return test
  }

  private struct OrderKey: Hashable {
    let value: ObjectIdentifier
    let textForm: TextForm
  }

  /// The values by which rows are sorted.
  func order(_ value: RelatedValue, textForm: TextForm) throws -> RelatedOrder {
    let key = OrderKey(value: ObjectIdentifier(value), textForm: textForm)
    if let known = orders[key] { return known }
    let order = try RelatedOrder(value, textForm: textForm, self)
    orders[key] = order
    return order
  }

  /// The test of a filter, if it was already used.
  func knownTest(_ filter: RelatedFilter) -> RelatedTest? { tests[ObjectIdentifier(filter)] }

  /// Counts what was read.
  func add(entries: Int = 0, records: Int = 0) {
    counters.entriesExamined += entries
    counters.recordsExamined += records
  }

  // MARK: Inner queries

  /// The plan of an inner query, whose own inner queries may already be bound.
  func plan(
    _ filter: FilterNode, in collection: CollectionHandle, for need: QueryNeed
  ) throws -> Plan {
    let planner = Planner(
      schema: collection.schema, usable: collection.answering,
      searches: collection.answeringSearches)
    let query = QueryDescription(filter: filter)
    if strategy == .control { return try planner.fullScan(query, for: need) }
    return try planner.plan(query, for: need, statistics: IndexStatistics(collection, context))
  }

  func run<T>(
    _ plan: Plan, in collection: CollectionHandle, selecting fields: [FieldReference],
    _ body: (PlanRun) throws -> T
  ) throws -> T {
    let run = try PlanRun(
      plan, in: collection, context: context, typed: collection.access(partOf: self),
      selecting: fields)
    defer {
      run.close()
      counters.add(run.counters)
    }
    return try body(run)
  }
}

extension ExecutionCounters {
  /// Adds the cost of a part of the work, but not its rows.
  mutating func add(_ other: ExecutionCounters) {
    entriesExamined += other.entriesExamined
    recordsExamined += other.recordsExamined
    spilledBytes += other.spilledBytes
  }
}

extension CollectionHandle {
  /// Access to decoded records of a collection whose type only the schema knows.
  func access(partOf answers: RelatedAnswers) -> TypedAccess {
    func make<R: Record>(_: R.Type) -> TypedAccess {
      RecordAccess<R>(answers.context, self, partOf: answers)
    }
    return make(schema.type)
  }

  /// A reference of records of the collection, as a field.
  func field(of reference: ReferenceDeclaration) -> FieldReference {
    func make<R: Record>(_: R.Type) -> FieldReference {
      // It was found by the type that has the reference.
      unsafeDowncast(reference, to: TypedReference<R>.self).field
    }
    return make(schema.type)
  }

  /// The id as a field.
  var idField: FieldReference {
    func make<R: Record>(_: R.Type) -> FieldReference { TypedField<R>.id }
    return make(schema.type)
  }
}
