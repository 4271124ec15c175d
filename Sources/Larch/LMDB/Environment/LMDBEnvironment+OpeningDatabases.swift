internal import CLMDB

extension LMDBEnvironment {
  /// Runs a body that opens databases, in a transaction that keeps their handles: those of a read
  /// would be closed at its end. Works on read-only stores too.
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
      // A write needs no slot, and the write lock is held: a store can always be opened. One that is
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
