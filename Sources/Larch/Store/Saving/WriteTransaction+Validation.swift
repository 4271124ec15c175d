/// The rules of a save.
///
/// Code of the type may run in them, and may use the transaction: nothing that was read or encoded
/// before such rules is used after them.
extension WriteTransaction {
  /// Throws `.invalid` with all rules that the record breaks.
  ///
  /// - Parameter isNew: whether no record is stored under the id.
  func validate<R: Record>(
    _ record: R, isNew: Bool, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let key = try context.key(of: record.id)
    guard !isNew, let stored = try collection.records.get(key, in: try live()) else {
      return try check(record, changed: .max, in: collection, declarations)
    }
    let before = try RecordEnvelope.open(stored, id: key, in: collection)
    let changed = try writer.changes.fields(
      declarations.validations, of: record, before: before, after: try encode(record, collection),
      in: collection)
    try check(record, changed: changed, in: collection, declarations)
  }

  /// A save of a type with rules and nothing else: encoded once, unless code of the type ran.
  func putValidated<R: Record>(
    _ record: R, in collection: CollectionHandle, isNew: Bool, _ mode: SaveMode,
    _ declarations: TypedDeclarations<R>, _ transaction: LMDBTransaction
  ) throws {
    let rules = declarations.validations
    let shapeCount = context.shapes.count
    var bytes = try encode(record, collection)
    var key = try context.key(of: record.id)
    if collection.stored.idKind == .assigned, !isNew {
      writer.noteUsed(WriteContext.number(of: key), in: collection)
    }
    var stored = isNew ? nil : try collection.records.get(key, in: transaction)
    var changed = UInt64.max
    if let stored {
      if mode == .insert { throw idError(.idExists, key, collection) }
      if isSame(stored, bytes) { return }
      if hasOtherShape(stored, bytes) {
        if try isSameValue(record, stored, key, in: collection, knowing: shapeCount) { return }
        bytes = try encode(record, collection)
        key = try context.key(of: record.id)
      }
      let before = try RecordEnvelope.open(stored, id: key, in: collection)
      changed = try writer.changes.fields(
        rules, of: record, before: before, after: bytes, in: collection)
      if writer.changes.didEncode { bytes = try encode(record, collection) }
    } else if mode == .update {
      throw idError(.recordNotFound, key, collection)
    }
    let count = changeCount
    try check(record, changed: changed, in: collection, declarations)
    if rules.runsCode {
      // What the rules changed may be this record, or one with a higher id.
      return try put(
        record, in: collection, isNew: isNew && changeCount == count, .save, try live())
    }
    // The look for a holder may have written entries, and moved what was read.
    if rules.needsStore, stored != nil {
      key = try context.key(of: record.id)
      stored = try collection.records.get(key, in: transaction)
    }
    let old = try stored.map { try RecordEnvelope.open($0, id: key, in: collection) }
    try take(record, as: bytes, before: old, key, in: collection, isLast: isNew, transaction)
  }

  private func check<R: Record>(
    _ record: R, changed: UInt64, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws {
    let errors = try brokenRules(record, changed: changed, in: collection, declarations)
    if errors.isEmpty { return }
    throw LarchError(
      invalid: errors, collection: collection.stored.name,
      id: collection.stored.idKind.text(of: try context.key(of: record.id)))
  }
}
