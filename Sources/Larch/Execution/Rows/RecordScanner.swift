/// Iterates over the records of a collection in ranges of ids, in either direction.
final class RecordScanner {
  private let ranges: [KeyRange]
  private let descends: Bool
  @exclusivity(unchecked) private var cursor: StoredCursor
  private var range = -1
  @exclusivity(unchecked) private var isInRange = false
  /// The end of the range: the upper bound, or the lower one of a descending scan.
  @exclusivity(unchecked) private var end: [UInt8]?

  init(
    _ ranges: [KeyRange], of collection: CollectionHandle, descends: Bool,
    in context: TransactionContext
  ) throws {
    self.ranges = ranges.filter { !$0.isEmpty }
    self.descends = descends
    cursor = StoredCursor(collection.records, context)
    try cursor.open(isOften: ranges.count == 1 && ranges[0].isEverything)
  }

  func close() {
    cursor.close()
    isInRange = false
    range = ranges.count
  }

  /// The next id with its stored value; nil at the end.
  @inline(__always)
  func next() throws -> LMDBEntry? {
    if isInRange, !descends, let entry = try cursor.next() {
      if end == nil { return entry }
      if let accepted = accept(entry) { return accepted }
    }
    return try nextSlowly()
  }

  private func nextSlowly() throws -> LMDBEntry? {
    while true {
      if isInRange, descends, let accepted = accept(try cursor.previous()) { return accepted }
      isInRange = false
      range += 1
      guard range < ranges.count else {
        // It stays at the end.
        range = ranges.count
        return nil
      }
      let bounds = descends ? ranges[ranges.count - 1 - range] : ranges[range]
      end = descends ? (bounds.lower.isEmpty ? nil : bounds.lower) : bounds.upper
      if let accepted = accept(try seek(bounds)) {
        isInRange = true
        return accepted
      }
    }
  }

  private func accept(_ entry: LMDBEntry?) -> LMDBEntry? {
    guard let entry else { return nil }
    guard let end else { return entry }
    let order = end.withUnsafeBytes { compareBytes(entry.key, $0) }
    return (descends ? order >= 0 : order < 0) ? entry : nil
  }

  private func seek(_ bounds: KeyRange) throws -> LMDBEntry? {
    if !descends {
      if bounds.lower.isEmpty { return try cursor.first() }
      return try bounds.lower.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    }
    guard let upper = bounds.upper else { return try cursor.last() }
    if upper.isEmpty { return nil }
    let entry = try upper.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    return entry == nil ? try cursor.last() : try cursor.previous()
  }
}
