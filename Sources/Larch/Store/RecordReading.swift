/// What records can be read from: a ``Store``, which takes a snapshot for each call, a
/// ``ReadTransaction``, in which all calls see one snapshot, or a ``Snapshot``, which lasts.
///
/// Only these conform, and ``WriteTransaction`` with its own changes.
public protocol RecordReading {
  /// Runs the closure on a snapshot. Met by Larch; never called by you.
  func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T
}

/// What records can be changed in: a ``Store``, which makes a transaction for each call, or a
/// ``WriteTransaction``.
public protocol RecordWriting: RecordReading {
  /// Runs the closure as one change. Met by Larch; never called by you.
  func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T
}

extension ReadTransaction: RecordReading {
  /// In this transaction.
  public final func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try body(self)
  }
}

extension WriteTransaction: RecordWriting {
  /// In this transaction.
  public func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T { try body(self) }
}

extension Store: RecordWriting {
  /// In a snapshot of its own.
  public func _reading<T>(_ body: (ReadTransaction) throws -> T) throws -> T { try read(body) }

  /// In a transaction of its own.
  public func _writing<T>(_ body: (WriteTransaction) throws -> T) throws -> T {
    try writeBlocking(.ofStore, body)
  }
}
