extension PlanTask {
  /// The plan, with the keys whose ids bound its scan of the records.
  ///
  /// A full scan reads everything before the first wanted row, which may be far from its begin: all
  /// open issues may be the newest ones. The ids of one key of an index ascend, so the first one
  /// costs a search.
  func bounded(_ plan: Plan, by candidates: [Candidate], _ total: Double) -> Plan {
    guard total >= PlanTask.worthBounding, case .records = plan.source else { return plan }
    var keys: [(rows: Double, scan: Plan.IndexScan)] = []
    for candidate in candidates where candidate.rows < total {
      guard case .index(var scan) = candidate.source, scan.isPoints, scan.ranges.count == 1 else {
        continue
      }
      scan.keyFilter = []
      keys.append((candidate.rows, scan))
    }
    if keys.isEmpty { return plan }
    keys.sort { $0.rows < $1.rows }
    var plan = plan
    plan.idBounds = keys.prefix(PlanTask.mostIDBounds).map(\.scan)
    return plan
  }

  /// The number of records whose scan costs much more than searches for its bounds.
  private static let worthBounding = 200.0
  private static let mostIDBounds = 2
}
