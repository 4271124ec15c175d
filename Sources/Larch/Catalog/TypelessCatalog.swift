extension CatalogLoader {
  /// Handles of every collection of the file and of the references between them, for a program that
  /// knows none of the types. Lists are those of `StoredLists`.
  ///
  /// Records can be read, imported and indexed through them as through typed ones, as long as no
  /// index asks for the type: see `IndexNeedsType`.
  ///
  /// - Parameter isForBuilding: see `StoreSchema`.
  /// - Throws: `.corrupted` where the catalog names what is not there.
  static func typelessCatalog(
    of environment: LMDBEnvironment, isForBuilding: Bool = true
  ) throws -> Catalog {
    try environment.openDatabases { transaction in
      let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
      let schema = try StoreSchema(
        typeless: storage, isForBuilding: isForBuilding, in: transaction)
      let names = try CollectionRenames(
        try storage.collections(in: transaction),
        try storage.associations(in: transaction).filter { $0.kind == .reference },
        declared: [], isEmpty: { _ in false })
      return try CatalogLoader(environment, schema).catalog(storage, names, in: transaction)
    }
  }
}

extension Catalog {
  /// Whether the handles are those of the catalog that a transaction sees.
  ///
  /// - Throws: `HandlesVoid` where another program changed it meanwhile.
  func checkGeneration(in transaction: LMDBTransaction) throws {
    guard try storage.generation(in: transaction) == generation else {
      throw LMDBEnvironment.HandlesVoid()
    }
  }
}
