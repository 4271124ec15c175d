/// Puts pairs behind all others of a tree, which fills its pages.
struct AppendingCursor: ~Copyable {
  private var cursor: LMDBCursor
  private let transaction: LMDBTransaction
  private var previous: UnsafeRawBufferPointer

  /// - Parameter previous: the last key of the tree, if the next pair may have the same one.
  init(
    _ cursor: consuming LMDBCursor, _ transaction: LMDBTransaction,
    after previous: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    self.cursor = cursor
    self.transaction = transaction
    self.previous = previous
  }

  /// Puts a pair; false if it does not come after the others, and nothing was stored.
  ///
  /// - Parameter key: its bytes must stay in place until the next call.
  mutating func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(LMDBError) -> Bool {
    let isSameKey = key.equals(previous)
    previous = key
    return try cursor.put(
      key, value, in: transaction, mode: isSameKey ? .appendDuplicate : .append)
  }
}
