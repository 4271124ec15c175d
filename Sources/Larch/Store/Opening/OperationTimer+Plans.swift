extension OperationTimer {
  /// A query has ended.
  @inline(never)
  func endQuery(since began: Int64, _ prepared: PreparedQuery, _ run: PlanRun) {
    endQuery(since: began, in: prepared.collection.stored.name) {
      PlanText.withoutValues {
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
    endQuery(since: began, in: prepared.left.collection.stored.name) {
      PlanText.withoutValues { prepared.text + "\n" + prepared.text(run) }
    }
  }
}
