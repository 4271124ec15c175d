internal import Foundation

/// Finds the stored record that an element stands for.
struct RecordMatcher<R: Record> {
  /// Refuses a field that records cannot be matched by.
  let check: (ReadTransaction) throws -> Void
  /// By the record that the element holds.
  let find: (R, ReadTransaction) throws -> R?
  /// By the element, before it is made a record.
  let findElement: (ElementDecoder<R>, UnsafeRawBufferPointer, ReadTransaction) throws -> R?

  /// By the id.
  static var byID: RecordMatcher {
    RecordMatcher(
      check: { _ in },
      find: { record, tx in try tx.find(R.self, record.id) },
      findElement: { decoder, bytes, tx in
        let key = decoder.filling.idKey
        guard let id = try decoder.value(R.ID.self, at: [key], of: bytes), !id.isUnassigned else {
          return nil
        }
        return try tx.find(R.self, id)
      })
  }

  /// By a field that no two records have the same value of.
  static func by<Value: IndexKey & Decodable>(
    _ field: any KeyPath<R, Value> & Sendable
  ) -> RecordMatcher {
    func find(_ value: Value, _ tx: ReadTransaction) throws -> R? {
      tx.context.idWriter.clear()
      Value.keyCoding.write(value, to: &tx.context.idWriter, isLast: true)
      // Nothing is equal to nil or NaN, of which there may be many.
      if tx.context.idWriter.hasNil { return nil }
      return try tx.find(R.self, by: field, equals: value)
    }
    var path: [String]?
    if case .stored(let names, _) = FieldNaming.storedPath(of: field) { path = names }
    return RecordMatcher(
      check: { tx in
        let collection = try tx.context.collection(of: R.self)
        let found = tx.context.points.index(of: field, in: collection)
        if let found, found.index.schema.isUnique { return }
        if tx.context.points.isFolded(field, in: collection) { return }
        throw LarchError(
          .unsuitableMatch,
          "Records are matched by a field that no two have the same value of; declare `Unique` for it alone, or match by another."
        ) {
          $0.collection = collection.stored.name
          $0.field = path?.joined(separator: ".")
        }
      },
      find: { record, tx in try find(record[keyPath: field], tx) },
      findElement: { decoder, bytes, tx in
        guard let path else {
          throw LarchError(
            .unsuitableMatch,
            "An element is matched by a stored property before it is merged; name one."
          ) { $0.collection = R.collectionName }
        }
        guard let value = try decoder.value(Value.self, at: path, of: bytes) else { return nil }
        return try find(value, tx)
      })
  }
}
