internal import CLMDB
internal import Foundation

/// What went wrong in a call of LMDB.
struct RawError: Error, CustomStringConvertible {
  let code: Int32
  let line: Int
  var description: String { "LMDB \(code) at line \(line)" }
}

func check(_ code: Int32, line: Int = #line) throws {
  guard code == 0 else { throw RawError(code: code, line: line) }
}

/// Plain calls of LMDB, without any of Larch's care.
struct RawEnvironment {
  let pointer: OpaquePointer

  init(path: String, mapSize: Int = 64 << 20, readOnly: Bool = false) throws {
    var made: OpaquePointer?
    try check(mdb_env_create(&made))
    guard let made else { throw RawError(code: ENOMEM, line: #line) }
    pointer = made
    do {
      try check(mdb_env_set_maxdbs(made, 64))
      try check(mdb_env_set_mapsize(made, mapSize))
      let flags = UInt32(MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS | (readOnly ? MDB_RDONLY : 0))
      try check(mdb_env_open(made, path, flags, 0o600))
    } catch {
      mdb_env_close(made)
      throw error
    }
  }

  func close() { mdb_env_close(pointer) }

  func begin(parent: OpaquePointer? = nil, readOnly: Bool = false) throws -> OpaquePointer {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(pointer, parent, readOnly ? UInt32(MDB_RDONLY) : 0, &transaction))
    guard let transaction else { throw RawError(code: ENOMEM, line: #line) }
    return transaction
  }

  func write(_ body: (OpaquePointer) throws -> Void) throws {
    let transaction = try begin()
    do {
      try body(transaction)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction))
  }
}

func withValue<T>(_ bytes: [UInt8], _ body: (inout MDB_val) throws -> T) rethrows -> T {
  var copy = bytes
  return try copy.withUnsafeMutableBytes { buffer in
    var value = MDB_val(mv_size: buffer.count, mv_data: buffer.baseAddress)
    return try body(&value)
  }
}

func put(
  _ transaction: OpaquePointer, _ database: MDB_dbi, _ key: [UInt8], _ value: [UInt8],
  flags: UInt32 = 0
) throws -> Int32 {
  withValue(key) { key in
    withValue(value) { value in mdb_put(transaction, database, &key, &value, flags) }
  }
}

func bytes(_ value: MDB_val) -> [UInt8] {
  Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
}
