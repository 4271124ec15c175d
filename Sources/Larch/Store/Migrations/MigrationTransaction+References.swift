extension MigrationTransaction {
  /// Checks that rewritten records have no dangling references, and that nothing refers to removed
  /// records.
  ///
  /// - Throws: `.danglingReference` for the first dangling reference.
  func proveReferences() throws {
    for association in context.catalog.associations {
      guard let reference = association.reference, association.schema?.isEnforced == true,
        let holder = association.first, let target = association.second
      else { continue }
      let name = holder.stored.name
      let isRewritten = rewritten.contains(name) || intermediate.contains(name)
      guard isRewritten || shrunk.contains(target.stored.name) else { continue }
      try prove(reference, association.stored.key, of: holder, to: target)
    }
  }

  private func prove(
    _ reference: ReferenceSchema, _ key: String, of holder: CollectionHandle,
    to target: CollectionHandle
  ) throws {
    var writer = KeyWriter()
    var isAwaited: Bool?
    try storage { transaction in
      var cursor = try LMDBCursor(holder.records, in: transaction)
      var entry = try cursor.first()
      while let here = entry {
        let record = try RecordEnvelope.open(here.value, id: here.key, in: holder)
        var missing: String?
        do {
          try holder.schema.referencedIDs(
            record, context.coder, reference.declaration, &writer
          ) { id in
            if missing == nil, try target.records.get(id, in: transaction) == nil {
              missing = target.stored.idKind.text(of: id)
            }
          }
        } catch let error as LarchError {
          let isTolerated = try isAwaited ?? awaitsRewriting(holder, in: transaction)
          isAwaited = isTolerated
          if !isTolerated { throw RecordEnvelope.naming(error, here.key, holder.stored) }
        }
        if let missing {
          throw LarchError(
            .danglingReference,
            "After the migration, a record refers to a record that does not exist; remove the reference in the migration, or keep the record."
          ) {
            $0.collection = holder.stored.name
            $0.field = key
            $0.id = holder.stored.idKind.text(of: here.key)
            $0.otherID = missing
            $0.detail = "no \(target.stored.name) has the id \(missing)"
          }
        }
        entry = try cursor.next()
      }
    }
  }

  /// Whether records of a collection may not have the form of their type yet: this migration gave
  /// them another one, or the type cannot read what the file has. In the second case opening fails
  /// unless another migration rewrites them, and that one proves their references.
  private func awaitsRewriting(
    _ holder: CollectionHandle, in transaction: LMDBTransaction
  ) throws -> Bool {
    if intermediate.contains(holder.stored.name) { return true }
    let found = try loader.fields(
      of: holder.schema, holder.stored, context.catalog.storage, in: transaction)
    return !found.mismatches.isEmpty
  }
}
