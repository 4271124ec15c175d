internal import CLMDB

extension LMDBEnvironment {
  /// Handles were opened before the environment was opened again, and are void.
  struct HandlesVoid: Error {}

  /// Throws when handles that were opened in another generation would be used. Inside of a
  /// transaction the answer stays true until its end.
  func checkGeneration(_ expected: Int) throws {
    if generation != expected { throw HandlesVoid() }
  }

  /// Runs a body that opens handles and then uses them in transactions of its own, in which it
  /// calls `check` first; again, when the environment was opened again in between.
  package func withSteadyHandles<T>(_ body: (_ check: () throws -> Void) throws -> T) throws -> T {
    while true {
      let generation = self.generation
      do { return try body { try checkGeneration(generation) } } catch is HandlesVoid { continue }
    }
  }

  /// Opens an environment again that LMDB has given up, from a thread that wants to read.
  ///
  /// The stopped one is known by its generation: a new one may well lie at the same address.
  func recover(poisoning stopped: Int? = nil) throws {
    if let stopped { readers.poison(ifStill: stopped) }
    // The write of this thread still uses the old handle.
    if isWriting { throw translated(LMDBError(MDB_PANIC, "mdb_txn_begin")) }
    try withWriteLock {
      if case .unusable = readers.state { try reopen() }
    }
  }

  /// Closes the LMDB environment and opens it again, with the write lock held and no write open.
  ///
  /// After a failed write of the header LMDB answers every call with MDB_PANIC until then. All
  /// readers and database handles are void afterwards: the generation rises.
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

  /// Closes the LMDB environment and opens what is at the path, while no read is open.
  func closeAndOpenAgain(_ closing: OpaquePointer) throws {
    readers.removeHandle()
    Self.close(closing)
    try openAgain()
  }

  private func openAgain() throws {
    var opened: OpenedHandle?
    while opened == nil {
      do {
        opened = try openHandle(sizes: map.toReserveAgain)
      } catch is FileReplaced {
        // Only where the old file has said so is the one that is there now the same store.
        guard exchange.isReplaced, let new = try StoreLocation(path).existingFile(), new != file
        else {
          throw LarchError(
            .unsuitableFile, "The file was removed or replaced while the store was open; close it."
          ) { $0.path = path }
        }
        try LMDBRegistry.shared.move(self, to: new)
      }
    }
    guard let opened else { throw LarchError.closed(path) }
    let wasReplaced = exchange.isReplaced
    exchange.isReplaced = false
    adopt(opened)
    readers.adoptAgain(opened.handle)
    if wasReplaced { return }
    options.log?(
      LogMessage(.warning, .recovered, "The file was opened again after a disk failure.") {
        $0.path = path
      })
  }
}
