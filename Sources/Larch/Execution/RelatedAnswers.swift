/// Answers the filters about related records of one run: each is asked of many records, and what
/// was found out for one serves the others.
final class RelatedAnswers {
  let context: TransactionContext
  /// Inner queries look at every record: what other answers are checked by.
  let isControl: Bool
  private var tests: [ObjectIdentifier: RelatedTest] = [:]
  /// What was read for the answers.
  private(set) var counters = ExecutionCounters()

  init(_ context: TransactionContext, isControl: Bool = false) {
    self.context = context
    self.isControl = isControl
  }

  func test(_ filter: RelatedFilter) throws -> RelatedTest {
    let key = ObjectIdentifier(filter)
    if let known = tests[key] { return known }
    let test = RelatedTest(filter, try RelatedRoute(filter, context), self)
    tests[key] = test
    return test
  }

  /// Plans a query that is a part of an answer, and runs it.
  func run<T>(
    _ filter: FilterNode, in collection: CollectionHandle, for need: QueryNeed,
    _ body: (PlanRun) throws -> T
  ) throws -> T {
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let query = QueryDescription(filter: filter)
    let plan =
      isControl
      ? try planner.fullScan(query, for: need)
      : try planner.plan(query, for: need, statistics: IndexStatistics(collection, context))
    var fields: [FieldReference] = []
    if case .fields(let wanted) = need { fields = wanted }
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
  /// Adds what a part of the work cost. Its rows are not those of the whole.
  mutating func add(_ other: ExecutionCounters) {
    entriesExamined += other.entriesExamined
    recordsExamined += other.recordsExamined
    spilledBytes += other.spilledBytes
  }
}

extension CollectionHandle {
  /// The way to decoded records of a collection whose type only the schema knows.
  func access(partOf answers: RelatedAnswers) -> TypedAccess {
    func make<R: Record>(_: R.Type) -> TypedAccess {
      RecordAccess<R>(answers.context, self, partOf: answers)
    }
    return make(schema.type)
  }

  /// A reference that records of the collection hold, as a field.
  func field(of reference: ReferenceDeclaration) -> FieldReference {
    func make<R: Record>(_: R.Type) -> FieldReference {
      // Found by the type that holds the reference.
      unsafeDowncast(reference, to: TypedReference<R>.self).field
    }
    return make(schema.type)
  }
}
