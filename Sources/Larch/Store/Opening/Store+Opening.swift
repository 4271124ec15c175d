internal import Foundation

extension Store {
  /// Opens the store in the file at `path`, or creates it.
  ///
  /// Name every record type that you use. Before this returns, it runs the migrations that have not
  /// run on the file, builds new indexes, and removes those that are no longer declared;
  /// ``Options/migrationProgress`` and ``Options/indexProgress`` report the progress.
  ///
  /// - Parameters:
  ///   - path: the path of the file; the lock file beside it has `-lock` after the name.
  ///   - types: the record types of the store.
  ///   - migrations: the migrations to run once on each file, in this order.
  ///   - options: the options of the store.
  /// - Throws: `.notAStore`, `.newerFormat`, `.truncated`, `.corrupted` for a file that is not a
  ///   valid store, `.fileNotFound`, `.accessDenied`, `.unsuitableFile` for a path that cannot be
  ///   used or a file with a second name, `.busy` if a process has the file open under another name
  ///   or with another lock file, `.invalidSchema` for an invalid declaration, `.schemaMismatch`
  ///   for one that contradicts the file, `.uniqueConflict` if stored records break a new unique
  ///   index, `.migrationFailed` if a migration throws, `.migrationPending` if a migration has not
  ///   run on a file that is opened read-only.
  /// - Complexity: less than a millisecond without migrations and new indexes.
  public convenience init(
    at path: String, for types: any Record.Type..., migrations: [Migration] = [],
    options: Options = Options()
  ) throws {
    var options = options
    options.migrations += migrations
    try self.init(path: path, types: types, options: options, isTemporary: false)
  }

  /// A new store in a temporary file, which is deleted when the store is closed or deallocated.
  ///
  /// Nothing is flushed to disk: for tests, caches and scratch work.
  ///
  /// - Throws: the errors of ``init(at:for:migrations:options:)-(String,_,_,_)``.
  public static func temporary(
    for types: any Record.Type..., migrations: [Migration] = [], options: Options = Options()
  ) throws -> Store {
    var options = options
    options.migrations += migrations
    return try temporary(types: types, options: options)
  }

  /// The list form of ``temporary(for:migrations:options:)``.
  package static func temporary(
    types: [any Record.Type], options: Options
  ) throws -> Store {
    var options = options
    options.durability = .none
    return try Store(
      path: ScratchFile.freshPath(), types: types, options: options, isTemporary: true)
  }

  /// The list form of ``init(at:for:migrations:options:)``.
  package convenience init(
    path: String, types: [any Record.Type], options: Options, isTemporary: Bool
  ) throws {
    #if LARCH_SHARE_EVERYTHING
      if let log = SharedEverything.log(for: path, options) {
        try self.init(
          sharing: log, copy: path, types: types, options: options, isTemporary: isTemporary)
        try SharedEverything.didOpen(path)
        return
      }
    #endif
    let options = options.withChosenMessages
    let schema = try StoreSchema(types, evolution: options.evolution)
    try Migration.check(options.migrations)
    let policy = options.onMismatch
    guard policy != .refuse, !isTemporary, MovingAside.isPossible(options) else {
      try self.init(opening: path, schema, options, isTemporary: isTemporary)
      return
    }
    do {
      try self.init(opening: path, schema, options)
    } catch let mismatch as LarchError where MovingAside.isMismatch(mismatch) {
      guard policy.movesAside else { throw mismatch.notMovedAside }
      let aside = try MovingAside(path, schema, options).run(mismatch)
      try self.init(opening: path, schema, options, movedAside: aside)
    }
  }

  /// Opens or creates a store; what does not fit is refused.
  convenience init(
    opening path: String, _ schema: StoreSchema, _ options: Options, isTemporary: Bool = false,
    movedAside: String? = nil
  ) throws {
    let environment = try LMDBEnvironment.open(
      path: path, options: options.forEnvironment(schema), initialize: CatalogLoader.initialize)
    let hasMigrations: Bool
    let catalog: OpenCatalog
    do {
      hasMigrations = try Store.hasPendingMigrations(environment, schema, options)
      catalog =
        hasMigrations
        ? try Store.emptyCatalog(environment, options)
        : try Store.openCatalog(environment, schema, options)
    } catch {
      environment.close()
      throw Store.named(error, path)
    }
    self.init(
      environment: environment, catalog: catalog, schema: schema, options: options,
      isTemporary: isTemporary, movedAside: movedAside)
    if hasMigrations {
      do {
        let work = try MigrationRunner(self).run()
        replaceCatalog(try Store.openCatalog(environment, schema, options))
        if !work.isEmpty { Store.with(self) { for item in work { item() } } }
      } catch {
        close()
        throw Store.named(error, path)
      }
    }
    if options.isExcludedFromBackup, !options.isReadOnly,
      let message = BackupExclusion.mark(environment.path)
    {
      tell(message)
    }
    tell(LogMessage(.debug, .opened, "The store was opened.") { $0.path = environment.path })
  }

  /// Whether the file is marked as excluded from the backups of the system
  /// (``Options/isExcludedFromBackup``); false where the system has no such mark.
  ///
  /// - Complexity: one call of the file system.
  public var isExcludedFromBackup: Bool { BackupExclusion.isMarked(path) }

  static func named(_ error: any Error, _ path: String) -> any Error {
    guard var named = error as? LarchError, named.context.path == nil else { return error }
    named.context.path = path
    return named
  }

  static func hasPendingMigrations(
    _ environment: LMDBEnvironment, _ schema: StoreSchema, _ options: Options
  ) throws -> Bool {
    if options.evolution == .off { return false }
    let loader = CatalogLoader(environment, schema)
    guard let first = try MigrationRunner.pending(options.migrations, loader).first else {
      return false
    }
    if options.isReadOnly || options.evolution == .check {
      throw MigrationRunner.pendingError(first, environment.path)
    }
    return true
  }

  /// The catalog of a store during migrations: only the migrations can use it.
  private static func emptyCatalog(
    _ environment: LMDBEnvironment, _ options: Options
  ) throws -> OpenCatalog {
    let generation = environment.generation
    return try OpenCatalog(
      try CatalogLoader(environment, try StoreSchema([])).loadReadOnly(), of: environment,
      generation: generation, options: options)
  }

  static func openCatalog(
    _ environment: LMDBEnvironment, _ schema: StoreSchema, _ options: Options
  ) throws -> OpenCatalog {
    // Another process may compact the file while indexes are built.
    try environment.withSteadyHandles { _ in
      try openCatalogOnce(environment, schema, options)
    }
  }

  private static func openCatalogOnce(
    _ environment: LMDBEnvironment, _ schema: StoreSchema, _ options: Options
  ) throws -> OpenCatalog {
    let loader = CatalogLoader(environment, schema, evolution: options.evolution)
    let generation = environment.generation
    if options.evolution == .check {
      let changes = try loader.pendingChanges()
      if !changes.isEmpty { throw notAsDeclared(changes) }
    }
    if options.isReadOnly {
      return try OpenCatalog(
        try loader.loadReadOnly(), of: environment, generation: generation, options: options)
    }
    var catalog = try loader.load()
    if catalog == nil {
      try loader.update()
      options.log?(
        LogMessage(.notice, .schemaChanged, "The schema of the file was brought up to date.") {
          $0.path = environment.path
        })
      catalog = try loader.load()
    }
    guard var catalog else { throw changed(environment) }
    var unindexed = RebuildReport()
    var builder = IndexBuilder(
      environment: environment, catalog: catalog, batchSize: options.indexBatchSize,
      generation: generation
    ) { collection, index, done, total in
      let step = IndexProgress(collection: collection, index: index, done: done, total: total)
      options.indexProgress?(step)
      options.logBuilt(step, environment.path)
    }
    builder.onUnreadable = { error, index in unindexed.add(error, index.name) }
    let isBuilt = try builder.buildAll()
    options.logIncomplete(unindexed, environment.path)
    if isBuilt {
      guard let built = try loader.load() else { throw changed(environment) }
      catalog = built
    }
    return try OpenCatalog(catalog, of: environment, generation: generation, options: options)
  }

  private static func notAsDeclared(_ changes: [String]) -> LarchError {
    LarchError(
      .schemaMismatch,
      "The file does not have the declared schema, and `Options.evolution` is `.check`; open it with `.automatic` to bring it up to date."
    ) { $0.detail = changes.joined(separator: "; ") }
  }

  private static func changed(_ environment: LMDBEnvironment) -> LarchError {
    LarchError(
      .schemaChanged,
      "Another program is changing the schema of the file; open the store again."
    ) { $0.path = environment.path }
  }
}

extension Store.Options {
  /// Logs an index when its build is complete.
  func logBuilt(_ step: Store.IndexProgress, _ path: String) {
    guard let log, step.done == step.total else { return }
    log(
      LogMessage(.notice, .indexBuilt, "An index was built from existing records.") {
        $0.path = path
        $0.collection = step.collection
        $0.index = step.index
        $0.detail = "\(step.total) records"
      })
  }

  /// Logs the indexes that miss records.
  func logIncomplete(_ report: RebuildReport, _ path: String) {
    guard let log else { return }
    for missing in report.indexes {
      log(
        LogMessage(
          .warning, .indexUnfinished,
          "An index is incomplete, because some records cannot be decoded; delete or replace them."
        ) {
          $0.path = path
          $0.collection = missing.collection
          $0.index = missing.index
          $0.detail = missing.text
        })
    }
  }
}

extension Store.Options {
  func forEnvironment(_ schema: StoreSchema) -> LMDBEnvironment.Options {
    var result = LMDBEnvironment.Options()
    // A handle for each collection, index and list, doubled for those of an older schema.
    let databases = schema.collections.reduce(schema.associations.count * 2) {
      $0 + 1 + $1.allIndexes.count
    }
    result.maxDatabases = max(result.maxDatabases, databases * 2 + 64)
    result.isReadOnly = isReadOnly
    result.durability =
      switch durability {
      case .durable, .logged: .durable
      case .relaxed: .relaxed
      case .none: .none
      }
    result.logsCommits = durability == .logged && !isReadOnly
    result.logLimits = logLimits
    #if LARCH_LOG_EVERYTHING
      result.logsCommits = !isReadOnly
      result.logLimits.halfSize = 64 << 10
      result.logLimits.record = 16 << 10
    #endif
    result.maxReaders = maximumReaders
    result.reservedMapSize = initialMapSize
    result.canCreate = createsFile && !isReadOnly && evolution != .check
    result.allowsRemoteFileSystem = allowsNetworkFileSystem
    result.log = log
    result.isExcludedFromBackup = isExcludedFromBackup && !isReadOnly
    result.oldReadWarning = oldReadWarning.inSeconds
    result.watchesFile = watchesFile
    result.replacing = replacing
    result.countDatabases = { try FileCheck.databaseCount(path: $0) }
    result.needsLockFile = needsLockFile
    result.saysReplaced = {
      try FileCheck.hasDatabase(ReplacementMark.databaseName, path: $0)
    }
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
