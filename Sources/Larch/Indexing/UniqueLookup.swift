/// Finds who holds a key of a unique index, in the trees as they are.
struct UniqueLookup {
  let context: TransactionContext
  let index: IndexHandle
  let collection: CollectionHandle

  /// The id of a record other than `id` that holds the key; its bytes are valid until the next
  /// change.
  ///
  /// - Parameter whole: the values behind the key, for one that is cut: different long values may
  ///   share it, and only the records tell them apart.
  func holder(
    of key: UnsafeRawBufferPointer, isCut: Bool, besides id: UnsafeRawBufferPointer,
    whole: (inout WholeValues) throws -> Set<[UInt8]>
  ) throws -> UnsafeRawBufferPointer? {
    let transaction = try context.transaction()
    guard isCut else {
      guard let other = try index.database.get(key, in: transaction), !other.equals(id) else {
        return nil
      }
      return other
    }
    var long = WholeValues(context)
    let wanted = try whole(&long)
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
    return nil
  }
}
