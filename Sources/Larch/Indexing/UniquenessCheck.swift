/// Checks that no two records have the same key in a unique index.
struct UniquenessCheck {
  private let index: IndexHandle
  private let collection: CollectionHandle
  private let context: TransactionContext
  private let passesOverUnreadable: Bool

  /// - Parameter passesOverUnreadable: whether unreadable keys and records are skipped, since
  ///   others report them.
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
    // For cut keys the records decide whether the long values differ.
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

  /// Nil for unreadable values, if these are skipped.
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
      "Two stored records have the same value in a unique index; open the store without `Unique`, and change one of them."
    ) {
      $0.collection = collection.stored.name
      $0.index = index.stored.name
      $0.id = collection.stored.idKind.text(of: id)
      $0.otherID = other.map { collection.stored.idKind.text(of: $0.value) }
    }
  }
}
