/// A source of records: a ``Store``, which takes a snapshot for each call, a ``ReadTransaction``,
/// in which all calls see one snapshot, or a ``Snapshot``, which stays open.
///
/// Only these types conform, and ``WriteTransaction`` with its own changes.
public protocol RecordReading {
  /// Runs the closure on a snapshot. Implemented by Larch; you never call it.
  @_documentation(visibility: private)
  func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T
}

/// A destination of changes: a ``Store``, which makes a transaction for each call, or a
/// ``WriteTransaction``.
public protocol RecordWriting: RecordReading {
  /// Runs the closure as one change. Implemented by Larch; you never call it.
  @_documentation(visibility: private)
  func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T

  /// Runs the closure as one change, after which the record is what the closure made of it, or,
  /// when an error is thrown, what it was. Implemented by Larch; you never call it.
  @_documentation(visibility: private)
  func _saving<R: Record>(
    _ record: inout R, _ body: (WriteTransaction, inout R) throws -> Void
  ) throws
}

extension ReadTransaction: RecordReading {
  /// In this transaction.
  @_documentation(visibility: private)
  @inlinable  // So that nothing is left of it.
  public final func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try body(self)
  }
}

extension WriteTransaction: RecordWriting {
  /// In this transaction.
  @_documentation(visibility: private)
  @inlinable  // As above.
  public func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T { try body(self) }

  /// In this transaction, whose own saves put the record back when they fail.
  @_documentation(visibility: private)
  @inlinable  // As above.
  public func _saving<R: Record>(
    _ record: inout R, _ body: (WriteTransaction, inout R) throws -> Void
  ) throws { try body(self, &record) }
}

extension Store: RecordWriting {
  /// In a snapshot of its own.
  @_documentation(visibility: private)
  public func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T { try read(body) }

  /// In a transaction of its own.
  @_documentation(visibility: private)
  public func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    try writeBlocking(.storeDefault, body)
  }

  /// In a transaction of its own.
  @_documentation(visibility: private)
  public func _saving<R: Record>(
    _ record: inout R, _ body: (WriteTransaction, inout R) throws -> Void
  ) throws {
    let original = record
    do {
      try writeBlocking(.storeDefault) { tx in
        // A write may run twice: hooks change the record they began with.
        record = original
        try body(tx, &record)
      }
    } catch {
      // The commit may fail after the record was given an id.
      record = original
      throw error
    }
  }
}
