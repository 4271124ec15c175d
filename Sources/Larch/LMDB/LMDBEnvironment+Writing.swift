internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// Runs a body in a write transaction and commits it; a thrown error undoes everything.
  ///
  /// The body runs again from the start when the map was full: whatever it does outside the
  /// transaction must allow that.
  @discardableResult
  package func write<T>(
    durability: LMDBDurability? = nil, _ body: (LMDBTransaction) throws -> T
  ) throws -> T {
    try checkWritable()
    return try withTurn {
      if options.rehearsesWrites { try rehearse(body) }
      while true {
        if let result = try attempt(durability ?? options.durability, body) { return result }
        try grow(ThreadIdentity.current)
      }
    }
  }

  func checkWritable() throws {
    guard !options.isReadOnly else {
      throw LarchError(.readOnly, "The store was opened read-only; open it for writing.") {
        $0.path = path
      }
    }
  }

  /// A run that is undone, which shows whether the body can run more than once.
  private func rehearse<T>(_ body: (LMDBTransaction) throws -> T) throws {
    let transaction = try beginWrite()
    defer { transaction.abort() }
    do { _ = try body(transaction) } catch {
      if !attemptHitFullMap { throw translated(error) }
    }
  }

  /// One run of a write; nil when the map was full and nothing was changed.
  private func attempt<T>(
    _ durability: LMDBDurability, _ body: (LMDBTransaction) throws -> T
  ) throws -> T? {
    let transaction = try beginWrite()
    let value: T
    do {
      value = try body(transaction)
    } catch {
      transaction.abort()
      if attemptHitFullMap { return nil }
      throw translated(error)
    }
    if attemptHitFullMap {
      transaction.abort()
      return nil
    }
    return try commit(transaction, durability) ? value : nil
  }

  /// Commits what `beginWrite` began, with the turn held; false when the map was full and nothing
  /// was changed.
  func commit(_ transaction: LMDBTransaction, _ durability: LMDBDurability) throws -> Bool {
    let id = transaction.id
    attemptHitFullMap = false
    setDurability(durability)
    do {
      try transaction.commit()
    } catch {
      if attemptHitFullMap { return false }
      let failure = afterFailedCommit(error, id: id)
      options.log?(
        LogMessage(.error, .commitFailed, "A commit failed: the disk did not take it.") {
          $0.path = path
          // Of the store, so without data of records.
          $0.detail = "\(error)"
        })
      throw failure
    }
    ids.commit()
    afterCommit(id, durability)
    return true
  }

  /// LMDB looks at its flags when it commits; both may be changed while it is open.
  private func setDurability(_ durability: LMDBDurability) {
    guard durability != currentDurability, let handle else { return }
    mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), durability == .none ? 1 : 0)
    mdb_env_set_flags(handle, UInt32(MDB_NOMETASYNC), durability == .relaxed ? 1 : 0)
    currentDurability = durability
  }

  /// Begins a write with the turn held, in whatever state others have left the environment.
  func beginWrite() throws -> LMDBTransaction {
    attemptHitFullMap = false
    ids.begin()
    let thread = ThreadIdentity.current
    var isRecovered = false
    while true {
      mutex.lock()
      let isClosed = blockers.contains(.closed)
      let current = blockers.contains(.poisoned) ? nil : handle
      mutex.unlock()
      if isClosed { throw closedError() }
      guard let current else {
        try reopen(thread)
        continue
      }
      keepHouse(beforeWrite: current)
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(current, nil, 0, &transaction)
      if code == MDB_SUCCESS, let transaction {
        let begun = LMDBTransaction(pointer: transaction)
        do {
          if try !isSuperseded(begun) { return begun }
        } catch {
          begun.abort()
          throw translated(error)
        }
        // Nobody may write to a file that another one has taken the place of.
        begun.abort()
        try follow(thread)
        continue
      }
      switch code {
      case MDB_MAP_RESIZED:
        try adoptMapSizeInTurn(thread)
      case MDB_PANIC where !isRecovered:
        isRecovered = true
        try reopen(thread)
      default:
        throw translated(LMDBError(code, "mdb_txn_begin"))
      }
    }
  }

  private func afterCommit(_ id: UInt64, _ durability: LMDBDurability) {
    guard let handle else { return }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    // LMDB keeps its number, and writes nothing, when nothing was changed.
    if UInt64(info.me_last_txnid) < id { return }
    #if canImport(Darwin)
      // LMDB's own flush leaves the data in the cache of the drive there.
      if durability == .durable {
        var descriptor: Int32 = -1
        mdb_env_get_fd(handle, &descriptor)
        _ = fcntl(descriptor, F_FULLFSYNC)
      }
    #endif
    let page = Int(info.me_last_pgno)
    keepHouse(afterCommit: handle, lastPage: page)
    watchReads(lastPage: page)
  }

  /// Sees whether a failed commit has made LMDB give the environment up, and opens it anew then.
  private func afterFailedCommit(_ error: LMDBError, id: UInt64) -> any Error {
    let failure = translated(error)
    guard let current = handle else { return failure }
    var probe: OpaquePointer?
    let code = mdb_txn_begin(current, nil, 0, &probe)
    if code == MDB_SUCCESS, let probe { mdb_txn_abort(probe) }
    guard code == MDB_PANIC else { return failure }
    let newest: UInt64
    do {
      try reopen(ThreadIdentity.current)
      newest = try newestSnapshot()
    } catch {
      // Later operations try again; nobody knows before that what is in the file.
      return LarchError(
        .ioFailure, "The disk failed at the end of the commit; read whether the change is there.",
        underlying: failure
      ) { $0.path = path }
    }
    guard newest >= id else { return failure }
    return LarchError(
      .ioFailure, "The commit reached the file, but the disk failed; do not repeat the write.",
      underlying: error
    ) { $0.path = path }
  }

  /// The number of the snapshot that a read would see. The header of the file may have a greater
  /// one: where other processes have the file open, they go on without a commit that failed.
  private func newestSnapshot() throws -> UInt64 {
    // The turn is held, and no write of it is open any more.
    try lendingTurn { try openDatabases { $0.id } }
  }

  /// Runs a body that opens databases, in a transaction that keeps their handles: those of a read
  /// would be closed at its end. Works on read-only stores too.
  func openDatabases<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    try withTurn {
      let thread = ThreadIdentity.current
      var isRecovered = false
      while true {
        do {
          return try withHandle { try openingRead($0, body) }
        } catch is Superseded {
          try follow(thread)
        } catch let failure as OpeningFailure {
          switch failure.code {
          case MDB_MAP_RESIZED:
            try adoptMapSizeInTurn(thread)
          case MDB_PANIC where !isRecovered:
            isRecovered = true
            try reopen(thread)
          default:
            throw translated(LMDBError(failure.code, "mdb_txn_begin"))
          }
        }
      }
    }
  }

  /// A transaction for opening could not begin.
  private struct OpeningFailure: Error { let code: Int32 }

  /// Another file has taken the place of this one.
  private struct Superseded: Error {}

  private func openingRead<T>(
    _ handle: OpaquePointer, _ body: (LMDBTransaction) throws -> T
  ) throws -> T {
    var transaction = try beginOpening(handle)
    if missesCommit(transaction, handle) {
      transaction.abort()
      try settleLastCommit(handle)
      transaction = try beginOpening(handle)
    }
    let value: T
    do {
      if try isSuperseded(transaction) { throw Superseded() }
      value = try body(transaction)
    } catch {
      transaction.abort()
      throw translated(error)
    }
    do { try transaction.commit() } catch { throw translated(error) }
    return value
  }

  private func beginOpening(_ handle: OpaquePointer) throws(OpeningFailure) -> LMDBTransaction {
    var started: OpaquePointer?
    var code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &started)
    if code == MDB_READERS_FULL {
      clearStaleReaders(handle)
      // A write needs no slot, and the turn is held: a store can always be opened. One that is
      // opened read-only cannot write, and has the slots of the dead.
      let flags = options.isReadOnly ? UInt32(MDB_RDONLY) : 0
      code = mdb_txn_begin(handle, nil, flags, &started)
    }
    guard code == MDB_SUCCESS, let started else { throw OpeningFailure(code: code) }
    return LMDBTransaction(pointer: started)
  }

  /// Whether a commit is in the file that a read does not see yet.
  ///
  /// The last writer wrote the header and then tells readers in the lock file. One that is killed
  /// between the two leaves readers at the state before, until somebody writes. Most die while the
  /// header is flushed, since nothing takes longer.
  private func missesCommit(_ transaction: LMDBTransaction, _ handle: OpaquePointer) -> Bool {
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    return transaction.id < UInt64(info.me_last_txnid)
  }

  /// Lets a commit whose writer died be seen before the store is read for the first time. A program
  /// that goes on after a kill would read the old state, and write on top of the new one.
  ///
  /// LMDB does it when it takes the lock of the writer from a dead process.
  private func settleLastCommit(_ handle: OpaquePointer) throws(OpeningFailure) {
    if options.isReadOnly { return }
    var started: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, 0, &started)
    guard code == MDB_SUCCESS, let started else { throw OpeningFailure(code: code) }
    mdb_txn_abort(started)
  }

  /// Opens a database by name; nil when it is absent and not to be created.
  func openDatabase(
    _ name: String, _ flags: LMDBDatabase.Flags = [], in transaction: LMDBTransaction
  ) throws(LMDBError) -> LMDBDatabase? {
    try LMDBDatabase.open(name, flags, in: transaction)
  }
}
