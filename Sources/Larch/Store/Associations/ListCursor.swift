/// A position in an association list that survives changes of its transaction.
///
/// In a write the list may change meanwhile: the cursor continues after the last id that it
/// returned, up to the highest id of the list at the beginning.
final class ListCursor: OpenCursor {
  private let list: AssociationList
  private let transaction: ReadTransaction
  private let context: TransactionContext
  private let isWriting: Bool
  @exclusivity(unchecked) private var cursor: LMDBCursor?
  private var hasStarted = false
  private var isAtEnd = false
  private var changeCount = 0
  /// The last id that was returned, in a transaction that may change lists.
  private var lastID: [UInt8] = []
  private var endID: [UInt8] = []

  init(_ list: AssociationList, _ transaction: ReadTransaction) {
    self.list = list
    self.transaction = transaction
    context = transaction.context
    isWriting = transaction is WriteTransaction
  }

  deinit { end() }

  /// Closes the LMDB cursor. The next step opens another one, after the last id.
  override func close() { cursor = nil }

  /// Closes the LMDB cursor permanently.
  func end() {
    isAtEnd = true
    guard cursor != nil else { return }
    cursor = nil
    transaction.unregister(self)
  }

  /// The next id, valid until the next change or step; nil after the last one.
  @inline(__always)
  func next() throws -> UnsafeRawBufferPointer? {
    if isAtEnd { return nil }
    while let entry = try step() {
      if isWriting {
        if endID.withUnsafeBytes({ $0.precedes(entry.value) }) { break }
        lastID.removeAll(keepingCapacity: true)
        lastID.append(contentsOf: entry.value)
      }
      if try list.isListed(entry.value, context) { return entry.value }
    }
    end()
    return nil
  }

  @inline(__always)
  private func step() throws -> LMDBEntry? {
    if hasStarted, cursor != nil, changeCount == transaction.changeCount {
      return try cursor?.nextDuplicate()
    }
    return try slowStep()
  }

  @inline(never)
  private func slowStep() throws -> LMDBEntry? {
    let lmdb = try transaction.live()
    changeCount = transaction.changeCount
    try transaction.writeGathered(for: list.database)
    if cursor == nil {
      cursor = try LMDBCursor(list.database, in: lmdb)
      transaction.register(self)
    }
    if hasStarted { return try seekBehindLast() }
    hasStarted = true
    guard let first = try seekFirst() else { return nil }
    guard isWriting, let last = try cursor?.lastDuplicate() else { return first }
    endID = [UInt8](last.value)
    return try seekFirst()
  }

  private func seekFirst() throws -> LMDBEntry? {
    try list.key.withUnsafeBytes { try cursor?.seek(exactly: $0) }
  }

  /// Seeks the position after the last id, which may have been removed.
  private func seekBehindLast() throws -> LMDBEntry? {
    let entry = try list.key.withUnsafeBytes { key in
      try lastID.withUnsafeBytes { try cursor?.seek(key, valueAtOrAfter: $0) }
    }
    guard let entry, lastID.withUnsafeBytes({ entry.value.equals($0) }) else { return entry }
    return try cursor?.nextDuplicate()
  }
}
