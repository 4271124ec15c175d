/// Finds the record with a key of a unique index, in the trees alone; records that an index build
/// has not reached are read.
struct UniqueLookup {
  let context: TransactionContext
  let index: IndexHandle
  let collection: CollectionHandle

  /// The id of a record other than `id` with the key; its bytes are valid until the next change.
  ///
  /// - Parameter whole: the whole values of the keys. They are needed for a cut key, which
  ///   different long values may share, and for an incomplete index.
  func holder(
    of key: UnsafeRawBufferPointer, isCut: Bool, besides id: UnsafeRawBufferPointer,
    whole: (inout WholeValues) throws -> Set<[UInt8]>
  ) throws -> UnsafeRawBufferPointer? {
    var transaction = try context.transactionBesidesRecords()
    if !isCut {
      if let other = try index.database.get(key, in: transaction), !other.equals(id) {
        return other
      }
      if index.isReady { return nil }
    }
    // From here on, records are read.
    transaction = try context.transaction()
    // Created only here: it allocates, which would slow down each save.
    var long = WholeValues(context)
    let wanted = try whole(&long)
    if isCut {
      var cursor = try LMDBCursor(index.database, in: transaction)
      var entry = try cursor.seek(exactly: key)
      while let here = entry {
        if !here.value.equals(id),
          try long.keys(ofID: here.value, in: index, collection).contains(where: wanted.contains)
        {
          return here.value
        }
        entry = try cursor.nextDuplicate()
      }
    }
    return index.isReady ? nil : try unlisted(wanted, besides: id, &long, transaction)
  }

  /// The record with the key among those that the index does not have yet.
  ///
  /// - Throws: `.decodingFailed` for a record that cannot be compared.
  private func unlisted(
    _ wanted: Set<[UInt8]>, besides id: UnsafeRawBufferPointer, _ values: inout WholeValues,
    _ transaction: LMDBTransaction
  ) throws -> UnsafeRawBufferPointer? {
    let position = try BuildPosition(of: index, context.catalog.storage, transaction)
    var cursor = try LMDBCursor(collection.records, in: transaction)
    var unread: LarchError?
    var record = try position.next(of: &cursor)
    while let here = record {
      if !here.key.equals(id) {
        let bytes = try RecordEnvelope.open(here.value, id: here.key, in: collection)
        do {
          let held = try values.keys(of: bytes, in: index, collection)
          if held.contains(where: wanted.contains) { return here.key }
        } catch let error as LarchError where error.code == .decodingFailed {
          if unread == nil { unread = incomparable(error, here.key) }
        }
      }
      record = try cursor.next()
    }
    if let unread { throw unread }
    return nil
  }

  private func incomparable(_ error: LarchError, _ id: UnsafeRawBufferPointer) -> LarchError {
    LarchError(
      .decodingFailed,
      "A unique index is incomplete, because a record cannot be decoded; that record may have this value. Delete it by its id, or save another one under its id."
    ) {
      $0 = error.context
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: id)
      $0.index = index.stored.name
    }
  }
}
