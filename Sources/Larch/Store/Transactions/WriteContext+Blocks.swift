// Ids of a shared store: see `IDBlocks`.

extension WriteContext {
  /// The first id that a transaction assigns in a collection.
  func firstID(in collection: CollectionHandle, _ transaction: LMDBTransaction) throws -> Int64 {
    let number = collection.stored.id
    try skipChosenIDs(in: collection, transaction)
    noteChecked(number)
    return try nextID(in: collection)
  }

  /// Passes over ids in the own blocks that a program has chosen itself, or has deleted.
  private func skipChosenIDs(
    in collection: CollectionHandle, _ transaction: LMDBTransaction
  ) throws {
    let number = collection.stored.id
    let ids = context.environment.ids
    let deleted = try Self.noted(context.catalog.storage.highestDeletedID(number, in: transaction))
    if deleted > 0 { ids.skip(deleted...deleted, of: number) }
    for block in ids.left(number) {
      var cursor = try LMDBCursor(collection.records, in: transaction)
      let first = try Self.withKey(block.lowerBound) { try cursor.seek(atOrAfter: $0) }
      guard let first, Self.number(of: first.key) < block.upperBound else { continue }
      // The last one in the block is the one before its end.
      let above = try Self.withKey(block.upperBound) { try cursor.seek(atOrAfter: $0) }
      let last = try above == nil ? cursor.last() : cursor.previous()
      let highest = last.map { Self.number(of: $0.key) } ?? block.lowerBound
      ids.skip(highest...highest, of: number)
    }
  }

  private static func withKey<T>(
    _ id: Int64, _ body: (UnsafeRawBufferPointer) throws -> T
  ) rethrows -> T {
    try withUnsafeBytes(of: (UInt64(bitPattern: id) ^ (1 << 63)).bigEndian, body)
  }

  /// Undoes the run: a block is claimed, and the closure runs again.
  func noBlock(for collection: CollectionHandle) -> LarchError {
    context.environment.noteNoIDs(of: collection.stored.id)
    return LarchError(
      .busy, "The write runs again with new ids; let the error pass through the closure."
    ) { $0.collection = collection.stored.name }
  }

  /// Claims the next blocks with the commit that comes anyhow, before the present ones are used up.
  func claimReserves() throws {
    let ids = context.environment.ids
    for collection in context.catalog.collections
    where hasAssigned(in: collection.stored.id) && ids.needsReserve(collection.stored.id) {
      let number = collection.stored.id
      let block = try context.catalog.storage.claimIDs(
        ids.nextBlockSize(number), of: number, in: collection.records,
        try context.transaction())
      ids.reserve(block, of: number)
    }
  }
}

extension CatalogStorage {
  /// Claims ids of a collection that nobody has claimed, and above all that are stored.
  func claimIDs(
    _ count: Int64, of collection: UInt32, in records: LMDBDatabase,
    _ transaction: LMDBTransaction
  ) throws -> Range<Int64> {
    let first = max(
      try firstUnclaimedID(collection, in: transaction),
      try WriteContext.highestID(in: records, transaction) + 1,
      try WriteContext.noted(highestDeletedID(collection, in: transaction)) + 1)
    let end = min(first.addingReportingOverflow(count).partialValue, IDAllocator.limit)
    guard end > first else {
      throw LarchError(.idTooLong, "All ids of the collection are used up; assign ids yourself.")
    }
    try setFirstUnclaimedID(end, of: collection, in: transaction)
    return first..<end
  }
}
