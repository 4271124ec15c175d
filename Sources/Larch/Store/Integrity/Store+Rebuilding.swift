extension Store {
  /// Rebuilds every index from the records, checks that unique ones are unique, and makes both
  /// directions of every list of ids agree.
  ///
  /// A link between two records stays, or comes back, where one direction has it and both records
  /// exist; links with records that do not exist are removed. References do not change: only you
  /// know the right value of one that leads nowhere.
  ///
  /// All of it is one write: other writes wait until it has ended, in all processes, and reads see
  /// the file before it. When it is stopped, by an error, by `progress` or with the process, the file
  /// is as it was. The file grows by the size of the new indexes; later writes use the space of the
  /// old ones.
  ///
  /// A record that its type cannot decode any more is passed over in indexes that need that: the
  /// report names it. Such an index stays unfinished, and no query uses it, until the records are
  /// deleted or replaced and this is called again, or the store is opened again. Until then, a save of
  /// a new value in such a unique index throws `.decodingFailed`.
  ///
  /// - Parameter progress: called after each batch of an index, inside of the write: it cannot write,
  ///   and what it reads is the file before. What it throws stops the rebuild and undoes it. When the
  ///   file had to grow, the steps begin again.
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `.checksumMismatch` when a record is damaged (use ``salvage(_:to:progress:)`` then),
  ///   `.uniqueConflict` when two records share a unique value, and what `write(_:)` throws; what
  ///   `progress` throws.
  /// - Complexity: O(n log n) for each index, as `verify()` for lists; the memory of a batch of index
  ///   entries, and of the pages that LMDB keeps for a write, 512 MB at most.
  @discardableResult
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func rebuild(progress: ((IndexProgress) throws -> Void)? = nil) throws -> RebuildReport {
    return try rebuildAll(progress)
  }

  /// Rebuilds every index from the records, and makes both directions of every list of ids agree,
  /// without blocking the task's thread.
  ///
  /// Cancelling the task stops it between two batches, and undoes it. All else is as in the
  /// synchronous form.
  ///
  /// ```swift
  /// try await store.rebuild { print($0.collection, $0.index, $0.done, $0.total) }
  /// ```
  ///
  /// - Parameter progress: as in the synchronous form, on another thread.
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func rebuild(
    progress: (@Sendable (IndexProgress) throws -> Void)? = nil
  ) async throws -> RebuildReport {
    return try await SpaceWorker().run(progress) { try self.rebuildAll($0) }
  }

  private func rebuildAll(_ progress: ((IndexProgress) throws -> Void)?) throws -> RebuildReport {
    let durability = try lmdbDurability(.storeDefault)
    _ = try currentCatalog()
    let options = options
    var report = RebuildReport()
    var finished: [IndexProgress] = []
    try environment.withSteadyHandles { check in
      let lists = try storedLists { _, _ in }
      try environment.write(durability: durability) {
        try self.attempt { transaction, open in
          try check()
          report = RebuildReport()
          finished = []
          for lists in lists { try LinkRepair(lists: lists, transaction: transaction).run() }
          var builder = IndexBuilder(
            environment: environment, catalog: open.catalog, batchSize: options.indexBatchSize
          ) { collection, index, done, total in
            let step = IndexProgress(collection: collection, index: index, done: done, total: total)
            options.indexProgress?(step)
            if done == total { finished.append(step) }
            try progress?(step)
          }
          builder.passOver = { report.add($0, $1.name) }
          try builder.rebuildAll(in: transaction)
        }
      }
    }
    for step in finished { options.logBuilt(step, path) }
    options.logUnfinished(report, path)
    return report
  }

  /// Makes both directions of every list of ids agree.
  package func rebuildLists() throws {
    try environment.withSteadyHandles { check in
      let lists = try storedLists { _, _ in }
      try write { transaction in
        try check()
        try transaction.storage { lmdb in
          for lists in lists { try LinkRepair(lists: lists, transaction: lmdb).run() }
        }
      }
    }
  }
}
