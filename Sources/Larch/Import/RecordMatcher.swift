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
  /// The bytes by which an element is matched; nil if it matches nothing.
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
    let coding = Value.keyCoding
    func find(_ value: Value, _ tx: ReadTransaction) throws -> R.ID? {
      tx.context.idWriter.clear()
      coding.write(value, to: &tx.context.idWriter, isLast: true)
      // Nothing equals nil or NaN, and many records may have them.
      if tx.context.idWriter.hasNil { return nil }
      return try tx.findID(R.self, value, through: field)
    }
    var path: [String]?
    if case .stored(let names, _) = FieldNaming.storedPath(of: field) { path = names }
    return RecordMatcher(
      check: { tx in
        let collection = try tx.context.collection(of: R.self)
        let index = tx.context.points.entry(of: field, in: collection).index
        if let index, index.schema.isUnique { return }
        if tx.context.points.isFolded(field, in: collection) { return }
        if tx.context.points.isIncomplete(field, in: collection) {
          throw LarchError(
            .unsuitableMatch,
            "The unique index over the field is incomplete, so nobody can tell which record an element stands for; `rebuild()` names the records that it misses."
          ) {
            $0.collection = collection.stored.name
            $0.field = path?.joined(separator: ".")
          }
        }
        throw LarchError(
          .unsuitableMatch,
          "Records can be matched only by a unique field; declare `Unique` for this field alone, or match by another one."
        ) {
          $0.collection = collection.stored.name
          $0.field = path?.joined(separator: ".")
        }
      },
      find: { record, tx in try find(record[keyPath: field], tx) },
      findElement: { decoder, element, tx in
        guard let path else {
          throw LarchError(
            .unsuitableMatch,
            "Elements can be matched only by a stored property; name one."
          ) { $0.collection = R.collectionName }
        }
        guard let value = try decoder.value(Value.self, at: path, of: element) else { return nil }
        return try find(value, tx)
      },
      key: { decoder, element, tx in
        guard let path, let value = try decoder.value(Value.self, at: path, of: element) else {
          return nil
        }
        let point = tx.context.points.entry(
          of: field, in: try tx.context.collection(of: R.self))
        tx.context.idWriter.clear()
        point.write(value, to: &tx.context.idWriter)
        return tx.context.idWriter.hasNil ? nil : [UInt8](tx.context.idWriter.bytes)
      },
      path: { path })
  }
}

extension ReadTransaction {
  /// The id of the record that ``find(_:by:equals:)`` finds, which is not decoded: its type may not
  /// know it any more.
  fileprivate final func findID<R: Record, Value: IndexKey>(
    _ type: R.Type, _ value: Value, through keyPath: any KeyPath<R, Value> & Sendable
  ) throws -> R.ID? {
    try storage { transaction in
      let collection = try context.collection(of: type)
      context.idWriter.clear()
      let point = context.points.entry(of: keyPath, in: collection)
      point.write(value, to: &context.idWriter)
      guard let index = point.index,
        !context.checksQueries, !context.idWriter.isCut, !context.idWriter.hasNil
      else { return try ids(query(keyPath, is: value, in: collection).limit(1)).first }
      try writePending(for: index.database)
      return try index.database.get(context.idWriter.bytes, in: transaction)
        .map { try context.id(of: type, $0, in: collection) }
    }
  }
}
