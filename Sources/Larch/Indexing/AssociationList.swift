/// The list of related ids of one association for one record: those that refer to it, or those it
/// is linked with. Pending changes of `database` must be written before it is read.
struct AssociationList {
  let database: LMDBDatabase
  /// The key of the list in the database.
  let key: [UInt8]
  /// For a reference whose key in the index is cut: other ids may have the same key.
  private let cutReference: ReferenceSchema?
  private let holder: CollectionHandle?
  /// The id of the record, if its key is cut.
  private let id: [UInt8]

  /// Nil if there is no list: this end holds the reference itself, the other end is not open, or no
  /// reference can hold this id.
  init?(_ end: AssociationEnd, of id: UnsafeRawBufferPointer, _ writer: inout KeyWriter) {
    let association = end.association
    if let lists = association.lists {
      database = end.isFirst ? lists.forward : lists.inverse
      key = [UInt8](id)
      self.id = []
      cutReference = nil
      holder = nil
      return
    }
    // A read-only file may have an index that was never completed.
    guard !end.isFirst, let reference = association.reference, let index = association.index,
      index.isReady, reference.form.writeKey(of: id, to: &writer)
    else { return nil }
    database = index.database
    key = [UInt8](writer.bytes)
    cutReference = writer.isCut ? reference : nil
    self.id = writer.isCut ? [UInt8](id) : []
    holder = association.first
  }

  /// The number of ids in the list.
  ///
  /// - Complexity: one search; for a text id that is longer than keys, that of `forEach`.
  func count(_ context: TransactionContext) throws -> Int {
    if cutReference != nil {
      var count = 0
      try forEach(context) { _ in
        count += 1
        return true
      }
      return count
    }
    var cursor = try LMDBCursor(database, in: try context.transaction())
    guard try key.withUnsafeBytes({ try cursor.seek(exactly: $0) }) != nil else { return 0 }
    return try cursor.duplicateCount()
  }

  /// Whether an id is in the list. One search.
  func contains(_ member: UnsafeRawBufferPointer, _ context: TransactionContext) throws -> Bool {
    var cursor = try LMDBCursor(database, in: try context.transaction())
    guard try key.withUnsafeBytes({ try cursor.seek($0, value: member) }) != nil else {
      return false
    }
    return try isListed(member, context)
  }

  /// Calls with each id in order, until the closure returns false. The closure must not change
  /// the list.
  func forEach(
    _ context: TransactionContext, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var cursor = try LMDBCursor(database, in: try context.transaction())
    var entry = try key.withUnsafeBytes { try cursor.seek(exactly: $0) }
    while let here = entry {
      if try isListed(here.value, context), try !body(here.value) { return }
      entry = try cursor.nextDuplicate()
    }
  }

  /// Whether the record of an entry really refers to this one: if the key is cut, it may refer to
  /// another.
  @inline(__always)
  func isListed(_ member: UnsafeRawBufferPointer, _ context: TransactionContext) throws -> Bool {
    try cutReference == nil || refers(member, context)
  }

  private func refers(
    _ member: UnsafeRawBufferPointer, _ context: TransactionContext
  ) throws -> Bool {
    guard let cutReference, let holder else { return true }
    guard let stored = try holder.records.get(member, in: try context.transaction()) else {
      return true
    }
    var isFound = false
    var writer = KeyWriter()
    try holder.schema.referencedIDs(
      try RecordEnvelope.open(stored, id: member, in: holder), context.coder,
      cutReference.declaration, &writer
    ) { other in
      if id.withUnsafeBytes({ other.equals($0) }) { isFound = true }
    }
    return isFound
  }
}
