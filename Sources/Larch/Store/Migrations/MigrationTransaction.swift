/// The transaction of one migration: a ``WriteTransaction`` that can also read records as older
/// Swift types or without a type, rewrite whole collections, and remove collections that no type
/// declares any more.
///
/// Once the records have the form of their declared type, they can be saved, found, queried and
/// deleted as in any write. Incomplete indexes, which are new or whose collection a migration has
/// rewritten, are built after the last migration. Until then a query of such a collection is a full
/// scan, its unique indexes refuse nothing, and a deletion whose rule needs such an index throws
/// `.unknownAssociation`. ``buildIndexes(of:)`` builds them at once.
public final class MigrationTransaction: WriteTransaction {
  /// The name of the migration.
  public let name: String
  let loader: CatalogLoader
  let report: (_ collection: String, _ done: Int, _ total: Int) -> Void
  private let reportIndex:
    (_ collection: String, _ index: String, _ done: Int, _ total: Int) -> Void
  private let indexBatchSize: Int?
  /// The transaction outside all savepoints.
  private let root: LMDBTransaction
  /// Collections whose records all have the form of their type now.
  var rewritten: Set<String> = []
  /// Collections whose records were rewritten to another form.
  var intermediate: Set<String> = []
  /// Collections that lost records without the rules of their associations.
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
    super.init(writer, AssignedVersions())
  }

  // MARK: Collections

  /// What the store declares for a collection, by its present name or an older one.
  func declaration(of collection: String) -> CollectionSchema? {
    loader.schemas.first {
      $0.name == collection || $0.renames.collectionNames.contains(collection)
    }
  }

  /// A collection of the file, whether a type is declared for it or not. Nil stands for an empty
  /// one: a new file has no collection of a type that is gone, and neither has a file that is older
  /// than the type.
  ///
  /// - Throws: `.unknownCollection` for a name that must be misspelt, since there are records under
  ///   a similar one: otherwise the migration would never do anything, on any file.
  func storedCollection(
    _ name: String, in transaction: LMDBTransaction
  ) throws -> (stored: StoredCollection, records: LMDBDatabase)? {
    if let found = try loader.collection(name, in: transaction) { return found }
    if let schema = declaration(of: name) {
      return try loader.collection(schema.name, in: transaction)
    }
    let catalog = try loader.openStorage(in: transaction)
    let filled = try catalog.collections(in: transaction).filter { entry in
      try !loader.isEmpty(entry, in: transaction)
    }
    if let near = SimilarName.best(for: name, among: filled.map(\.name)) {
      throw LarchError(
        .unknownCollection,
        "The file has no collection of this name, but records under a similar one; correct the name, or look for it in `collectionNames` first."
      ) {
        $0.collection = name
        $0.detail = "did you mean \(near)?"
      }
    }
    return nil
  }

  /// Uses the handles of the current contents of the file.
  func renewHandles(in transaction: LMDBTransaction) throws {
    context.adopt(try loader.completeCatalog(in: transaction))
    changeCount &+= 1
  }

  /// Writes pending changes, and makes sure that undoing a savepoint cannot restore databases
  /// without handles.
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

  /// The names of all collections of the file, sorted.
  ///
  /// - Throws: `.corrupted` for a damaged catalog.
  /// - Complexity: O(c) for c collections.
  public func collectionNames() throws -> [String] {
    try storage { transaction in
      try loader.openStorage(in: transaction).collections(in: transaction).map(\.name).sorted()
    }
  }

  /// The number of records of a collection, whether a type is declared for it or not; 0 if the file
  /// does not have it.
  ///
  /// - Throws: `.unknownCollection` for a name like that of another collection, which has records.
  /// - Complexity: O(c) for c collections.
  public func count(in collection: String) throws -> Int {
    try storage { transaction in
      try storedCollection(collection, in: transaction)?.records.statistics(in: transaction).entries
        ?? 0
    }
  }

  /// Builds the incomplete indexes of a type at once, not after the last migration. Unique values,
  /// deletions by a rule, and queries of many records may need them.
  ///
  /// Records that break a unique index then undo the migration. As with `Store.rebuild`, an index
  /// that needs the decoded records misses those that the type cannot decode. Such an index stays
  /// incomplete, and is built after the last migration as far as possible. Throw an error if the
  /// report is not complete and the migration needs all records.
  ///
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `.uniqueConflict` if records share a unique value, `.unknownCollection` for a type
  ///   that the store does not have, `.invalidSchema` inside a savepoint.
  /// - Complexity: O(n log n). If the process is killed, it starts again, unlike the build after
  ///   the last migration.
  @discardableResult
  public func buildIndexes<R: Record>(of type: R.Type) throws -> RebuildReport {
    var missing = RebuildReport()
    try storage { transaction in
      _ = try context.collection(of: type)
      try prepareWholeChange(in: transaction)
      try writer.storeShapes()
      let catalog = try loader.wholeCatalog(in: transaction)
      guard let collection = catalog.collection(ObjectIdentifier(type)) else { return }
      var builder = IndexBuilder(
        environment: loader.environment, catalog: catalog, batchSize: indexBatchSize,
        progress: reportIndex)
      builder.onUnreadable = { missing.add($0, $1.name) }
      try builder.build(collection, in: transaction)
      // From here on, writes of the migration do not maintain an incomplete index, so it is reset.
      let incomplete = Set(missing.indexes.map(\.index))
      if !incomplete.isEmpty {
        try loader.resetIndexes(
          of: collection.stored.name, where: { incomplete.contains($0.name) }, in: transaction)
      }
      try renewHandles(in: transaction)
    }
    return missing
  }

  /// Removes a collection that no type of the store declares: its records, its indexes, and its
  /// associations with their lists. It does nothing if there is no such collection.
  ///
  /// No delete rule applies. First copy the records that you still need, with ``records(of:in:)``.
  ///
  /// - Throws: `.invalidSchema` for a collection of a declared type, and inside a savepoint.
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
