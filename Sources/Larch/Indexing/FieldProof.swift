/// Compares the keys that stored bytes give with the keys that the properties of the record give.
///
/// They differ only when the type encodes a property as something else than it holds, which
/// cannot be seen before a value is encoded.
struct FieldProof: ~Copyable {
  private var writer = KeyWriter()
  private var expected = EntryList()

  mutating func check<R: Record>(
    _ record: R, _ declarations: TypedDeclarations<R>, _ stored: borrowing EntryList,
    in collection: CollectionHandle
  ) throws {
    expected.removeAll()
    for (number, index) in collection.indexes.enumerated() where !index.schema.isDecoded {
      try declarations.indexes[index.position].forEachKey(of: record, in: &writer) {
        expected.insert(index: number, key: $0.bytes, isCut: $0.isCut, hasNil: $0.hasNil)
      }
    }
    var wrong: Int?
    EntryList.difference(
      old: stored, new: expected,
      removed: { if !collection.indexes[$0.index].schema.isDecoded { wrong = $0.index } },
      added: { wrong = $0.index })
    guard let wrong else { return }
    throw LarchError(
      .fieldMismatch,
      "The type encodes an indexed property as something else than the property holds; give the index a `name:`, so that it is taken from the decoded record."
    ) {
      $0.collection = collection.stored.name
      $0.index = collection.indexes[wrong].stored.name
    }
  }
}
