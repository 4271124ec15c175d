extension Store {
  /// Checks the file: every page, the checksum of every record, that every index has exactly the
  /// entries that the records require, that no reference of an association dangles, and that both
  /// directions of every list of ids are consistent.
  ///
  /// In a mirrored store it also checks what waits to be shipped.
  ///
  /// It works on a snapshot, in constant memory, while others read and write. It checks the
  /// records, indexes and references of the types that the store was opened for, and all pages and
  /// lists of the file. References that may dangle by the rule `.none` are only counted. An
  /// incomplete index is not compared, because nothing uses it.
  ///
  /// - Parameter progress: called from time to time, and at the end; an error stops the check.
  /// - Returns: the counts and the faults; an error is thrown only if the store cannot be read at
  ///   all.
  /// - Throws: `.closed`, `.schemaChanged`, `.ioFailure`; what `progress` throws.
  /// - Complexity: O(pages + records + entries + links); one search for each entry, each reference,
  ///   each record with a list, and each link in the other direction.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`, inside of an `async` function"
  )
  public func verify(
    progress: ((VerificationProgress) throws -> Void)? = nil
  ) throws -> VerificationReport {
    try proveAll(progress)
  }

  /// Checks the file, without blocking the task's thread.
  ///
  /// Cancelling the task stops it. Otherwise it is like the synchronous form.
  ///
  /// ```swift
  /// let report = try await store.verify { print("\(Int($0.fraction * 100)) %") }
  /// ```
  ///
  /// - Parameter progress: called from time to time, and at the end, on another thread; an error
  ///   stops the check.
  /// - Returns: the same as the synchronous form.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func verify(
    progress: (@Sendable (VerificationProgress) throws -> Void)? = nil
  ) async throws -> VerificationReport {
    try await SpaceWorker().run(progress) { try self.proveAll($0) }
  }

  /// The progress of a verification. It checks pages before the first record, and lists of ids
  /// after the last one.
  public struct VerificationProgress: Sendable, Hashable {
    /// The number of checked records.
    public let recordsDone: Int
    /// The number of records in the store.
    public let recordsExpected: Int

    /// The fraction, from 0 to 1.
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

  /// The report for a file that must not be read through LMDB, which would trust its damaged pages;
  /// nil for any other file.
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

  /// Checks lists, and in the same snapshot whatever the closure checks.
  package func prove(
    _ check: () throws -> Void,
    records: (ReadTransaction, LMDBTransaction, inout VerificationReport) throws -> Void
  ) throws -> VerificationReport {
    var report = VerificationReport()
    let lists = try storedLists { key, reason in
      report.add(.init(.page, association: key, detail: reason.description))
    }
    // The read knows only handles that were open before.
    try environment.openOutboxHandle()
    try readCommitted { transaction in
      transaction.context.timer?.isVerification = true
      try check()
      try transaction.storage { lmdb in
        try records(transaction, lmdb, &report)
        do {
          try environment.checkOutbox(in: lmdb)
        } catch let error as LarchError
          where error.code == .corrupted || error.code == .newerFormat
        {
          report.add(.init(.outbox, detail: error.context.detail))
        } catch is OutboxHandleMissing {
          // The mirror began after this check.
        }
        for lists in lists {
          try LinkVerifier(lists: lists, transaction: lmdb).verify(into: &report)
        }
      }
    }
    return report
  }
}
