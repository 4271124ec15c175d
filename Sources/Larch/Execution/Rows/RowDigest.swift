/// Tells whether the rows of a request are the same as at an earlier time, without keeping them: a
/// number that is computed from the ids and the stored bytes of their records, in order.
///
/// Two results that differ have equal numbers with a chance of 1 in 2^64, since the key of the hash
/// is a secret of the process. It takes about a nanosecond for each byte.
@usableFromInline  // Requests have it in methods that their verbs can be inlined with.
class RowDigest {
  @exclusivity(unchecked) private var hasher = Hasher()
  /// The number of records so far.
  @exclusivity(unchecked) private(set) var count = 0

  init() {}

  /// Adds a record; nil for a row without one.
  func add(id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer?) {
    // The lengths keep neighbours apart.
    hasher.combine(id.count)
    hasher.combine(bytes: id)
    hasher.combine(record?.count ?? -1)
    if let record { hasher.combine(bytes: record) }
    count &+= 1
  }

  /// Adds the number of records that follow for one row.
  func add(count: Int) { hasher.combine(count) }

  /// Adds a hash of the records that came with the last record.
  func add(content: Int) { hasher.combine(content) }

  var value: Int { hasher.finalize() }
}

extension RecordAccess {
  /// The record of a row, decoded, after it was added to a digest.
  func decode(_ row: QueryRow, of run: PlanRun, noting digest: RowDigest) throws -> R {
    var row = row
    if row.record == nil {
      do { row.record = try run.record() } catch { throw named(error, row.id) }
    }
    digest.add(id: row.id, row.record)
    return try decode(row, of: run)
  }
}
