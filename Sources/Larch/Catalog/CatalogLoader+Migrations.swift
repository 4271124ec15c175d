/// The parts of the catalog that migrations need inside their transactions.
extension CatalogLoader {
  /// The names of the migrations that have run on the file.
  func appliedMigrations() throws -> [AppliedMigration] {
    try environment.openDatabases { transaction in
      try openStorage(in: transaction).migrations(in: transaction)
    }
  }

  /// The catalog with complete indexes only. Indexes that will be built later are not maintained,
  /// so records may exist that the declared type cannot read yet.
  func completeCatalog(in transaction: LMDBTransaction) throws -> Catalog {
    let storage = try openStorage(in: transaction)
    return try catalog(
      storage, try renames(storage, in: transaction), isComplete: true, in: transaction)
  }

  /// The catalog with all declared indexes, complete or not.
  func wholeCatalog(in transaction: LMDBTransaction) throws -> Catalog {
    let storage = try openStorage(in: transaction)
    return try catalog(storage, try renames(storage, in: transaction), in: transaction)
  }

  /// Restarts the builds of incomplete indexes: changes from now on are not written to them.
  func restartBuilds(in transaction: LMDBTransaction) throws {
    for collection in try openStorage(in: transaction).collections(in: transaction)
    where collection.indexes.contains(where: { $0.state == .building }) {
      try resetIndexes(of: collection.name, where: { $0.state == .building }, in: transaction)
    }
  }

  /// A collection of the file, declared or not.
  func collection(
    _ name: String, in transaction: LMDBTransaction
  ) throws -> (stored: StoredCollection, records: LMDBDatabase)? {
    let storage = try openStorage(in: transaction)
    guard
      let stored = try storage.collections(in: transaction).first(where: { $0.name == name })
    else { return nil }
    return (stored, try existing(CatalogStorage.recordsName(stored.id), in: transaction))
  }

  /// Empties the indexes of a collection and marks them as incomplete, so that they are rebuilt.
  func resetIndexes(
    of name: String, where isWanted: (StoredIndex) -> Bool = { _ in true },
    in transaction: LMDBTransaction
  ) throws {
    let storage = try openStorage(in: transaction)
    guard var entry = try storage.collections(in: transaction).first(where: { $0.name == name })
    else { return }
    for place in entry.indexes.indices where isWanted(entry.indexes[place]) {
      let name = CatalogStorage.indexName(entry.indexes[place].id)
      try existing(name, in: transaction).empty(in: transaction)
      try storage.remove(.buildProgress(entry.indexes[place].id), in: transaction)
      entry.indexes[place].state = .building
    }
    try storage.set(entry, in: transaction)
  }

  /// Removes a collection with its records, its indexes and its associations.
  func drop(_ collection: StoredCollection, in transaction: LMDBTransaction) throws {
    let storage = try openStorage(in: transaction)
    try drop(CatalogStorage.recordsName(collection.id), in: transaction)
    for index in collection.indexes {
      try drop(CatalogStorage.indexName(index.id), in: transaction)
      try storage.remove(.buildProgress(index.id), in: transaction)
    }
    for association in try storage.associations(in: transaction)
    where association.first == collection.name || association.second == collection.name {
      if association.kind == .links {
        try drop(CatalogStorage.linksName(association.number), in: transaction)
        try drop(CatalogStorage.inverseLinksName(association.number), in: transaction)
      }
      try storage.remove(.association(association.key), in: transaction)
    }
    try storage.removeFieldHistory(of: collection.id, in: transaction)
    try storage.remove(.highestDeletedID(collection.id), in: transaction)
    try storage.remove(.collection(collection.name), in: transaction)
  }

  private func drop(_ name: String, in transaction: LMDBTransaction) throws {
    // Emptied, and kept as a name without pages: another store of this process may have the handle,
    // and undoing this transaction would not restore the handle.
    try existing(name, in: transaction).empty(in: transaction)
  }

  /// The lists with records of a collection, seen from their side.
  func lists(
    of name: String, in transaction: LMDBTransaction
  ) throws -> [(from: LMDBDatabase, to: LMDBDatabase)] {
    var found: [(from: LMDBDatabase, to: LMDBDatabase)] = []
    for association in try openStorage(in: transaction).associations(in: transaction)
    where association.kind == .links {
      let forward = try existing(CatalogStorage.linksName(association.number), in: transaction)
      let inverse = try existing(
        CatalogStorage.inverseLinksName(association.number), in: transaction)
      if association.first == name { found.append((forward, inverse)) }
      if association.second == name { found.append((inverse, forward)) }
    }
    return found
  }
}
