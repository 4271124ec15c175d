extension Store {
  /// Proves that the file is sound: every page, the checksum of every record, that every index
  /// holds exactly the entries that the records ask for, that every reference of an association
  /// leads to a record, and that both directions of every list of ids agree.
  ///
  /// Works on a snapshot, in constant memory, while others read and write. Records, indexes and
  /// references are those of the types that the store was opened for; pages and lists are all that
  /// the file has. References that need not lead anywhere, by the rule `.none`, are only counted.
  ///
  /// - Returns: the counts, and what is wrong; an error is thrown only when the store cannot be
  ///   read at all.
  /// - Throws: `.closed`, `.schemaChanged`, `.ioFailure`.
  /// - Complexity: O(pages + records + entries + links); each entry is searched once, each
  ///   reference and each record that a list is of too, each link once in the other direction.
  public func verify() throws -> VerificationReport {
    try environment.withSteadyHandles { check in
      if let report = try damagedPages() { return report }
      return try prove(check) { transaction, _, report in
        var verifier = RecordVerifier(transaction.context)
        for collection in transaction.context.catalog.collections {
          _ = try verifier.verify(collection, into: &report)
        }
      }
    }
  }

  /// What to report of a file that nothing may be read from through LMDB, which would trust its
  /// damaged pages; nil for any other.
  func damagedPages() throws -> VerificationReport? {
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
  func prove(
    _ check: () throws -> Void,
    records: (ReadTransaction, LMDBTransaction, inout VerificationReport) throws -> Void
  ) throws -> VerificationReport {
    var report = VerificationReport()
    let lists = try storedLists { key, reason in
      report.add(.init(.page, association: key, detail: reason.description))
    }
    try readCommitted { transaction in
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

  /// Makes every index anew from the records, proves unique ones unique, and makes both
  /// directions of every list of ids agree.
  ///
  /// A link between two records stays, or comes back, where one direction has it and both records
  /// are there; links with records that are not there go. References stay as they are: what one
  /// that leads nowhere shall be, only you can tell.
  ///
  /// Indexes are made in batches: when the process is killed, the next opening goes on.
  ///
  /// - Throws: `.checksumMismatch` when a record is damaged (use ``salvage(_:to:progress:)`` then),
  ///   `.uniqueConflict` when two records share a unique value, and what `write(_:)` throws.
  /// - Complexity: O(n log n) for each index, as ``verify()`` for lists.
  public func rebuild() throws {
    try environment.withSteadyHandles { try rebuildOnce(withIndexes: true, $0) }
    try buildIndexes()
  }

  /// Makes both directions of every list of ids agree.
  func rebuildLists() throws {
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
