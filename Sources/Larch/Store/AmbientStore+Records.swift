// Single records in the running transaction. They are what `try ada.save()` costs more than
// `try tx.save(&ada)`, so each goes straight to the transaction's own method: it puts the record
// back by itself when it fails, and needs no copy and no closure.

extension AmbientStore {
  /// The record with this id, or nil. See ``ReadTransaction/find(_:_:)``.
  ///
  /// - Throws: `.noDefaultStore`; as ``ReadTransaction/find(_:_:)``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public func find<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> R? {
    switch try _target() {
    case .transaction(let transaction): try transaction.find(type, id)
    case .store(let store): try store.find(type, id)
    }
  }

  /// Inserts the record, or updates the one that has its id. See ``WriteTransaction/save(_:)``.
  ///
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as ``WriteTransaction/save(_:)``.
  /// - Complexity: O(log n) for the record and each index entry that changes.
  public func save<R: Record>(_ record: inout R) throws {
    switch try _target() {
    case .transaction(let transaction): try AmbientStore.writer(transaction).save(&record)
    case .store(let store): try store.save(&record)
    }
  }

  /// Inserts the record. See ``WriteTransaction/insert(_:)``.
  ///
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as ``WriteTransaction/insert(_:)``.
  /// - Complexity: as ``save(_:)``.
  public func insert<R: Record>(_ record: inout R) throws {
    switch try _target() {
    case .transaction(let transaction): try AmbientStore.writer(transaction).insert(&record)
    case .store(let store): try store.insert(&record)
    }
  }

  /// Replaces the stored record that has the id of this one, and brings the record up to date
  /// with what hooks and ``Timestamped`` made of it. See `WriteTransaction.update(_:)`.
  ///
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as `WriteTransaction.update(_:)`.
  /// - Complexity: as ``save(_:)``.
  public func update<R: Record>(_ record: inout R) throws {
    switch try _target() {
    case .transaction(let transaction): try AmbientStore.writer(transaction).update(&record)
    case .store(let store): try store.update(&record)
    }
  }

  private static func writer(_ transaction: ReadTransaction) throws -> WriteTransaction {
    guard let writer = transaction as? WriteTransaction else { throw _cannotWrite() }
    return writer
  }
}
