internal import Foundation

/// Finds the stored record of an element.
struct RecordMatcher<R: Record> {
  /// Throws for a field by which records cannot be matched.
  let check: (ReadTransaction) throws -> Void
  // Both give the id alone: the stored record may be one that its type cannot decode any more, and an
  // element takes the place of that one too.

  /// By the record that the element holds.
  let find: (R, ReadTransaction) throws -> R.ID?
  /// By the element, before it is made a record.
  let findElement: (ElementDecoder<R>, ElementInput, ReadTransaction) throws -> R.ID?
  /// The bytes by which a record is matched; nil if it matches nothing.
  let recordKey: (R, ReadTransaction) throws -> [UInt8]?
  /// The same for an element, before it is made a record.
  let key: (ElementDecoder<R>, ElementInput, ReadTransaction) throws -> [UInt8]?
  /// The path of the field in elements; nil for a computed one.
  let path: () -> [String]?

  /// By the id.
  static var byID: RecordMatcher {
    RecordMatcher(
      check: { _ in },
      find: { record, tx in try tx.exists(R.self, record.id) ? record.id : nil },
      findElement: { decoder, element, tx in
        let key = decoder.filling.idKey
        guard let id = try decoder.value(R.ID.self, at: [key], of: element), !id._isUnassigned
        else {
          return nil
        }
        return try tx.exists(R.self, id) ? id : nil
      },
      recordKey: { record, tx in
        record.id._isUnassigned ? nil : [UInt8](try tx.context.key(of: record.id))
      },
      key: { decoder, element, tx in
        guard let id = try decoder.value(R.ID.self, at: [decoder.filling.idKey], of: element),
          !id._isUnassigned
        else { return nil }
        return [UInt8](try tx.context.key(of: id))
      },
      path: { [ElementFilling(for: R.self).idKey] })
  }

  /// By a unique field.
  static func by<Value: IndexKey & Decodable>(
    _ field: any KeyPath<R, Value> & Sendable
  ) -> RecordMatcher {
    let match = UniqueMatch(field)
    var path: [String]?
    if case .stored(let names, _) = FieldNaming.storedPath(of: field) { path = names }
    func key(of value: Value, _ tx: ReadTransaction) throws -> [UInt8]? {
      let point = tx.context.points.entry(of: field, in: try tx.context.collection(of: R.self))
      tx.context.idWriter.clear()
      point.write(value, to: &tx.context.idWriter)
      return tx.context.idWriter.hasNil ? nil : [UInt8](tx.context.idWriter.bytes)
    }
    return RecordMatcher(
      check: match.check,
      find: match.find,
      findElement: { decoder, element, tx in
        guard let path else {
          throw LarchError(
            .unsuitableMatch,
            "Elements can be matched only by a stored property; name one."
          ) { $0.collection = R.collectionName }
        }
        guard let value = try decoder.value(Value.self, at: path, of: element) else { return nil }
        return try tx.matchedID(R.self, value, through: field)
      },
      recordKey: { try key(of: $0[keyPath: field], $1) },
      key: { decoder, element, tx in
        guard let path, let value = try decoder.value(Value.self, at: path, of: element) else {
          return nil
        }
        return try key(of: value, tx)
      },
      path: { path })
  }
}
