/// A record in memory, and what makes the keys of its indexes.
package struct RecordInMemory {
  let address: UnsafeRawPointer
  /// What it was encoded to.
  let bytes: UnsafeRawBufferPointer
  /// By the positions of the indexes.
  let keys: [RecordKeys]
}

/// Makes the keys of an index from records in memory.
///
/// It has no generic type. Closures keep the type and receive the address of a record: a save runs
/// those of every index, and generic structures would cost more than the keys.
final class RecordKeys: Sendable {
  /// One field. A struct, since a closure that is itself an array element is wrapped again for each
  /// call.
  struct Field: Sendable {
    /// Appends each key of the field in turn, and calls the closure after each.
    let forEachKey:
      @Sendable (
        _ record: UnsafeRawPointer, _ writer: inout KeyWriter, _ isLast: Bool,
        _ next: (inout KeyWriter) throws -> Void
      ) throws -> Void
  }

  private let fields: [Field]
  private let condition: RuleCondition?

  init(_ fields: [Field], where condition: RuleCondition?) {
    self.fields = fields
    self.condition = condition
  }

  /// Writes each key of the record at the address and calls `emit` after each.
  func forEachKey(
    at record: UnsafeRawPointer, in writer: inout KeyWriter,
    _ emit: (inout KeyWriter) throws -> Void
  ) throws {
    if let condition, !condition(record) { return }
    writer.clear()
    try forEachKey(at: record, from: 0, in: &writer, emit)
  }

  private func forEachKey(
    at record: UnsafeRawPointer, from place: Int, in writer: inout KeyWriter,
    _ emit: (inout KeyWriter) throws -> Void
  ) throws {
    if place == fields.count { return try emit(&writer) }
    try fields[place].forEachKey(record, &writer, place == fields.count - 1) { writer in
      try forEachKey(at: record, from: place + 1, in: &writer, emit)
    }
  }
}
