extension CatalogLoader {
  /// The collections and associations of the file under their present names.
  func renames(
    _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws -> CollectionRenames {
    try CollectionRenames(
      try storage.collections(in: transaction), try storage.associations(in: transaction),
      declared: schemas, isEmpty: { try isEmpty($0, in: transaction) })
  }

  func isEmpty(_ entry: StoredCollection, in transaction: LMDBTransaction) throws -> Bool {
    guard
      let records = try LMDBDatabase.open(CatalogStorage.recordsName(entry.id), in: transaction)
    else { return true }
    return try records.statistics(in: transaction).entries == 0
  }

  /// Gives the collections of the file their present names. Records and lists do not move, except
  /// lists whose two directions change places.
  func apply(
    _ renames: CollectionRenames, _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws {
    for association in renames.dropped {
      try storage.remove(.association(association.key), in: transaction)
      if association.kind == .links { try dropLists(association.number, in: transaction) }
    }
    for relabel in renames.relabels {
      try storage.remove(.association(relabel.from.key), in: transaction)
    }
    for move in renames.moves {
      if let empty = move.replaced { try drop(empty, storage, in: transaction) }
      try storage.remove(.collection(move.from), in: transaction)
      try storage.set(move.to, in: transaction)
    }
    for relabel in renames.relabels {
      var association = relabel.to
      if association.kind == .links, relabel.isFlipped {
        association.number = try flip(association, renames, storage, in: transaction)
      }
      try storage.set(association, in: transaction)
    }
  }

  /// Removes a collection without records from the file.
  private func drop(
    _ entry: StoredCollection, _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws {
    for index in entry.indexes {
      try dropDatabase(CatalogStorage.indexName(index.id), in: transaction)
      try storage.remove(.buildProgress(index.id), in: transaction)
    }
    try dropDatabase(CatalogStorage.recordsName(entry.id), in: transaction)
    try storage.removeFieldHistory(of: entry.id, in: transaction)
    try storage.remove(.highestDeletedID(entry.id), in: transaction)
    try storage.remove(.collection(entry.name), in: transaction)
  }

  /// Copies lists to new databases, with their directions exchanged.
  private func flip(
    _ association: StoredAssociation, _ renames: CollectionRenames, _ storage: CatalogStorage,
    in transaction: LMDBTransaction
  ) throws -> UInt32 {
    guard let first = renames.collections.first(where: { $0.name == association.first }),
      let second = renames.collections.first(where: { $0.name == association.second })
    else { return association.number }
    let number = try storage.nextNumber(in: transaction)
    try CatalogStorage.createLists(
      number, first: first.idKind, second: second.idKind, in: transaction)
    let old = association.number
    try copyLists(
      CatalogStorage.inverseLinksName(old), to: CatalogStorage.linksName(number), in: transaction)
    try copyLists(
      CatalogStorage.linksName(old), to: CatalogStorage.inverseLinksName(number), in: transaction)
    try dropLists(old, in: transaction)
    return number
  }

  private func copyLists(
    _ source: String, to target: String, in transaction: LMDBTransaction
  ) throws {
    let from = try existing(source, in: transaction)
    let to = try existing(target, in: transaction)
    var cursor = try LMDBCursor(from, in: transaction)
    var pair = try cursor.first()
    while let here = pair {
      _ = try to.put(here.key, here.value, in: transaction)
      pair = try cursor.next()
    }
  }

  private func dropLists(_ number: UInt32, in transaction: LMDBTransaction) throws {
    try dropDatabase(CatalogStorage.linksName(number), in: transaction)
    try dropDatabase(CatalogStorage.inverseLinksName(number), in: transaction)
  }

  /// If another store of this process has the handle, the database is emptied and kept as a name
  /// without pages, so that the handle is not closed under a running read.
  func dropDatabase(_ name: String, in transaction: LMDBTransaction) throws {
    guard let database = try LMDBDatabase.open(name, in: transaction) else { return }
    if environment.isShared {
      try database.empty(in: transaction)
    } else {
      try database.drop(in: transaction)
    }
  }
}
