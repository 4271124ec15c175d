/// What an import of an export does with a record whose id is there already.
package import Larch
package enum StoredIDPolicy: Sendable, Hashable {
  /// Nothing goes in: the error names the line.
  case refuse
  /// The record of the file takes its place.
  case replace
  /// The record of the store stays.
  case skip
}

/// How far an import is.
package struct StoreImportProgress: Sendable {
  /// Bytes of the file that were read, and that it has.
  package var done: Int
  package var total: Int
  package var recordCount: Int
}

/// What an import did.
package struct StoreImportSummary: Sendable {
  /// An index that only a program with the Swift type can build: it does when it opens the store.
  package struct WaitingIndex: Sendable, Hashable {
    package let collection: String
    package let index: String
  }

  package var insertedCount = 0
  package var replacedCount = 0
  package var skippedCount = 0
  /// Links that were not there.
  package var linkCount = 0
  package var indexCount = 0
  package var waitingIndexes: [WaitingIndex] = []

  /// Records of the file that were read.
  package var recordCount: Int { insertedCount + replacedCount + skippedCount }
}

extension Store {
  /// Makes a new store from an export. Its Swift types are not needed.
  ///
  /// The new store appears when it is complete. Indexes are built from their stored definitions;
  /// those whose keys only the Swift type can tell are built when the store is opened with it, and
  /// the summary names them.
  ///
  /// - Parameters:
  ///   - source: what ``export(_:progress:write:)`` wrote.
  ///   - path: where the new store is made; nothing may be there.
  ///   - progress: called now and then.
  /// - Throws: `.fileExists`; `.invalidJSON`, `.truncated`, `.newerFormat`, each with the line, for
  ///   a text that is no whole export; `.uniqueConflict`, `.diskFull`.
  /// - Complexity: O(what is read); the memory of one batch of records.
  @discardableResult
  package static func makeStore(
    at path: String, from source: JSONSource,
    progress: ((StoreImportProgress) -> Void)? = nil
  ) throws -> StoreImportSummary {
    var work = NewStoreImport(source, path, progress)
    return try work.run()
  }

  /// Takes the records and lists of an export into this store. Its Swift types are not needed.
  ///
  /// The collections and associations must be there. Indexes are kept up, unique ones refuse what
  /// is in conflict, and references must lead to records, as with a typed save; rules and hooks of
  /// the types are not run.
  ///
  /// - Parameters:
  ///   - source: what ``export(_:progress:write:)`` wrote.
  ///   - policy: what is done with ids that are there.
  ///   - batchSize: how many lines go in as one change; all of them unless given.
  ///   - progress: called now and then.
  /// - Throws: the errors of ``makeStore(at:from:progress:)``; `.idExists`, `.unknownCollection`,
  ///   `.schemaMismatch` where an index can only be kept by the Swift type, `.uniqueConflict`,
  ///   `.danglingReference`. Nothing of the change that throws goes in.
  /// - Complexity: O(what is read); the memory of one record.
  @discardableResult
  package func importExport(
    from source: JSONSource, existing policy: StoredIDPolicy = .refuse, batchSize: Int? = nil,
    progress: ((StoreImportProgress) -> Void)? = nil
  ) throws -> StoreImportSummary {
    try RecordsImport(self, source, policy, batchSize, progress).run()
  }
}
