import CLMDB
import Foundation

/// A small LMDB file with known contents, made without Larch.
struct SampleFile {
  struct Failure: Error { let code: Int32 }

  static let count = 600
  /// Entries of the plain database that the last two transactions have.
  var entries: [[UInt8]: [UInt8]] = [:]
  /// Entries that only the newest transaction has.
  var newest: [[UInt8]: [UInt8]] = [:]

  static func check(_ code: Int32) throws { if code != 0 { throw Failure(code: code) } }

  static func key(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
  }

  static func value(_ number: Int) -> [UInt8] {
    let size = number % 40 == 0 ? 9_000 + number : 20 + number % 90
    return (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
  }

  init(path: String) throws {
    var environment: OpaquePointer?
    try Self.check(mdb_env_create(&environment))
    defer { mdb_env_close(environment) }
    try Self.check(mdb_env_set_maxdbs(environment, 8))
    try Self.check(mdb_env_set_mapsize(environment, 32 << 20))
    try Self.check(
      mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS), 0o600))
    for round in 0..<3 {
      var transaction: OpaquePointer?
      try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
      var plain: MDB_dbi = 0
      var index: MDB_dbi = 0
      try Self.check(mdb_dbi_open(transaction, "records", UInt32(MDB_CREATE), &plain))
      try Self.check(
        mdb_dbi_open(
          transaction, "index", UInt32(MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED), &index))
      let numbers = round == 2 ? Self.count..<(Self.count + 5) : 0..<Self.count
      for number in numbers {
        let key = Self.key(number)
        let value = round == 0 ? [1, 2, 3] : Self.value(number)
        try Self.put(transaction, plain, key, value)
        try Self.put(transaction, index, [UInt8(number % 2)], key)
        if round == 1 { entries[key] = value }
        if round == 2 { newest[key] = value }
      }
      try Self.check(mdb_txn_commit(transaction))
    }
  }

  private static func put(
    _ transaction: OpaquePointer?, _ database: MDB_dbi, _ key: [UInt8], _ value: [UInt8]
  ) throws {
    var key = key
    var value = value
    try key.withUnsafeMutableBytes { key in
      try value.withUnsafeMutableBytes { value in
        var first = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
        var second = MDB_val(mv_size: value.count, mv_data: value.baseAddress)
        try check(mdb_put(transaction, database, &first, &second, 0))
      }
    }
  }

  static func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func write(_ bytes: [UInt8], _ path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}

extension [UInt8] {
  /// A 64-bit number in the machine's order at an offset.
  subscript(number offset: Int) -> UInt64 {
    get { withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) } }
    set {
      withUnsafeMutableBytes { $0.storeBytes(of: newValue, toByteOffset: offset, as: UInt64.self) }
    }
  }

  /// A 16-bit number in the machine's order at an offset.
  subscript(short offset: Int) -> UInt16 {
    get { withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) } }
    set {
      withUnsafeMutableBytes { $0.storeBytes(of: newValue, toByteOffset: offset, as: UInt16.self) }
    }
  }
}
