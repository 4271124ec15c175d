/// A query that is planned for the catalog of one transaction, ready to run.
struct PreparedQuery {
  let collection: CollectionHandle
  let query: QueryDescription
  let need: QueryNeed
  let plan: Plan
  /// Fields whose values are selected in addition to the rows.
  var selecting: [FieldReference] = []
  /// The answers of filters about related records; nil if there are no such filters.
  var answers: RelatedAnswers?
  var relatedUses: [RelatedUse] = []
  /// The names of the incomplete indexes that the plan would otherwise use.
  var missed: [String] = []

  /// Whether records may be made of keys.
  var makesRecords: Bool {
    if case .recordValues = need { return true }
    return false
  }
}

extension ReadTransaction {
  /// What a query needs that returns its records.
  ///
  /// In a write they are read: they may be saved again, and only stored records have checksums.
  var needOfValues: QueryNeed { self is WriteTransaction ? .records : .recordValues }
}

extension ReadTransaction {
  /// Plans a query, runs it, and closes its cursors after `body`.
  ///
  /// No code of the program runs in `body`, except closures of the filter and computed properties,
  /// which must not use the transaction.
  ///
  /// - Parameter isAll: whether `body` reads nothing but the rows of the query. An observer then
  ///   depends only on records that pass its filter.
  func run<R: Record, T>(
    _ query: QueryDescription, of type: R.Type = R.self, for need: QueryNeed,
    selecting: [FieldReference] = [], isAll: Bool = false,
    _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    try storage { transaction in
      let collection = try context.collection(of: type)
      if isAll, let tracker = QueryTracker.of(transaction) {
        let outer = tracker.begin(
          ObservedFilter(query, of: type, in: collection), in: collection)
        defer { tracker.end(outer) }
        return try run(query, of: type, for: need, selecting: selecting, body)
      }
      let began = context.timer?.beginQuery()
      var prepared = try prepare(query, for: need, in: collection)
      prepared.selecting = selecting
      let access = RecordAccess<R>(context, collection, with: prepared.answers)
      if context.checksQueries {
        try guarded { try QueryCheck.check(prepared, access, context) }
      }
      return try run(prepared, access, since: began, body)
    }
  }

  func run<R: Record, T>(
    _ prepared: PreparedQuery, _ access: RecordAccess<R>, since began: Int64? = nil,
    _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    let run = try PlanRun(
      prepared.plan, in: prepared.collection, context: context, typed: access,
      selecting: prepared.selecting, makingRecords: prepared.makesRecords)
    defer {
      run.close()
      if let began { context.timer?.endQuery(since: began, prepared, run) }
    }
    return try guarded { try body(run, access) }
  }

  /// Cursors of a write do not survive its changes, so a closure that uses the write meanwhile gets
  /// an error.
  func guarded<T>(_ work: () throws -> T) rethrows -> T {
    let wasBusy = context.isTakingIn
    context.isTakingIn = self is WriteTransaction
    defer { context.isTakingIn = wasBusy }
    return try work()
  }

  /// Chooses the plan, and writes pending changes that it reads.
  ///
  /// - Parameter strategy: how to answer filters about related records; tests compare the
  ///   strategies.
  func prepare(
    _ query: QueryDescription, for need: QueryNeed, in collection: CollectionHandle,
    _ strategy: RelatedAnswers.Strategy = .byCost
  ) throws -> PreparedQuery {
    if context.isTakingIn { throw TransactionContext.reentered }
    try checkToken(of: query, in: collection)
    let planner = Planner(
      schema: collection.schema, usable: collection.answering,
      searches: collection.answeringSearches)
    let statistics = IndexStatistics(collection, context)
    do {
      var answers: RelatedAnswers?
      var uses: [RelatedUse] = []
      var bound = query
      if query.asksRelated {
        if mayHavePendingEntries { try writePending(for: query.filter) }
        try prepareOrder(query.order)
        let made = RelatedAnswers(context, strategy)
        var binder = RelatedBinder(made)
        bound = try guarded { try binder.bind(query, for: need, in: collection) }
        answers = made
        uses = binder.uses
      }
      let plan = try planner.plan(
        bound, for: need, statistics: statistics, remembering: context.planMemory)
      tellUnnamedFields(of: plan, in: collection)
      let missed = try collection.missedIndexes(bound, for: need, statistics, context)
      if mayHavePendingEntries {
        try writePending(for: plan.source, in: collection)
        for other in plan.alternatives { try writePending(for: other.source, in: collection) }
        for scan in plan.idBounds { try writePending(for: .index(scan), in: collection) }
        if let relevance = plan.relevance {
          try writePending(for: .search(relevance.scan), in: collection)
        }
      }
      return PreparedQuery(
        collection: collection, query: query, need: need, plan: plan, answers: answers,
        relatedUses: uses, missed: missed)
    } catch var error as LarchError {
      if error.context.collection == nil { error.context.collection = collection.stored.name }
      throw error
    }
  }

  /// Logs fields for which an index may have been declared, but is not used.
  @inline(__always)
  private func tellUnnamedFields(of plan: Plan, in collection: CollectionHandle) {
    guard context.environment.post != nil else { return }
    let incomplete = collection.incomplete
    for field in plan.unnamedFields(in: collection.schema, incomplete: incomplete) {
      context.environment.log(
        once: LogSubject(.fieldUnnamed, collection.stored.name, field.identity)
      ) {
        LogMessage(
          .notice, .fieldUnnamed,
          "No index is used for a field: it is a computed property, or was named through a protocol requirement, so its stored name is not known."
        ) {
          $0.path = context.environment.path
          $0.collection = collection.stored.name
          $0.field = field.name
        }
      }
    }
  }

  private func checkToken(of query: QueryDescription, in collection: CollectionHandle) throws {
    if let token = query.after, !token.fits(query, in: collection) {
      throw LarchError(
        .invalidQuery,
        "The page token belongs to another order or collection; start again at the first page."
      ) { $0.collection = collection.stored.name }
    }
  }
}

extension ReadTransaction {
  private func writePending(for source: Plan.Source, in collection: CollectionHandle) throws {
    switch source {
    case .nothing, .records: break
    case .index(let scan):
      if let index = collection.readyIndex(scan.index) {
        try writePending(for: index.database)
      }
    case .list(let scan): try writePending(for: RelatedRoute.lists(scan, context).0)
    case .search(let scan):
      if let search = collection.readySearch(scan.search) {
        try writePending(for: search.database)
      }
    case .union(let parts), .intersection(let parts):
      for part in parts { try writePending(for: part, in: collection) }
    }
  }
}

extension ReadTransaction {
  /// Checks that the types are open by whose records rows are sorted, and writes the pending
  /// changes of the indexes that find these.
  private func prepareOrder(_ order: [OrderTerm]) throws {
    for term in order {
      for related in term.field.related?.route ?? [] {
        let route = try RelatedRoute(related, context)
        guard mayHavePendingEntries else { continue }
        for database in route.databases { try writePending(for: database) }
      }
    }
  }

  /// The indexes of inner queries are known only when these run, while records are being read: so
  /// everything that they may read is written first.
  private func writePending(for filter: FilterNode) throws {
    switch filter {
    case .all(let nodes), .any(let nodes): for node in nodes { try writePending(for: node) }
    case .not(let node): try writePending(for: node)
    case .related(let related):
      for database in try RelatedRoute(related, context).databases {
        try writePending(for: database)
      }
      try writePending(for: related.filter)
    case .field, .pair, .words, .record: break
    }
  }
}

extension TransactionContext {
  /// The outlines of queries that were planned with this context.
  @inline(__always)
  var planMemory: PlanMemory {
    // Nothing else is kept there.
    if let plans { return unsafeDowncast(plans, to: PlanMemory.self) }
    let made = PlanMemory()
    plans = made
    return made
  }
}

extension CollectionHandle {
  /// The index that was declared at this place, if its entries are complete.
  func readyIndex(_ position: Int) -> IndexHandle? {
    // Declarations and handles differ only in a read-only file that does not have an index.
    if position < indexes.count, indexes[position].position == position {
      return indexes[position].isReady ? indexes[position] : nil
    }
    return indexes.first { $0.position == position && $0.isReady }
  }
}
