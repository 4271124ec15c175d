/// Reads the related ids of one end of an association, for one record after the other. Nothing may
/// be changed in the transaction while a reader is open.
final class EndReader {
  private enum Source {
    /// A property of other records, through the index over it.
    case index(LMDBDatabase, ReferenceSchema)
    /// The record's own property; the number is that of its index.
    case property(CollectionHandle, ReferenceSchema, Int)
    case list(LMDBDatabase)
  }

  let end: AssociationEnd
  private let source: Source
  private let context: TransactionContext
  @exclusivity(unchecked) private var cursor: LMDBCursor?
  @exclusivity(unchecked) private var writer = KeyWriter()
  @exclusivity(unchecked) private var keys = IndexKeys()
  @exclusivity(unchecked) private var entries = EntryList()

  /// Writes the pending changes of a list that is about to be read.
  typealias Preparation = (LMDBDatabase, UnsafeRawBufferPointer) throws -> Void
  private let prepare: Preparation

  /// Nil if there can be no related records: the file has no records of the other type yet.
  ///
  /// - Throws: `.unknownAssociation` if the index of a reference is incomplete.
  init?(
    _ end: AssociationEnd, _ context: TransactionContext,
    prepare: @escaping Preparation
  ) throws {
    self.end = end
    self.context = context
    self.prepare = prepare
    let association = end.association
    if let lists = association.lists {
      source = .list(end.isFirst ? lists.forward : lists.inverse)
    } else {
      guard let reference = association.reference, let holder = association.first,
        association.second != nil
      else { return nil }
      guard let index = association.index, index.isReady,
        let number = holder.indexes.firstIndex(where: { $0 === index })
      else {
        throw LarchError(
          .unknownAssociation,
          "The delete rule needs the index of the references, which is incomplete; wait until the opening has built it, or call `rebuild()`, which names the records that it misses, or `buildIndexes(of:)` in a migration."
        ) {
          $0.collection = holder.stored.name
          $0.field = association.stored.key
        }
      }
      source =
        end.isFirst
        ? .property(holder, reference, number) : .index(index.database, reference)
    }
  }

  /// Whether a related id may be dangling: an index has entries of stored records only.
  var mayDangle: Bool {
    if case .index = source { return false }
    return true
  }

  /// Calls with each related id, without duplicates.
  func forEach(
    _ id: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    switch source {
    case .list(let database): try forEach(in: database, at: id, body)
    case .index(let database, let reference):
      guard reference.form.writeKey(of: id, to: &writer) else { return }
      guard writer.isCut else { return try forEach(in: database, at: writer.bytes, body) }
      try prepare(database, writer.bytes)
      try AssociationList(end, of: id, &writer)?.forEach(context) { other in
        try body(other)
        return true
      }
    case .property(let holder, let reference, let number):
      try forEachHeld(by: id, holder, reference, number, body)
    }
  }

  /// The number of related ids.
  func count(_ id: UnsafeRawBufferPointer) throws -> Int {
    switch source {
    case .list(let database): return try count(in: database, at: id)
    case .index(let database, let reference):
      guard reference.form.writeKey(of: id, to: &writer) else { return 0 }
      guard writer.isCut else { return try count(in: database, at: writer.bytes) }
      try prepare(database, writer.bytes)
      return try AssociationList(end, of: id, &writer)?.count(context) ?? 0
    case .property:
      var count = 0
      try forEach(id) { _ in count += 1 }
      return count
    }
  }

  /// Closes the cursor, which must not be open during changes.
  func endReading() { cursor = nil }

  // MARK: Lists

  private func forEach(
    in database: LMDBDatabase, at key: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try prepare(database, key)
    if cursor == nil { cursor = try LMDBCursor(database, in: try context.transaction()) }
    var entry = try cursor?.seek(exactly: key)
    while let here = entry {
      try body(here.value)
      entry = try cursor?.nextDuplicate()
    }
  }

  private func count(
    in database: LMDBDatabase, at key: UnsafeRawBufferPointer
  ) throws -> Int {
    try prepare(database, key)
    if cursor == nil { cursor = try LMDBCursor(database, in: try context.transaction()) }
    guard try cursor?.seek(exactly: key) != nil else { return 0 }
    return try cursor?.duplicateCount() ?? 0
  }

  // MARK: The property of a record

  private func forEachHeld(
    by id: UnsafeRawBufferPointer, _ holder: CollectionHandle, _ reference: ReferenceSchema,
    _ number: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard let stored = try holder.records.get(id, in: try context.transaction()) else { return }
    let record = try RecordEnvelope.open(stored, id: id, in: holder)
    entries.removeAll()
    do {
      try keys.collect(
        of: record, in: holder, with: context.coder, only: number, into: &entries)
    } catch let error as LarchError {
      throw RecordEnvelope.naming(error, id, holder.stored)
    }
    if entries.items.contains(where: \.isCut) {
      return try forEachDecoded(record, holder, reference, body)
    }
    for place in entries.items.indices {
      try reference.form.withID(inKey: entries.key(entries.items[place])) { try body($0) }
    }
  }

  /// Only the record itself has ids that are too long for keys.
  private func forEachDecoded(
    _ record: UnsafeRawBufferPointer, _ holder: CollectionHandle, _ reference: ReferenceSchema,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var given = IDSet(width: nil)
    try holder.schema.referencedIDs(record, context.coder, reference.declaration, &writer) { id in
      if given.insert(id) { try body(id) }
    }
  }
}
