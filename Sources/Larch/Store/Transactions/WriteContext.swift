internal import Foundation

/// The state of the one writer of a store: kept from write to write, used under the writer gate.
final class WriteContext {
  let context: TransactionContext
  let maintainer: IndexMaintainer
  /// What this process gave to records of the file.
  private let ids: GivenIDs
  /// Collections whose next id was compared with the file in this transaction.
  private var checkedCollections: Set<UInt32> = []
  /// The highest assigned ids that this transaction deleted, or gave to records that were undone.
  private var highestGoneIDs: [UInt32: Int64] = [:]
  /// Compares stored fields with the properties they come from.
  @exclusivity(unchecked) var proof = FieldProof()
  /// Collections that got records under declarations which had only opened the file.
  private var newlyWritten: Set<Int> = []
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
    ids = context.environment.ids
    maintainer = IndexMaintainer(context)
    changes = FieldChanges(context.coder)
  }

  // MARK: The life of a transaction

  /// Begins a write. A closure that runs again gives other ids than before: what it gave then may be
  /// in records that are outside of it.
  func begin(_ transaction: LMDBTransaction) throws {
    context.begin(transaction)
    forgetChanges()
    ids.undone.beginWrite()
    storedShapeCount = try context.catalog.storage.shapeCount(in: transaction)
    context.shapes.setCount(storedShapeCount)
  }

  /// Writes what is still in memory; the transaction may be committed after it.
  func finish() throws {
    try maintainer.references.finish(isLinked: isLinked)
    try maintainer.flush()
    try storeShapes()
    try storeDeclarations()
    if ids.hasUndone { noteUndone() }
    try storeHighestGoneIDs()
    if !checkedCollections.isEmpty { releaseIDs() }
  }

  /// Forgets everything that a commit would have kept.
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
    maintainer.discard()
    maintainer.references.discard()
    checkedCollections.removeAll(keepingCapacity: true)
    highestGoneIDs.removeAll(keepingCapacity: true)
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

  /// Begins a child transaction; pending entries are first written to its parent.
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
    try child.commit()
    ids.undone.keep()
  }

  func rollBack(_ savepoint: Savepoint) {
    maintainer.discard()
    ids.undoSavepoint()
    maintainer.references.rewind(to: savepoint.references)
    newlyWritten = savepoint.newlyWritten
    context.current?.abort()
    context.current = savepoint.transaction
    storedShapeCount = savepoint.shapeCount
    context.shapes.truncate(to: savepoint.shapeCount)
    // Deletions that are undone may stay noted: what is stored at the end decides.
    for collection in checkedCollections {
      highestGoneIDs[collection] = max(
        highestGoneIDs[collection] ?? 0, ids.highest(collection))
    }
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

  // MARK: Declarations

  /// Called with each record that is written.
  @inline(__always)
  func noteWrite(in collection: CollectionHandle) {
    if !collection.unwrittenForms.isEmpty { newlyWritten.insert(collection.place) }
  }

  /// Lets the file know under which declarations it got records now.
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

  /// The next id of a collection: above every id that is there, or was deleted, or was given.
  func nextID(in collection: CollectionHandle) throws -> Int64 {
    let number = collection.stored.id
    if !checkedCollections.contains(number) {
      let transaction = try context.transaction()
      let known = max(
        try Self.highestID(in: collection.records, transaction),
        try Self.noted(context.catalog.storage.highestDeletedID(number, in: transaction)),
        highestGoneIDs[number] ?? 0)
      try ids.prepare(number, above: known, in: context.environment)
      checkedCollections.insert(number)
    }
    guard let id = try ids.give(number) else {
      throw LarchError(
        .idTooLong, "All ids of the collection are used up; assign ids yourself."
      ) { $0.collection = collection.stored.name }
    }
    return id
  }

  /// Takes note of an assigned id that the program brought along, with the record that is saved.
  func noteUsed(_ id: Int64, in collection: CollectionHandle) {
    ids.noteUsed(id, collection.stored.id)
  }

  /// The highest id that a collection has of those that a store may give, or 0.
  static func highestID(
    in records: LMDBDatabase, _ transaction: LMDBTransaction
  ) throws -> Int64 {
    var cursor = try LMDBCursor(records, in: transaction)
    guard let last = try cursor.last() else { return 0 }
    let highest = number(of: last.key)
    if highest < GivenIDs.limit { return max(highest, 0) }
    // The program gave that one.
    let limit = (UInt64(GivenIDs.limit) ^ (1 << 63)).bigEndian
    let above = try withUnsafeBytes(of: limit) { try cursor.seek(atOrAfter: $0) != nil }
    guard above, let below = try cursor.previous() else { return 0 }
    return max(number(of: below.key), 0)
  }

  /// What a note in the file means: notes of ids that a store never gives mean nothing.
  static func noted(_ id: Int64) -> Int64 { id < GivenIDs.limit ? id : 0 }

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
    if number > highestGoneIDs[key] ?? 0, number < GivenIDs.limit { highestGoneIDs[key] = number }
  }

  /// Takes note of all the ids of a collection, which are about to be deleted.
  func noteErased(_ collection: CollectionHandle) throws {
    guard collection.stored.idKind == .assigned else { return }
    let number = try Self.highestID(in: collection.records, try context.transaction())
    let key = collection.stored.id
    if number > highestGoneIDs[key] ?? 0 { highestGoneIDs[key] = number }
  }

  /// Takes note of what was given in writes that were undone.
  private func noteUndone() {
    for collection in context.catalog.collections {
      let number = collection.stored.id
      let given = ids.highest(number)
      if given > highestGoneIDs[number] ?? 0 { highestGoneIDs[number] = given }
    }
    ids.noteNoting()
  }

  /// Lets other processes have what was locked for ids that were not given.
  private func releaseIDs() {
    for collection in checkedCollections { ids.release(collection) }
  }

  /// The file needs a note only when the highest id of all is gone; below it, the records
  /// themselves tell what was given.
  private func storeHighestGoneIDs() throws {
    if highestGoneIDs.isEmpty { return }
    let transaction = try context.transaction()
    let storage = context.catalog.storage
    for collection in context.catalog.collections {
      let number = collection.stored.id
      guard let gone = highestGoneIDs[number],
        gone > (try Self.highestID(in: collection.records, transaction)),
        gone > (try Self.noted(storage.highestDeletedID(number, in: transaction)))
      else { continue }
      try storage.setHighestDeletedID(gone, of: number, in: transaction)
    }
  }
}
