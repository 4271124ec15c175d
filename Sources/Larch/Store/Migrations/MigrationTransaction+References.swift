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
          // Another migration will rewrite them as their type.
          if intermediate.contains(holder.stored.name) { return }
          throw RecordEnvelope.naming(error, here.key, holder.stored)
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
}
