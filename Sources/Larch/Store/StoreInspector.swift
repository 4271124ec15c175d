/// Reads a store without its Swift types: the catalog and the shapes tell what is there.
package struct StoreInspector {
  /// A collection as the catalog describes it.
  package struct Collection {
    package let name: String
    package let typeName: String
    package let recordCount: Int
    package let indexes: [Index]
    let stored: StoredCollection
    let records: LMDBDatabase
  }

  /// An index as the catalog describes it.
  package struct Index {
    package let name: String
    package let definition: String
    package let isUnique: Bool
    package let isReady: Bool
    package let entryCount: Int
    let database: LMDBDatabase
    let form: KeyForm?
  }

  package let collections: [Collection]
  private let transaction: LMDBTransaction
  private let shapes: ShapeTable

  init(
    _ transaction: LMDBTransaction, shapes: ShapeTable, storage: CatalogStorage,
    open: (String) throws -> LMDBDatabase?
  ) throws {
    self.transaction = transaction
    self.shapes = shapes
    collections = try storage.collections(in: transaction).compactMap { stored -> Collection? in
      guard let records = try open(CatalogStorage.recordsName(stored.id)) else { return nil }
      let indexes = try stored.indexes.compactMap { index -> Index? in
        guard let database = try open(CatalogStorage.indexName(index.id)) else { return nil }
        return Index(
          name: index.name, definition: index.definition, isUnique: index.isUnique,
          isReady: index.state == .ready,
          entryCount: try database.statistics(in: transaction).entries, database: database,
          form: IndexSchema.form(ofDefinition: index.definition))
      }
      return Collection(
        name: stored.name, typeName: stored.typeName,
        recordCount: try records.statistics(in: transaction).entries, indexes: indexes,
        stored: stored, records: records)
    }
  }

  /// Visits the records in the order of their ids, as JSON with sorted keys.
  package func forEachRecord(
    in collection: Collection, _ body: (_ id: String, _ json: String) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(collection.records, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      guard
        let bytes = RecordEnvelope.open(
          here.value, id: here.key, collection: collection.stored.id)
      else { throw RecordEnvelope.damaged(here.key, collection.stored) }
      try body(
        collection.stored.idKind.text(of: here.key),
        try RawRecord(bytes, shapes: shapes).json())
      entry = try cursor.next()
    }
  }

  /// Visits the entries of an index in the order of their keys, keys and ids as text.
  package func forEachEntry(
    of index: Index, in collection: Collection,
    _ body: (_ key: String, _ id: String) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(index.database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      try body(
        IndexSchema.text(of: here.key, form: index.form),
        collection.stored.idKind.text(of: here.value))
      entry = try cursor.next()
    }
  }
}

extension Store {
  /// Runs `body` with a look at everything in the store, whatever its types.
  package func inspect<T>(_ body: (StoreInspector) throws -> T) throws -> T {
    let databases = try environment.openDatabases { transaction in
      let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
      var found: [String: LMDBDatabase] = [:]
      for collection in try storage.collections(in: transaction) {
        let names =
          [CatalogStorage.recordsName(collection.id)]
          + collection.indexes.map { CatalogStorage.indexName($0.id) }
        for name in names { found[name] = try LMDBDatabase.open(name, in: transaction) }
      }
      return found
    }
    return try read { transaction in
      try transaction.storage { lmdb in
        let context = transaction.context
        return try body(
          try StoreInspector(
            lmdb, shapes: context.shapes, storage: context.catalog.storage,
            open: { databases[$0] }))
      }
    }
  }
}
