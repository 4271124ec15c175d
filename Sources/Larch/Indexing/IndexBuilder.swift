/// Builds the indexes that were declared over records which are there already.
///
/// Each batch is a transaction of its own that also keeps how far it came, so a build that is
/// killed goes on where it was. Meanwhile writers keep the index too, for every record, and no
/// query uses it; an entry that both make is made once.
package struct IndexBuilder {
  let environment: LMDBEnvironment
  let catalog: Catalog
  let batchSize: Int
  /// That of the environment when the handles of the catalog were opened; nil inside of a
  /// transaction that is running.
  var generation: Int?
  /// Told of each record that its type cannot decode, though the index needs that. The index stays
  /// unfinished then: the records that can be read are in it, no query uses it, and the next build
  /// goes on at the first that could not. Where it is nil, such a record is an error.
  var passOver: ((_ error: LarchError, _ index: StoredIndex) -> Void)?
  let progress: (_ collection: String, _ index: String, _ done: Int, _ total: Int) throws -> Void

  /// What one transaction of a build did.
  private struct Batch {
    var count = 0
    /// Where the next one begins.
    var next: BuildPosition
    var passedOver: [LarchError] = []
  }

  package init(
    environment: LMDBEnvironment, catalog: Catalog, batchSize: Int, generation: Int? = nil,
    progress:
      @escaping (_ collection: String, _ index: String, _ done: Int, _ total: Int) throws -> Void
  ) {
    self.environment = environment
    self.catalog = catalog
    self.batchSize = batchSize
    self.generation = generation
    self.progress = progress
  }

  /// Builds what is unfinished; returns whether there was anything.
  func buildAll() throws -> Bool {
    var isChanged = false
    for collection in catalog.collections {
      for (number, index) in collection.indexes.enumerated() where !index.isReady {
        try build(number, in: collection)
        isChanged = true
      }
    }
    return isChanged
  }

  /// Builds one index of a collection, by its place among the handles.
  package func build(_ number: Int, in collection: CollectionHandle) throws {
    let index = collection.indexes[number]
    var isFinished = false
    // Known here alone, once a record was passed over: the file keeps the place before that.
    var resumed: BuildPosition?
    var passedOver = 0
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
        // Another program may build the same index, and have finished.
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
        if batch.count == batchSize { return false }
        if resumed == nil, batch.passedOver.isEmpty {
          try finish(index, in: collection, context, transaction)
        } else if index.schema.isUnique {
          try UniquenessCheck(index, in: collection, context, passesOverUnreadable: true)
            .check(transaction)
        }
        return true
      }
      if let ended {
        for error in ended.passedOver { passOver?(error, index.stored) }
        passedOver += ended.passedOver.count
        if passedOver > 0 { resumed = ended.next }
        done -= passedOver
      }
      try progress(collection.stored.name, index.stored.name, min(done, total), total)
    }
  }

  /// Builds what is unfinished of one collection, in a transaction that is running.
  func build(_ collection: CollectionHandle, in transaction: LMDBTransaction) throws {
    let total = try collection.records.statistics(in: transaction).entries
    for (number, index) in collection.indexes.enumerated() where !index.isReady {
      try build(number, in: collection, in: transaction)
      try progress(collection.stored.name, index.stored.name, total, total)
    }
  }

  /// Builds one index, which is empty or unfinished, in a transaction that is running.
  package func build(
    _ number: Int, in collection: CollectionHandle, in transaction: LMDBTransaction
  ) throws {
    let context = try TransactionContext(catalog, of: environment)
    context.begin(transaction)
    defer { context.end() }
    let index = collection.indexes[number]
    var batch = batchSize
    while batch == batchSize {
      let position = try BuildPosition(of: index, catalog.storage, transaction)
      batch = try addBatch(
        number, in: collection, after: position, isNoted: true, context, transaction
      ).count
    }
    try finish(index, in: collection, context, transaction)
  }

  /// Adds the entries of the records behind the position.
  ///
  /// - Parameter isNoted: whether the file keeps how far it came.
  private func addBatch(
    _ number: Int, in collection: CollectionHandle, after position: BuildPosition, isNoted: Bool,
    _ context: TransactionContext, _ transaction: LMDBTransaction
  ) throws -> Batch {
    let index = collection.indexes[number]
    let storage = catalog.storage
    let pending = PendingIndex(index.database, isUnique: index.schema.isUnique)
    var keys = IndexKeys()
    var entries = EntryList()
    var batch = Batch(next: position)
    // The place before the first record that was passed over, where one was.
    var noted: BuildPosition?
    do {
      var cursor = try LMDBCursor(collection.records, in: transaction)
      var record = try start(&cursor, after: position.lastID)
      while let here = record, batch.count < batchSize {
        let bytes = try RecordEnvelope.open(here.value, id: here.key, in: collection)
        entries.removeAll()
        do {
          try keys.collect(
            of: bytes, in: collection, with: context.coder, only: number, into: &entries)
        } catch let error as LarchError {
          let error = RecordEnvelope.naming(error, here.key, collection.stored)
          guard error.code == .decodingFailed, passOver != nil else { throw error }
          entries.removeAll()
          batch.passedOver.append(error)
          if noted == nil { noted = batch.next }
        }
        for item in entries.items { pending.add(entries.key(item), id: here.key) }
        batch.count += 1
        batch.next.done = position.done &+ batch.count
        if passOver != nil || batch.count == batchSize { batch.next.lastID = [UInt8](here.key) }
        record = try cursor.next()
      }
    }
    try pending.flush(in: transaction)
    if isNoted, batch.count == batchSize || noted != nil {
      let next = noted ?? batch.next
      try storage.set(.buildProgress(index.stored.id), to: next.encoded(), in: transaction)
    }
    return batch
  }

  private func start(
    _ cursor: inout LMDBCursor, after id: [UInt8]?
  ) throws -> LMDBEntry? {
    guard let id else { return try cursor.first() }
    return try id.withUnsafeBytes { id in
      let entry = try cursor.seek(atOrAfter: id)
      guard let entry, entry.key.equals(id) else { return entry }
      return try cursor.next()
    }
  }

  /// Marks the index as complete, once it is proved unique if it has to be.
  private func finish(
    _ index: IndexHandle, in collection: CollectionHandle, _ context: TransactionContext,
    _ transaction: LMDBTransaction
  ) throws {
    if index.schema.isUnique {
      try UniquenessCheck(index, in: collection, context).check(transaction)
    }
    let storage = catalog.storage
    var (entry, place) = try storedEntry(of: index, in: collection, transaction)
    entry.indexes[place].state = .ready
    // Who has the store open meanwhile keeps the index already; they need not notice.
    try storage.set(entry, in: transaction)
    try storage.remove(.buildProgress(index.stored.id), in: transaction)
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
        "Another program removed the index while it was built; open the store again."
      ) { $0.index = index.stored.name }
    }
    return (entry, place)
  }
}

/// How far the building of an index came, as the file keeps it.
private struct BuildPosition {
  /// How many records were read.
  var done = 0
  /// The id of the last one; nil before the first.
  var lastID: [UInt8]?

  init(
    of index: IndexHandle, _ storage: CatalogStorage, _ transaction: LMDBTransaction
  ) throws {
    guard let bytes = try storage.value(.buildProgress(index.stored.id), in: transaction) else {
      return
    }
    try bytes.withUnsafeBytes {
      var reader = StoredReader($0)
      done = Int(clamping: try reader.varint())
      lastID = try reader.data()
      try reader.expectEnd()
    }
  }

  func encoded() -> [UInt8] {
    var writer = StoredWriter()
    writer.append(varint: UInt64(done))
    writer.append(data: lastID ?? [])
    return writer.bytes
  }
}

/// Proves that no two records share a key of a unique index.
struct UniquenessCheck {
  private let index: IndexHandle
  private let collection: CollectionHandle
  private let context: TransactionContext
  private let passesOverUnreadable: Bool

  /// - Parameter passesOverUnreadable: whether keys and records that cannot be read are left to
  ///   others to report.
  init(
    _ index: IndexHandle, in collection: CollectionHandle, _ context: TransactionContext,
    passesOverUnreadable: Bool = false
  ) {
    self.passesOverUnreadable = passesOverUnreadable
    self.index = index
    self.collection = collection
    self.context = context
  }

  func check(_ transaction: LMDBTransaction) throws {
    var cursor = try LMDBCursor(index.database, in: transaction)
    var values = WholeValues(context)
    var entry = try cursor.first()
    while let here = entry {
      if try cursor.duplicateCount() > 1,
        try readable({ try !index.schema.hasNil(here.key) }) ?? false
      {
        try checkHolders(of: here.key, &cursor, first: here.value, &values, transaction)
      }
      entry = try cursor.nextKey()
    }
  }

  private func checkHolders(
    of key: UnsafeRawBufferPointer, _ cursor: inout LMDBCursor, first: UnsafeRawBufferPointer,
    _ values: inout WholeValues, _ transaction: LMDBTransaction
  ) throws {
    guard try index.schema.mayBeCut(key) else {
      throw conflict(key, first, try cursor.nextDuplicate())
    }
    // Cut keys: the records tell whether the long values differ.
    var seen: [[UInt8]: [UInt8]] = [:]
    var entry: LMDBEntry? = try cursor.current()
    while let here = entry {
      let whole = try readable { try values.keys(ofID: here.value, in: index, collection) }
      for full in whole ?? [] {
        if let other = seen[full] {
          throw other.withUnsafeBytes { conflict(key, $0, here) }
        }
        seen[full] = [UInt8](here.value)
      }
      entry = try cursor.nextDuplicate()
    }
  }

  /// Nil for what cannot be read, where that is passed over.
  private func readable<T>(_ body: () throws -> T) throws -> T? {
    do {
      return try body()
    } catch {
      guard passesOverUnreadable, error is LarchError || error is IndexNeedsType else {
        throw error
      }
      return nil
    }
  }

  private func conflict(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ other: LMDBEntry?
  ) -> LarchError {
    LarchError(
      .uniqueConflict,
      "Two stored records have the same value in an index that is declared unique; open the store without the declaration and change one of them."
    ) {
      $0.collection = collection.stored.name
      $0.index = index.stored.name
      $0.id = collection.stored.idKind.text(of: id)
      $0.otherID = other.map { collection.stored.idKind.text(of: $0.value) }
    }
  }
}
