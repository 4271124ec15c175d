internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// Runs a body in a write transaction and commits it; a thrown error undoes everything.
  ///
  /// The body runs again from the start when the map was full: whatever it does outside the
  /// transaction must allow that.
  @discardableResult
  func write<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    guard !options.isReadOnly else {
      throw LarchError(.readOnly, "The store was opened read-only; open it for writing.") {
        $0.path = path
      }
    }
    return try withTurn {
      if options.rehearsesWrites { try rehearse(body) }
      while true {
        if let result = try attempt(body) { return result }
        try grow(ThreadIdentity.current)
      }
    }
  }

  /// A run that is undone, which shows whether the body can run more than once.
  private func rehearse<T>(_ body: (LMDBTransaction) throws -> T) throws {
    let transaction = try beginWrite()
    defer { transaction.abort() }
    attemptHitFullMap = false
    do { _ = try body(transaction) } catch {
      if !attemptHitFullMap { throw translated(error) }
    }
  }

  /// One run of a write; nil when the map was full and nothing was changed.
  private func attempt<T>(_ body: (LMDBTransaction) throws -> T) throws -> T? {
    let transaction = try beginWrite()
    attemptHitFullMap = false
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
    let id = transaction.id
    do {
      try transaction.commit()
    } catch {
      if attemptHitFullMap { return nil }
      throw afterFailedCommit(error, id: id)
    }
    afterCommit()
    return value
  }

  /// Begins a write with the turn held, in whatever state others have left the environment.
  private func beginWrite() throws -> LMDBTransaction {
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
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(current, nil, 0, &transaction)
      if code == MDB_SUCCESS, let transaction { return LMDBTransaction(pointer: transaction) }
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

  private func afterCommit() {
    guard let handle else { return }
    #if canImport(Darwin)
      // LMDB's own flush leaves the data in the cache of the drive there.
      if options.durability == .durable {
        var descriptor: Int32 = -1
        mdb_env_get_fd(handle, &descriptor)
        _ = fcntl(descriptor, F_FULLFSYNC)
      }
    #endif
    // A reader that died pins every page freed since. LMDB looks for one only when it must.
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    let page = Int(info.me_last_pgno)
    if page > lastCheckedPage &+ lastCheckedPage / 10 &+ 32 {
      lastCheckedPage = page
      var dead: Int32 = 0
      mdb_reader_check(handle, &dead)
    }
  }

  /// Sees whether a failed commit has made LMDB give the environment up, and opens it anew then.
  private func afterFailedCommit(_ error: LMDBError, id: UInt64) -> any Error {
    let failure = translated(error)
    guard let current = handle else { return failure }
    var probe: OpaquePointer?
    let code = mdb_txn_begin(current, nil, 0, &probe)
    if code == MDB_SUCCESS, let probe { mdb_txn_abort(probe) }
    guard code == MDB_PANIC else { return failure }
    do {
      try reopen(ThreadIdentity.current)
    } catch {
      // Later operations try again; this one has its own failure to tell.
      return failure
    }
    guard lastTransactionID() >= id else { return failure }
    return LarchError(
      .ioFailure, "The commit reached the file, but the disk failed; do not repeat the write.",
      underlying: error
    ) { $0.path = path }
  }

  private func lastTransactionID() -> UInt64 {
    guard let handle else { return 0 }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    return UInt64(info.me_last_txnid)
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

  private func openingRead<T>(
    _ handle: OpaquePointer, _ body: (LMDBTransaction) throws -> T
  ) throws -> T {
    var started: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &started)
    guard code == MDB_SUCCESS, let started else { throw OpeningFailure(code: code) }
    let transaction = LMDBTransaction(pointer: started)
    let value: T
    do {
      value = try body(transaction)
    } catch {
      transaction.abort()
      throw translated(error)
    }
    do { try transaction.commit() } catch { throw translated(error) }
    return value
  }

  /// Opens a database by name; nil when it is absent and not to be created.
  func openDatabase(
    _ name: String, _ flags: LMDBDatabase.Flags = [], in transaction: LMDBTransaction
  ) throws(LMDBError) -> LMDBDatabase? {
    try LMDBDatabase.open(name, flags, in: transaction)
  }
}
