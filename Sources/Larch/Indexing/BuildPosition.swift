/// The progress of an index build, which the file keeps.
struct BuildPosition {
  /// The number of records read.
  var done = 0
  /// The id of the last one; nil before the first.
  var lastID: [UInt8]?

  /// Before the first record.
  init() {}

  /// The position where the build of an index continues.
  init(
    of index: IndexHandle, _ storage: CatalogStorage, _ transaction: LMDBTransaction
  ) throws {
    guard let bytes = try storage.value(.buildProgress(index.stored.id), in: transaction) else {
      return
    }
    try bytes.withUnsafeBytes {
      var reader = StoredReader($0)
      done = Int(clamping: try reader.varint())
      // No id is empty: the first record was passed over.
      let id = try reader.data()
      lastID = id.isEmpty ? nil : id
      try reader.expectEnd()
    }
  }

  /// The first record after this position.
  func next(of cursor: inout LMDBCursor) throws -> LMDBEntry? {
    guard let lastID else { return try cursor.first() }
    return try lastID.withUnsafeBytes { id in
      let entry = try cursor.seek(atOrAfter: id)
      guard let entry, entry.key.equals(id) else { return entry }
      return try cursor.next()
    }
  }

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(varint: UInt64(done))
    writer.append(data: lastID ?? [])
    return writer.bytes
  }
}
