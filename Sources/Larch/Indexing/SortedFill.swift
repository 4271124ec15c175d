/// Adds sorted pairs to a tree, so that its pages become full where that costs nothing more.
///
/// LMDB fills a page if keys come in order after all others. For any other key, it splits a full
/// page in two halves. So the tree is filled from left to right if it is empty, if all new keys come
/// after its last one, or if it has few entries compared with the new ones: then it is emptied, and
/// its old entries are written again among the new ones.
struct SortedFill {
  /// Fewer pairs do not make enough pages.
  private static let least = 64
  /// The largest tree that is written again, in bytes: its entries are held in memory.
  private static let largestTree = IndexMaintainer.pendingLimit

  let database: LMDBDatabase
  /// Whether a key has one value, and must be new.
  let isOfRecords: Bool

  /// Adds the pairs that are not removals; in an index, those that are there already are skipped.
  ///
  /// Cursors of the transaction on the tree must search their positions again.
  func add(_ entries: borrowing PendingEntries, in transaction: LMDBTransaction) throws {
    let transaction = transaction.filling(database.handle)
    let tree = try database.statistics(in: transaction)
    var cursor = try LMDBCursor(database, in: transaction)
    if try tree.entries == 0 || isBehind(&cursor, entries) {
      var appending = AppendingCursor(cursor, transaction)
      return try entries.forEachLast(removals: false) { key, value in
        guard try appending.put(key, value) else { throw SortedFill.disorder }
      }
    }
    if pays(entries, tree), !transaction.isObserved {
      return try rewrite(with: entries, cursor, transaction)
    }
    let mode: LMDBDatabase.PutMode = isOfRecords ? .ifAbsent : .ifPairAbsent
    try entries.forEachLast(removals: false) { key, value in
      if try !cursor.put(key, value, in: transaction, mode: mode), isOfRecords {
        throw SortedFill.disorder
      }
    }
  }

  /// Whether all new keys come after the last one.
  private func isBehind(
    _ cursor: inout LMDBCursor, _ entries: borrowing PendingEntries
  ) throws -> Bool {
    guard entries.count >= Self.least, let last = try cursor.last() else { return false }
    return last.key.precedes(entries.key(0))
  }

  /// Whether the new pairs would change most pages of the tree anyway. It is not written again for
  /// those who observe its entries: every one would be a change for them.
  private func pays(_ entries: borrowing PendingEntries, _ tree: LMDBStatistics) -> Bool {
    entries.count >= Self.least && tree.entries <= 3 * entries.count && tree.overflowPages == 0
      && tree.leafPages * tree.pageSize <= Self.largestTree
  }

  private func rewrite(
    with entries: borrowing PendingEntries, _ cursor: consuming LMDBCursor,
    _ transaction: LMDBTransaction
  ) throws {
    var stored = PendingEntries()
    var entry = try cursor.first()
    while let here = entry {
      stored.append(key: here.key, id: here.value, isRemoval: false)
      entry = try cursor.next()
    }
    try database.empty(in: transaction)
    var appending = AppendingCursor(cursor, transaction)
    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      guard try appending.put(key, value) else { throw SortedFill.disorder }
    }
    var place = 0
    try entries.forEachLast(removals: false) { key, value in
      while place < stored.count {
        var order = compareBytes(stored.key(place), key)
        if order == 0 {
          if isOfRecords { throw SortedFill.disorder }
          order = compareBytes(stored.id(place), value)
        }
        if order > 0 { break }
        if order < 0 { try put(stored.key(place), stored.id(place)) }
        place += 1
      }
      try put(key, value)
    }
    while place < stored.count {
      try put(stored.key(place), stored.id(place))
      place += 1
    }
  }

  private static var disorder: LarchError {
    LarchError(.storage, "Sorted entries were not in order; this is a fault of Larch.")
  }
}
