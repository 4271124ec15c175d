extension Store {
  /// Proves that the file is sound: every page, the checksum of every record, that every index
  /// holds exactly the entries that the records ask for, that every reference of an association
  /// leads to a record, and that both directions of every list of ids agree.
  ///
  /// Works on a snapshot, in constant memory, while others read and write. Records, indexes and
  /// references are those of the types that the store was opened for; pages and lists are all that
  /// the file has. References that need not lead anywhere, by the rule `.none`, are only counted.
  ///
  /// - Parameter progress: called now and then, at the end at the latest; what it throws stops it.
  /// - Returns: the counts, and what is wrong; an error is thrown only when the store cannot be
  ///   read at all.
  /// - Throws: `.closed`, `.schemaChanged`, `.ioFailure`; what `progress` throws.
  /// - Complexity: O(pages + records + entries + links); each entry is searched once, each
  ///   reference and each record that a list is of too, each link once in the other direction.
  @available(*, noasync)
  public func verify(
    progress: ((VerificationProgress) throws -> Void)? = nil
  ) throws -> VerificationReport {
    try proveAll(progress)
  }

  /// Proves that the file is sound, without blocking the task's thread.
  ///
  /// A task that is cancelled stops it. All else is as in the synchronous form.
  ///
  /// ```swift
  /// let report = try await store.verify { print("\(Int($0.fraction * 100)) %") }
  /// ```
  ///
  /// - Parameter progress: called now and then, at the end at the latest, on another thread; what it
  ///   throws stops it.
  /// - Returns: as the synchronous form.
  /// - Throws: `CancellationError`; as the synchronous form.
  /// - Complexity: as the synchronous form.
  public nonisolated(nonsending) func verify(
    progress: (@Sendable (VerificationProgress) throws -> Void)? = nil
  ) async throws -> VerificationReport {
    try await SpaceWorker().run(progress) { try self.proveAll($0) }
  }

  /// How far a verification is. Pages are looked at before the first record, and lists of ids after
  /// the last one.
  public struct VerificationProgress: Sendable, Hashable {
    /// Records that were looked at.
    public let recordsDone: Int
    /// Records that there are.
    public let recordsExpected: Int

    /// How far it is, from 0 to 1.
    public var fraction: Double {
      recordsExpected > 0 ? Swift.min(1, Double(recordsDone) / Double(recordsExpected)) : 0
    }
  }

  private func proveAll(
    _ progress: ((VerificationProgress) throws -> Void)?
  ) throws -> VerificationReport {
    try environment.withSteadyHandles { check in
      if let report = try damagedPages() { return report }
      var expected = 0
      let report = try prove(check) { transaction, lmdb, report in
        let collections = transaction.context.catalog.collections
        for collection in collections {
          expected += try collection.records.statistics(in: lmdb).entries
        }
        var verifier = RecordVerifier(transaction.context)
        for collection in collections {
          _ = try verifier.verify(collection, into: &report) {
            try progress?(VerificationProgress(recordsDone: $0, recordsExpected: expected))
          }
        }
      }
      try progress?(VerificationProgress(recordsDone: expected, recordsExpected: expected))
      return report
    }
  }

  /// What to report of a file that nothing may be read from through LMDB, which would trust its
  /// damaged pages; nil for any other.
  package func damagedPages() throws -> VerificationReport? {
    do {
      _ = try FileCheck.verify(path: path)
      return nil
    } catch let error as LarchError where error.code == .corrupted || error.code == .truncated {
      var report = VerificationReport()
      report.add(.init(.page, detail: error.description))
      return report
    }
  }

  /// Proves lists, and in the same snapshot what the closure proves.
  package func prove(
    _ check: () throws -> Void,
    records: (ReadTransaction, LMDBTransaction, inout VerificationReport) throws -> Void
  ) throws -> VerificationReport {
    var report = VerificationReport()
    let lists = try storedLists { key, reason in
      report.add(.init(.page, association: key, detail: reason.description))
    }
    try readCommitted { transaction in
      transaction.context.timer?.isVerification = true
      try check()
      try transaction.storage { lmdb in
        try records(transaction, lmdb, &report)
        for lists in lists {
          try LinkVerifier(lists: lists, transaction: lmdb).verify(into: &report)
        }
      }
    }
    return report
  }

  /// Rebuilds every index from the records, checks that unique ones are unique, and makes both
  /// directions of every list of ids agree.
  ///
  /// A link between two records stays, or comes back, where one direction has it and both records
  /// exist; links with records that do not exist are removed. References do not change: only you
  /// know the right value of one that leads nowhere.
  ///
  /// Indexes are made in batches: when the process is killed, or this is stopped, queries do without
  /// the indexes that are not complete, and the next opening, or the next call, makes them.
  ///
  /// A record that its type cannot decode any more is passed over in indexes that need that: the
  /// report names it. Such an index stays unfinished, and no query uses it, until the records are
  /// deleted or replaced and this is called again, or the store is opened again.
  ///
  /// - Parameter progress: called after each batch of an index; what it throws stops it.
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `.checksumMismatch` when a record is damaged (use ``salvage(_:to:progress:)`` then),
  ///   `.uniqueConflict` when two records share a unique value, and what `write(_:)` throws; what
  ///   `progress` throws.
  /// - Complexity: O(n log n) for each index, as `verify()` for lists.
  @discardableResult
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func rebuild(progress: ((IndexProgress) throws -> Void)? = nil) throws -> RebuildReport {
    return try rebuildAll(progress)
  }

  /// Builds every index again from the records, and makes both directions of every list of ids agree,
  /// without blocking the task's thread.
  ///
  /// Cancelling the task stops it between two batches. All else is as in the synchronous form.
  ///
  /// ```swift
  /// try await store.rebuild { print($0.collection, $0.index, $0.done, $0.total) }
  /// ```
  ///
  /// - Parameter progress: called after each batch of an index, on another thread; what it throws
  ///   stops it.
  /// - Returns: the records that are missing in indexes.
  /// - Throws: `CancellationError`; as the synchronous form.
  /// - Complexity: as the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func rebuild(
    progress: (@Sendable (IndexProgress) throws -> Void)? = nil
  ) async throws -> RebuildReport {
    return try await SpaceWorker().run(progress) { try self.rebuildAll($0) }
  }

  private func rebuildAll(_ progress: ((IndexProgress) throws -> Void)?) throws -> RebuildReport {
    try environment.withSteadyHandles { try rebuildOnce(withIndexes: true, $0) }
    return try buildIndexes(progress)
  }

  /// Makes both directions of every list of ids agree.
  package func rebuildLists() throws {
    try environment.withSteadyHandles { try rebuildOnce(withIndexes: false, $0) }
  }

  private func rebuildOnce(withIndexes: Bool, _ check: () throws -> Void) throws {
    let loader = CatalogLoader(environment, schema)
    let lists = try storedLists { _, _ in }
    try write { transaction in
      try check()
      try transaction.storage { lmdb in
        for lists in lists { try LinkRepair(lists: lists, transaction: lmdb).run() }
        if withIndexes { try loader.resetIndexes(in: lmdb) }
      }
    }
  }
}
