/// Tells whether the rows of a request are the same as at an earlier time, without keeping them: a
/// number that is computed from the ids and the stored bytes of their records, in order.
///
/// Two results that differ have equal numbers with a chance of 1 in 2^64 (`RecordHash`).
@usableFromInline  // Requests have it in methods that their verbs can be inlined with.
class RowDigest {
  @exclusivity(unchecked) private(set) var value = 0
  /// The number of records so far.
  @exclusivity(unchecked) private(set) var count = 0

  init() {}

  /// Adds a record; nil for a row without one.
  func add(id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer?) {
    if let record {
      add(content: RecordHash.of(id, record))
    } else {
      add(content: RecordHash.of(id, UnsafeRawBufferPointer(start: nil, count: 0)))
      add(content: -1)
    }
    count &+= 1
  }

  /// Adds the number of records that follow for one row.
  func add(count: Int) { add(content: count) }

  /// Adds a hash of the records that came with the last record.
  func add(content: Int) { value = RecordHash.of(value, content) }
}

extension RecordAccess {
  /// Decodes the record of a row into the memory at `target`, after it was added to a digest.
  func decode(
    _ row: QueryRow, of run: PlanRun, into target: UnsafeMutablePointer<R>, noting digest: RowDigest
  ) throws {
    var row = row
    if row.record == nil {
      do { row.record = try run.record() } catch { throw named(error, row.id) }
    }
    digest.add(id: row.id, row.record)
    try decode(row, of: run, into: target)
  }
}
