extension CollectionHandle {
  /// The names of the unfinished indexes that the plan of a query would use if they were complete;
  /// tells the log of them. A collection without unfinished ones costs one comparison.
  @inline(__always)
  func missedIndexes(
    _ query: QueryDescription, for need: QueryNeed, _ statistics: IndexStatistics,
    _ context: TransactionContext
  ) throws -> [String] {
    if unfinished == 0 { return [] }
    return try findMissed(query, for: need, statistics, context)
  }

  private func findMissed(
    _ query: QueryDescription, for need: QueryNeed, _ statistics: IndexStatistics,
    _ context: TransactionContext
  ) throws -> [String] {
    let planner = Planner(schema: schema, usable: answering | unfinished)
    let used = try planner.plan(query, for: need, statistics: statistics).indexes
    return indexes.filter { !$0.isReady && !$0.schema.isPartial && used.hasBit($0.position) }
      .map { missed($0, context) }
  }

  /// Tells the log that an unfinished index would have been used, once for each; returns its name.
  func missed(_ index: IndexHandle, _ context: TransactionContext) -> String {
    context.environment.log(once: MissedIndex(stored.name, index.stored.name)) {
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

  /// The line of a plan that names an unfinished index.
  static func reason(missing index: String) -> String {
    "index \(index) is incomplete: rebuild() names the records that it misses"
  }
}

/// An incomplete index that the log has reported.
private struct MissedIndex: Hashable {
  let collection: String
  let index: String

  init(_ collection: String, _ index: String) {
    self.collection = collection
    self.index = index
  }
}
