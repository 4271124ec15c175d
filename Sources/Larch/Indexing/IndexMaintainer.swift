/// Maintains the indexes in one write transaction: the only path for insert, update and delete.
///
/// A change has the record before and after; either may be missing. Only entries that differ
/// change, and uniqueness is checked before anything is written. Changes are collected and written
/// to the trees in key order.
package final class IndexMaintainer {
  /// The size of collected entries of all indexes at which they are written; it limits the memory
  /// of a bulk write.
  static let pendingLimit = 48 << 20

  let context: TransactionContext
  // One thread at a time writes, and the code of a record cannot re-enter: the context notes that a
  // record is being indexed.
  @exclusivity(unchecked) private var keys = IndexKeys()
  @exclusivity(unchecked) private(set) var old = EntryList()
  @exclusivity(unchecked) private(set) var new = EntryList()
  /// By index number; created at the first change of an index and kept for later transactions.
  @exclusivity(unchecked) private var pending: [PendingIndex?] = []
  @exclusivity(unchecked) private var pendingSize = 0
  /// The number of times that entries were written.
  @exclusivity(unchecked) private var writes = 0

  /// The words of records in searches.
  let searches: SearchMaintainer

  /// Checks that references do not dangle.
  package let references: ReferenceCheck

  package init(_ context: TransactionContext) {
    self.context = context
    references = ReferenceCheck(context)
    searches = SearchMaintainer(context)
  }

  /// Applies one change, or throws and applies nothing.
  ///
  /// - Parameters:
  ///   - before: the record that is stored now; its bytes are read before this returns.
  ///   - after: the record after the change.
  ///   - memory: this record in memory, if it has every bit of the decoded one.
  ///   - prove: checks the new entries before they are used.
  ///   - write: stores the record; called after all checks, before entries are collected.
  package func update(
    id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer?, after: UnsafeRawBufferPointer?,
    from memory: RecordInMemory? = nil, in collection: CollectionHandle,
    prove: (borrowing EntryList) throws -> Void = { _ in }, write: () throws -> Void
  ) throws {
    let isWatched = context.current?.isWatched == true
    let hasWords = !collection.searches.isEmpty
    if collection.indexes.isEmpty, collection.references.isEmpty, !isWatched, !hasWords {
      return try write()
    }
    context.isTakingIn = true
    defer { context.isTakingIn = false }
    old.removeAll()
    new.removeAll()
    if hasWords { try searches.take(id, before: before, after: after, in: collection) }
    if collection.indexes.isEmpty {
      try checkUnindexedReferences(id, after, collection)
      if isWatched { announce(id, in: collection) }
      defer { if isWatched { endAnnouncement() } }
      try write()
      if hasWords { try addWords(of: id, in: collection) }
      return
    }
    if let before { try collectOld(of: before, id: id, from: memory, in: collection) }
    if let after {
      try keys.collect(
        of: after, from: memory, in: collection, with: context.coder, into: &new)
      try prove(new)
      try checkUnique(id: id, after: after, in: collection)
      if collection.referenceIndexes != 0 {
        try references.check(id: id, after: after, old: old, new: new, in: collection)
      }
    }
    try checkUnindexedReferences(id, after, collection)
    if isWatched { announce(id, in: collection) }
    defer { if isWatched { endAnnouncement() } }
    try write()
    if before == nil {
      for item in new.items {
        pendingIndex(collection.indexes[item.index]).add(new.key(item), id: id)
        pendingSize += item.length + id.count
      }
    } else {
      addDifference(id: id, in: collection)
    }
    if hasWords { try addWords(of: id, in: collection) }
    if pendingSize > IndexMaintainer.pendingLimit { try flush() }
  }

  /// After all other checks: what waits must be a record that is written.
  private func checkUnindexedReferences(
    _ id: UnsafeRawBufferPointer, _ after: UnsafeRawBufferPointer?, _ collection: CollectionHandle
  ) throws {
    guard collection.hasUnindexedReferences, let after else { return }
    try references.checkUnindexed(id: id, after: after, in: collection)
  }

  /// Applies a change of some fields of a record that its type cannot decode, or throws and applies
  /// nothing. The new values do not conflict with others.
  ///
  /// Entries that need the decoded record do not change: they are from the time when it was
  /// readable.
  ///
  /// - Parameter changed: the fields.
  /// - Throws: `.decodingFailed` if such entries contain a changed field.
  func updateUndecodable(
    id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer,
    changed: [FieldIdentity], in collection: CollectionHandle, write: () throws -> Void
  ) throws {
    context.isTakingIn = true
    defer { context.isTakingIn = false }
    old.removeAll()
    new.removeAll()
    var undecided: UInt64 = 0
    do {
      try keys.collect(of: before, in: collection, with: context.coder, into: &old)
    } catch let error as LarchError where error.code == .decodingFailed {
      undecided |= keys.undecided
    }
    do {
      try keys.collect(of: after, in: collection, with: context.coder, into: &new)
    } catch let error as LarchError where error.code == .decodingFailed {
      undecided |= keys.undecided
    }
    for (number, index) in collection.indexes.enumerated() where undecided & 1 << number != 0 {
      guard index.schema.fields.contains(where: { changed.contains($0.identity) }) else { continue }
      throw LarchError(
        .decodingFailed,
        "The record cannot be decoded, so a reference in it cannot be removed: an index needs the decoded record for its keys. Delete the record by its id first, or save another one under its id."
      ) {
        $0.collection = collection.stored.name
        $0.index = index.stored.name
        $0.id = collection.stored.idKind.text(of: id)
      }
    }
    if !collection.searches.isEmpty {
      try searches.takeUndecodable(
        id, before: before, after: after, changed: changed, in: collection)
    }
    try write()
    if !collection.searches.isEmpty { try addWords(of: id, in: collection) }
    addDifference(id: id, in: collection, besides: undecided)
    if pendingSize > IndexMaintainer.pendingLimit { try flush() }
  }

  /// The entries of the stored record.
  ///
  /// A record that its type cannot decode any more must still be replaceable and deletable: entries
  /// that need the decoded record are then searched in their indexes.
  private func collectOld(
    of record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, from memory: RecordInMemory?,
    in collection: CollectionHandle
  ) throws {
    do {
      try keys.collect(
        of: record, from: memory, in: collection, with: context.coder, into: &old)
    } catch let error as LarchError where error.code == .decodingFailed {
      try findOld(keys.undecided, id: id, in: collection)
    } catch let error as LarchError {
      throw RecordEnvelope.naming(error, id, collection.stored)
    }
  }

  @inline(never)
  private func findOld(
    _ indexes: UInt64, id: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws {
    let transaction = try context.transaction()
    for (number, index) in collection.indexes.enumerated()
    where indexes & 1 << UInt64(number) != 0 {
      try flush(index.database)
      var cursor = try LMDBCursor(index.database, in: transaction)
      var entry = try cursor.first()
      while let here = entry {
        if here.value.equals(id) {
          old.insert(index: number, key: here.key, isCut: false, hasNil: false)
        }
        entry = try cursor.next()
      }
    }
    old.sort()
  }

  /// - Parameter besides: indexes that do not change, by number.
  private func addDifference(
    id: UnsafeRawBufferPointer, in collection: CollectionHandle, besides: UInt64 = 0
  ) {
    EntryList.difference(
      old: old, new: new,
      removed: { item in
        if besides & 1 << item.index != 0 { return }
        pendingIndex(collection.indexes[item.index]).remove(old.key(item), id: id)
        pendingSize += item.length + id.count
      },
      added: { item in
        if besides & 1 << item.index != 0 { return }
        pendingIndex(collection.indexes[item.index]).add(new.key(item), id: id)
        pendingSize += item.length + id.count
      })
  }

  /// Adds the words that `searches` took, after the record was written.
  @inline(never)
  private func addWords(of id: UnsafeRawBufferPointer, in collection: CollectionHandle) throws {
    searches.add(id, in: collection)
    if searches.size > IndexMaintainer.pendingLimit { try flush() }
  }

  /// Writes all pending entries.
  package func flush() throws {
    if pendingSize == 0, searches.size == 0 { return }
    let transaction = try context.transaction()
    for index in pending { try index?.flush(in: transaction) }
    try searches.flush()
    pendingSize = 0
    writes += 1
  }

  /// Writes the pending entries of one index or list, which is about to be read.
  func flush(_ database: LMDBDatabase) throws {
    guard let pending = existingPendingIndex(database), !pending.isEmpty else {
      return try searches.flush(database)
    }
    try pending.flush(in: try context.transaction())
    writes += 1
  }

  /// Writes the pending entries of one index or list, if they may affect the entries of a key that
  /// are about to be read.
  func flush(_ database: LMDBDatabase, before key: UnsafeRawBufferPointer) throws {
    guard let pending = existingPendingIndex(database), pending.mayChange(key) else { return }
    try flush(database)
  }

  /// The current pending entries, for `rewind`.
  struct Mark {
    fileprivate let entries: [PendingEntries.Mark?]
    fileprivate let pendingSize: Int
    fileprivate let words: [UInt32: PendingEntries.Mark]
    fileprivate let wordsSize: Int
    fileprivate let merges: Int
    fileprivate let writes: Int
  }

  func mark() throws -> Mark {
    // Later entries must not reach the limit.
    if max(pendingSize, searches.size) > IndexMaintainer.pendingLimit / 2 { try flush() }
    return Mark(
      entries: pending.map { $0?.mark }, pendingSize: pendingSize, words: searches.mark(),
      wordsSize: searches.size, merges: searches.merges, writes: writes)
  }

  /// Discards the entries since the mark; false if some of them were written, and stay.
  func rewind(to mark: Mark) -> Bool {
    guard writes == mark.writes, searches.merges == mark.merges else { return false }
    for (place, index) in pending.enumerated() {
      index?.rewind(to: place < mark.entries.count ? mark.entries[place] : nil)
    }
    pendingSize = mark.pendingSize
    searches.rewind(to: mark.words, size: mark.wordsSize)
    return true
  }

  /// Adds a pending member of a list of ids. An existing one is not duplicated.
  func add(
    _ id: UnsafeRawBufferPointer, toList key: UnsafeRawBufferPointer, in database: LMDBDatabase
  ) throws {
    pendingIndex(database, isUnique: false).add(key, id: id)
    try notePending(key.count + id.count)
  }

  /// Adds a pending removal of a member of a list of ids.
  func remove(
    _ id: UnsafeRawBufferPointer, fromList key: UnsafeRawBufferPointer,
    in database: LMDBDatabase
  ) throws {
    pendingIndex(database, isUnique: false).remove(key, id: id)
    try notePending(key.count + id.count)
  }

  private func notePending(_ size: Int) throws {
    pendingSize += size
    if pendingSize > IndexMaintainer.pendingLimit { try flush() }
  }

  /// Discards the pending entries: the transaction, or a savepoint, was undone.
  func discard() {
    for index in pending { index?.discard() }
    searches.discard()
    pendingSize = 0
  }

  /// Discards the pending entries of a list that is being emptied.
  func discard(_ database: LMDBDatabase) { existingPendingIndex(database)?.discard() }

  /// Discards the pending entries of the indexes of a collection that is being emptied.
  func discard(_ collection: CollectionHandle) {
    for index in collection.indexes { existingPendingIndex(index)?.discard() }
    for index in collection.searches { searches.discard(index.database) }
  }

  private func pendingIndex(_ index: IndexHandle) -> PendingIndex {
    pendingIndex(index.database, isUnique: index.schema.isUnique)
  }

  private func pendingIndex(_ database: LMDBDatabase, isUnique: Bool) -> PendingIndex {
    let slot = Int(database.handle)
    if slot < pending.count, let found = pending[slot] { return found }
    while pending.count <= slot { pending.append(nil) }
    let made = PendingIndex(database, isUnique: isUnique)
    pending[slot] = made
    return made
  }

  private func existingPendingIndex(_ index: IndexHandle) -> PendingIndex? {
    existingPendingIndex(index.database)
  }

  private func existingPendingIndex(_ database: LMDBDatabase) -> PendingIndex? {
    let slot = Int(database.handle)
    return slot < pending.count ? pending[slot] : nil
  }
}

// MARK: - Uniqueness

extension IndexMaintainer {
  /// Checks every unique key that the record did not have before.
  private func checkUnique(
    id: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws {
    for item in new.items {
      let index = collection.indexes[item.index]
      guard index.schema.isUnique, !item.hasNil else { continue }
      let key = new.key(item)
      if old.contains(index: item.index, key: key), !item.isCut { continue }
      if let other = try holder(of: key, isCut: item.isCut, index, id, after, in: collection) {
        throw LarchError(
          .uniqueConflict,
          "Another record has this value in a unique index; change the value, or update the other record."
        ) {
          $0.collection = collection.stored.name
          $0.index = index.stored.name
          $0.detail = index.schema.text(of: key)
          $0.id = collection.stored.idKind.text(of: id)
          $0.otherID = other
        }
      }
    }
  }

  /// The id of another record with the key, as text.
  private func holder(
    of key: UnsafeRawBufferPointer, isCut: Bool, _ index: IndexHandle,
    _ id: UnsafeRawBufferPointer, _ after: UnsafeRawBufferPointer,
    in collection: CollectionHandle
  ) throws -> String? {
    try flush(index, beforeAdding: key)
    return try UniqueLookup(context: context, index: index, collection: collection)
      .holder(of: key, isCut: isCut, besides: id) {
        Set(try $0.keys(of: after, in: index, collection))
      }
      .map { collection.stored.idKind.text(of: $0) }
  }

  /// Writes the pending entries of a unique index if they may conflict with the key or free it, so
  /// that one search in the tree is enough.
  func flush(_ index: IndexHandle, beforeAdding key: UnsafeRawBufferPointer) throws {
    guard let pending = existingPendingIndex(index), !pending.isEmpty else { return }
    let transaction = try context.transactionBesidesRecords()
    var mayMatter = pending.mayHaveAdded(key)
    if !mayMatter, pending.hasRemovals {
      mayMatter = try index.database.get(key, in: transaction) != nil
    }
    guard mayMatter else { return }
    try pending.flush(in: transaction)
    writes += 1
  }
}
