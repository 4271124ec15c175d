internal import CLMDB

extension LMDBEnvironment {
  /// Handles were opened before the environment was opened anew, and are void.
  struct HandlesVoid: Error {}

  /// Throws when handles that were opened in another generation would be used. Inside of a
  /// transaction the answer stays true until its end.
  func checkGeneration(_ expected: Int) throws {
    if generation != expected { throw HandlesVoid() }
  }

  /// Runs a body that opens handles and then uses them in transactions of its own, in which it
  /// calls `check` first; again, when the environment was opened anew in between.
  package func withSteadyHandles<T>(_ body: (_ check: () throws -> Void) throws -> T) throws -> T {
    while true {
      let generation = self.generation
      do { return try body { try checkGeneration(generation) } } catch is HandlesVoid { continue }
    }
  }

  /// Opens an environment anew that LMDB has given up, from a thread that wants to read.
  ///
  /// The stopped one is told by its generation: a new one may well lie at the same address.
  func recover(_ thread: UInt, poisoning stopped: Int? = nil) throws {
    mutex.lock()
    if stopped == generation { blockers.insert(.poisoned) }
    let isOwnWrite = writingThread == thread
    mutex.unlock()
    // The write of this thread still uses the old handle.
    if isOwnWrite { throw translated(LMDBError(MDB_PANIC, "mdb_txn_begin")) }
    try withTurn {
      mutex.lock()
      let isNeeded = blockers.contains(.poisoned) || handle == nil
      mutex.unlock()
      if isNeeded { try reopen(thread) }
    }
  }

  /// Closes the LMDB environment and opens it anew, with the turn held and no write open.
  ///
  /// After a failed write of the header LMDB answers every call with MDB_PANIC until then. All
  /// readers and database handles are void afterwards, which the generation tells.
  func reopen(_ thread: UInt) throws {
    mutex.lock()
    if blockers.contains(.closed) {
      mutex.unlock()
      throw closedError()
    }
    blockers.insert(.poisoned)
    let isOpen = handle != nil
    mutex.unlock()
    if isOpen {
      do {
        try withStillMap(thread, ending: .reopened) { try closeAndOpenAnew($0) }
      } catch let error as LarchError where error.code == .mapFull {
        throw LarchError(
          .ioFailure,
          "A disk failure stopped the store, and an open read keeps it from going on; end it.",
          underlying: error
        ) { $0.path = path }
      }
    } else {
      try openAnew()
    }
  }

  /// Closes the LMDB environment and opens what is at the path, while no read is open.
  func closeAndOpenAnew(_ closing: OpaquePointer) throws {
    mutex.lock()
    blockers.insert(.poisoned)
    let released = readers
    readers = []
    parkedReaders = []
    handle = nil
    mutex.unlock()
    for reader in released { reader.transaction.abort() }
    Self.close(closing)
    try openAnew()
  }

  private func openAnew() throws {
    var opened: OpenedHandle?
    while opened == nil {
      do {
        // The old size first: what is stored needs it.
        opened = try openHandle(sizes: [mapSize] + Self.mapSizes(nil).filter { $0 < mapSize })
      } catch is FileReplaced {
        // Only where the old file has said so is the one that is there now the same store.
        guard isReplaced, let new = try StoreLocation(path).existingFile(), new != file else {
          throw LarchError(
            .unsuitableFile, "The file was removed or replaced while the store was open; close it."
          ) { $0.path = path }
        }
        try LMDBRegistry.shared.move(self, to: new)
      }
    }
    guard let opened else { throw closedError() }
    let wasReplaced = isReplaced
    isReplaced = false
    mutex.lock()
    adopt(opened)
    raiseGeneration()
    blockers.remove(.poisoned)
    readsChanged.broadcast()
    mutex.unlock()
    if wasReplaced { return }
    options.log?(
      LogMessage(.warning, .recovered, "The file was opened anew after a failure of the disk.") {
        $0.path = path
      })
  }
}
