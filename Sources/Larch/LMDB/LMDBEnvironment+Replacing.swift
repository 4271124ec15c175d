internal import CLMDB

internal import Foundation

/// The moments of an exchange of files between which a crash leaves something different behind.
package enum ReplacementStep: String, Sendable, CaseIterable {
  /// The writer is stopped, the new file is empty.
  case begun
  /// The new file is complete, and nothing says so yet.
  case copied
  /// The old file says that it was replaced: from here on everybody goes over.
  case announced
  /// The old lock file is gone.
  case unlocked
  /// The new file has the name.
  case exchanged
}

extension LMDBEnvironment {
  /// Puts another file in the place of this one, for everybody who has the store open.
  ///
  /// `prepare` may change the store before, and tells whether it did; it is asked until it did not.
  /// `fill` makes the new file; it may read the store, which nobody changes meanwhile, and gets the
  /// number above which the transactions of the new file must go on. `announce` changes the old
  /// file so that other processes look at it again. What they throw undoes everything.
  ///
  /// The commit of the announcement is what counts: before it the old file is the store, after it
  /// the new one is, and whoever comes next gives it the name, should this process die.
  func replaceFile(
    prepare: (LMDBTransaction) throws -> Bool = { _ in false },
    announce: (LMDBTransaction) throws -> Void,
    fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws {
    try checkWritable()
    mutex.lock()
    let isReading = isReading(ThreadIdentity.current)
    mutex.unlock()
    if isReading { throw ownReadError() }
    try withWriteLock {
      while try !attemptToReplace(prepare, announce, fill) { try grow() }
    }
  }

  /// One run; false when the map was full and nothing was changed.
  private func attemptToReplace(
    _ prepare: (LMDBTransaction) throws -> Bool,
    _ announce: (LMDBTransaction) throws -> Void,
    _ fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws -> Bool {
    var (attempt, isChanged) = try self.attempt(prepare)
    while isChanged {
      guard try attempt.commit(.durable) else { return false }
      // Somebody else may write between the two, and make it necessary to prepare again.
      (attempt, isChanged) = try self.attempt(prepare)
    }
    guard let file = try attempt.run({ try makeSuccessor(in: $0, announce, fill) }) else {
      return false
    }
    let descriptor = file.descriptor
    var isCommitting = false
    do {
      let isCommitted = try holdingReads { closing in
        isCommitting = true
        guard try attempt.commit(.durable) else { return false }
        isReplaced = true
        options.replacing?(.announced)
        // Nobody clears it away now, and who opens it waits for nobody.
        flock(descriptor, LOCK_UN)
        try closeAndOpenAgain(closing)
        return true
      }
      if isCommitted { return true }
    } catch {
      // After a commit that failed only the file knows whether the new one is needed.
      if !isCommitting {
        unlink(file.path)
        attempt.abort()
      }
      throw translated(error)
    }
    unlink(file.path)
    return false
  }

  /// Makes the new file, and writes into the old one that it was replaced; when that fails, there is no
  /// new file.
  private func makeSuccessor(
    in transaction: LMDBTransaction, _ announce: (LMDBTransaction) throws -> Void,
    _ fill: (_ path: String, _ descriptor: Int32, _ above: UInt64) throws -> Void
  ) throws -> SuccessorFile {
    let file = try SuccessorFile(for: path)
    do {
      options.replacing?(.begun)
      try fill(file.path, file.descriptor, transaction.id)
      try LMDBError.flush(file.descriptor, path: path)
      try StoreLocation(path).flushDirectory()
      guard let mark = ReplacementMark(ofFile: file.descriptor) else {
        throw LMDBError(EIO, "pread")
      }
      options.replacing?(.copied)
      try announce(transaction)
      try mark.write(in: transaction)
      return file
    } catch {
      unlink(file.path)
      throw error
    }
  }

  /// Goes over to the file that has taken the place of this one, with the write lock held.
  func follow() throws {
    isReplaced = true
    try holdingReads { try closeAndOpenAgain($0) }
    options.log?(
      LogMessage(
        .notice, .followed, "The file was exchanged by another process, and this one went along."
      ) { $0.path = path })
  }

  /// As `withStillMap`, with an error that says what is meant here.
  private func holdingReads<T>(_ body: (OpaquePointer) throws -> T) throws -> T {
    var hasBegun = false
    do {
      return try withStillMap(ending: .replaced) {
        hasBegun = true
        return try body($0)
      }
    } catch let error as LarchError where error.code == .mapFull && !hasBegun {
      throw LarchError(
        .busy, "The file of the store is exchanged, but a read stays open; end it, then retry.",
        underlying: error
      ) {
        $0.path = path
        $0.detail = error.context.detail
      }
    }
  }

  private func ownReadError() -> LarchError {
    LarchError(
      .busy, "The file cannot be exchanged inside a read of the store; end the read first."
    ) { $0.path = path }
  }

  /// Whether another file has taken the place of that of the snapshot.
  func isSuperseded(_ transaction: LMDBTransaction) throws(LMDBError) -> Bool {
    keepsMark ? false : try ReplacementMark.isThere(in: transaction)
  }

  // MARK: Opening

  /// What came of a file with a mark.
  enum Exchange {
    /// The path leads to the new file.
    case done
    /// There is no new file, or not the one that the mark means: the old one stays the store.
    case impossible
    /// The file system is read-only, or the folder is for this reader.
    case unwritable
  }

  /// Gives the new file the name of the old one, if nobody else has.
  func exchange(_ mark: ReplacementMark) throws(LMDBError) -> Exchange {
    guard let place = try PlaceLock(path, isExclusive: true) else {
      throw LMDBError(ENOENT, "open")
    }
    guard place.file == file else { return .done }
    let newPath = SuccessorFile.path(for: path)
    let new = Foundation.open(newPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard new >= 0 else {
      if errno == ENOENT { return .impossible }
      throw LMDBError(errno, "open")
    }
    defer { Foundation.close(new) }
    guard ReplacementMark(ofFile: new) == mark else { return .impossible }
    // The lock file of the old store means nothing for the new one. It goes first: a file with the
    // lock file of another one must not be there at any moment.
    guard unlink(path + "-lock") == 0 || errno == ENOENT else {
      let code = errno
      if options.isReadOnly, [EACCES, EPERM].contains(code) || code == EROFS { return .unwritable }
      throw LMDBError(code, "unlink")
    }
    options.replacing?(.unlocked)
    guard rename(newPath, path) == 0 else { throw LMDBError(errno, "rename") }
    do {
      try StoreLocation(path).flushDirectory()
    } catch {
      throw error as? LMDBError ?? LMDBError(EIO, "fsync")
    }
    options.replacing?(.exchanged)
    return .done
  }

  /// Takes away a mark that means no file, while nobody else can open the store.
  func removeMark(_ handle: OpaquePointer) throws(LMDBError) {
    var started: OpaquePointer?
    try LMDBError.check(mdb_txn_begin(handle, nil, 0, &started), "mdb_txn_begin")
    guard let started else { throw LMDBError(ENOMEM, "mdb_txn_begin") }
    let transaction = LMDBTransaction(pointer: started)
    do throws(LMDBError) {
      try ReplacementMark.remove(in: transaction)
    } catch {
      transaction.abort()
      throw error
    }
    try transaction.commit()
  }

  /// The mark in the newest snapshot.
  func mark(of handle: OpaquePointer) throws(LMDBError) -> ReplacementMark? {
    var started: OpaquePointer?
    try LMDBError.check(
      mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &started), "mdb_txn_begin")
    guard let started else { throw LMDBError(ENOMEM, "mdb_txn_begin") }
    let transaction = LMDBTransaction(pointer: started)
    // With it goes the handle of the database that the mark is in.
    defer { transaction.abort() }
    guard try ReplacementMark.isThere(in: transaction) else { return nil }
    return try ReplacementMark.read(in: transaction)
  }
}

extension StoreLocation {
  /// Brings the names in the directory to the disk.
  func flushDirectory() throws {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    defer { Foundation.close(descriptor) }
    if fsync(descriptor) != 0, errno != EINVAL { throw LMDBError(errno, "fsync") }
  }
}
