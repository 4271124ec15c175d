/// Reads the records of a collection in the order of their ids, for any type, in batches: LMDB has
/// nothing open between batches, so the collection may be changed meanwhile.
final class StoredRecordReader {
  struct Item {
    let id: [UInt8]
    let record: [UInt8]
  }

  private static let countLimit = 512
  private static let sizeLimit = 1 << 20

  let stored: StoredCollection
  let records: LMDBDatabase
  private var batch: ArraySlice<Item> = []
  private var lastID: [UInt8] = []
  /// The highest id at the beginning: later records above it are not visited.
  private var endID: [UInt8] = []
  private var hasStarted = false
  private var isAtEnd = false

  init(_ stored: StoredCollection, _ records: LMDBDatabase) {
    self.stored = stored
    self.records = records
  }

  /// The next record, or nil at the end.
  func next(in transaction: LMDBTransaction) throws -> Item? {
    if batch.isEmpty { batch = try nextBatch(in: transaction)[...] }
    return batch.popFirst()
  }

  /// The records after the last batch; none at the end.
  func nextBatch(in transaction: LMDBTransaction) throws -> [Item] {
    if isAtEnd { return [] }
    var items: [Item] = []
    var size = 0
    var cursor = try LMDBCursor(records, in: transaction)
    var entry: LMDBEntry?
    if hasStarted {
      entry = try lastID.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
      if let here = entry, lastID.withUnsafeBytes({ $0.equals(here.key) }) {
        entry = try cursor.next()
      }
    } else {
      hasStarted = true
      if let last = try cursor.last() { endID = [UInt8](last.key) }
      entry = try cursor.first()
    }
    while let here = entry, items.count < Self.countLimit, size < Self.sizeLimit {
      if endID.withUnsafeBytes({ $0.precedes(here.key) }) { break }
      guard let record = RecordEnvelope.open(here.value, id: here.key, collection: stored.id) else {
        throw RecordEnvelope.damaged(here.key, stored)
      }
      items.append(Item(id: [UInt8](here.key), record: [UInt8](record)))
      size += record.count
      entry = try cursor.next()
    }
    if let last = items.last { lastID = last.id } else { isAtEnd = true }
    return items
  }
}
