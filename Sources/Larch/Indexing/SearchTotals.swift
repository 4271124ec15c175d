/// The number of records of a search, and of the words of all of them in each field: what ranks need of the whole
/// collection.
///
/// The bytes are these numbers. They are kept when words are merged, so that no read counts them.
struct SearchTotals: Equatable {
  var records: UInt64 = 0
  /// By field.
  var words: [UInt64]

  /// Adds the lengths of a record.
  mutating func add(_ lengths: UnsafeRawBufferPointer) throws {
    records &+= 1
    try forEachLength(lengths) { words[$0] &+= $1 }
  }

  /// Takes away the lengths of a record that were added before.
  mutating func remove(_ lengths: UnsafeRawBufferPointer) throws {
    records &-= 1
    try forEachLength(lengths) { words[$0] &-= $1 }
  }

  private func forEachLength(
    _ lengths: UnsafeRawBufferPointer, _ body: (_ field: Int, _ length: UInt64) -> Void
  ) throws {
    var bytes = SearchBytes(lengths)
    for field in words.indices { body(field, try bytes.number()) }
    guard bytes.isAtEnd else { throw SearchBytes.damaged }
  }

  // MARK: Bytes

  /// The totals in a tree; nil if it has none, because it was written before there were totals, or is empty.
  static func stored(
    _ search: SearchSchema, in database: LMDBDatabase, _ transaction: LMDBTransaction
  ) throws -> SearchTotals? {
    try withUnsafeBytes(of: SearchKey.totals) {
      guard let value = try database.get($0, in: transaction) else { return nil }
      var totals = SearchTotals(search)
      var bytes = SearchBytes(value)
      totals.records = try bytes.number()
      for field in totals.words.indices { totals.words[field] = try bytes.number() }
      guard bytes.isAtEnd else { throw SearchBytes.damaged }
      return totals
    }
  }

  /// Writes them; those of no record are nothing, so that a search without records is an empty tree.
  func write(to database: LMDBDatabase, in transaction: LMDBTransaction) throws {
    if records == 0 {
      return try withUnsafeBytes(of: SearchKey.totals) {
        _ = try database.delete($0, in: transaction)
      }
    }
    var bytes = ByteBuffer(capacity: 10 * (words.count + 1))
    SearchPosting.append(records, to: &bytes)
    for count in words { SearchPosting.append(count, to: &bytes) }
    _ = try withUnsafeBytes(of: SearchKey.totals) {
      try database.put($0, bytes.bytes, in: transaction)
    }
  }
}

extension SearchTotals {
  init(_ search: SearchSchema) { words = [UInt64](repeating: 0, count: search.fields.count) }
}

extension SearchTree {
  /// What ranks need of the whole collection. A tree without totals is counted.
  func totals() throws -> SearchTotals {
    try SearchTotals.stored(search, in: index.database, transaction) ?? countedTotals()
  }

  /// The same from the lengths of all records.
  func countedTotals() throws -> SearchTotals {
    var totals = SearchTotals(search)
    var postings = SearchBlock()
    try [UInt8(0)].withUnsafeBytes { lengths in
      try forEachStoredBlock(from: lengths, prefix: lengths) { block in
        postings.removeAll()
        try postings.append(first: block.first, block.value, isOfLengths: true, search)
        for place in 0..<postings.count { try totals.add(postings.posting(place)) }
        return true
      }
    }
    return totals
  }
}
