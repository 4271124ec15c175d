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
  public func fetch<R: Record, each Value: Sendable>(
    _ selection: Selection<R, repeat each Value>
  ) throws -> [(repeat each Value)] {
    var result: [(repeat each Value)] = []
    try forEachRow(of: selection) { result.append($0) }
    return result
  }

  /// The selected values of the first record, or nil.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: stops at the first record, where no sort is needed.
  public func first<R: Record, each Value: Sendable>(
    _ selection: Selection<R, repeat each Value>
  ) throws -> (repeat each Value)? {
    let one = Selection(
      query: selection.query.with { $0 = $0.limitedToOne }, fields: selection.fields,
      isDistinct: selection.isDistinct)
    return try fetch(one).first
  }

  /// How many rows the selection has; with `distinct`, how many different ones.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: that of the query.
  public func count<R: Record, each Value: Sendable>(
    _ selection: Selection<R, repeat each Value>
  ) throws -> Int {
    if !selection.isDistinct { return try count(selection.query) }
    var count = 0
    try forEachRow(of: selection) { (_: (repeat each Value)) in count += 1 }
    return count
  }

  private func forEachRow<R: Record, each Value: Sendable>(
    of selection: Selection<R, repeat each Value>, _ body: ((repeat each Value)) -> Void
  ) throws {
    var details = selection.query.details
    let references = selection.references
    var seen: Set<[AnyHashable]> = []
    var skipped = 0
    var left = details.limit ?? .max
    if selection.isDistinct {
      // Offset and limit count what is distinct.
      skipped = Swift.max(0, details.offset)
      if details.limit ?? 0 >= 0, details.offset >= 0 {
        details.limit = nil
        details.offset = 0
      }
    }
    if left == 0 { return }
    try _reading { tx in
      try tx.run(
        details, of: R.self, for: references.map { .fields($0) } ?? .records,
        selecting: references ?? []
      ) { run, access in
        while let row = try run.next() {
          let reader = SelectedRow(row: row, run: run, access: access, isKeyed: references != nil)
          let values = (repeat try reader.value(of: each selection.fields))
          if selection.isDistinct {
            guard seen.insert(reader.hashed).inserted else { continue }
            if skipped > 0 {
              skipped -= 1
              continue
            }
          }
          body(values)
          left -= 1
          if left == 0 { return }
        }
      }
    }
  }
}

/// The values of one row, one field after the other.
private final class SelectedRow<R: Record> {
  private let row: QueryRow
  private let run: PlanRun
  private let access: RecordAccess<R>
  private let isKeyed: Bool
  private var place = 0
  private var decoded: R?
  private(set) var hashed: [AnyHashable] = []

  init(row: QueryRow, run: PlanRun, access: RecordAccess<R>, isKeyed: Bool) {
    self.row = row
    self.run = run
    self.access = access
    self.isKeyed = isKeyed
  }

  func value<Value>(of field: SelectedField<R, Value>) throws -> Value {
    defer { place += 1 }
    let value = try read(field)
    if let hashable = value as? AnyHashable { hashed.append(hashable) }
    return value
  }

  private func read<Value>(_ field: SelectedField<R, Value>) throws -> Value {
    if isKeyed, let key = field.key, let known = try run.values(of: place) {
      var values = KeyValues(known)
      if let value = key.make(&values) { return value }
    }
    if let decoded { return field.read(decoded) }
    let record = try access.decode(row, of: run)
    decoded = record
    return field.read(record)
  }
}
