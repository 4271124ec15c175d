internal import CLMDB

extension LMDBEnvironment {
  /// The handles were opened before the environment was reopened, so they are invalid.
  struct HandlesVoid: Error {}

  /// Throws if the handles belong to another generation. Inside a transaction the answer stays
  /// valid until its end.
  func checkGeneration(_ expected: Int) throws {
    if generation != expected { throw HandlesVoid() }
  }

  /// Runs a body that opens handles and then uses them in its own transactions, in which it must
  /// first call `check`. The body runs again if the environment was reopened meanwhile.
  package func withSteadyHandles<T>(_ body: (_ check: () throws -> Void) throws -> T) throws -> T {
    while true {
      let generation = self.generation
      do { return try body { try checkGeneration(generation) } } catch is HandlesVoid { continue }
    }
  }

  /// Reopens an environment that LMDB has stopped, from a thread that wants to read.
  ///
  /// The stopped one is identified by its generation: a new one may have the same address.
  func recover(poisoning stopped: Int? = nil) throws {
    if let stopped { readers.poison(ifStill: stopped) }
    // The write of this thread still uses the old handle.
    if isWriting { throw translated(LMDBError(MDB_PANIC, "mdb_txn_begin")) }
    try withWriteLock {
      if case .unusable = readers.state { try reopen() }
    }
  }

  /// Closes and reopens the LMDB environment, with the write lock held and no write open.
  ///
  /// After a failed write of the header, LMDB returns MDB_PANIC for every call until then. All
  /// readers and database handles are invalid afterwards: the generation rises.
  func reopen() throws {
    if case .closed = readers.state { throw LarchError.closed(path) }
    readers.poison()
    guard handle != nil else { return try openAgain() }
    do {
      try withoutReads(ending: .reopened) { try closeAndOpenAgain($0) }
    } catch let error as LarchError where error.code == .mapFull {
      throw LarchError(
        .ioFailure,
        "A disk failure stopped the store, and an open read prevents its recovery; end the read.",
        underlying: error
      ) { $0.path = path }
    }
  }

  /// Closes the LMDB environment and opens the file at the path, while no read is open.
  func closeAndOpenAgain(_ closing: OpaquePointer) throws {
    readers.removeHandle()
    closeHandle(closing)
    try openAgain()
  }

  private func openAgain() throws {
    var opened: OpenedHandle?
    while opened == nil {
      do {
        opened = try openHandle(sizes: map.sizesForReopening)
      } catch is FileReplaced {
        // Only if the old file said so is the file that is now there the same store.
        guard fileSwap.isReplaced, let new = try StoreLocation(path).existingFile(), new != file
        else {
          throw LarchError(
            .unsuitableFile, "The file was removed or replaced while the store was open; close it."
          ) { $0.path = path }
        }
        try LMDBRegistry.shared.move(self, to: new)
      }
    }
    guard let opened else { throw LarchError.closed(path) }
    let wasReplaced = fileSwap.isReplaced
    fileSwap.isReplaced = false
    try adopt(opened)
    readers.adoptReopened(opened.handle)
    changes.publishReset()
    if options.isExcludedFromBackup, let message = BackupExclusion.mark(path) {
      log(once: LogSubject(message.event, path)) { message }
    }
    if wasReplaced { return }
    options.log?(
      LogMessage(.warning, .recovered, "The file was opened again after a disk failure.") {
        $0.path = path
      })
  }
}
