extension CollectionHandle {
  /// The names of the incomplete indexes that the plan of a query would use if they were complete.
  /// They are logged. In a collection without incomplete indexes this is one comparison.
  @inline(__always)
  func missedIndexes(
    _ query: QueryDescription, for need: QueryNeed, _ statistics: IndexStatistics,
    _ context: TransactionContext
  ) throws -> [String] {
    if incomplete | incompleteSearches == 0 { return [] }
    return try findMissed(query, for: need, statistics, context)
  }

  private func findMissed(
    _ query: QueryDescription, for need: QueryNeed, _ statistics: IndexStatistics,
    _ context: TransactionContext
  ) throws -> [String] {
    let planner = Planner(
      schema: schema, usable: answering | incomplete,
      searches: answeringSearches | incompleteSearches)
    let plan = try planner.plan(query, for: need, statistics: statistics)
    let (used, usedSearches) = (plan.indexes, plan.searches)
    return indexes.filter { !$0.isReady && !$0.schema.isPartial && used.hasBit($0.position) }
      .map { missed($0, context) }
      + searches.filter {
        !$0.isReady && usedSearches.hasBit($0.position - schema.indexes.count)
      }.map { missed($0, context) }
  }

  /// Logs once that an incomplete index would have been used, and returns its name.
  func missed(_ index: IndexHandle, _ context: TransactionContext) -> String {
    context.environment.log(once: LogSubject(.indexUnfinished, stored.name, index.stored.name)) {
      LogMessage(
        .notice, .indexUnfinished,
        "No query uses an index, because it is incomplete; `rebuild()` names the records that it misses."
      ) {
        $0.path = context.environment.path
        $0.collection = stored.name
        $0.index = index.stored.name
      }
    }
    return index.stored.name
  }

  /// The line of a plan that names an incomplete index.
  static func reason(missing index: String) -> String {
    "index \(index) is incomplete: rebuild() names the records that it misses"
  }
}
