/// The rows of a plan with an alternative: those of the first plan, and of the alternative from the
/// point where the first one has read too much.
final class BoundedRows: RowSource {
  private let run: Unmanaged<PlanRun>
  private let otherwise: Plan.Otherwise
  private let limit: Int?
  private var rows: RowSource
  private var given = 0
  private var examined = 0
  private var spilled = 0
  private var hasSwitched = false

  /// The run owns its rows, and so outlives them.
  init(_ rows: RowSource, _ run: PlanRun, _ otherwise: Plan.Otherwise, limit: Int?) {
    self.rows = rows
    self.run = .passUnretained(run)
    self.otherwise = otherwise
    self.limit = limit
  }

  override func next() throws -> Bool {
    do {
      guard try rows.next() else { return false }
    } catch is CostLimitReached {
      guard try switchToAlternative() else { return false }
    }
    given += 1
    id = rows.id
    record = rows.record
    stored = rows.stored
    // A key of the alternative is one of another index.
    key = hasSwitched ? nil : rows.key
    return true
  }

  /// Both plans have the same rows in the same order, so the rows already returned are skipped.
  private func switchToAlternative() throws -> Bool {
    examined += rows.entriesExamined
    spilled += rows.spilledBytes
    rows.close()
    hasSwitched = true
    rows = RowSource()
    rows = try run._withUnsafeGuaranteedRef { run in
      run.reader.mostRecords = .max
      var plan = run.plan
      (plan.source, plan.residue, plan.order) = (
        otherwise.source, otherwise.residue, otherwise.order
      )
      plan.otherwise = nil
      plan.isCovering = false
      let other = try PlanRun(plan, in: run.collection, context: run.context, typed: run.typed)
      other.settings = run.settings
      run.other = other
      return try other.makeRows(limit: limit)
    }
    for _ in 0..<given {
      guard try rows.next() else { return false }
    }
    return try rows.next()
  }

  override func close() { rows.close() }

  override var entriesExamined: Int { examined + rows.entriesExamined }
  override var spilledBytes: Int { spilled + rows.spilledBytes }
}
