/// A snapshot of the store, which does not change.
///
/// Created by ``Store/read(file:line:_:)`` and valid inside its closure, on its thread. A
/// ``WriteTransaction`` reads in the same way, and sees its own changes.
public class ReadTransaction {
  final let context: TransactionContext
  private final let owner = ThreadIdentity.current
  private final var isOpen = true
  /// The first error that a sequence met; thrown when the closure returns.
  final var sequenceError: (any Error)?
  /// The number of changes: after a change, a running sequence searches its position again.
  final var changeCount = 0
  /// Cursors of running sequences, which LMDB requires to be closed before the transaction ends.
  @exclusivity(unchecked) private final var cursors: [Unmanaged<OpenCursor>] = []

  init(_ context: TransactionContext) { self.context = context }

  /// The LMDB transaction. Throws on another thread, and after the closure has returned.
  @inline(__always)
  final func live() throws -> LMDBTransaction {
    // The owner is checked first: another thread must not read a variable that may change.
    guard owner == ThreadIdentity.current, isOpen else { throw TransactionContext.ended }
    return try context.transaction()
  }

  /// Ends the transaction: later calls throw, even if somebody still holds the object.
  final func end() {
    isOpen = false
    closeCursors()
  }

  /// Closes the cursors of running sequences, which open new ones when they continue. A cursor must
  /// not be used after its transaction, nor while a child of the transaction is open.
  final func closeCursors() {
    if cursors.isEmpty { return }
    for cursor in cursors { cursor.takeUnretainedValue().close() }
    cursors = []
  }

  /// Whether the closure still runs on this thread.
  final var isLive: Bool { owner == ThreadIdentity.current && isOpen }

  /// Remembers a cursor that has an LMDB cursor open. Not by a weak reference, which would make all
  /// later reference counting of the object slower.
  final func register(_ cursor: OpenCursor) {
    cursors.append(Unmanaged.passUnretained(cursor))
  }

  /// Forgets a cursor before it is deallocated.
  final func unregister(_ cursor: OpenCursor) {
    cursors.removeAll { $0.toOpaque() == Unmanaged.passUnretained(cursor).toOpaque() }
  }

  /// Whether a record exists, if that is known without the records that a write holds back.
  func findWhileHolding<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool? { nil }

  /// Whether there may be pending index entries.
  var mayHavePendingEntries: Bool { false }

  /// Throws if the record is older than a change of its references in the running write.
  func checkReferencesAreCurrent<R: Record>(_ record: R) throws {}

  /// Writes the pending entries of an index or a list that is about to be read; a read transaction
  /// has none.
  func writePending(for database: LMDBDatabase) throws {}

  /// The same, if only the entries of one key are about to be read.
  func writePending(for database: LMDBDatabase, before key: UnsafeRawBufferPointer) throws {}

  /// The same for a unique index in which a key is about to be searched.
  func writePending(for index: IndexHandle, beforeAdding key: UnsafeRawBufferPointer) throws {}

  /// Runs a verb, which the log names if it names each.
  final func traced<R: Record, T>(
    _ verb: StaticString, _ type: R.Type, results: (T) -> Int? = { _ in nil },
    _ body: () throws -> T
  ) rethrows -> T {
    guard let timer = context.timer, timer.trace != nil else { return try body() }
    return try timer.tracing(
      verb, R.collectionName, changes: { context.isReading ? nil : changeCount }, results: results,
      body)
  }

  /// Runs work on the storage; an error of LMDB becomes a `LarchError`.
  @inline(__always)
  package final func storage<T>(_ work: (LMDBTransaction) throws -> T) throws -> T {
    let transaction = try live()
    if context.isTakingIn { throw TransactionContext.reentered }
    do {
      return try work(transaction)
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }
}

@available(*, unavailable)
extension ReadTransaction: Sendable {}

// MARK: - Reading records

extension ReadTransaction {
  /// See ``RecordReading/find(_:_:)->R?``.
  @usableFromInline
  final func findRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> R? {
    if let timer = context.timer, timer.trace != nil {
      return try timer.tracing(
        "find", R.collectionName, id: { timer.shown(id) }, results: { $0 == nil ? 0 : 1 }
      ) { try readRecord(type, id) }
    }
    return try readRecord(type, id)
  }

  @inline(__always)
  private final func readRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> R? {
    // Without `storage`, since a closure that returns the record would copy it once more.
    let context = context
    let transaction = try live()
    let collection = try context.collection(of: type)
    let key = try context.key(of: id)
    let found: UnsafeRawBufferPointer?
    do {
      found = try record(key, of: collection, in: transaction)
    } catch {
      throw context.note(error)
    }
    guard let found else { return nil }
    return try context.decode(type, found, id: key, in: collection)
  }

  /// See ``RecordReading/exists(_:_:)``.
  @usableFromInline
  final func hasRecord<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    if let timer = context.timer, timer.trace != nil {
      return try timer.tracing(
        "exists", R.collectionName, id: { timer.shown(id) }, results: { $0 ? 1 : 0 }
      ) { try isStored(type, id) }
    }
    return try isStored(type, id)
  }

  /// Whether a record with this id exists.
  @inline(__always)
  final func isStored<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    if context.held != nil, let found = try findWhileHolding(type, id) { return found }
    return try storage { transaction in
      let collection = try context.collection(of: type)
      return try record(context.key(of: id), of: collection, in: transaction) != nil
    }
  }

  /// All records of the type in the order of their ids, read one by one.
  ///
  /// ```swift
  /// for person in try tx.all(Person.self) where person.age > 30 { names.append(person.name) }
  /// ```
  ///
  /// Use the sequence inside the closure: after that it returns nothing, and the `error` of its
  /// iterator is `.transactionEnded`. In a write, records may be changed, inserted and deleted
  /// meanwhile: the sequence continues after its last record, up to the highest id at its
  /// beginning. A record that cannot be read ends the sequence, and the error is thrown when the
  /// closure returns.
  ///
  /// - Throws: `.unknownCollection` if the store was not opened for the type.
  /// - Complexity: O(1); each step reads and decodes one record.
  public final func all<R: Record>(_ type: R.Type) throws -> RecordSequence<R> {
    try traced("all", type) {
      try storage { _ in
        RecordSequence(transaction: self, collection: try context.collection(of: type))
      }
    }
  }
}

extension TransactionContext {
  @inline(__always)
  func collection<R: Record>(of type: R.Type) throws -> CollectionHandle {
    try collection(ObjectIdentifier(type), name: R.collectionName)
  }

  /// The key of a record: the bytes of its id, in the buffer of the context.
  ///
  /// Not inlined: in code that is generic over the record, the runtime would check at each call
  /// whether the metadata of the id's type is complete, which costs more than the call.
  @inline(never)
  func key<ID: RecordIdentifier>(of id: ID) throws -> UnsafeRawBufferPointer {
    if isTakingIn { throw TransactionContext.reentered }
    idWriter.clear()
    try id._writeID(to: &idWriter)
    return idWriter.bytes
  }

  @inline(__always)
  func decode<R: Record>(
    _ type: R.Type, _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
    in collection: CollectionHandle
  ) throws -> R {
    let record = try RecordEnvelope.open(stored, id: id, in: collection)
    do {
      return try coder.decode(type, from: record)
    } catch {
      throw described(error, id: id, in: collection)
    }
  }

  /// The same, into the memory at `target`.
  @inline(__always)
  func decode<R: Record>(
    _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, in collection: CollectionHandle,
    into target: UnsafeMutablePointer<R>
  ) throws {
    let record = try RecordEnvelope.open(stored, id: id, in: collection)
    do {
      try coder.decode(record, into: target)
    } catch {
      throw described(error, id: id, in: collection)
    }
  }

  /// Adds the collection and the id of the record to an error of the coder.
  @inline(never)
  func described(
    _ error: any Error, id: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) -> any Error {
    guard var error = error as? LarchError else { return error }
    error.context.collection = collection.stored.name
    error.context.id = collection.stored.idKind.text(of: id)
    return error
  }
}
