internal import Foundation

extension Store {
  /// The effect of a compaction on the length of the file.
  public struct Compaction: Sendable, Hashable {
    /// The length before, in bytes.
    public let bytesBefore: Int
    /// The length after, in bytes.
    public let bytesAfter: Int
  }

  /// Shrinks the file to the size of its data: copies it without its free space, and replaces it by
  /// the copy. Pages that writes in random order left half empty become full, if that makes the copy
  /// a tenth smaller.
  ///
  /// It is rarely needed, because free space is reused. Use it for a file that was once much larger
  /// and will not be again. While it runs, writes wait, and reads do not, except for the moment of
  /// the replacement, which waits for the open reads of this process. Other processes and stores
  /// that have the file open switch to the new one with their next transaction; the space of the
  /// old file is freed when the last one has switched.
  ///
  /// A crash leaves the store as before or as after, with nothing lost.
  ///
  /// - Parameter progress: called after each piece that was written, and not while pages are filled before; an error
  ///   stops the compaction, and nothing is changed.
  /// - Returns: the lengths of the file before and after.
  /// - Throws: `.busy` if a read of this process stays open, and at once for a read of this thread;
  ///   `.nestedWrite` inside a write of the store; `.readOnly`, `.diskFull`, `.accessDenied`,
  ///   `.ioFailure`, `.closed`; what `progress` throws.
  /// - Complexity: O(entries), and room on the disk for a second file meanwhile, and for a third one
  ///   if pages are filled; without that room they stay as they are.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func compact(progress: ((SpaceProgress) throws -> Void)? = nil) throws -> Compaction {
    try compactFile(progress) {}
  }

  /// Shrinks the file to the size of its data, without blocking the task's thread.
  ///
  /// Cancelling the task before the replacement stops it, also while pages are filled, and nothing is changed.
  ///
  /// - Parameter progress: called after each piece that was written, on another thread; an error
  ///   stops the compaction.
  /// - Returns: the lengths of the file before and after.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  @discardableResult
  public nonisolated(nonsending) func compact(
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws -> Compaction {
    try await SpaceWorker().run(progress) { report in
      try self.compactFile(report) { try Task.checkCancellation() }
    }
  }

  private func compactFile(
    _ progress: ((SpaceProgress) throws -> Void)?, tick: () throws -> Void
  ) throws -> Compaction {
    _ = try currentCatalog()
    var before = 0
    var after = 0
    try environment.replaceFile(replacesFollower: true) {
      try noteAssignedIDs(in: $0)
    } announce: {
      try CatalogLoader(environment, StoreSchema()).raiseGeneration(in: $0)
    } fill: { path, descriptor, number in
      before = try environment.info().fileSize
      var copy = SpaceCopy(into: descriptor, path: self.path, progress)
      try copy.copyPacked(environment, tick: tick)
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

  /// Notes the ids that this process or another one assigned and that are stored nowhere: their
  /// locks are on the old file only. False if there is nothing to note.
  private func noteAssignedIDs(in transaction: LMDBTransaction) throws -> Bool {
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
