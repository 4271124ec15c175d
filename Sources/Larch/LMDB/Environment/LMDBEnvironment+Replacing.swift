internal import CLMDB

internal import Foundation

/// The steps of a replacement of the file, which differ in what a crash leaves.
package enum ReplacementStep: String, Sendable, CaseIterable {
  /// The writer is stopped, and the new file is empty.
  case begun
  /// The new file is complete, but not announced.
  case copied
  /// The old file says that it was replaced: from here on everybody switches to the new one.
  case announced
  /// The old lock file is gone.
  case unlocked
  /// The new file has the name.
  case swapped
}

extension LMDBEnvironment {
  /// Replaces this file by another one, for everybody who has the store open.
  ///
  /// `prepare` may change the store before, and returns whether it did; it is called until it did
  /// not. `fill` writes the new file. It may read the store, which nobody changes meanwhile, and
  /// gets the transaction number above which the new file must continue. `announce` changes the old
  /// file so that other processes check it again. An error in any of them undoes everything.
  ///
  /// The commit of the announcement decides: before it, the old file is the store; after it, the
  /// new one is. If this process dies, the next process that opens the store renames the new file.
  ///
  /// - Parameter replacesFollower: whether a store that follows another one may be replaced.
  func replaceFile(
    replacesFollower: Bool = false,
    prepare: (LMDBTransaction) throws -> Bool = { _ in false },
    announce: (LMDBTransaction) throws -> Void,
    fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws {
    try checkWritable()
    if readers.isReading(ThreadIdentity.current) { throw ownReadError() }
    try withWriteLock {
      try checkNotShared()
      let purpose = outbox.purpose
      defer { outbox.purpose = purpose }
      var (isFollower, isDamaged) = (false, false)
      do {
        // What a follower has is all from the other store.
        let role = try outboxHeader()?.role
        isFollower = replacesFollower && (role == .follower || role == .shared)
      } catch let error as LarchError where error.code == .corrupted {
        // It prevents every other write, and a new file may be the cure.
        isDamaged = true
      }
      while true {
        outbox.purpose = isFollower || isDamaged ? .upkeep : purpose
        if try attemptToReplace(
          isFollower ? { _ in false } : prepare, announce, fill)
        {
          return
        }
        try makeWay()
      }
    }
  }

  /// One attempt; false if the map was full and nothing was changed.
  private func attemptToReplace(
    _ prepare: (LMDBTransaction) throws -> Bool,
    _ announce: (LMDBTransaction) throws -> Void,
    _ fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws -> Bool {
    var (attempt, isChanged) = try self.attempt(prepare)
    while isChanged {
      guard try attempt.commit(.durable) else { return false }
      // Another process may write between the two, so that `prepare` must run again.
      (attempt, isChanged) = try self.attempt(prepare)
    }
    // The new file takes over the outbox as it is now. What comes here is for this file alone.
    outbox.purpose = .upkeep
    // The new file has pages of its own.
    pagesWait = false
    guard let file = try attempt.run({ try makeSuccessor(in: $0, announce, fill) }) else {
      return false
    }
    let id = attempt.transaction.id
    var isCommitting = false
    do {
      let isCommitted = try holdingReads { closing in
        isCommitting = true
        guard try attempt.commit(.durable) else { return false }
        fileSwap.isReplaced = true
        fileSwap.report?(.announced)
        // Nobody removes it now, and whoever opens it must not wait.
        flock(file.descriptor, LOCK_UN)
        try closeAndOpenAgain(closing)
        return true
      }
      if isCommitted { return true }
    } catch {
      if !isCommitting {
        unlink(file.path)
        attempt.abort()
      } else if commitLog?.hasFailed != true, let newest = newestHeader, newest < id {
        // Only the file shows whether a commit that failed is there; this one is not, so nobody needs the new file.
        unlink(file.path)
      }
      throw translated(error)
    }
    unlink(file.path)
    return false
  }

  /// Writes the new file, and the mark into the old one; if that fails, there is no new file.
  private func makeSuccessor(
    in transaction: LMDBTransaction, _ announce: (LMDBTransaction) throws -> Void,
    _ fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws -> SuccessorFile {
    let file = try SuccessorFile(for: path)
    do {
      fileSwap.report?(.begun)
      try fill(file.path, file.descriptor, transaction.id)
      try LMDBError.flush(file.descriptor, path: path)
      try StoreLocation(path).flushDirectory()
      guard let mark = ReplacementMark(ofFile: file.descriptor) else {
        throw LMDBError(EIO, "pread")
      }
      fileSwap.report?(.copied)
      try announce(transaction)
      try mark.write(in: transaction)
      return file
    } catch {
      unlink(file.path)
      throw error
    }
  }

  /// Whether another process has replaced the file that a read is of: its last commit says so. For who reads
  /// pages or the outbox, and not the catalog, whose generation tells it to all other reads.
  func isReplaced(in reader: LMDBReader) -> Bool {
    (try? TreeRoots.root(of: ReplacementMark.databaseName, in: reader.transaction)) != nil
  }

  /// The newest transaction of the file. If another process has replaced it, the store goes on with the other one.
  ///
  /// - Parameter last: what this returned before. Without a commit since, there is nothing to look for: a file may keep
  ///   the mark of a replacement that could not be completed.
  func newestTransaction(after last: UInt64?) throws -> (id: UInt64, isReplaced: Bool) {
    func look() throws -> (id: UInt64, isReplaced: Bool) {
      let reader = try beginRead(at: CodePlace())
      defer { endRead(reader) }
      let id = reader.transaction.id
      return (id, id != last && isReplaced(in: reader))
    }
    let first = try look()
    guard first.isReplaced else { return first }
    try followReplacement()
    return (try look().id, true)
  }

  /// Switches to the file that has replaced this one: whoever opens databases finds out.
  func followReplacement() throws { try openDatabases { _ in } }

  /// Switches to the file that has replaced this one, with the write lock held.
  func follow() throws {
    fileSwap.isReplaced = true
    try holdingReads { try closeAndOpenAgain($0) }
    options.log?(
      LogMessage(
        .notice, .followed, "Another process replaced the file; the store uses the new one."
      ) { $0.path = path })
  }

  /// Like `withoutReads`, with an error that fits here.
  private func holdingReads<T>(_ body: (OpaquePointer) throws -> T) throws -> T {
    var hasBegun = false
    do {
      return try withoutReads(ending: .replaced) {
        hasBegun = true
        return try body($0)
      }
    } catch let error as LarchError where error.code == .mapFull && !hasBegun {
      throw LarchError(
        .busy, "The file cannot be replaced while a read is open; end the read, then retry.",
        underlying: error
      ) {
        $0.path = path
        $0.detail = error.context.detail
      }
    }
  }

  private func ownReadError() -> LarchError {
    LarchError(
      .busy, "The file cannot be replaced inside a read of the store; end the read first."
    ) { $0.path = path }
  }
}
