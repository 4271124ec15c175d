internal import CLMDB

extension LMDBEnvironment {
  /// Runs a body that opens databases, in a transaction that keeps their handles: a read would
  /// close them at its end. Works on read-only stores too.
  func openDatabases<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    try withWriteLock {
      var isRecovered = false
      while true {
        do {
          return try withHandle { try openingRead($0, body) }
        } catch is Superseded {
          try follow()
        } catch let failure as OpeningFailure {
          switch failure.code {
          case MDB_MAP_RESIZED:
            try adoptMapSizeWithWriteLock()
          case MDB_PANIC where !isRecovered:
            isRecovered = true
            try reopen()
          default:
            throw translated(LMDBError(failure.code, "mdb_txn_begin"))
          }
        }
      }
    }
  }

  /// A transaction for opening could not begin.
  private struct OpeningFailure: Error { let code: Int32 }

  /// Another file has replaced this one.
  private struct Superseded: Error {}

  private func openingRead<T>(
    _ handle: OpaquePointer, _ body: (LMDBTransaction) throws -> T
  ) throws -> T {
    var transaction = try beginOpening(handle)
    if missesCommit(transaction, handle) {
      transaction.abort()
      try publishLastCommit(handle)
      transaction = try beginOpening(handle)
    }
    let value: T
    do {
      if try exchange.isSuperseded(transaction) { throw Superseded() }
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
      // A write needs no slot, and the write lock is held, so a store can always be opened. A
      // read-only store cannot write; it can use the slots of dead processes.
      let flags = options.isReadOnly ? UInt32(MDB_RDONLY) : 0
      code = mdb_txn_begin(handle, nil, flags, &started)
    }
    guard code == MDB_SUCCESS, let started else { throw OpeningFailure(code: code) }
    return LMDBTransaction(pointer: started)
  }

  /// Whether the file has a commit that a read does not see yet.
  ///
  /// A writer writes the header and then publishes the commit to readers in the lock file. If it is
  /// killed between the two, readers see the old state until the next write. Most kills hit this
  /// moment, because flushing the header takes the longest.
  private func missesCommit(_ transaction: LMDBTransaction, _ handle: OpaquePointer) -> Bool {
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    return transaction.id < UInt64(info.me_last_txnid)
  }

  /// Publishes a commit whose writer died, before the store is read for the first time. A program
  /// that restarts after a kill would otherwise read the old state and write over the new one.
  ///
  /// LMDB does this when it takes the writer's lock from a dead process.
  private func publishLastCommit(_ handle: OpaquePointer) throws(OpeningFailure) {
    if options.isReadOnly { return }
    var started: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, 0, &started)
    guard code == MDB_SUCCESS, let started else { throw OpeningFailure(code: code) }
    mdb_txn_abort(started)
  }

  /// Opens a database by name; nil if it does not exist and must not be created.
  func openDatabase(
    _ name: String, _ flags: LMDBDatabase.Flags = [], in transaction: LMDBTransaction
  ) throws(LMDBError) -> LMDBDatabase? {
    try LMDBDatabase.open(name, flags, in: transaction)
  }
}
