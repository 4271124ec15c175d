internal import CLMDB

extension LMDBEnvironment {
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
        try withStillMap(thread) { closing in
          mutex.lock()
          let released = readers
          readers = []
          parkedReaders = []
          handle = nil
          mutex.unlock()
          for reader in released { reader.transaction.abort() }
          mdb_env_close(closing)
          try openAnew()
        }
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

  private func openAnew() throws {
    let opened: OpenedHandle
    do {
      // The old size first: what is stored needs it.
      opened = try openHandle(sizes: [mapSize] + Self.mapSizes(nil).filter { $0 < mapSize })
    } catch is FileReplaced {
      throw LarchError(
        .unsuitableFile, "The file was removed or replaced while the store was open; close it."
      ) { $0.path = path }
    }
    mutex.lock()
    adopt(opened)
    raiseGeneration()
    blockers.remove(.poisoned)
    readsChanged.broadcast()
    mutex.unlock()
  }
}
