internal import Foundation

extension Store {
  /// What a compaction did to the length of the file.
  public struct Compaction: Sendable, Hashable {
    /// The length before, in bytes.
    public let bytesBefore: Int
    /// The length after, in bytes.
    public let bytesAfter: Int
  }

  /// Makes the file as small as what it holds: copies it without its free space, and puts the copy
  /// in its place.
  ///
  /// There is no need to: free space is used again. It is for a file that was much larger once and
  /// will not be again. Others read and write the store before and after; writes wait while it
  /// runs, reads do not, but for the moment of the exchange, which waits for those that are open in
  /// this process. Other processes and the other stores of this one that have the file open go over
  /// to the new one by themselves with their next transaction; the space of the old file is given
  /// back when the last of them has.
  ///
  /// A crash at any moment leaves the store as it was before or after, with nothing lost.
  ///
  /// - Parameter progress: called after each piece that was written; what it throws stops the
  ///   compaction, and nothing is changed then.
  /// - Returns: the lengths of the file before and after.
  /// - Throws: `.busy` when a read of this process stays open, this thread's own at once;
  ///   `.nestedWrite` inside a write of the store; `.readOnly`, `.diskFull`, `.accessDenied`,
  ///   `.ioFailure`, `.closed`; what `progress` throws.
  /// - Complexity: O(live pages), and room on the disk for a second file meanwhile.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func compact(progress: ((SpaceProgress) throws -> Void)? = nil) throws -> Compaction {
    try compactFile(progress)
  }

  /// Makes the file as small as what it holds, without blocking the task's thread.
  ///
  /// A task that is cancelled before the exchange stops it, and nothing is changed.
  ///
  /// - Parameter progress: called after each piece that was written, on another thread; what it
  ///   throws stops the compaction.
  /// - Returns: the lengths of the file before and after.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func compact(
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws -> Compaction {
    try await SpaceWorker().run(progress) { try self.compactFile($0) }
  }

  private func compactFile(
    _ progress: ((SpaceProgress) throws -> Void)?
  ) throws -> Compaction {
    _ = try currentCatalog()
    var before = 0
    var after = 0
    try environment.replaceFile {
      try noteGivenIDs(in: $0)
    } announce: {
      try CatalogLoader(environment, StoreSchema()).raiseGeneration(in: $0)
    } fill: { path, descriptor, number in
      before = try environment.info().fileSize
      var copy = SpaceCopy(into: descriptor, path: self.path, progress)
      try copy.copy(environment)
      try copy.renumber(PageFile(path: path), above: number)
      after = copy.bytesDone
    }
    options.log?(
      LogMessage(.notice, .compacted, "The store was compacted.") {
        $0.path = path
        $0.detail = "\(before) to \(after) bytes"
      })
    return Compaction(bytesBefore: before, bytesAfter: after)
  }

  /// Notes the ids that this process or another one gave and that are stored nowhere: who has them
  /// has locks of the old file only. False when there is nothing to note.
  private func noteGivenIDs(in transaction: LMDBTransaction) throws -> Bool {
    let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
    var isChanged = false
    for collection in try storage.collections(in: transaction)
    where collection.idKind == .assigned {
      guard
        let records = try environment.openDatabase(
          CatalogStorage.recordsName(collection.id), in: transaction)
      else { continue }
      let known = Swift.max(
        try WriteContext.highestID(in: records, transaction),
        WriteContext.noted(try storage.highestDeletedID(collection.id, in: transaction)))
      let given = try environment.ids.highestOfAll(collection.id, above: known, in: environment)
      if given <= known { continue }
      try storage.setHighestDeletedID(given, of: collection.id, in: transaction)
      isChanged = true
    }
    return isChanged
  }
}
