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
    if let rows = try tx.valuesOfRange(self) { return rows }
    return try rows(in: tx, details: query.details)
  }

  /// The selected values, for an observer, which compares them.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try allRows(in: tx)
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
      try SelectedRows(self, query.details, run, access).count()
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
      let rows = SelectedRows(self, query.details, run, access)
      let row = UnsafeMutablePointer<Row>.allocate(capacity: 1)
      defer { row.deallocate() }
      while try rows.make(at: row) { try body(row.move()) }
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
      let rows = SelectedRows(self, details, run, access)
      let result = RecordBuffer<Row>(limit: details.limit)
      while try rows.make(at: result.next()) { result.filled() }
      return result.takeArray()
    }
  }

  /// All rows, with the place of each.
  func rows(in tx: ReadTransaction, noting places: RowPlaces) throws -> [Row] {
    try run(in: tx, details: query.details, for: need(counting: false, query.details)) {
      run, access in
      let rows = SelectedRows(self, query.details, run, access)
      let result = RecordBuffer<Row>(limit: query.details.limit)
      while try rows.make(at: result.next()) {
        result.filled()
        guard let row = rows.last else { continue }
        places.add(id: row.id, places.needsRecord ? try row.record ?? run.record() : nil)
      }
      return result.takeArray()
    }
  }

  private func run<T>(
    in tx: ReadTransaction, details: QueryDescription, for need: QueryNeed,
    _ body: (PlanRun, RecordAccess<R>) throws -> T
  ) throws -> T {
    try tx.run(
      planned(details), of: R.self, for: need, selecting: references ?? [], isAll: true, body)
  }
}

/// The rows of a selection, one after the other.
///
/// A class, whose methods have their types at hand: see ``RecordBuffer``.
private final class SelectedRows<R: Record, Row> {
  private let selection: Selection<R, Row>
  private let run: PlanRun
  private let access: RecordAccess<R>
  /// Makes most rows of an index that has every field.
  private let keyed: KeyedValues?
  /// The values of the other rows.
  private lazy var values = SelectedRow(run, access, isKeyed: selection.references != nil)
  /// The row that was made last.
  @exclusivity(unchecked) private(set) var last: QueryRow?
  @exclusivity(unchecked) private var left: Int
  @exclusivity(unchecked) private var toSkip: Int
  @exclusivity(unchecked) private var seen: Set<[AnyHashable]> = []

  init(
    _ selection: Selection<R, Row>, _ details: QueryDescription, _ run: PlanRun,
    _ access: RecordAccess<R>
  ) {
    self.selection = selection
    self.run = run
    self.access = access
    keyed =
      if !selection.isDistinct, let elements = selection.elements,
        let references = selection.references
      {
        KeyedValues(elements, references, run)
      } else {
        nil
      }
    left = details.limit ?? .max
    toSkip = selection.isDistinct ? details.offset : 0
  }

  /// Makes the next row in its place; false after the last one.
  func make(at target: UnsafeMutablePointer<Row>) throws -> Bool {
    while left > 0, let row = try run.next() {
      let mayRepeat = selection.isDistinct && run.mayRepeatValues
      if toSkip > 0, !mayRepeat, !selection.mayBeInvalid {
        toSkip -= 1
        continue
      }
      guard try make(row, at: target, unlessSeen: mayRepeat) else { continue }
      if toSkip > 0 {
        toSkip -= 1
        target.deinitialize(count: 1)
        continue
      }
      left -= 1
      return true
    }
    return false
  }

  /// The number of distinct rows. Values are read only if they may repeat, or may be invalid, which
  /// is an error.
  func count() throws -> Int {
    var count = 0
    let target = UnsafeMutablePointer<Row>.allocate(capacity: 1)
    defer { target.deallocate() }
    while left > 0, let row = try run.next() {
      let mayRepeat = run.mayRepeatValues
      if mayRepeat || selection.mayBeInvalid {
        guard try make(row, at: target, unlessSeen: mayRepeat) else { continue }
        target.deinitialize(count: 1)
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

  /// Makes a row in its place; false, without making it, if its values were seen before.
  private func make(
    _ row: QueryRow, at target: UnsafeMutablePointer<Row>, unlessSeen mayRepeat: Bool
  ) throws -> Bool {
    last = row
    if let keyed, let key = run.keyOfRow, try keyed.make(key, at: UnsafeMutableRawPointer(target)) {
      return true
    }
    values.begin(row, isDistinct: mayRepeat)
    try selection.make(values, target)
    if !mayRepeat || seen.insert(values.hashed).inserted { return true }
    target.deinitialize(count: 1)
    return false
  }
}

/// The values of one row after the other, read in the order of the fields.
private final class SelectedRow<R: Record>: SelectedValues {
  private let run: PlanRun
  private let access: RecordAccess<R>
  private let isKeyed: Bool
  @exclusivity(unchecked) private var row: QueryRow?
  @exclusivity(unchecked) private var isDistinct = false
  @exclusivity(unchecked) private var place = 0
  /// The record of the row, if it was needed.
  private let decoded: UnsafeMutablePointer<R>
  @exclusivity(unchecked) private var isDecoded = false
  /// The values for comparison: `distinct` requires `Hashable` ones.
  @exclusivity(unchecked) private(set) var hashed: [AnyHashable] = []

  init(_ run: PlanRun, _ access: RecordAccess<R>, isKeyed: Bool) {
    self.run = run
    self.access = access
    self.isKeyed = isKeyed
    decoded = .allocate(capacity: 1)
  }

  deinit {
    dropDecoded()
    decoded.deallocate()
  }

  func begin(_ row: QueryRow, isDistinct: Bool) {
    dropDecoded()
    self.row = row
    self.isDistinct = isDistinct
    place = 0
    if isDistinct { hashed = [] }
  }

  private func dropDecoded() {
    if isDecoded { decoded.deinitialize(count: 1) }
    isDecoded = false
  }

  override func make<Value>(
    _ coding: Unmanaged<KeyCoding<Value>>?, at target: UnsafeMutablePointer<Value>
  ) throws -> Bool {
    let place = place
    self.place = place &+ 1
    guard isKeyed, let coding else { return false }
    return try coding._withUnsafeGuaranteedRef { coding in
      if try run.make(place, coding, at: target) { return true }
      guard let known = try run.value(of: place) else { return false }
      return coding.make(known, at: target)
    }
  }

  override func record() throws -> UnsafeRawPointer {
    if !isDecoded, let row {
      try access.decode(row, of: run, into: decoded)
      isDecoded = true
    }
    return UnsafeRawPointer(decoded)
  }

  override func note<Value>(_ value: UnsafeMutablePointer<Value>) {
    if isDistinct { noteHashable(value) }
  }

  @inline(never)
  private func noteHashable<Value>(_ value: UnsafeMutablePointer<Value>) {
    if let hashable = value.pointee as? AnyHashable { hashed.append(hashable) }
  }
}
