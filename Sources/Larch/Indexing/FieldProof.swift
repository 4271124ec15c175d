/// Compares the keys from stored bytes with the keys from the properties of the record.
///
/// They differ only if the type encodes another value than the property has, which is not known
/// before a value is encoded.
struct FieldProof: ~Copyable {
  private var writer = KeyWriter()
  private var expected = EntryList()

  /// - Parameter stored: the keys from the bytes, in the order of the indexes.
  mutating func check<R: Record>(
    _ record: R, _ declarations: TypedDeclarations<R>, _ stored: borrowing EntryList,
    in collection: CollectionHandle
  ) throws {
    // Memberwise coding copies the bytes from the properties themselves.
    if declarations.isMemberwise { return }
    try withUnsafePointer(to: record) {
      try check(UnsafeRawPointer($0), declarations.keys, stored, in: collection)
    }
  }

  private mutating func check(
    _ record: UnsafeRawPointer, _ keys: [RecordKeys], _ stored: borrowing EntryList,
    in collection: CollectionHandle
  ) throws {
    var item = 0
    for number in 0..<collection.indexes.count {
      while item < stored.items.count, stored.items[item].index < number { item += 1 }
      let schema = collection.indexes[number].schema
      if schema.isDecoded { continue }
      let keys = keys[collection.indexes[number].position]
      var isRight = false
      if schema.hasMultiple {
        isRight = try hasKeys(of: record, keys, number, in: stored)
      } else if item < stored.items.count, stored.items[item].index == number {
        let key = stored.key(stored.items[item])
        try keys.forEachKey(at: record, in: &writer) { isRight = $0.bytes.equals(key) }
      }
      if !isRight { throw mismatch(number, collection) }
    }
  }

  private mutating func hasKeys(
    of record: UnsafeRawPointer, _ keys: RecordKeys, _ number: Int,
    in stored: borrowing EntryList
  ) throws -> Bool {
    expected.removeAll()
    try keys.forEachKey(at: record, in: &writer) {
      expected.insert(index: number, key: $0.bytes, isCut: $0.isCut, hasNil: $0.hasNil)
    }
    expected.sort()
    let count = stored.items.reduce(0) { $0 + ($1.index == number ? 1 : 0) }
    return count == expected.items.count
      && expected.items.allSatisfy { stored.contains(index: number, key: expected.key($0)) }
  }

  private func mismatch(_ number: Int, _ collection: CollectionHandle) -> LarchError {
    LarchError(
      .fieldMismatch,
      "The encoded value of an indexed property differs from the property; give the index a `name:`, so that its keys come from the decoded record."
    ) {
      $0.collection = collection.stored.name
      $0.index = collection.indexes[number].stored.name
    }
  }
}
