internal import CLMDB

/// A key and one of its values, in the map or in a page of the transaction.
package struct LMDBEntry {
  // Pointers that are never nil, not two buffers: they leave room for the nil of an optional entry,
  // so that the whole is returned in registers.
  private let keyStart: UnsafeRawPointer
  private let keyCount: Int
  private let valueStart: UnsafeRawPointer
  private let valueCount: Int

  @inline(__always)
  fileprivate init(key: MDB_val, value: MDB_val) {
    keyStart = UnsafeRawPointer(key.mv_data)
    keyCount = key.mv_size
    valueStart = UnsafeRawPointer(value.mv_data)
    valueCount = value.mv_size
  }

  /// A pair in the map, of which neither part is empty.
  @inline(__always)
  package init?(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard let keyStart = key.baseAddress, let valueStart = value.baseAddress else { return nil }
    self.keyStart = keyStart
    keyCount = key.count
    self.valueStart = valueStart
    valueCount = value.count
  }

  @inline(__always)
  package var key: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: keyStart, count: keyCount)
  }

  @inline(__always)
  package var value: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: valueStart, count: valueCount)
  }
}

/// A position in a database that moves in key order.
///
/// It cannot delete: in databases with duplicates, deleting at a cursor and then moving it destroys
/// other entries, in every 0.9 version of LMDB. Collect the pairs, then delete each with
/// `LMDBDatabase.delete(_:value:in:)`.
///
/// A cursor of a write must be closed before the write, or its child transaction, ends. Entries are
/// valid until the next change in the transaction, or its end. LMDB does not copy the key of a
/// seek, so the seeks return the stored key, never the caller's buffer.
package struct LMDBCursor: ~Copyable {
  private let pointer: OpaquePointer

  package init(_ database: LMDBDatabase, in transaction: LMDBTransaction) throws(LMDBError) {
    if transaction.isWatched { database.tellRead(in: transaction) }
    var cursor: OpaquePointer?
    let code = mdb_cursor_open(transaction.pointer, database.handle, &cursor)
    guard code == MDB_SUCCESS, let cursor else {
      throw LMDBError.failure(code, "mdb_cursor_open", in: transaction.pointer)
    }
    pointer = cursor
  }

  deinit { mdb_cursor_close(pointer) }

  // MARK: Moving

  @inline(__always)
  package mutating func first() throws(LMDBError) -> LMDBEntry? { try move(MDB_FIRST) }

  @inline(__always)
  package mutating func last() throws(LMDBError) -> LMDBEntry? { try move(MDB_LAST) }

  /// The next pair; the first one before any other move.
  @inline(__always)
  package mutating func next() throws(LMDBError) -> LMDBEntry? { try move(MDB_NEXT) }

  /// The previous pair; the last one before any other move.
  @inline(__always)
  package mutating func previous() throws(LMDBError) -> LMDBEntry? { try move(MDB_PREV) }

  /// The first pair of the next key.
  @inline(__always)
  package mutating func nextKey() throws(LMDBError) -> LMDBEntry? { try move(MDB_NEXT_NODUP) }

  /// The last pair of the previous key.
  @inline(__always)
  package mutating func previousKey() throws(LMDBError) -> LMDBEntry? { try move(MDB_PREV_NODUP) }

  @inline(__always)
  package mutating func nextDuplicate() throws(LMDBError) -> LMDBEntry? { try move(MDB_NEXT_DUP) }

  @inline(__always)
  package mutating func previousDuplicate() throws(LMDBError) -> LMDBEntry? {
    try move(MDB_PREV_DUP)
  }

  /// The first value of the current key.
  mutating func firstDuplicate() throws(LMDBError) -> LMDBEntry? {
    try moveWithinKey(MDB_FIRST_DUP)
  }

  /// The last value of the current key.
  mutating func lastDuplicate() throws(LMDBError) -> LMDBEntry? {
    try moveWithinKey(MDB_LAST_DUP)
  }

  /// The pair at the position; nil if there is none.
  @inline(__always)
  func current() throws(LMDBError) -> LMDBEntry? { try move(MDB_GET_CURRENT) }

  // MARK: Seeking

  /// The first pair whose key is equal to or greater than the given one. LMDB refuses the empty
  /// key: a scan without a lower bound starts with `first`.
  @inline(__always)
  mutating func seek(
    atOrAfter key: UnsafeRawBufferPointer
  ) throws(LMDBError) -> LMDBEntry? {
    try move(MDB_SET_RANGE, key: MDB_val(key))
  }

  /// The first pair of exactly this key.
  @inline(__always)
  mutating func seek(exactly key: UnsafeRawBufferPointer) throws(LMDBError) -> LMDBEntry? {
    try move(MDB_SET_KEY, key: MDB_val(key))
  }

  /// The first pair of exactly this key whose value is equal to or greater than the given one.
  mutating func seek(
    _ key: UnsafeRawBufferPointer, valueAtOrAfter value: UnsafeRawBufferPointer
  ) throws(LMDBError) -> LMDBEntry? {
    try seekPair(MDB_GET_BOTH_RANGE, key, value)
  }

  /// Exactly this pair.
  mutating func seek(
    _ key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) throws(LMDBError) -> LMDBEntry? {
    try seekPair(MDB_GET_BOTH, key, value)
  }

  // MARK: Values of one key

  /// The number of values of the current key, without a scan; only where duplicates are allowed.
  package func duplicateCount() throws(LMDBError) -> Int {
    var count = 0
    try check(mdb_cursor_count(pointer, &count), "mdb_cursor_count")
    return count
  }

  /// The first run of values of a key, and whether the key has no others. The cursor must be at the
  /// first value of the key. The values of a run have the same size and no gaps. The cursor then is
  /// at the last value of the run.
  ///
  /// The count is read first: for a key with one value LMDB returns success and leaves the old
  /// bytes in the result.
  mutating func firstRun(
    at entry: LMDBEntry
  ) throws(LMDBError) -> (values: UnsafeRawBufferPointer, isOnly: Bool) {
    let count = try duplicateCount()
    guard count > 1 else { return (entry.value, true) }
    var key = MDB_val()
    var value = MDB_val()
    try check(mdb_cursor_get(pointer, &key, &value, MDB_GET_MULTIPLE), "mdb_cursor_get")
    return (value.bytes, value.bytes.count == count * entry.value.count)
  }

  /// The next run of values of the same key; nil after the last one.
  mutating func nextRun() throws(LMDBError) -> UnsafeRawBufferPointer? {
    var key = MDB_val()
    var value = MDB_val()
    let code = mdb_cursor_get(pointer, &key, &value, MDB_NEXT_MULTIPLE)
    if code == MDB_NOTFOUND { return nil }
    try check(code, "mdb_cursor_get")
    return value.bytes
  }

  // MARK: Storing

  /// Stores a pair and moves to it; false if the mode forbids it and nothing was stored.
  @inline(__always) @discardableResult
  mutating func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    in transaction: LMDBTransaction, mode: LMDBDatabase.PutMode = .upsert
  ) throws(LMDBError) -> Bool {
    if transaction.isWatched {
      try LMDBDatabase(handle: mdb_cursor_dbi(pointer)).tellPut(key, value, in: transaction)
    }
    var keyValue = MDB_val(key)
    var valueValue = MDB_val(value)
    let code = mdb_cursor_put(pointer, &keyValue, &valueValue, mode.flags)
    if code == MDB_SUCCESS {
      transaction.noteChange()
      return true
    }
    if transaction.isWatched { transaction.watcher?.didNotChange() }
    if code == MDB_KEYEXIST {
      if mode.copiesPages { transaction.noteChange() }
      return false
    }
    throw failure(code, "mdb_cursor_put")
  }

  // MARK: Calls

  @inline(__always)
  private func move(
    _ operation: MDB_cursor_op, key: MDB_val = MDB_val()
  ) throws(LMDBError) -> LMDBEntry? {
    var key = key
    var value = MDB_val()
    let code = mdb_cursor_get(pointer, &key, &value, operation)
    if code == MDB_SUCCESS { return LMDBEntry(key: key, value: value) }
    if code == MDB_NOTFOUND { return nil }
    throw failure(code, "mdb_cursor_get")
  }

  /// LMDB does not return the key when it moves between the values of one key.
  private func moveWithinKey(_ operation: MDB_cursor_op) throws(LMDBError) -> LMDBEntry? {
    var key = MDB_val()
    var value = MDB_val()
    let code = mdb_cursor_get(pointer, &key, &value, operation)
    if code == MDB_NOTFOUND { return nil }
    try check(code, "mdb_cursor_get")
    return try current()
  }

  private func seekPair(
    _ operation: MDB_cursor_op, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(LMDBError) -> LMDBEntry? {
    var keyValue = MDB_val(key)
    var valueValue = MDB_val(value)
    let code = mdb_cursor_get(pointer, &keyValue, &valueValue, operation)
    if code == MDB_NOTFOUND { return nil }
    try check(code, "mdb_cursor_get")
    return try current()
  }

  @inline(__always)
  private func check(_ code: Int32, _ operation: StaticString) throws(LMDBError) {
    if code != MDB_SUCCESS { throw failure(code, operation) }
  }

  @inline(never)
  private func failure(_ code: Int32, _ operation: StaticString) -> LMDBError {
    LMDBError.failure(code, operation, in: mdb_cursor_txn(pointer))
  }
}
