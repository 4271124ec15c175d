internal import CLMDB

/// Looks how many pages a commit has replaced. LMDB keeps a list of them under its number.
final class FreedPages {
  private let transaction: OpaquePointer
  private let cursor: OpaquePointer

  /// Takes a slot, and keeps it.
  init(_ handle: OpaquePointer) throws(LMDBError) {
    let reader = try LMDBTransaction.begin(handle, MDB_RDONLY)
    var opened: OpaquePointer?
    // LMDB's own database of free pages, which only a read may use.
    let code = mdb_cursor_open(reader.pointer, 0, &opened)
    guard code == MDB_SUCCESS, let opened else {
      reader.abort()
      throw LMDBError(code, "mdb_cursor_open")
    }
    transaction = reader.pointer
    cursor = opened
    mdb_txn_reset(transaction)
  }

  /// The number of pages, and the last page of the file.
  func count(of commit: UInt64) throws(LMDBError) -> (freed: Int, lastPage: Int) {
    try LMDBError.check(mdb_txn_renew(transaction), "mdb_txn_renew")
    defer { mdb_txn_reset(transaction) }
    try LMDBError.check(mdb_cursor_renew(transaction, cursor), "mdb_cursor_renew")
    var info = MDB_envinfo()
    mdb_env_info(mdb_txn_env(transaction), &info)
    let lastPage = Int(info.me_last_pgno)
    var number = UInt(commit)
    return try withUnsafeBytes(of: &number) { bytes throws(LMDBError) in
      var (key, value) = (MDB_val(bytes), MDB_val())
      let code = mdb_cursor_get(cursor, &key, &value, MDB_SET)
      if code == MDB_NOTFOUND { return (0, lastPage) }
      try LMDBError.check(code, "mdb_cursor_get")
      guard value.mv_size >= MemoryLayout<UInt>.size else { return (0, lastPage) }
      return (Int(clamping: value.bytes.loadUnaligned(as: UInt.self)), lastPage)
    }
  }

  /// Gives the slot back.
  func close() {
    mdb_cursor_close(cursor)
    mdb_txn_abort(transaction)
  }
}
