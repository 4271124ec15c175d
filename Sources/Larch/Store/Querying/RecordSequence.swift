internal import Foundation

/// The records of one type in the order of their ids, read one by one.
///
/// Created by ``ReadTransaction/all(_:)`` and valid inside the closure of its transaction.
public struct RecordSequence<R: Record>: Sequence {
  let transaction: ReadTransaction
  let collection: CollectionHandle

  /// Starts before the first record.
  public func makeIterator() -> Iterator {
    Iterator(cursor: RecordCursor(transaction, collection))
  }

  /// Iterates over the records.
  public struct Iterator: IteratorProtocol {
    let cursor: RecordCursor

    /// The next record, or nil after the last one or after an error, which the transaction then
    /// throws at its end. Also nil after the end of the transaction, or on another thread:
    /// ``error`` is `.transactionEnded` then.
    ///
    /// - Complexity: O(1) while the transaction changes nothing, otherwise one search.
    public mutating func next() -> R? {
      cursor.nextRecord(R.self)
    }

    /// The reason why the iterator ended before the last record; nil if it did not.
    public var error: (any Error)? { cursor.error }
  }
}

@available(*, unavailable)
extension RecordSequence: Sendable {}

/// An object with open cursors of LMDB, which it can close.
class OpenCursor {
  func close() {}
}

/// A position in the records of a collection that survives changes of its transaction.
final class RecordCursor: OpenCursor {
  let transaction: ReadTransaction
  let context: TransactionContext
  let collection: CollectionHandle
  // Everything that each step needs, without references to other objects, which would be counted.
  private let coder: RecordCoder
  private let collectionNumber: UInt32
  private let isWriting: Bool
  @exclusivity(unchecked) private var cursor: StoredCursor
  private var hasStarted = false
  private var isAtEnd = false
  /// Whether a record was requested after the end of the transaction.
  private var hasOutlived = false
  @exclusivity(unchecked) private var changeCount: Int
  /// The last key that was returned, in a transaction that may change records.
  private var lastKey: [UInt8] = []
  /// The highest key when the iteration began: records inserted after it are not visited, so that a
  /// loop that inserts ends.
  private var endKey: [UInt8] = []

  init(_ transaction: ReadTransaction, _ collection: CollectionHandle) {
    self.transaction = transaction
    self.collection = collection
    context = transaction.context
    coder = transaction.context.coder
    collectionNumber = collection.number
    isWriting = transaction is WriteTransaction
    changeCount = transaction.changeCount
    cursor = StoredCursor(collection.records, transaction.context)
  }

  deinit { if cursor.isOpen { transaction.unregister(self) } }

  /// The reason why it ended before the last record.
  var error: (any Error)? {
    hasOutlived ? TransactionContext.ended : transaction.sequenceError
  }

  /// Closes its position. The next step opens another one, after the last key.
  override func close() { cursor.close() }

  /// The next record; nil at the end, and after an error, which the transaction keeps.
  @inline(__always)
  func nextRecord<R: Record>(_ type: R.Type) -> R? {
    guard let entry = nextOrEnd() else { return nil }
    guard
      let record = RecordEnvelope.open(entry.value, id: entry.key, collection: collectionNumber)
    else { return damaged(entry) }
    do {
      return try coder.decode(type, from: record)
    } catch {
      keep(error, entry)
      return nil
    }
  }

  @inline(never)
  private func damaged<R>(_ entry: LMDBEntry) -> R? {
    transaction.sequenceError = RecordEnvelope.damaged(entry.key, collection.stored)
    return nil
  }

  @inline(never)
  private func keep(_ error: any Error, _ entry: LMDBEntry) {
    transaction.sequenceError = context.described(error, id: entry.key, in: collection)
  }

  @inline(__always)
  private func nextOrEnd() -> LMDBEntry? {
    if !isWriting, cursor.isOpen, let entry = try? cursor.next() { return entry }
    return slowNext()
  }

  @inline(never)
  private func slowNext() -> LMDBEntry? {
    // An iterator cannot throw, and neither can a transaction that has ended.
    guard transaction.isLive else {
      if !isAtEnd { hasOutlived = true }
      return nil
    }
    if isAtEnd || transaction.sequenceError != nil { return nil }
    do {
      return try next()
    } catch let error as LMDBError {
      transaction.sequenceError = context.note(error)
    } catch {
      transaction.sequenceError = error
    }
    return nil
  }

  private func next() throws -> LMDBEntry? {
    guard let entry = try step() else {
      isAtEnd = true
      return nil
    }
    if isWriting {
      if endKey.withUnsafeBytes({ $0.precedes(entry.key) }) {
        isAtEnd = true
        return nil
      }
      lastKey.removeAll(keepingCapacity: true)
      lastKey.append(contentsOf: entry.key)
    }
    return entry
  }

  private func step() throws -> LMDBEntry? {
    if !hasStarted {
      hasStarted = true
      try open()
      if isWriting, let last = try cursor.last() { endKey = [UInt8](last.key) }
      return try cursor.first()
    }
    if cursor.isOpen, changeCount == transaction.changeCount { return try cursor.next() }
    // New records may be held back.
    _ = try transaction.live()
    if !cursor.isOpen { try open() }
    changeCount = transaction.changeCount
    let entry = try lastKey.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    guard let entry, lastKey.withUnsafeBytes({ $0.equals(entry.key) }) else { return entry }
    return try cursor.next()
  }

  private func open() throws {
    _ = try transaction.live()
    try cursor.open(isOften: true)
    transaction.register(self)
  }
}
