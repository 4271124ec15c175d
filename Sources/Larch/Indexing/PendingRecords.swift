/// New records of one collection that a write holds back, to store them in the order of their ids.
///
/// Ids such as UUIDs come in no order. Stored one by one, they would leave the pages of the tree
/// two thirds full, and each would be a search in another part of it. So after some inserts in a
/// row, further ones are only collected. Everything else that the transaction does writes them
/// first: see `TransactionContext.hold`.
package final class PendingRecords {
  /// The number of inserts in a row after which they are held back.
  private static let firstPatience = 32
  /// Larger records are stored at once: most of their bytes are not in the tree.
  private static let largestRecord = 1 << 11

  private let context: TransactionContext
  /// The collection of the inserts in a row.
  @exclusivity(unchecked) private var collection: CollectionHandle?
  @exclusivity(unchecked) private var inserts = 0
  @exclusivity(unchecked) private var patience = firstPatience
  @exclusivity(unchecked) private var entries = PendingEntries()
  /// Hashes of the ids.
  @exclusivity(unchecked) private var ids = HashSet()

  package init(_ context: TransactionContext) {
    self.context = context
    context.writeHeld = { [unowned self] in try write(in: $0) }
  }

  /// Whether a record can be held back with the others. Its id must not be stored.
  func takes(
    _ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, of collection: CollectionHandle
  ) -> Bool {
    context.held != nil && collection === self.collection && record.count <= Self.largestRecord
      && !ids.contains(ByteHash.of(id))
  }

  /// Whether a record with the id may be held back.
  func mayHave(_ id: UnsafeRawBufferPointer, of collection: CollectionHandle) -> Bool {
    collection === self.collection && ids.contains(ByteHash.of(id))
  }

  func add(
    _ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, of collection: CollectionHandle
  ) {
    let checksum = RecordEnvelope.checksum(collection: collection.number, id: id, record: record)
    withUnsafeBytes(of: checksum.littleEndian) { entries.append(key: id, value: record, $0) }
    ids.insert(ByteHash.of(id))
  }

  /// Whether they take as much memory as they may.
  var isFull: Bool { entries.byteCount > IndexMaintainer.pendingLimit }

  /// Called with each insert that was stored, of a type whose records may be held back.
  @inline(__always)
  func noteInsert(of collection: CollectionHandle) {
    if collection !== self.collection {
      self.collection = collection
      inserts = 0
    }
    inserts += 1
    if inserts >= patience { begin() }
  }

  @inline(never)
  private func begin() {
    // Whoever observes the store learns of each write as it happens.
    guard let collection, collection.stored.idKind != .assigned, collection.references.isEmpty,
      context.current?.isObserved == false
    else {
      inserts = 0
      return
    }
    context.hold()
  }

  /// Stores them.
  private func write(in transaction: LMDBTransaction) throws {
    defer { forget() }
    guard let collection, !entries.isEmpty else { return }
    // Reads in between make it useless.
    let isWorthwhile = entries.count >= PendingRecords.firstPatience
    patience = isWorthwhile ? PendingRecords.firstPatience : min(2 * patience, 1 << 20)
    entries.sort()
    try SortedFill(database: collection.records, isOfRecords: true).add(entries, in: transaction)
  }

  /// Forgets them and the inserts before: the transaction has ended, or was undone.
  func discard() {
    context.stopHolding()
    forget()
    collection = nil
    patience = PendingRecords.firstPatience
  }

  private func forget() {
    entries.removeAll()
    ids.removeAll()
    inserts = 0
  }
}
