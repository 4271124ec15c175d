internal import Foundation

/// The one write of a store that runs at a time: all of its changes are kept, or none.
///
/// Made by `Store.write(_:)` and valid inside its closure, on its thread. Reading in it sees
/// its own changes.
public class WriteTransaction: ReadTransaction {
  final let writer: WriteContext
  private final var afterCommitWork: [() -> Void] = []
  /// How many saves and deletions with hooks are running inside each other.
  final var hookDepth = 0
  /// The records of the running deletions whose hooks before it ran: each runs once.
  final var beingDeleted: Set<DeletionHooks.Doomed> = []
  /// What associations changed in stored records.
  final var heldChanges = HeldChanges()
  /// The time of the transaction, once it was asked for.
  final var time: Date?
  /// The versions that were given to records.
  final let versions: GivenVersions
  /// What comes of the innermost savepoint or the transaction, where somebody asked.
  final var startedOutcome: TransactionOutcome?

  init(_ writer: WriteContext, _ versions: GivenVersions) {
    self.writer = writer
    self.versions = versions
    super.init(writer.context)
  }

  final override var gathersEntries: Bool { true }

  final override func writeGathered(for database: LMDBDatabase) throws {
    try writer.maintainer.flush(database)
  }

  final override func writeGathered(
    for database: LMDBDatabase, before key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(database, before: key)
  }

  final override func writeGathered(
    for index: IndexHandle, beforeAdding key: UnsafeRawBufferPointer
  ) throws {
    try writer.maintainer.flush(index, beforeAdding: key)
  }

  final override func proveCurrent<R: Record>(_ record: R) throws {
    if heldChanges.isEmpty { return }
    try checkHeld(
      record, try context.key(of: record.id), in: try context.collection(of: R.self))
  }

  final func takeAfterCommitWork() -> [() -> Void] {
    defer { afterCommitWork = [] }
    return afterCommitWork
  }

  /// Runs `work` once, after the transaction is committed and its data is on disk.
  ///
  /// A write closure may run more than once, because the map had to grow; what must happen once
  /// (a message, a counter) belongs here. When the transaction, or the savepoint around the call,
  /// is undone, the work is dropped.
  public final func afterCommit(_ work: @escaping () -> Void) { afterCommitWork.append(work) }

  /// Runs `body` so that an error thrown by it undoes what it did, and nothing else.
  ///
  /// ```swift
  /// try tx.savepoint {
  ///   try tx.save(&order)
  ///   try tx.save(&invoice)
  /// }
  /// ```
  ///
  /// - Throws: what `body` throws, after its changes are undone; not ``Rollback``, where `body`
  ///   returns nothing or an optional.
  /// - Complexity: what was gathered for the indexes is written first; a savepoint costs about a
  ///   microsecond beside that.
  public final func savepoint<T>(_ body: () throws -> T) throws -> T {
    do {
      return try undoablePart(body)
    } catch let error as Rollback {
      guard let result = Rollback.result(T.self) else { throw error }
      return result
    }
  }

  /// The same, which passes on all that `body` throws: for code of others in the middle of work.
  final func undoablePart<T>(_ body: () throws -> T) throws -> T {
    let savepoint = try storage { _ in
      if context.isTakingIn { throw TransactionContext.reentered }
      closeCursors()
      return try writer.beginSavepoint()
    }
    let workCount = afterCommitWork.count
    let outer = startedOutcome
    let held = heldChanges
    startedOutcome = nil
    do {
      let result = try body()
      if let failure = context.failure { throw failure }
      try storage { _ in
        closeCursors()
        try writer.commit(savepoint)
      }
      endOutcome(isKept: true, outer: outer)
      return result
    } catch {
      closeCursors()
      writer.rollBack(savepoint)
      changeCount &+= 1
      heldChanges = held
      afterCommitWork.removeSubrange(workCount...)
      endOutcome(isKept: false, outer: outer)
      throw error
    }
  }
}

// MARK: - Changing records

extension WriteTransaction {
  /// See ``RecordWriting/save(_:ifUnchanged:)``.
  func store<R: Record>(_ record: inout R, ifUnchanged original: R) throws {
    guard record.id == original.id else {
      throw LarchError(
        .idChanged,
        "The record and its original have different ids; pass the record as it was read."
      ) {
        $0.collection = R.collectionName
        $0.id = "\(record.id)"
        $0.detail = "original id \(original.id)"
      }
    }
    let state = try comparison(of: original).state
    guard state == .unchanged else {
      throw LarchError(
        .conflict,
        "Somebody else saved or deleted the record after it was read; fetch it again and make the change once more."
      ) {
        $0.collection = R.collectionName
        $0.id = "\(record.id)"
        $0.detail = state == .changed ? "the stored record differs" : "no record is stored"
      }
    }
    try store(&record, .save)
  }

  /// The one path of every save: generic as far as the bytes, then the same for all types.
  @usableFromInline
  func store<R: Record>(_ record: inout R, _ mode: SaveMode) throws {
    try storage { transaction in
      let collection = try context.collection(of: R.self)
      let declarations = declarations(of: R.self, in: collection)
      if !declarations.isPlain {
        return try storeGuarded(&record, mode, in: collection, declarations)
      }
      let unassigned = record.id
      let isNew = try assignID(to: &record, mode, in: collection)
      do {
        try put(record, in: collection, isNew: isNew, mode, transaction)
      } catch {
        if isNew { record.id = unassigned }
        throw error
      }
    }
  }

  /// What the program declares for the type, with the type.
  func declarations<R: Record>(
    of type: R.Type, in collection: CollectionHandle
  ) -> TypedDeclarations<R> {
    // The compiler of schemas made both from the type.
    unsafeDowncast(collection.schema.typed, to: TypedDeclarations<R>.self)
  }

  /// Gives a record that was never saved its id; false for one that has an id.
  func assignID<R: Record>(
    to record: inout R, _ mode: SaveMode, in collection: CollectionHandle
  ) throws -> Bool {
    guard record.id.isUnassigned else { return false }
    if mode == .update {
      throw LarchError(
        .idUnassigned, "The record was never saved, so there is nothing to update; insert it."
      ) { $0.collection = collection.stored.name }
    }
    let number = try writer.nextID(in: collection)
    guard let id = R.ID.assigned(number) else {
      throw LarchError(
        .idUnassigned, "The id has no value and its type cannot be assigned one; give it one."
      ) { $0.collection = collection.stored.name }
    }
    record.id = id
    return true
  }

  func put<R: Record>(
    _ record: R, in collection: CollectionHandle, isNew: Bool, _ mode: SaveMode,
    _ transaction: LMDBTransaction
  ) throws {
    let shapeCount = context.shapes.count
    var bytes = try encode(record, collection)
    var key = try context.key(of: record.id)
    if collection.stored.idKind == .assigned, !isNew {
      writer.noteUsed(WriteContext.number(of: key), in: collection)
    }
    let before = isNew ? nil : try collection.records.get(key, in: transaction)
    if let before {
      if mode == .insert { throw idError(.idExists, key, collection) }
      if isSame(before, bytes) { return }
      if hasOtherShape(before, bytes) {
        if try isSameValue(record, before, key, in: collection, knowing: shapeCount) { return }
        bytes = try encode(record, collection)
        key = try context.key(of: record.id)
      }
    } else if mode == .update {
      throw idError(.recordNotFound, key, collection)
    }
    if !heldChanges.isEmpty {
      if before != nil {
        try checkHeld(record, key, in: collection)
      } else {
        heldChanges.forget(.init(place: collection.place, id: [UInt8](key)))
      }
    }
    let old = try before.map { try RecordEnvelope.open($0, id: key, in: collection) }
    try take(
      record, as: bytes, before: old, key, in: collection, isLast: isNew, transaction)
  }

  /// Whether the stored record was written with other fields than the new one.
  @inline(__always)
  func hasOtherShape(
    _ stored: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer
  ) -> Bool {
    stored.count < 2 || record.count < 2
      || stored.loadUnaligned(as: UInt16.self) != record.loadUnaligned(as: UInt16.self)
  }

  /// Whether a record equals the stored one as a value: one that was stored before its type got
  /// another property, or before a value of a field was first seen, has other bytes and is the same.
  @inline(never)
  func isSameValue<R: Record>(
    _ record: R, _ stored: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer,
    in collection: CollectionHandle, knowing shapeCount: Int
  ) throws -> Bool {
    guard let stored = try readable(R.self, stored, id: key, in: collection) else { return false }
    return try isSameValue(record, stored, in: collection, knowing: shapeCount)
  }

  /// The stored record; nil where its type cannot decode it any more, which keeps nobody from
  /// replacing or deleting it.
  func readable<R: Record>(
    _ type: R.Type, _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
    in collection: CollectionHandle
  ) throws -> R? {
    do {
      return try context.decode(type, stored, id: id, in: collection)
    } catch let error as LarchError where error.code == .decodingFailed {
      return nil
    }
  }

  /// Whether two records are written alike.
  ///
  /// - Parameter shapeCount: how many shapes there were before the record was encoded first. What
  ///   it taught is forgotten where nothing is to be written.
  func isSameValue<R: Record>(
    _ record: R, _ stored: R, in collection: CollectionHandle, knowing shapeCount: Int
  ) throws -> Bool {
    let before = [UInt8](try encode(stored, collection))
    let bytes = try encode(record, collection)
    guard before.withUnsafeBytes({ $0.equals(bytes) }) else { return false }
    context.shapes.truncate(to: shapeCount)
    return true
  }

  /// The second half of a save: the indexes and the write. The bytes, and those of the stored
  /// record, are read before anything is changed.
  @inline(__always)
  func take<R: Record>(
    _ record: R, as bytes: UnsafeRawBufferPointer, before old: UnsafeRawBufferPointer?,
    _ key: UnsafeRawBufferPointer, in collection: CollectionHandle, isLast: Bool,
    _ transaction: LMDBTransaction
  ) throws {
    try writer.maintainer.update(
      id: key, before: old, after: bytes, in: collection,
      prove: { try prove(record, $0, in: collection) },
      write: { try write(bytes, key, collection, isLast: isLast, transaction) })
    writer.noteWrite(in: collection)
    changeCount &+= 1
  }

  /// Stores the record and its checksum where LMDB has made room for them.
  private func write(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    _ collection: CollectionHandle, isLast: Bool, _ transaction: LMDBTransaction
  ) throws {
    let checksum = RecordEnvelope.checksum(collection: collection.number, id: id, record: record)
    let size = record.count + RecordEnvelope.checksumSize
    let mode: LMDBDatabase.PutMode = isLast ? .append : .upsert
    guard
      let room = try collection.records.reserve(id, size: size, in: transaction, mode: mode)
        // Above it there may be ids that no store gives.
        ?? collection.records.reserve(id, size: size, in: transaction, mode: .ifAbsent)
    else {
      throw LarchError(
        .storage, "The next id of the collection was there already; this is a fault of Larch."
      ) { $0.collection = collection.stored.name }
    }
    room.copyMemory(from: record)
    room.storeBytes(of: checksum.littleEndian, toByteOffset: record.count, as: UInt32.self)
  }

  /// Makes sure that the indexed fields of the record are stored as what they are.
  ///
  /// Keys are made from the stored bytes. A type whose own `encode(to:)` puts something else
  /// under the name of a property would get a wrong index: it gets an error instead.
  private func prove<R: Record>(
    _ record: R, _ stored: borrowing EntryList, in collection: CollectionHandle
  ) throws {
    try writer.proof.check(
      record, declarations(of: R.self, in: collection), stored, in: collection)
  }

  func encode<R: Record>(
    _ record: R, _ collection: CollectionHandle
  ) throws -> UnsafeRawBufferPointer {
    do {
      let bytes = try context.coder.encode(record)
      guard bytes.count <= Store.recordSizeLimit else {
        throw LarchError(
          .recordTooLarge,
          "A record may take 64 MiB at most; keep large data in files, or in several records.")
      }
      return bytes
    } catch var error as LarchError {
      error.context.collection = collection.stored.name
      throw error
    }
  }

  func idError(
    _ code: LarchError.Code, _ key: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) -> LarchError {
    let fill: (inout LarchError.Context) -> Void = {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: key)
    }
    return code == .idExists
      ? LarchError(code, "A record with this id is stored already; use `save` to replace it.", fill)
      : LarchError(code, "No record has this id; use `save` to insert it.", fill)
  }
}
