extension OperationTimer {
  /// A query has ended.
  @inline(never)
  func endQuery(since began: Int64, _ prepared: PreparedQuery, _ run: PlanRun) {
    endQuery(
      since: began, in: prepared.collection.stored.name, as: prepared.need.verb,
      results: run.counters.rowsReturned
    ) {
      text {
        var counters = run.counters
        if let answers = prepared.answers { counters.add(answers.counters) }
        return prepared.text + "\n" + counters.text
      }
    }
  }

  /// A join has ended.
  @inline(never)
  func endQuery<Left, Right>(
    since began: Int64, _ prepared: PreparedJoin<Left, Right>, _ run: JoinRun
  ) {
    endQuery(
      since: began, in: prepared.left.collection.stored.name, as: "join",
      results: run.counters.rows
    ) { text { prepared.text + "\n" + prepared.text(run) } }
  }

  private func text(_ body: () -> String) -> String {
    showsValues ? body() : PlanText.withoutValues(body)
  }
}

extension QueryNeed {
  /// What the log calls a query that returns this.
  fileprivate var verb: StaticString {
    switch self {
    case .records, .recordValues: "fetch"
    case .ids: "ids"
    case .count: "count"
    case .exists: "exists"
    case .fields: "select"
    case .values: "aggregate"
    case .counts: "counts"
    case .distinct: "distinct"
    case .distinctCount: "count of distinct"
    }
  }
}
