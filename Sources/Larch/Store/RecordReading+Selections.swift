extension RecordReading {
  /// The selected values of the records that the query describes, in its order.
  ///
  /// ```swift
  /// let names = try store.fetch(Person.all.select(\.name))
  /// for (name, age) in try store.fetch(Person.all.select(\.name, \.age)) { print(name, age) }
  /// ```
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: that of the query; no record is decoded for standard types, and none is read
  ///   where an index holds all the fields.
  public func fetch<R: Record, Row>(
    _ selection: Selection<R, Row>
  ) throws -> [Row] {
    try rows(of: selection, details: selection.query.details)
  }

  /// The selected values of the first record, or nil.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: stops at the first record, where no sort is needed.
  public func first<R: Record, Row>(
    _ selection: Selection<R, Row>
  ) throws -> Row? {
    try rows(of: selection, details: selection.query.details.limitedToOne).first
  }

  /// How many rows the selection has; with `distinct`, how many different ones.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: that of the query.
  public func count<R: Record, Row>(
    _ selection: Selection<R, Row>
  ) throws -> Int {
    if !selection.isDistinct { return try count(selection.query) }
    return try rows(of: selection, details: selection.query.details).count
  }

  private func rows<R: Record, Row>(
    of selection: Selection<R, Row>, details: QueryDescription
  ) throws -> [Row] {
    let references = selection.references
    // Offset and limit count what is distinct, so they are not the plan's then.
    var planned = details
    if selection.isDistinct, details.limit ?? 0 >= 0, details.offset >= 0 {
      planned.limit = nil
      planned.offset = 0
    }
    return try _reading { tx in
      try tx.run(
        planned, of: R.self, for: references.map { .fields($0) } ?? .records,
        selecting: references ?? []
      ) { run, access in
        try collect(selection, details, run, access)
      }
    }
  }
}

/// The rows of a selection.
private func collect<R: Record, Row>(
  _ selection: Selection<R, Row>, _ details: QueryDescription, _ run: PlanRun,
  _ access: RecordAccess<R>
) throws -> [Row] {
  let isKeyed = selection.references != nil
  let isDistinct = selection.isDistinct
  let limit = details.limit ?? .max
  var skipped = isDistinct ? details.offset : 0
  var seen: Set<[AnyHashable]> = []
  var result: [Row] = []
  while result.count < limit, let row = try run.next() {
    let reader = SelectedRow(
      row: row, run: run, access: access, isKeyed: isKeyed, isDistinct: isDistinct)
    try selection.append(reader, &result)
    guard isDistinct else { continue }
    if !seen.insert(reader.hashed).inserted {
      result.removeLast()
    } else if skipped > 0 {
      skipped -= 1
      result.removeLast()
    }
  }
  return result
}

/// The values of one row, one field after the other.
private final class SelectedRow<R: Record>: SelectedValues {
  private let row: QueryRow
  private let run: PlanRun
  private let access: RecordAccess<R>
  private let isKeyed: Bool
  private let isDistinct: Bool
  private var place = 0
  private var decoded: R?
  /// The values, where they are to be compared: `distinct` is there for `Hashable` ones only.
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
