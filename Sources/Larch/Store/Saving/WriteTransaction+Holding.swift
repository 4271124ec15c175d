// Inserts in a row whose ids come in no order: they are held back, and stored together. See
// `PendingRecords`.

extension WriteTransaction {
  /// Whether records of the type may be held back: nothing but the record itself is written, and no
  /// code of the program runs on the way.
  @inline(__always)
  func mayHold<R: Record>(_ declarations: TypedDeclarations<R>) -> Bool {
    !declarations.isGuarded && !declarations.hasRules && hookDepth == 0
  }

  /// Saves a new record by holding it back; false if the save needs the stored records.
  ///
  /// The record is checked like any other, and its index entries are collected.
  @inline(never)
  func hold<R: Record>(_ record: R, _ mode: SaveMode) throws -> Bool {
    guard isLive, !context.isTakingIn, mode != .update, referenceChanges.isEmpty else {
      return false
    }
    let collection = try context.collection(of: R.self)
    let declarations = collection.declarations(of: R.self)
    guard mayHold(declarations) else { return false }
    do {
      let bytes = try encode(record, collection)
      let id = try context.key(of: record.id)
      // The code of the type may have used the transaction, so that nothing is held back any more.
      guard let transaction = context.held, writer.records.takes(id, bytes, of: collection),
        try collection.records.get(id, in: transaction) == nil
      else { return false }
      try writer.maintainer.update(
        id: id, before: nil, after: bytes, in: collection,
        prove: { try writer.proof.check(record, declarations, $0, in: collection) },
        write: {
          if context.held != nil { return writer.records.add(id, bytes, of: collection) }
          // The search for another record with a unique value has written those held back.
          try RecordEnvelope.put(
            bytes, id: id, collection: collection.number, into: collection.records,
            in: try context.transaction())
        })
      writer.noteWrite(in: collection)
      changeCount &+= 1
      if writer.records.isFull { _ = try context.transaction() }
      return true
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }
}
