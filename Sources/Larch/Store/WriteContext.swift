internal import Foundation

/// The next id of each collection whose ids a store assigns.
///
/// A number that was given in a write that threw is not given again while the store is open: the
/// program may still hold it in a record that it saves later. It belongs to the store, which may
/// open its catalog anew meanwhile, and is only used by the thread whose turn it is to write.
final class GivenIDs: @unchecked Sendable {
  var next: [UInt32: Int64] = [:]
}

/// The state of the one writer of a store: kept from write to write, used under the writer gate.
final class WriteContext {
  let context: TransactionContext
  let maintainer: IndexMaintainer
  private var ids = GivenIDs()
  /// Collections whose next id was compared with the file in this transaction.
  private var checkedCollections: Set<UInt32> = []
  /// The highest assigned ids that this transaction deleted.
  private var highestDeletedIDs: [UInt32: Int64] = [:]
  /// Compares stored fields with the properties they come from.
  @exclusivity(unchecked) var proof = FieldProof()
  /// Keys of references, while a deletion looks for what refers to a record.
  @exclusivity(unchecked) var keys = KeyWriter()
  /// Tells which rules an update asks.
  let changes: FieldChanges
  /// How many shapes the file holds.
  private var storedShapeCount = 0
  /// What time it is, for records that keep theirs.
  let clock: @Sendable () -> Date

  init(_ context: TransactionContext, clock: @escaping @Sendable () -> Date) {
    self.context = context
    self.clock = clock
    maintainer = IndexMaintainer(context)
    changes = FieldChanges(context.coder)
  }

  // MARK: The life of a transaction

  /// Begins a write. A closure that runs again gives the ids that it gave before: `idsBefore` is
  /// what the first run found, and nil until then.
  func begin(
    _ transaction: LMDBTransaction, ids: GivenIDs, idsBefore: inout [UInt32: Int64]?
  ) throws {
    self.ids = ids
    if let idsBefore { ids.next = idsBefore } else { idsBefore = ids.next }
    context.begin(transaction)
    forgetChanges()
    storedShapeCount = try context.catalog.storage.shapeCount(in: transaction)
    context.shapes.setCount(storedShapeCount)
  }

  /// Writes what is still in memory; the transaction may be committed after it.
  func finish() throws {
    try maintainer.references.finish(isLinked: isLinked)
    try maintainer.flush()
    try storeShapes()
    try storeHighestDeletedIDs()
  }

  /// Forgets everything that a commit would have kept.
  func rollBack() {
    forgetChanges()
    context.shapes.truncate(to: storedShapeCount)
  }

  func end() { context.end() }

  private func forgetChanges() {
    maintainer.discard()
    maintainer.references.discard()
    checkedCollections.removeAll(keepingCapacity: true)
    highestDeletedIDs.removeAll(keepingCapacity: true)
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
    let highestDeletedIDs: [UInt32: Int64]
    let references: (records: Int, links: Int)
  }

  /// Begins a child transaction; everything gathered so far goes to its parent first.
  func beginSavepoint() throws -> Savepoint {
    try maintainer.flush()
    try storeShapes()
    let parent = try context.transaction()
    let savepoint = Savepoint(
      transaction: parent, shapeCount: storedShapeCount, highestDeletedIDs: highestDeletedIDs,
      references: maintainer.references.mark)
    context.current = try parent.beginChild()
    return savepoint
  }

  func commit(_ savepoint: Savepoint) throws {
    try maintainer.flush()
    try storeShapes()
    let child = try context.transaction()
    context.current = savepoint.transaction
    try child.commit()
  }

  func rollBack(_ savepoint: Savepoint) {
    maintainer.discard()
    maintainer.references.rewind(to: savepoint.references)
    context.current?.abort()
    context.current = savepoint.transaction
    storedShapeCount = savepoint.shapeCount
    context.shapes.truncate(to: savepoint.shapeCount)
    highestDeletedIDs = savepoint.highestDeletedIDs
    checkedCollections.removeAll(keepingCapacity: true)
  }

  // MARK: Shapes

  /// Writes the shapes that were learned since the last time, before a record that needs them
  /// can be read by anyone else.
  func storeShapes() throws {
    guard context.shapes.count > storedShapeCount else { return }
    let transaction = try context.transaction()
    for id in (storedShapeCount + 1)...context.shapes.count {
      try context.catalog.storage.add(
        try context.shapes.shape(UInt16(id)), in: transaction)
    }
    storedShapeCount = context.shapes.count
  }

  // MARK: Ids

  /// The next id of a collection: above every id that is there, or was deleted, or was given.
  func nextID(in collection: CollectionHandle) throws -> Int64 {
    let number = collection.stored.id
    if !checkedCollections.contains(number) {
      let transaction = try context.transaction()
      let known = max(
        try highestID(in: collection),
        try context.catalog.storage.highestDeletedID(number, in: transaction),
        highestDeletedIDs[number] ?? 0)
      ids.next[number] = max(ids.next[number] ?? 1, try successor(known, collection))
      checkedCollections.insert(number)
    }
    let id = ids.next[number] ?? 1
    ids.next[number] = try successor(id, collection)
    return id
  }

  /// Takes note of an assigned id that the program brought along.
  func noteUsed(_ id: Int64, in collection: CollectionHandle) throws {
    guard let next = ids.next[collection.stored.id], id >= next else { return }
    ids.next[collection.stored.id] = try successor(id, collection)
  }

  private func successor(_ id: Int64, _ collection: CollectionHandle) throws -> Int64 {
    guard id < Int64.max else {
      throw LarchError(
        .idTooLong, "All ids of the collection are used up; give records ids of your own."
      ) { $0.collection = collection.stored.name }
    }
    return max(id, 0) + 1
  }

  private func highestID(in collection: CollectionHandle) throws -> Int64 {
    var cursor = try LMDBCursor(collection.records, in: try context.transaction())
    guard let last = try cursor.last() else { return 0 }
    return WriteContext.number(of: last.key)
  }

  /// The number of an assigned id, from its bytes.
  static func number(of id: UnsafeRawBufferPointer) -> Int64 {
    guard id.count == 8 else { return 0 }
    return Int64(
      bitPattern: UInt64(bigEndian: id.loadUnaligned(as: UInt64.self)) ^ (1 << 63))
  }

  /// Takes note of a deleted id, so that it is not given again.
  func noteDeleted(_ id: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    guard collection.stored.idKind == .assigned else { return }
    let number = WriteContext.number(of: id)
    let key = collection.stored.id
    if number > highestDeletedIDs[key] ?? 0 { highestDeletedIDs[key] = number }
  }

  /// The file needs a note only when the highest id of all was deleted; below it, the records
  /// themselves tell what was given.
  private func storeHighestDeletedIDs() throws {
    if highestDeletedIDs.isEmpty { return }
    let transaction = try context.transaction()
    let storage = context.catalog.storage
    for collection in context.catalog.collections {
      let number = collection.stored.id
      guard let deleted = highestDeletedIDs[number], deleted > (try highestID(in: collection)),
        deleted > (try storage.highestDeletedID(number, in: transaction))
      else { continue }
      try storage.setHighestDeletedID(deleted, of: number, in: transaction)
    }
  }
}
