internal import Foundation

extension Store {
  /// Opens the store in the file at `path`, and makes it when it is not there.
  ///
  /// Name every record type that you use. New indexes are built before this returns, dropped ones
  /// are removed; ``Options/indexProgress`` tells how far a build is.
  ///
  /// - Parameters:
  ///   - path: where the file is; a second file with `-lock` behind the name is kept beside it.
  ///   - types: the record types of the store.
  ///   - options: how it is opened.
  /// - Throws: `.notAStore`, `.newerFormat`, `.truncated`, `.corrupted` for a file that is not
  ///   a sound store, `.fileNotFound`, `.accessDenied`, `.unsuitableFile`, `.invalidSchema` for
  ///   a declaration that cannot be used, `.schemaMismatch` for one that the file contradicts,
  ///   `.uniqueConflict` when stored records break a new unique index.
  /// - Complexity: less than a millisecond when there is no index to build.
  public convenience init(
    at path: String, for types: any Record.Type..., options: Options = Options()
  ) throws {
    try self.init(path: path, types: types, options: options, isTemporary: false)
  }

  /// A new store in a temporary file, which is deleted when the store is closed or given up.
  ///
  /// Nothing is flushed to disk: for tests, caches and scratch work.
  ///
  /// - Throws: as ``init(at:for:options:)``.
  public static func temporary(
    for types: any Record.Type..., options: Options = Options()
  ) throws -> Store {
    try temporary(types: types, options: options)
  }

  /// The list form of ``temporary(for:options:)``.
  package static func temporary(
    types: [any Record.Type], options: Options
  ) throws -> Store {
    var options = options
    options.durability = .none
    return try Store(
      path: ScratchFile.freshPath(), types: types, options: options, isTemporary: true)
  }

  /// The list form of ``init(at:for:options:)``.
  package convenience init(
    path: String, types: [any Record.Type], options: Options, isTemporary: Bool
  ) throws {
    let schema = try StoreSchema(types)
    let environment = try LMDBEnvironment.open(
      path: path, options: options.forEnvironment(schema), initialize: CatalogLoader.initialize)
    do {
      let catalog = try Store.openCatalog(environment, schema, options)
      self.init(
        environment: environment, catalog: catalog, schema: schema, options: options,
        isTemporary: isTemporary)
    } catch {
      environment.close()
      guard var named = error as? LarchError, named.context.path == nil else { throw error }
      named.context.path = path
      throw named
    }
  }

  private static func openCatalog(
    _ environment: LMDBEnvironment, _ schema: StoreSchema, _ options: Options
  ) throws -> OpenCatalog {
    let loader = CatalogLoader(environment, schema)
    let generation = environment.generation
    if options.isReadOnly {
      return try OpenCatalog(
        try loader.loadReadOnly(), of: environment, generation: generation, options: options)
    }
    var catalog = try loader.load()
    if catalog == nil {
      try loader.update()
      catalog = try loader.load()
    }
    guard var catalog else { throw changed(environment) }
    let report = options.indexProgress
    let builder = IndexBuilder(
      environment: environment, catalog: catalog, batchSize: options.indexBatchSize
    ) { collection, index, done, total in
      report?(IndexProgress(collection: collection, index: index, done: done, total: total))
    }
    if try builder.buildAll() {
      guard let built = try loader.load() else { throw changed(environment) }
      catalog = built
    }
    return try OpenCatalog(catalog, of: environment, generation: generation, options: options)
  }

  private static func changed(_ environment: LMDBEnvironment) -> LarchError {
    LarchError(
      .schemaChanged,
      "Another program changes the schema of the file at the same time; open the store again."
    ) { $0.path = environment.path }
  }

  /// Builds unfinished indexes and takes the new state of the catalog into use.
  func buildIndexes() throws {
    replaceCatalog(try Store.openCatalog(environment, schema, options))
  }
}

extension Store.Options {
  func forEnvironment(_ schema: StoreSchema) -> LMDBEnvironment.Options {
    var result = LMDBEnvironment.Options()
    // A handle for each collection, index and list, twice for those of an older schema.
    let databases = schema.collections.reduce(schema.associations.count * 2) {
      $0 + 1 + $1.indexes.count
    }
    result.maxDatabases = max(result.maxDatabases, databases * 2 + 64)
    result.isReadOnly = isReadOnly
    result.durability =
      switch durability {
      case .durable: .durable
      case .relaxed: .relaxed
      case .none: .none
      }
    result.maxReaders = maximumReaders
    result.reservedMapSize = initialMapSize
    result.canCreate = createsFile && !isReadOnly
    result.allowsRemoteFileSystem = allowsNetworkFileSystem
    result.countDatabases = { try FileCheck.databaseCount(path: $0) }
    let isVerified = isVerified
    result.beforeMapping = { path in
      if isVerified {
        _ = try FileCheck.verify(path: path)
      } else {
        try FileCheck.checkHeader(path: path)
      }
    }
    return result
  }
}
