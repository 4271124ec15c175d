extension CatalogLoader {
  /// Handles of every collection of the file and of its associations, for a typeless program. Lists
  /// that are not in the file have no handle.
  ///
  /// Records can be read, imported and indexed with them as with typed ones, unless an index needs
  /// the type: see `KeysUnknownWithoutType`.
  ///
  /// - Parameter isForBuilding: see `StoreSchema`.
  /// - Throws: `.corrupted` if the catalog refers to missing databases.
  package static func typelessCatalog(
    of environment: LMDBEnvironment, isForBuilding: Bool = true
  ) throws -> Catalog {
    try environment.openDatabases { transaction in
      let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
      let schema = try StoreSchema(
        typeless: storage, isForBuilding: isForBuilding, in: transaction)
      let names = try CollectionRenames(
        try storage.collections(in: transaction),
        try storage.associations(in: transaction).filter {
          try $0.kind == .reference || storage.hasLists($0.number, in: transaction)
        },
        declared: [], isEmpty: { _ in false })
      return try CatalogLoader(environment, schema).catalog(storage, names, in: transaction)
    }
  }
}

extension Catalog {
  /// Runs the closure in a transaction with these handles.
  ///
  /// - Parameter isReading: whether the transaction changes nothing.
  /// - Throws: the errors of `body`; `HandlesVoid` if another program has changed the catalog since
  ///   they were opened.
  package func run<T>(
    in transaction: LMDBTransaction, of environment: LMDBEnvironment, isReading: Bool = false,
    _ body: (TransactionContext) throws -> T
  ) throws -> T {
    try checkGeneration(in: transaction)
    let context = try TransactionContext(self, of: environment)
    context.begin(transaction, isReading: isReading)
    defer { context.end() }
    return try body(context)
  }

  /// Whether the handles are those of the catalog that a transaction sees.
  ///
  /// - Throws: `HandlesVoid` where another program changed it meanwhile.
  package func checkGeneration(in transaction: LMDBTransaction) throws {
    guard try storage.generation(in: transaction) == generation else {
      throw LMDBEnvironment.HandlesVoid()
    }
  }
}

extension CatalogStorage {
  /// Whether both directions of the lists of an association are in the file.
  fileprivate func hasLists(_ number: UInt32, in transaction: LMDBTransaction) throws -> Bool {
    try LMDBDatabase.open(CatalogStorage.linksName(number), in: transaction) != nil
      && LMDBDatabase.open(CatalogStorage.inverseLinksName(number), in: transaction) != nil
  }
}
