package import Foundation

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

  /// An association as the catalog describes it.
  package struct Association {
    package let key: String
    /// Whether it is lists of ids; else a property of the first collection refers to the second.
    package let isLists: Bool
    package let first: String
    package let second: String
    /// What happens to the second when a record of the first is deleted, and the other way round.
    package let firstRule: DeleteRule
    package let secondRule: DeleteRule
    /// What is true of a reference: `optional`, `list`, `one`.
    package let traits: [String]
    /// Of lists: how many links they have.
    package let linkCount: Int
    /// Of a reference: the coding names of the property.
    let path: [String]
    let lists: StoredLists?
  }

  /// A migration that the file has had.
  package struct AppliedMigration {
    package let name: String
    package let date: Date
  }

  let storage: CatalogStorage
  package let collections: [Collection]
  /// In the order in which they were run.
  package let migrations: [AppliedMigration]
  /// In the order of their keys.
  package let associations: [Association]
  let transaction: LMDBTransaction
  let context: TransactionContext
  var shapes: ShapeTable { context.shapes }

  init(
    _ transaction: LMDBTransaction, _ context: TransactionContext,
    lists: [StoredLists], open: (String) throws -> LMDBDatabase?
  ) throws {
    self.transaction = transaction
    self.context = context
    storage = context.catalog.storage
    migrations = try storage.migrations(in: transaction).map {
      AppliedMigration(
        name: $0.name, date: Date(timeIntervalSinceReferenceDate: $0.date))
    }
    associations = try storage.associations(in: transaction).map { stored in
      try Association(stored, lists.first { $0.stored.key == stored.key }, transaction)
    }
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
    try forEachStoredRecord(in: collection) { id, bytes in
      try body(
        collection.stored.idKind.text(of: id), try RawRecord(bytes, shapes: shapes).json())
    }
  }

  /// Visits the bytes of the records in the order of their ids.
  func forEachStoredRecord(
    in collection: Collection,
    _ body: (_ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(collection.records, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      guard
        let bytes = RecordEnvelope.open(
          here.value, id: here.key, collection: collection.stored.id)
      else { throw RecordEnvelope.damaged(here.key, collection.stored) }
      try body(here.key, bytes)
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

  /// Visits the links of lists in the order of their ids: those of the first end, each with its
  /// ids of the second, or the other way round.
  package func forEachLink(
    of association: Association, isInverse: Bool = false,
    _ body: (_ id: String, _ other: String) throws -> Void
  ) throws {
    guard let lists = association.lists else { return }
    let (database, _, from, to) = lists.direction(isForward: !isInverse)
    var cursor = try LMDBCursor(database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      try body(from.text(of: here.key), to.text(of: here.value))
      entry = try cursor.next()
    }
  }
}

extension StoreInspector.Association {
  fileprivate init(
    _ stored: StoredAssociation, _ lists: StoredLists?, _ transaction: LMDBTransaction
  ) throws {
    key = stored.key
    isLists = stored.kind == .links
    first = stored.first
    second = stored.second
    firstRule = stored.firstRule
    secondRule = stored.secondRule
    let names: [(StoredAssociation.Traits, String)] = [
      (.optional, "optional"), (.list, "list"), (.one, "one"),
    ]
    path = stored.path
    traits = names.filter { stored.traits.contains($0.0) }.map(\.1)
    linkCount = try lists?.databases.forward.statistics(in: transaction).entries ?? 0
    self.lists = lists
  }

  /// What it is, on one line: `reference Person.companyID: Person to Company, optional, on delete
  /// none, nullify`. The rules are those of the two ends in their order.
  package var summary: String {
    var parts = ["\(first) \(isLists ? "with" : "to") \(second)"]
    if isLists { parts.append("\(linkCount) \(linkCount == 1 ? "link" : "links")") }
    parts += traits
    parts.append("on delete \(firstRule), \(secondRule)")
    return "\(isLists ? "lists" : "reference") \(key): \(parts.joined(separator: ", "))"
  }
}

extension Store {
  /// Runs `body` with a look at everything in the store, whatever its types.
  package func inspect<T>(_ body: (StoreInspector) throws -> T) throws -> T {
    try environment.withSteadyHandles { check in
      let handles = try InspectorHandles(environment)
      return try read { transaction in
        try check()
        return try transaction.storage {
          try body(try handles.inspector($0, transaction.context))
        }
      }
    }
  }
}

/// Handles of all that is in a file.
private struct InspectorHandles {
  private let lists: [StoredLists]
  private let databases: [String: LMDBDatabase]

  init(_ environment: LMDBEnvironment) throws {
    lists = try StoredLists.all(in: environment) { _, _ in }
    databases = try environment.openDatabases { transaction in
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
  }

  func inspector(
    _ transaction: LMDBTransaction, _ context: TransactionContext
  ) throws -> StoreInspector {
    try StoreInspector(transaction, context, lists: lists, open: { databases[$0] })
  }
}
