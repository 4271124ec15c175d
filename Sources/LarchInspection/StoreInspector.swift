package import Foundation
package import Larch

/// Reads a store without its Swift types, with the help of the catalog and the shapes.
package struct StoreInspector {
  /// A collection as the catalog describes it.
  package struct Collection {
    package let recordCount: Int
    package let indexes: [Index]
    package let handle: CollectionHandle
    package var stored: StoredCollection { handle.stored }
    package var name: String { stored.name }
    package var typeName: String { stored.typeName }
  }

  /// An index as the catalog describes it.
  package struct Index {
    package let entryCount: Int
    package let handle: IndexHandle
    /// The form of its keys; nil if its definition does not have it.
    package let form: KeyForm?
    package var name: String { handle.stored.name }
    package var definition: String { handle.stored.definition }
    package var isUnique: Bool { handle.stored.isUnique }
    package var isReady: Bool { handle.isReady }
  }

  /// An association as the catalog describes it.
  package struct Association {
    /// For lists: the number of links.
    package let linkCount: Int
    package let stored: StoredAssociation
    let lists: StoredLists?
    package var key: String { stored.key }
    /// Whether it consists of lists of ids; if not, a property of the first collection refers to
    /// the second.
    package var isLists: Bool { stored.kind == .links }
    package var first: String { stored.first }
    package var second: String { stored.second }
    /// What happens to the second when a record of the first is deleted, and the reverse.
    package var firstRule: DeleteRule { stored.firstRule }
    package var secondRule: DeleteRule { stored.secondRule }
  }

  /// A migration that has run on the file.
  package struct AppliedMigration {
    package let name: String
    package let date: Date
  }

  package let collections: [Collection]
  /// In the order in which they ran.
  package let migrations: [AppliedMigration]
  /// Sorted by key.
  package let associations: [Association]
  package let transaction: LMDBTransaction
  let context: TransactionContext
  package var shapes: ShapeTable { context.shapes }
  var storage: CatalogStorage { context.catalog.storage }

  /// - Parameter context: a context with handles for the whole file, in a transaction.
  fileprivate init(_ context: TransactionContext) throws {
    let transaction = try context.transaction()
    let catalog = context.catalog
    self.transaction = transaction
    self.context = context
    migrations = try catalog.storage.migrations(in: transaction).map {
      AppliedMigration(
        name: $0.name, date: Date(timeIntervalSinceReferenceDate: $0.date))
    }
    associations = try catalog.storage.associations(in: transaction).map { stored in
      let lists = try StoredLists(stored, in: catalog, transaction)
      return Association(
        linkCount: try lists?.databases.forward.statistics(in: transaction).entries ?? 0,
        stored: stored, lists: lists)
    }
    collections = try catalog.collections.map { collection in
      Collection(
        recordCount: try collection.records.statistics(in: transaction).entries,
        indexes: try collection.allIndexes.map { index in
          Index(
            entryCount: try index.entryCount(of: collection.stored.idKind, in: transaction),
            handle: index,
            form: IndexSchema.form(ofDefinition: index.stored.definition))
        }, handle: collection)
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
  package func forEachStoredRecord(
    in collection: Collection,
    _ body: (_ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(collection.handle.records, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      try body(
        here.key,
        try RecordEnvelope.open(here.value, id: here.key, in: collection.handle))
      entry = try cursor.next()
    }
  }

  /// Visits the entries of an index in the order of their keys, keys and ids as text; of an index of words, the
  /// words.
  package func forEachEntry(
    of index: Index, in collection: Collection,
    _ body: (_ key: String, _ id: String) throws -> Void
  ) throws {
    if index.searchDefinition != nil { return try forEachWord(of: index, in: collection, body) }
    var cursor = try LMDBCursor(index.handle.database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      try body(
        IndexSchema.text(of: here.key, form: index.form),
        collection.stored.idKind.text(of: here.value))
      entry = try cursor.next()
    }
  }

  /// Visits the links of lists in the order of their ids: those of the first end, each with its ids
  /// of the second, or the reverse.
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
  /// The properties of a reference: `optional`, `list`, `one`.
  package var traits: [String] {
    let names: [(StoredAssociation.Traits, String)] = [
      (.optional, "optional"), (.list, "list"), (.one, "one"),
    ]
    return names.filter { stored.traits.contains($0.0) }.map(\.1)
  }

  /// A description on one line: `reference Person.companyID: Person to Company, optional, on delete
  /// none, nullify`. The rules are those of the two ends, in order.
  package var summary: String {
    var parts = ["\(first) \(isLists ? "with" : "to") \(second)"]
    if isLists { parts.append("\(linkCount) \(linkCount == 1 ? "link" : "links")") }
    parts += traits
    parts.append("on delete \(firstRule), \(secondRule)")
    return "\(isLists ? "lists" : "reference") \(key): \(parts.joined(separator: ", "))"
  }
}

extension Store {
  /// Runs `body` with a view of everything in the store, whatever its types.
  ///
  /// - Parameter snapshot: the state that is viewed; without one, the newest.
  /// - Throws: the errors of `body`; `.corrupted` if the catalog refers to missing databases.
  /// - Complexity: the number of collections and indexes, and that of `body`.
  package func inspect<T>(
    in snapshot: Snapshot? = nil, _ body: (StoreInspector) throws -> T
  ) throws -> T {
    try environment.withSteadyHandles { check in
      let catalog = try CatalogLoader.typelessCatalog(of: environment)
      let reader: any RecordReading = snapshot ?? self
      return try reader._reading { transaction in
        try check()
        return try transaction.storage {
          try catalog.run(in: $0, of: environment, isReading: true) {
            try body(try StoreInspector($0))
          }
        }
      }
    }
  }
}
