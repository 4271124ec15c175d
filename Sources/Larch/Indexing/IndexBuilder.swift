/// Builds indexes that were declared over existing records.
///
/// Each batch is a transaction of its own that also stores the progress, so a build that is killed
/// continues there. Meanwhile writers maintain the index for every record, and neither queries nor
/// rules use it. An entry that both write exists once.
///
/// Existing indexes are rebuilt in one transaction.
package struct IndexBuilder {
  /// The number of records of a batch, which takes about a fifth of a second; others cannot write
  /// meanwhile. The last batch has up to twice as many: a small one after large ones would split
  /// full pages in two halves.
  private static let usualBatchSize = 500_000

  let environment: LMDBEnvironment
  let catalog: Catalog
  /// The number of records of a batch; nil for a good one. A batch also ends when its entries take as
  /// much memory as a write may hold.
  let batchSize: Int?
  /// The generation of the environment when the handles of the catalog were opened; nil inside a
  /// running transaction.
  var generation: Int?
  /// Called for each record that its type cannot decode, although the index needs that. The index
  /// is then incomplete: it has the readable records, no query uses it, and the next build
  /// continues at the first unreadable record. If it is nil, such a record is an error.
  var onUnreadable: ((_ error: LarchError, _ index: StoredIndex) -> Void)?
  let progress: (_ collection: String, _ index: String, _ done: Int, _ total: Int) throws -> Void

  /// The result of one transaction of a build.
  private struct Batch {
    var count = 0
    /// Whether it ended because it has enough; there may be more records.
    var isFull = false
    /// The start of the next batch.
    var next: BuildPosition
    /// The position before the first skipped record, if there is one.
    var unread: BuildPosition?
    var skipped: [LarchError] = []
  }

  package init(
    environment: LMDBEnvironment, catalog: Catalog, batchSize: Int?, generation: Int? = nil,
    progress:
      @escaping (_ collection: String, _ index: String, _ done: Int, _ total: Int) throws -> Void
  ) {
    self.environment = environment
    self.catalog = catalog
    self.batchSize = batchSize
    self.generation = generation
    self.progress = progress
  }

  /// Builds the incomplete indexes; returns whether there were any.
  func buildAll() throws -> Bool {
    var isChanged = false
    for collection in catalog.collections {
      for (number, index) in collection.allIndexes.enumerated() where !index.isReady {
        try build(number, in: collection)
        isChanged = true
      }
    }
    return isChanged
  }

  /// Builds one index of a collection, by its place among the handles of indexes and searches.
  package func build(_ number: Int, in collection: CollectionHandle) throws {
    let index = collection.allIndexes[number]
    var isFinished = false
    // Known only here, once a record was skipped: the file keeps the position before that.
    var resumed: BuildPosition?
    var skipped = 0
    while !isFinished {
      var total = 0
      var done = 0
      var ended: Batch?
      isFinished = try environment.write { transaction in
        if let generation { try environment.checkGeneration(generation) }
        total = try collection.records.statistics(in: transaction).entries
        let context = try TransactionContext(catalog, of: environment)
        context.begin(transaction)
        defer { context.end() }
        // Another program may build the same index, and may have finished it.
        if try storedState(of: index, in: collection, transaction) == .ready {
          done = total
          ended = nil
          return true
        }
        let position = try resumed ?? BuildPosition(of: index, catalog.storage, transaction)
        let batch = try addBatch(
          number, in: collection, after: position, isNoted: resumed == nil, context, transaction)
        ended = batch
        done = batch.next.done
        if batch.isFull { return false }
        if resumed == nil, batch.skipped.isEmpty {
          try finish(index, in: collection, context, transaction)
        } else if index.schema.isUnique {
          try UniquenessCheck(index, in: collection, context, skipsUnreadable: true)
            .check(transaction)
        }
        return true
      }
      if let ended {
        for error in ended.skipped { onUnreadable?(error, index.stored) }
        skipped += ended.skipped.count
        if skipped > 0 { resumed = ended.next }
        done -= skipped
      }
      try progress(collection.stored.name, index.stored.name, min(done, total), total)
    }
  }

  /// Empties every index and builds it again, in a running transaction: nobody sees an incomplete
  /// index, and undoing the transaction changes nothing.
  func rebuildAll(in transaction: LMDBTransaction) throws {
    let context = try TransactionContext(catalog, of: environment)
    context.begin(transaction)
    defer { context.end() }
    for collection in catalog.collections {
      for number in collection.allIndexes.indices {
        try rebuild(number, in: collection, context, transaction)
      }
    }
  }

  private func rebuild(
    _ number: Int, in collection: CollectionHandle, _ context: TransactionContext,
    _ transaction: LMDBTransaction
  ) throws {
    let index = collection.allIndexes[number]
    let total = try collection.records.statistics(in: transaction).entries
    try index.database.empty(in: transaction)
    try addAll(number, in: collection, after: BuildPosition(), context, transaction) { done in
      try progress(collection.stored.name, index.stored.name, min(done, total), total)
    }
  }

  /// Adds the entries of all records after the position, and ends the build.
  ///
  /// - Parameter report: called after each batch with the number of records that the index has.
  private func addAll(
    _ number: Int, in collection: CollectionHandle, after start: BuildPosition,
    _ context: TransactionContext, _ transaction: LMDBTransaction,
    report: (_ done: Int) throws -> Void = { _ in }
  ) throws {
    let index = collection.allIndexes[number]
    var position = start
    var unread: BuildPosition?
    var skipped = 0
    var isFinished = false
    while !isFinished {
      let batch = try addBatch(
        number, in: collection, after: position, isNoted: false, context, transaction)
      position = batch.next
      if unread == nil { unread = batch.unread }
      for error in batch.skipped { onUnreadable?(error, index.stored) }
      skipped += batch.skipped.count
      isFinished = !batch.isFull
      if isFinished { try end(index, in: collection, unread: unread, context, transaction) }
      try report(position.done - skipped)
    }
  }

  /// Ends the build of an index, which has the entries of all records, or of all readable ones.
  private func end(
    _ index: IndexHandle, in collection: CollectionHandle, unread: BuildPosition?,
    _ context: TransactionContext, _ transaction: LMDBTransaction
  ) throws {
    guard let unread else { return try finish(index, in: collection, context, transaction) }
    if index.schema.isUnique {
      try UniquenessCheck(index, in: collection, context, skipsUnreadable: true)
        .check(transaction)
    }
    try catalog.storage.set(
      .buildProgress(index.stored.id), to: unread.encoded(), in: transaction)
    try note(.building, of: index, in: collection, transaction)
  }

  /// Builds the incomplete indexes of one collection, in a running transaction.
  func build(_ collection: CollectionHandle, in transaction: LMDBTransaction) throws {
    let total = try collection.records.statistics(in: transaction).entries
    for (number, index) in collection.allIndexes.enumerated() where !index.isReady {
      try build(number, in: collection, in: transaction)
      try progress(collection.stored.name, index.stored.name, total, total)
    }
  }

  /// Builds one index, which is empty or incomplete, in a running transaction.
  package func build(
    _ number: Int, in collection: CollectionHandle, in transaction: LMDBTransaction
  ) throws {
    let context = try TransactionContext(catalog, of: environment)
    context.begin(transaction)
    defer { context.end() }
    let position = try BuildPosition(
      of: collection.allIndexes[number], catalog.storage, transaction)
    try addAll(number, in: collection, after: position, context, transaction)
  }

  /// Adds the entries of the records after the position.
  ///
  /// - Parameter isNoted: whether the file keeps the progress.
  private func addBatch(
    _ number: Int, in collection: CollectionHandle, after position: BuildPosition, isNoted: Bool,
    _ context: TransactionContext, _ transaction: LMDBTransaction
  ) throws -> Batch {
    let index = collection.allIndexes[number]
    let storage = catalog.storage
    let batchSize = try batchSize ?? usualBatchSize(of: collection, after: position, transaction)
    let pending = PendingIndex(index.database, isUnique: index.schema.isUnique)
    let filling =
      index.schema.search == nil
      ? nil : SearchFilling(number - collection.indexes.count, in: collection, context.coder)
    var keys = IndexKeys()
    var entries = EntryList()
    var batch = Batch(next: position)
    do {
      var cursor = try LMDBCursor(collection.records, in: transaction)
      var record = try position.next(of: &cursor)
      while let here = record, !batch.isFull {
        let bytes = try RecordEnvelope.open(here.value, id: here.key, in: collection)
        entries.removeAll()
        do {
          if let filling {
            try filling.add(bytes, id: here.key)
          } else {
            try keys.collect(
              of: bytes, in: collection, with: context.coder, only: number, into: &entries)
          }
        } catch let error as LarchError {
          let error = RecordEnvelope.naming(error, here.key, collection.stored)
          guard error.code == .decodingFailed, onUnreadable != nil else { throw error }
          entries.removeAll()
          batch.skipped.append(error)
          if batch.unread == nil { batch.unread = batch.next }
        }
        for item in entries.items { pending.add(entries.key(item), id: here.key) }
        batch.count += 1
        batch.next.done = position.done &+ batch.count
        batch.isFull =
          batch.count == batchSize
          || (filling?.byteCount ?? pending.byteCount) >= IndexMaintainer.pendingLimit
        if onUnreadable != nil || batch.isFull { batch.next.lastID = [UInt8](here.key) }
        record = try cursor.next()
      }
    }
    try pending.flush(in: transaction)
    try filling?.flush(in: transaction)
    if isNoted, batch.isFull || batch.unread != nil {
      let next = batch.unread ?? batch.next
      try storage.set(.buildProgress(index.stored.id), to: next.encoded(), in: transaction)
    }
    return batch
  }

  private func usualBatchSize(
    of collection: CollectionHandle, after position: BuildPosition, _ transaction: LMDBTransaction
  ) throws -> Int {
    let left = try collection.records.statistics(in: transaction).entries &- position.done
    return left <= 2 * Self.usualBatchSize ? 2 * Self.usualBatchSize + 1 : Self.usualBatchSize
  }

  /// Marks the index as complete; a unique index is checked first.
  private func finish(
    _ index: IndexHandle, in collection: CollectionHandle, _ context: TransactionContext,
    _ transaction: LMDBTransaction
  ) throws {
    if index.schema.isUnique {
      try UniquenessCheck(index, in: collection, context).check(transaction)
    }
    try catalog.storage.remove(.buildProgress(index.stored.id), in: transaction)
    try note(.ready, of: index, in: collection, transaction)
  }

  /// Stores a new state of an index. Programs that have the store open must read the catalog again,
  /// since they may only use complete indexes.
  private func note(
    _ state: StoredIndex.State, of index: IndexHandle, in collection: CollectionHandle,
    _ transaction: LMDBTransaction
  ) throws {
    let storage = catalog.storage
    var (entry, place) = try storedEntry(of: index, in: collection, transaction)
    if entry.indexes[place].state == state { return }
    entry.indexes[place].state = state
    try storage.set(entry, in: transaction)
    let generation = try storage.generation(in: transaction)
    try storage.setGeneration(generation + 1, in: transaction)
  }

  private func storedState(
    of index: IndexHandle, in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws -> StoredIndex.State {
    let (entry, place) = try storedEntry(of: index, in: collection, transaction)
    return entry.indexes[place].state
  }

  private func storedEntry(
    of index: IndexHandle, in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws -> (StoredCollection, Int) {
    let stored = try catalog.storage.collections(in: transaction)
    guard let entry = stored.first(where: { $0.id == collection.stored.id }),
      let place = entry.indexes.firstIndex(where: { $0.id == index.stored.id })
    else {
      throw LarchError(
        .schemaChanged,
        "Another program removed the index while it was being built; open the store again."
      ) { $0.index = index.stored.name }
    }
    return (entry, place)
  }
}
