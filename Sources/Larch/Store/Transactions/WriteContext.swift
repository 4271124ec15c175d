internal import Foundation

/// The state of the writer of a store. It is kept from write to write, and used only with the write
/// lock.
final class WriteContext {
  let context: TransactionContext
  let maintainer: IndexMaintainer
  /// New records that are not stored yet.
  let records: PendingRecords
  /// Assigns ids, for all stores of the file in this process.
  private let ids: IDAllocator
  /// The collections in which this transaction has prepared the assignment of ids.
  private var checkedCollections: Set<UInt32> = []
  /// By collection, the highest id of a record that this transaction deleted, or whose save was
  /// undone. Such ids must not be assigned again.
  private var highestRetiredIDs: [UInt32: Int64] = [:]
  /// Checks that stored fields equal the properties that they come from.
  @exclusivity(unchecked) var proof = FieldProof()
  /// Collections with the first records of declarations under which nothing was written before.
  private var newlyWritten: Set<Int> = []
  /// A buffer for the keys of references, in a deletion.
  @exclusivity(unchecked) var keys = KeyWriter()
  /// Finds the fields that an update changes.
  let changes: FieldChanges
  /// The number of shapes in the file.
  private var storedShapeCount = 0
  /// The number of shapes in the file before the running LMDB transaction, and which one that is.
  private var provenShapes = (count: 0, attempt: 0)
  /// The current time, for ``Timestamped`` records.
  let clock: @Sendable () -> Date

  init(_ context: TransactionContext, clock: @escaping @Sendable () -> Date) {
    self.context = context
    self.clock = clock
    ids = context.environment.ids
    maintainer = IndexMaintainer(context)
    records = PendingRecords(context)
    changes = FieldChanges(context.coder)
  }

  // MARK: The life of a transaction

  /// Begins a write. A closure that runs again assigns new ids, since the program may still have
  /// records with the ids of the first run.
  func begin(_ transaction: LMDBTransaction) throws {
    context.begin(transaction)
    forgetChanges()
    ids.undone.beginWrite()
    try beginShapes(transaction)
  }

  /// Shapes that the last transaction has added are read again: it may not have been committed, and
  /// another program may have added others since.
  private func beginShapes(_ transaction: LMDBTransaction) throws {
    let attempt = context.environment.attempts
    let isNew = attempt != provenShapes.attempt
    if isNew, storedShapeCount > provenShapes.count {
      context.shapes.truncate(to: provenShapes.count)
    }
    storedShapeCount = try context.catalog.storage.shapeCount(in: transaction)
    context.shapes.setCount(storedShapeCount)
    if isNew { provenShapes = (storedShapeCount, attempt) }
  }

  /// Writes everything that is still pending, so that the transaction can be committed.
  func finish() throws {
    _ = try context.transaction()
    try maintainer.references.finish(isLinked: isLinked)
    try maintainer.flush()
    try storeShapes()
    try storeDeclarations()
    // Of a shared store, the log says which ids are claimed.
    if ids.blocks != nil { try claimReserves() } else if ids.hasUndone { noteUndone() }
    try storeHighestRetiredIDs()
    if !checkedCollections.isEmpty { releaseIDs() }
  }

  /// Discards all pending changes.
  func rollBack() {
    if !checkedCollections.isEmpty {
      ids.undoWrite()
      releaseIDs()
    }
    forgetChanges()
    context.shapes.truncate(to: storedShapeCount)
  }

  func end() { context.end() }

  private func forgetChanges() {
    records.discard()
    maintainer.discard()
    maintainer.references.discard()
    checkedCollections.removeAll(keepingCapacity: true)
    highestRetiredIDs.removeAll(keepingCapacity: true)
    newlyWritten.removeAll(keepingCapacity: true)
  }

  /// Whether an id is in a list of an association, from either side.
  private func isLinked(
    _ collection: CollectionHandle, _ association: String, _ id: UnsafeRawBufferPointer
  ) throws -> Bool {
    let transaction = try context.transaction()
    for end in context.catalog.ends(of: collection) where end.association.stored.key == association
    {
      guard let lists = end.association.lists else { continue }
      let database = end.isFirst ? lists.forward : lists.inverse
      try maintainer.flush(database)
      if try database.get(id, in: transaction) != nil { return true }
    }
    return false
  }

  // MARK: Savepoints

  struct Savepoint {
    let transaction: LMDBTransaction
    let shapeCount: Int
    let references: (records: Int, links: Int)
    let newlyWritten: Set<Int>
  }

  /// Begins a child transaction. Pending entries are written to its parent first.
  func beginSavepoint() throws -> Savepoint {
    try maintainer.flush()
    try storeShapes()
    let parent = try context.transaction()
    let savepoint = Savepoint(
      transaction: parent, shapeCount: storedShapeCount, references: maintainer.references.mark,
      newlyWritten: newlyWritten)
    context.current = try parent.beginChild()
    ids.undone.beginSavepoint()
    return savepoint
  }

  func commit(_ savepoint: Savepoint) throws {
    try maintainer.flush()
    try storeShapes()
    let child = try context.transaction()
    context.current = savepoint.transaction
    try child.commitChild()
    ids.undone.keep()
  }

  func rollBack(_ savepoint: Savepoint) {
    records.discard()
    maintainer.discard()
    ids.undoSavepoint()
    maintainer.references.rewind(to: savepoint.references)
    newlyWritten = savepoint.newlyWritten
    // If the child could not be committed, it is gone, and its parent is the current one again.
    if let child = context.current, child.pointer != savepoint.transaction.pointer {
      child.abortChild()
    }
    context.current = savepoint.transaction
    storedShapeCount = savepoint.shapeCount
    context.shapes.truncate(to: savepoint.shapeCount)
    // Undone deletions may stay in the list: the end of the transaction compares it with the stored
    // records.
    for collection in checkedCollections {
      highestRetiredIDs[collection] = max(
        highestRetiredIDs[collection] ?? 0, ids.highest(collection))
    }
  }

  // MARK: Shapes

  /// Writes the new shapes, before anybody else can read a record that needs them.
  func storeShapes() throws {
    guard context.shapes.count > storedShapeCount else { return }
    let transaction = try context.transaction()
    for id in (storedShapeCount + 1)...context.shapes.count {
      try context.catalog.storage.add(
        try context.shapes.shape(UInt16(id)), in: transaction)
    }
    storedShapeCount = context.shapes.count
  }

  // MARK: Declarations

  /// Called with each record that is written.
  @inline(__always)
  func noteWrite(in collection: CollectionHandle) {
    if !collection.unwrittenForms.isEmpty { newlyWritten.insert(collection.place) }
  }

  /// Notes in the file that it has records of these declarations now.
  private func storeDeclarations() throws {
    if newlyWritten.isEmpty { return }
    let transaction = try context.transaction()
    for place in newlyWritten {
      let collection = context.catalog.collections[place]
      try context.catalog.storage.noteWritten(
        under: collection.unwrittenForms, of: collection.number, in: transaction)
    }
  }

  // MARK: Ids

  /// The next id of a collection: higher than every id that is stored, was deleted or was assigned.
  func nextID(in collection: CollectionHandle) throws -> Int64 {
    let number = collection.stored.id
    if !checkedCollections.contains(number) {
      let transaction = try context.transaction()
      if ids.blocks != nil { return try firstID(in: collection, transaction) }
      let known = max(
        try Self.highestID(in: collection.records, transaction),
        try Self.noted(context.catalog.storage.highestDeletedID(number, in: transaction)),
        highestRetiredIDs[number] ?? 0)
      try ids.prepare(number, above: known, in: context.environment)
      checkedCollections.insert(number)
    }
    guard let id = try ids.assign(number) else {
      if ids.blocks != nil { throw noBlock(for: collection) }
      throw LarchError(
        .idTooLong, "All ids of the collection are used up; assign ids yourself."
      ) { $0.collection = collection.stored.name }
    }
    return id
  }

  func noteChecked(_ collection: UInt32) { checkedCollections.insert(collection) }

  /// Whether this transaction has assigned ids in a collection.
  func hasAssigned(in collection: UInt32) -> Bool { checkedCollections.contains(collection) }

  /// Notes the id of a record that is saved with an id: the program may have chosen it.
  func noteUsed(_ id: Int64, in collection: CollectionHandle) {
    ids.noteUsed(id, collection.stored.id)
  }

  /// The highest stored id in the range that a store may assign, or 0.
  static func highestID(
    in records: LMDBDatabase, _ transaction: LMDBTransaction
  ) throws -> Int64 {
    var cursor = try LMDBCursor(records, in: transaction)
    guard let last = try cursor.last() else { return 0 }
    let highest = number(of: last.key)
    if highest < IDAllocator.limit { return max(highest, 0) }
    // The program chose this id.
    let limit = (UInt64(IDAllocator.limit) ^ (1 << 63)).bigEndian
    let above = try withUnsafeBytes(of: limit) { try cursor.seek(atOrAfter: $0) != nil }
    guard above, let below = try cursor.previous() else { return 0 }
    return max(number(of: below.key), 0)
  }

  /// The id of a note in the file, or 0 if it is outside the range that a store may assign.
  static func noted(_ id: Int64) -> Int64 { id < IDAllocator.limit ? id : 0 }

  /// The number of an assigned id, from its bytes.
  static func number(of id: UnsafeRawBufferPointer) -> Int64 {
    guard id.count == 8 else { return 0 }
    return Int64(
      bitPattern: UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)) ^ (1 << 63))
  }

  /// Notes a deleted id, so that it is not assigned again.
  func noteDeleted(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    guard collection.stored.idKind == .assigned else { return }
    let number = WriteContext.number(of: id)
    let key = collection.stored.id
    if number > highestRetiredIDs[key] ?? 0, number < IDAllocator.limit {
      highestRetiredIDs[key] = number
    }
  }

  /// Notes the ids of a collection whose records are all about to be deleted.
  func noteErased(_ collection: CollectionHandle) throws {
    guard collection.stored.idKind == .assigned else { return }
    let number = try Self.highestID(in: collection.records, try context.transaction())
    let key = collection.stored.id
    if number > highestRetiredIDs[key] ?? 0 { highestRetiredIDs[key] = number }
  }

  /// Notes the ids that were assigned in undone writes.
  private func noteUndone() {
    for collection in context.catalog.collections {
      let number = collection.stored.id
      let given = ids.highest(number)
      if given > highestRetiredIDs[number] ?? 0 { highestRetiredIDs[number] = given }
    }
    ids.noteUndoneIsStored()
  }

  /// Releases the locks on ids that were not assigned, so that other processes can use the ids.
  private func releaseIDs() {
    for collection in checkedCollections { ids.release(collection) }
  }

  /// The file needs a note only if the highest id of all is no longer stored. Otherwise the stored
  /// records show the highest id.
  private func storeHighestRetiredIDs() throws {
    if highestRetiredIDs.isEmpty { return }
    let transaction = try context.transaction()
    let storage = context.catalog.storage
    for collection in context.catalog.collections {
      let number = collection.stored.id
      guard let gone = highestRetiredIDs[number],
        gone > (try Self.highestID(in: collection.records, transaction)),
        gone > (try Self.noted(storage.highestDeletedID(number, in: transaction)))
      else { continue }
      try storage.setHighestDeletedID(gone, of: number, in: transaction)
    }
  }
}
