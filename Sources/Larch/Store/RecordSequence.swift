internal import Foundation

/// The records of one type in the order of their ids, read as they are asked for.
///
/// Made by ``ReadTransaction/all(_:)`` and valid inside the closure of its transaction.
public struct RecordSequence<R: Record>: Sequence {
  let transaction: ReadTransaction
  let collection: CollectionHandle

  /// Starts before the first record.
  public func makeIterator() -> Iterator {
    Iterator(cursor: RecordCursor(transaction, collection))
  }

  /// Steps through the records.
  public struct Iterator: IteratorProtocol {
    let cursor: RecordCursor

    /// The next record, or nil after the last one or after an error, which the transaction then
    /// throws at its end.
    ///
    /// - Complexity: O(1) while the transaction changes nothing, else one search.
    public mutating func next() -> R? {
      let transaction = cursor.transaction
      precondition(
        transaction.isLive,
        "A sequence of records was used after its transaction ended. Use it inside the closure, or make an array of it there."
      )
      if transaction.sequenceError != nil { return nil }
      do {
        return try transaction.storage { _ in
          guard let entry = try cursor.next() else { return nil }
          return try transaction.context.decode(
            R.self, entry.value, id: entry.key, in: cursor.collection)
        }
      } catch {
        transaction.sequenceError = error
        return nil
      }
    }
  }
}

@available(*, unavailable)
extension RecordSequence: Sendable {}

/// A position in the records of a collection that survives changes of its transaction.
final class RecordCursor {
  let transaction: ReadTransaction
  let collection: CollectionHandle
  private var cursor: LMDBCursor?
  private var hasStarted = false
  private var isAtEnd = false
  private var changeCount: Int
  /// The last key that was given, kept as soon as the transaction may change records.
  private var lastKey: [UInt8] = []
  /// The highest key when the iteration began: records inserted behind it are not visited, so
  /// that a loop that inserts ends.
  private var endKey: [UInt8]?

  init(_ transaction: ReadTransaction, _ collection: CollectionHandle) {
    self.transaction = transaction
    self.collection = collection
    changeCount = transaction.changeCount
  }

  /// Gives the LMDB cursor back. The next step opens another one, behind the last key.
  func close() { cursor = nil }

  func next() throws -> LMDBEntry? {
    if isAtEnd { return nil }
    let entry = try step()
    guard let entry, endKey.map({ key in !key.withUnsafeBytes { $0.precedes(entry.key) } }) ?? true
    else {
      isAtEnd = true
      cursor = nil
      return nil
    }
    if transaction is WriteTransaction {
      lastKey.removeAll(keepingCapacity: true)
      lastKey.append(contentsOf: entry.key)
    }
    return entry
  }

  private func step() throws -> LMDBEntry? {
    if !hasStarted {
      hasStarted = true
      try open()
      if transaction is WriteTransaction { endKey = try cursor?.last().map { [UInt8]($0.key) } }
      return try cursor?.first()
    }
    if cursor != nil, changeCount == transaction.changeCount { return try cursor?.next() }
    if cursor == nil { try open() }
    changeCount = transaction.changeCount
    let entry = try lastKey.withUnsafeBytes { try cursor?.seek(atOrAfter: $0) }
    guard let entry, lastKey.withUnsafeBytes({ $0.equals(entry.key) }) else { return entry }
    return try cursor?.next()
  }

  private func open() throws {
    cursor = try LMDBCursor(collection.records, in: try transaction.live())
    transaction.register(self)
  }
}
