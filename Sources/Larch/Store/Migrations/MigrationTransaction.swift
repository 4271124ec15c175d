/// The transaction of one migration: a ``WriteTransaction`` that can also read records as older
/// Swift types or without a type, rewrite whole collections, and remove those that no type has any
/// more.
///
/// Records are saved, found, queried and deleted in it as in any write, once they are as their
/// declared type reads them. Indexes that are not built yet, because they are new or because a
/// migration has rewritten their collection, are built after the last migration. Until then a query
/// reads all records of such a collection, its unique indexes refuse nothing, and deleting by a
/// rule that needs such an index is refused with `.unknownAssociation`. ``buildIndexes(of:)``
/// builds them at once.
public final class MigrationTransaction: WriteTransaction {
  /// The name of the migration.
  public let name: String
  let loader: CatalogLoader
  let report: (_ collection: String, _ done: Int, _ total: Int) -> Void
  private let reportIndex:
    (_ collection: String, _ index: String, _ done: Int, _ total: Int) -> Void
  private let indexBatchSize: Int
  /// The transaction that no savepoint is around.
  private let root: LMDBTransaction
  /// Collections whose records are all as their type writes them now.
  var rewritten: Set<String> = []
  /// Collections whose records were rewritten as something else.
  var intermediate: Set<String> = []
  /// Collections that lost records other than by the rules of their associations.
  var shrunk: Set<String> = []

  init(
    _ writer: WriteContext, _ root: LMDBTransaction, name: String, loader: CatalogLoader,
    _ options: Store.Options
  ) {
    self.name = name
    indexBatchSize = options.indexBatchSize
    report = { collection, done, total in
      options.migrationProgress?(
        Store.MigrationProgress(
          migration: name, collection: collection, done: done, total: total))
    }
    reportIndex = { collection, index, done, total in
      options.indexProgress?(
        Store.IndexProgress(collection: collection, index: index, done: done, total: total))
    }
    self.loader = loader
    self.root = root
    super.init(writer, GivenVersions())
  }

  // MARK: Collections

  /// A collection of the file, whether a type is declared for it or not.
  func storedCollection(
    _ name: String, in transaction: LMDBTransaction
  ) throws -> (stored: StoredCollection, records: LMDBDatabase) {
    guard let found = try loader.collection(name, in: transaction) else {
      throw LarchError(
        .unknownCollection,
        "The file has no collection of this name; `collectionNames` lists them."
      ) { $0.collection = name }
    }
    return found
  }

  /// Puts the handles of what the file holds now into use.
  func renewHandles(in transaction: LMDBTransaction) throws {
    context.adopt(try loader.completeCatalog(in: transaction))
    changeCount &+= 1
  }

  /// Writes what is gathered, and makes sure that an undone savepoint cannot bring back what the
  /// handles do not know any more.
  func prepareWholeChange(in transaction: LMDBTransaction) throws {
    guard transaction.pointer == root.pointer else {
      throw LarchError(
        .invalidSchema,
        "A collection cannot be rewritten or dropped inside a savepoint; do it outside."
      )
    }
    closeCursors()
    try writer.maintainer.flush()
  }

  /// The names of all collections of the file, in their order.
  ///
  /// - Throws: `.corrupted` for a damaged catalog.
  /// - Complexity: O(c) for c collections.
  public func collectionNames() throws -> [String] {
    try storage { transaction in
      try loader.openStorage(in: transaction).collections(in: transaction).map(\.name).sorted()
    }
  }

  /// How many records a collection has, whether a type is declared for it or not.
  ///
  /// - Throws: `.unknownCollection` where the file has no such collection.
  /// - Complexity: O(c) for c collections.
  public func count(in collection: String) throws -> Int {
    try storage { transaction in
      try storedCollection(collection, in: transaction).records.statistics(in: transaction).entries
    }
  }

  /// Builds the unfinished indexes of a type at once, rather than after the last migration: for
  /// what needs them, such as unique values, deletions by a rule, and queries of many records.
  ///
  /// All records have to be as the type reads them. What breaks a unique index undoes the migration
  /// then.
  ///
  /// - Throws: `.uniqueConflict` when records share a unique value, `.decodingFailed` for one that
  ///   the type cannot read, `.unknownCollection` for a type that the store does not have,
  ///   `.invalidSchema` inside of a savepoint.
  /// - Complexity: O(n log n). Unlike the build after the last migration it begins again when the
  ///   process is killed.
  public func buildIndexes<R: Record>(of type: R.Type) throws {
    try storage { transaction in
      _ = try context.collection(of: type)
      try prepareWholeChange(in: transaction)
      try writer.storeShapes()
      let catalog = try loader.wholeCatalog(in: transaction)
      guard let collection = catalog.collection(ObjectIdentifier(type)) else { return }
      let builder = IndexBuilder(
        environment: loader.environment, catalog: catalog, batchSize: indexBatchSize,
        progress: reportIndex)
      try builder.build(collection, in: transaction)
      try renewHandles(in: transaction)
    }
  }

  /// Removes a collection that no type of the store declares: its records, its indexes, and the
  /// associations that it is an end of, with their lists. Nothing where there is none.
  ///
  /// No rule of an association is followed. Copy what is still wanted before, with
  /// ``records(of:in:)``.
  ///
  /// - Throws: `.invalidSchema` for a collection of a declared type, and inside of a savepoint.
  /// - Complexity: O(p) for the pages of the collection.
  public func drop(_ collection: String) throws {
    try storage { transaction in
      if loader.schemas.contains(where: { $0.name == collection }) {
        throw LarchError(
          .invalidSchema,
          "A type of the store declares the collection; use `erase`, or open the store without the type."
        ) { $0.collection = collection }
      }
      try prepareWholeChange(in: transaction)
      guard let found = try loader.collection(collection, in: transaction) else { return }
      try loader.drop(found.stored, in: transaction)
      try renewHandles(in: transaction)
    }
  }
}
