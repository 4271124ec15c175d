extension Store {
  /// Rebuilds every index from the records, checks that unique indexes are unique, and makes both
  /// directions of every list of ids consistent.
  ///
  /// A link between two records is kept or restored if one direction has it and both records exist;
  /// other links are removed. References do not change: only you know the right value of a dangling
  /// one.
  ///
  /// All of it is one write: other writes wait until its end, in all processes, and reads see the
  /// state before it. If it is stopped, by an error, by `progress` or with the process, nothing
  /// changes. The file grows by the size of the new indexes; later writes reuse the space of the
  /// old ones.
  ///
  /// A record that its type cannot decode any more is skipped in indexes that need the decoded
  /// record, and the report names it. Such an index is incomplete, and no query uses it, until the
  /// records are deleted or replaced and this is called again, or the store is opened again. Until
  /// then, saving a new value in such a unique index throws `.decodingFailed`.
  ///
  /// - Parameter progress: called after each batch of an index, inside the write: it cannot write,
  ///   and reads the state before. An error stops the rebuild and undoes it. If the map must grow,
  ///   the steps start again.
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `.checksumMismatch` if a record is damaged (then use ``salvage(_:to:progress:)``),
  ///   `.uniqueConflict` if two records share a unique value, and the errors of `write(_:)` and of
  ///   `progress`.
  /// - Complexity: O(n log n) for each index, and that of `verify()` for lists; the memory of a
  ///   batch of index entries, and of the pages that LMDB keeps for a write, 512 MB at most.
  @discardableResult
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func rebuild(progress: ((IndexProgress) throws -> Void)? = nil) throws -> RebuildReport {
    return try rebuildAll(progress)
  }

  /// Rebuilds every index from the records, and makes both directions of every list of ids
  /// consistent, without blocking the task's thread.
  ///
  /// Cancelling the task stops it between two batches, and undoes it. Otherwise it is like the
  /// synchronous form.
  ///
  /// ```swift
  /// try await store.rebuild { print($0.collection, $0.index, $0.done, $0.total) }
  /// ```
  ///
  /// - Parameter progress: the same as in the synchronous form, on another thread.
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
      try environment.write(durability: durability, isIndivisible: true) {
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
          builder.onUnreadable = { report.add($0, $1.name) }
          try builder.rebuildAll(in: transaction)
        }
      }
    }
    for step in finished { options.logBuilt(step, path) }
    options.logIncomplete(report, path)
    return report
  }

  /// Makes both directions of every list of ids consistent.
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
