/// What an import of an export does with a record whose id exists.
package import Larch
package enum StoredIDPolicy: Sendable, Hashable {
  /// Nothing is imported: the error names the line.
  case refuse
  /// The record of the file replaces that of the store.
  case replace
  /// The record of the store stays.
  case skip
}

/// The progress of an import.
package struct StoreImportProgress: Sendable {
  /// The number of bytes read, and the size of the file.
  package var done: Int
  package var total: Int
  package var recordCount: Int
}

/// The result of an import.
package struct StoreImportSummary: Sendable {
  /// An index that only a program with the Swift type can build, which it does when it opens the
  /// store.
  package struct WaitingIndex: Sendable, Hashable {
    package let collection: String
    package let index: String
  }

  package var insertedCount = 0
  package var replacedCount = 0
  package var skippedCount = 0
  /// The number of new links.
  package var linkCount = 0
  package var indexCount = 0
  package var waitingIndexes: [WaitingIndex] = []

  /// The number of records read from the file.
  package var recordCount: Int { insertedCount + replacedCount + skippedCount }
}

extension Store {
  /// Creates a new store from an export. Its Swift types are not needed.
  ///
  /// The new store appears when it is complete. Indexes are built from their stored definitions;
  /// indexes whose keys need the Swift type are built when the store is opened with it, and the
  /// summary lists them.
  ///
  /// - Parameters:
  ///   - source: the output of ``export(_:progress:write:)``.
  ///   - path: the path of the new store; no file may exist there.
  ///   - progress: called from time to time.
  /// - Throws: `.fileExists`; `.invalidJSON`, `.truncated`, `.newerFormat`, each with the line, for
  ///   a text that is not a complete export; `.uniqueConflict`, `.diskFull`.
  /// - Complexity: O(n) for the input; the memory of one batch of records.
  @discardableResult
  package static func makeStore(
    at path: String, from source: JSONSource,
    progress: ((StoreImportProgress) -> Void)? = nil
  ) throws -> StoreImportSummary {
    var work = NewStoreImport(source, path, progress)
    return try work.run()
  }

  /// Imports the records and lists of an export into this store. Its Swift types are not needed.
  ///
  /// The collections and associations must exist. As with a typed save, indexes are maintained,
  /// unique indexes refuse duplicates, and references must not dangle; rules and hooks of the types
  /// do not run.
  ///
  /// - Parameters:
  ///   - source: the output of ``export(_:progress:write:)``.
  ///   - policy: what to do with existing ids.
  ///   - batchSize: the number of lines per transaction; all by default.
  ///   - progress: called from time to time.
  /// - Throws: the errors of ``makeStore(at:from:progress:)``; `.idExists`, `.unknownCollection`,
  ///   `.schemaMismatch` if only the Swift type can maintain an index, `.uniqueConflict`,
  ///   `.danglingReference`. A transaction that fails changes nothing.
  /// - Complexity: O(n) for the input; the memory of one record.
  @discardableResult
  package func importExport(
    from source: JSONSource, existing policy: StoredIDPolicy = .refuse, batchSize: Int? = nil,
    progress: ((StoreImportProgress) -> Void)? = nil
  ) throws -> StoreImportSummary {
    try RecordsImport(self, source, policy, batchSize, progress).run()
  }
}
