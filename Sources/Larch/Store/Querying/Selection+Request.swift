extension Selection: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Selection: RunnableRequest {
  /// The selected values.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] {
    try rows(in: tx, details: query.details)
  }

  /// The selected values of the first record.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    try rows(in: tx, details: query.details.limitedToOne).first
  }

  /// The number of rows; with `distinct()`, of distinct ones.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    if !isDistinct { return try query.rowCount(in: tx) }
    return try run(in: tx, details: query.details, for: need(counting: true, query.details)) {
      run, access in
      var rows = SelectedRows(self, query.details, run, access)
      return try rows.count()
    }
  }

  /// Whether there is a row.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    // The first row of all is a distinct one.
    if !isDistinct || query.details.offset == 0 { return try query.hasRow(in: tx) }
    return try firstRow(in: tx) != nil
  }

  /// Calls with each row; in a write all are read first, since the closure may change records.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for row in try allRows(in: tx) { try body(row) }
      return
    }
    try run(in: tx, details: query.details, for: need(counting: false, query.details)) {
      run, access in
      var rows = SelectedRows(self, query.details, run, access)
      var row: [Row] = []
      while try rows.next(&row) { try body(row.removeLast()) }
    }
  }

  /// The plan as text.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    if counting, !isDistinct { return try tx.explain(query, for: .count, running: running) }
    var explained = query
    explained.details = planned(query.details)
    return try tx.explain(explained, for: need(counting: counting, query.details), running: running)
  }

  private func need(counting: Bool, _ details: QueryDescription) -> QueryNeed {
    guard let references else { return .records }
    // A few distinct values in the order of ids are found among the first records.
    guard isDistinct, details.after == nil,
      counting || details.limit == nil || !details.order.isEmpty
    else { return .fields(references) }
    return counting ? .distinctCount(references) : .distinct(references)
  }

  /// Offset and limit count distinct results, so the plan does not apply them.
  private func planned(_ details: QueryDescription) -> QueryDescription {
    guard isDistinct, details.limit ?? 0 >= 0, details.offset >= 0 else { return details }
    var planned = details
    planned.limit = nil
    planned.offset = 0
    return planned
  }

  private func rows(in tx: ReadTransaction, details: QueryDescription) throws -> [Row] {
    try run(in: tx, details: details, for: need(counting: false, details)) { run, access in
      var rows = SelectedRows(self, details, run, access)
      var result: [Row] = []
      while try rows.next(&result) {}
      return result
    }
  }

  private func run<T>(
    in tx: ReadTransaction, details: QueryDescription, for need: QueryNeed,
    _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    try tx.run(planned(details), of: R.self, for: need, selecting: references ?? [], body)
  }
}

/// The rows of a selection, one after the other.
private struct SelectedRows<R: Record, Row> {
  private let selection: Selection<R, Row>
  private let run: PlanRun
  private let access: RecordAccess<R>
  private let isKeyed: Bool
  private var left: Int
  private var toSkip: Int
  private var seen: Set<[AnyHashable]> = []

  init(
    _ selection: Selection<R, Row>, _ details: QueryDescription, _ run: PlanRun,
    _ access: RecordAccess<R>
  ) {
    self.selection = selection
    self.run = run
    self.access = access
    isKeyed = selection.references != nil
    left = details.limit ?? .max
    toSkip = selection.isDistinct ? details.offset : 0
  }

  /// Adds the next row; false after the last one.
  @inline(__always)
  mutating func next(_ rows: inout [Row]) throws -> Bool {
    while left > 0, let row = try run.next() {
      let mayRepeat = selection.isDistinct && run.mayRepeatValues
      if toSkip > 0, !mayRepeat, !selection.mayBeInvalid {
        toSkip -= 1
        continue
      }
      guard try append(row, &rows, unlessSeen: mayRepeat) else { continue }
      if toSkip > 0 {
        toSkip -= 1
        rows.removeLast()
        continue
      }
      left -= 1
      return true
    }
    return false
  }

  /// The number of distinct rows. Values are read only if they may repeat, or may be invalid, which
  /// is an error.
  mutating func count() throws -> Int {
    var count = 0
    var value: [Row] = []
    while left > 0, let row = try run.next() {
      let mayRepeat = run.mayRepeatValues
      if mayRepeat || selection.mayBeInvalid {
        guard try append(row, &value, unlessSeen: mayRepeat) else { continue }
        value.removeAll(keepingCapacity: true)
      }
      if toSkip > 0 {
        toSkip -= 1
      } else {
        count += 1
        left -= 1
      }
    }
    return count
  }

  /// Adds a row; false, without adding it, if its values were seen before.
  @inline(__always)
  private mutating func append(
    _ row: QueryRow, _ rows: inout [Row], unlessSeen mayRepeat: Bool
  ) throws -> Bool {
    let reader = SelectedRow(
      row: row, run: run, access: access, isKeyed: isKeyed, isDistinct: mayRepeat)
    try selection.append(reader, &rows)
    if !mayRepeat || seen.insert(reader.hashed).inserted { return true }
    rows.removeLast()
    return false
  }
}

/// The values of one row, read one after the other.
private final class SelectedRow<R: Record>: SelectedValues {
  private let row: QueryRow
  private let run: PlanRun
  private let access: RecordAccess<R>
  private let isKeyed: Bool
  private let isDistinct: Bool
  private var place = 0
  private var decoded: R?
  /// The values for comparison: `distinct` requires `Hashable` ones.
  private(set) var hashed: [AnyHashable] = []

  init(row: QueryRow, run: PlanRun, access: RecordAccess<R>, isKeyed: Bool, isDistinct: Bool) {
    self.row = row
    self.run = run
    self.access = access
    self.isKeyed = isKeyed
    self.isDistinct = isDistinct
  }

  func value<Value>(of field: SelectedField<R, Value>) throws -> Value {
    defer { place += 1 }
    let value = try read(field)
    if isDistinct, let hashable = value as? AnyHashable { hashed.append(hashable) }
    return value
  }

  private func read<Value>(_ field: SelectedField<R, Value>) throws -> Value {
    if isKeyed, let key = field.key, let known = try run.values(of: place),
      let value = key.read(known)
    {
      return value
    }
    if let decoded { return field.read(decoded) }
    let record = try access.decode(row, of: run)
    decoded = record
    return field.read(record)
  }
}
