internal import Foundation

/// Finds the stored record of an element.
struct RecordMatcher<R: Record> {
  /// Throws for a field by which records cannot be matched.
  let check: (ReadTransaction) throws -> Void
  /// By the record of the element.
  let find: (R, ReadTransaction) throws -> R?
  /// By the element, before it is decoded.
  let findElement: (ElementDecoder<R>, UnsafeRawBufferPointer, ReadTransaction) throws -> R?

  /// By the id.
  static var byID: RecordMatcher {
    RecordMatcher(
      check: { _ in },
      find: { record, tx in try tx.find(R.self, record.id) },
      findElement: { decoder, bytes, tx in
        let key = decoder.filling.idKey
        guard let id = try decoder.value(R.ID.self, at: [key], of: bytes), !id._isUnassigned else {
          return nil
        }
        return try tx.find(R.self, id)
      })
  }

  /// By a unique field.
  static func by<Value: IndexKey & Decodable>(
    _ field: any KeyPath<R, Value> & Sendable
  ) -> RecordMatcher {
    func find(_ value: Value, _ tx: ReadTransaction) throws -> R? {
      tx.context.idWriter.clear()
      Value._writeKey(value, to: &tx.context.idWriter, isLast: true)
      // Nothing equals nil or NaN, and many records may have them.
      if tx.context.idWriter.hasNil { return nil }
      return try tx.find(R.self, by: field, equals: value)
    }
    var path: [String]?
    if case .stored(let names, _) = FieldNaming.storedPath(of: field) { path = names }
    return RecordMatcher(
      check: { tx in
        let collection = try tx.context.collection(of: R.self)
        let index = tx.context.points.index(
          of: field, form: { Value._keyForm }, in: collection)
        if let index, index.schema.isUnique { return }
        if tx.context.points.isFolded(field, form: Value._keyForm, in: collection) { return }
        throw LarchError(
          .unsuitableMatch,
          "Records can be matched only by a unique field; declare `Unique` for this field alone, or match by another one."
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
            "Elements can be matched only by a stored property; name one."
          ) { $0.collection = R.collectionName }
        }
        guard let value = try decoder.value(Value.self, at: path, of: bytes) else { return nil }
        return try find(value, tx)
      })
  }
}
