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
    return try rows(in: tx, details: query.details).count
  }

  /// Whether there is a row.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    if !isDistinct { return try query.hasRow(in: tx) }
    return try firstRow(in: tx) != nil
  }

  /// Calls with each row; in a write all are read first, since the closure may change records.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for row in try allRows(in: tx) { try body(row) }
      return
    }
    try run(in: tx, details: query.details) { run, access in
      var rows = SelectedRows(self, query.details, run, access)
      var row: [Row] = []
      while try rows.next(&row) { try body(row.removeLast()) }
    }
  }

  /// The plan as text.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    if counting, !isDistinct { return try tx.explain(query, for: .count, running: running) }
    return try tx.explain(query, for: need, running: running)
  }

  private var need: QueryNeed { references.map { .fields($0) } ?? .records }

  private func rows(in tx: ReadTransaction, details: QueryDescription) throws -> [Row] {
    try run(in: tx, details: details) { run, access in
      var rows = SelectedRows(self, details, run, access)
      var result: [Row] = []
      while try rows.next(&result) {}
      return result
    }
  }

  private func run<T>(
    in tx: ReadTransaction, details: QueryDescription,
    _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    // Offset and limit then count distinct results, so the plan does not apply them.
    var planned = details
    if isDistinct, details.limit ?? 0 >= 0, details.offset >= 0 {
      planned.limit = nil
      planned.offset = 0
    }
    return try tx.run(planned, of: R.self, for: need, selecting: references ?? [], body)
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
      let reader = SelectedRow(
        row: row, run: run, access: access, isKeyed: isKeyed, isDistinct: selection.isDistinct)
      try selection.append(reader, &rows)
      if selection.isDistinct {
        guard seen.insert(reader.hashed).inserted else {
          rows.removeLast()
          continue
        }
        if toSkip > 0 {
          toSkip -= 1
          rows.removeLast()
          continue
        }
      }
      left -= 1
      return true
    }
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
