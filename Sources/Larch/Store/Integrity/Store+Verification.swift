extension Store {
  /// Proves that the file is sound: every page, the checksum of every record, that every index
  /// holds exactly the entries that the records ask for, that every reference of an association
  /// leads to a record, and that both directions of every list of ids agree.
  ///
  /// Works on a snapshot, in constant memory, while others read and write. Records, indexes and
  /// references are those of the types that the store was opened for; pages and lists are all that
  /// the file has. References that need not lead anywhere, by the rule `.none`, are only counted. An
  /// index that is not complete is not compared: nothing trusts it.
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
  /// - Parameter progress: called now and then, at the end at the latest, on another thread; what
  ///   it throws stops it.
  /// - Returns: as the synchronous form.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
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
}
