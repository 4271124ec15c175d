extension CatalogLoader {
  /// The changes that `update` and the index builds would make, one sentence each; none if the file
  /// matches the declarations.
  ///
  /// - Throws: `.schemaMismatch` for changes that are not possible.
  func pendingChanges() throws -> [String] {
    try environment.openDatabases { transaction in
      let storage = try openStorage(in: transaction)
      let renamed = try renames(storage, in: transaction)
      var changes = renamed.moves.map { "collection \($0.from) becomes \($0.to.name)" }
      for schema in schemas {
        let entry = renamed.collections.first { $0.name == schema.name }
        let change = try SchemaDiff.change(stored: entry, declared: schema)
        guard let entry else {
          changes.append("collection \(schema.name) is new")
          continue
        }
        if case .adjust(let drop, let add) = change {
          changes += drop.map { "index \(entry.indexes[$0].name) of \(schema.name) goes" }
          changes += add.map { "index \(schema.allIndexes[$0].name) of \(schema.name) is new" }
        }
        for index in entry.indexes
        where index.state == .building && schema.allIndexes.contains(where: { $0.matches(index) }) {
          changes.append("index \(index.name) of \(schema.name) is not complete")
        }
        let fields = try fields(of: schema, entry, storage, in: transaction)
        if fields.mustBeNoted { changes.append("the fields of \(schema.name) change") }
      }
      let change = try associationChange(renamed.associations)
      changes += change.drop.map { "association \($0.key) goes" }
      changes += change.set.map { "association \($0.key) is new or has other rules" }
      return changes
    }
  }
}
