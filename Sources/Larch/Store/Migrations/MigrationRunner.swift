internal import Foundation

/// Runs the migrations that have not run on a file, when it is opened.
struct MigrationRunner {
  let store: Store
  let migrations: [Migration]
  private let loader: CatalogLoader

  init(_ store: Store) {
    self.store = store
    migrations = store.options.migrations
    var loader = CatalogLoader(
      store.environment, store.schema, evolution: store.options.evolution)
    loader.awaitsMigrations = true
    self.loader = loader
  }

  /// The migrations that a file has not had, in order.
  static func pending(
    _ migrations: [Migration], _ loader: CatalogLoader
  ) throws -> [Migration] {
    if migrations.isEmpty { return [] }
    let applied = Set(try loader.appliedMigrations().map(\.name))
    return migrations.filter { !applied.contains($0.name) }
  }

  /// The error of a file with a pending migration that must not run now.
  static func pendingError(_ migration: Migration, _ path: String) -> LarchError {
    LarchError(
      .migrationPending,
      "A migration has not run on this file; open the file once for writing, with automatic evolution."
    ) {
      $0.path = path
      $0.detail = migration.name
    }
  }

  /// Runs the pending migrations.
  ///
  /// - Returns: the work that was requested for after the commit, to do when the store is open.
  func run() throws -> [() -> Void] {
    var work: [() -> Void] = []
    for migration in try MigrationRunner.pending(migrations, loader) {
      do {
        guard let done = try run(migration) else { continue }
        work += done
      } catch {
        throw failed(migration, error)
      }
      store.options.log?(
        LogMessage(.notice, .migrated, "A migration has run.") {
          $0.path = store.path
          $0.detail = migration.name
        })
    }
    return work
  }

  private func failed(_ migration: Migration, _ error: any Error) -> LarchError {
    LarchError(
      .migrationFailed,
      "A migration threw an error and changed nothing; earlier migrations are kept. Correct it, then open the store again.",
      underlying: error
    ) {
      if let error = error as? LarchError { $0 = error.context }
      $0.path = store.path
      $0.detail = migration.name
    }
  }

  /// Runs one migration; nil if another program has run it meanwhile.
  private func run(_ migration: Migration) throws -> [() -> Void]? {
    try store.environment.write(isIndivisible: true) { lmdb in
      let storage = try loader.openStorage(in: lmdb)
      let applied = try storage.migrations(in: lmdb)
      if applied.contains(where: { $0.name == migration.name }) { return nil }
      if store.options.runsWritesTwice {
        let child = try lmdb.beginChild()
        defer { child.abortChild() }
        _ = try? run(migration, in: child)
      }
      let (date, work) = try run(migration, in: lmdb)
      try storage.set(
        AppliedMigration(
          name: migration.name, number: (applied.last?.number ?? 0) + 1,
          date: date.timeIntervalSinceReferenceDate), in: lmdb)
      // Other programs that have the store open must read the catalog again: indexes may be
      // incomplete.
      try storage.setGeneration(try storage.generation(in: lmdb) + 1, in: lmdb)
      return work
    }
  }

  /// Runs a migration in a transaction.
  ///
  /// - Returns: the time, and the work to do after the commit.
  private func run(
    _ migration: Migration, in lmdb: LMDBTransaction
  ) throws -> (Date, [() -> Void]) {
    let options = store.options
    // In the same transaction, so that a migration that throws leaves the file as it was.
    try loader.update(in: lmdb)
    try loader.restartBuilds(in: lmdb)
    let writer = WriteContext(
      try TransactionContext(
        try loader.completeCatalog(in: lmdb), of: store.environment,
        checksQueries: options.checksQueries, searchLimits: options.searchLimits),
      clock: options.clock)
    let transaction = MigrationTransaction(
      writer, lmdb, name: migration.name, loader: loader, options)
    defer { transaction.end() }
    let context = writer.context
    do {
      try writer.begin(lmdb)
      defer { writer.end() }
      try RunningScope.enter(store, transaction) { try migration.body(transaction) }
      if let error = context.failure ?? transaction.sequenceError { throw error }
      transaction.closeCursors()
      try writer.finish()
      try transaction.proveReferences()
      return (transaction.now, transaction.takeAfterCommitWork())
    } catch {
      writer.rollBack()
      throw context.failure ?? error
    }
  }
}
