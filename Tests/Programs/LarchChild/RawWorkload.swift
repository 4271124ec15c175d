internal import CLMDB
internal import Foundation
internal import LarchTestSupport

/// Random work on a file with every kind of database that Larch uses: plain with large values, with
/// duplicates, with duplicates of equal length. With child transactions, rollbacks, drops and long
/// readers.
struct RawWorkload {
  let environment: RawEnvironment
  var random: SeededGenerator
  let scale: Int
  /// Whether databases stay and nothing large is given back, for a file with few free pages.
  var keepsMost = false

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func data(_ count: Int) -> [UInt8] { random.bytes(count) }

  /// Keys of a small set, so that updates, deletes and duplicates meet.
  mutating func key() -> [UInt8] {
    let id = UInt64(number(0..<(scale * 8)))
    var key = withUnsafeBytes(of: id.bigEndian) { Array($0) }
    if id % 5 == 0 { key += [UInt8](repeating: UInt8(id % 251), count: Int(id % 500)) }
    return key
  }

  mutating func value(in database: Int) -> [UInt8] {
    switch database % 4 {
    case 0:
      switch number(0..<20) {
      case 0: return data(number(2_000..<30_000))
      case 1...3: return data(number(200..<2_100))
      default: return data(number(0..<120))
      }
    case 1: return data(number(0..<6) == 0 ? number(1..<512) : number(1..<20))
    case 2: return withUnsafeBytes(of: UInt64(number(0..<(scale * 40))).bigEndian) { Array($0) }
    default:
      return withUnsafeBytes(of: UInt64(number(0..<5_000)).bigEndian) { Array($0) + Array($0) }
    }
  }

  static func flags(_ database: Int) -> UInt32 {
    switch database % 4 {
    case 0: UInt32(MDB_CREATE)
    case 1: UInt32(MDB_CREATE | MDB_DUPSORT)
    default: UInt32(MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED)
    }
  }

  mutating func run(databases: Int, transactions: Int) throws {
    var handles: [MDB_dbi] = []
    try environment.write { transaction in
      for index in 0..<databases {
        var handle: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, "database \(index)", Self.flags(index), &handle))
        handles.append(handle)
      }
    }
    var readers: [OpaquePointer] = []
    defer { for reader in readers { mdb_txn_abort(reader) } }
    for _ in 0..<transactions {
      // A reader keeps pages from being reused, so that the free list grows.
      if number(0..<8) == 0 { readers.append(try environment.begin(readOnly: true)) }
      if readers.count > 2 { mdb_txn_abort(readers.removeFirst()) }
      let transaction = try environment.begin()
      do {
        try step(transaction, handles, depth: 0)
      } catch {
        mdb_txn_abort(transaction)
        throw error
      }
      if number(0..<12) == 0 {
        mdb_txn_abort(transaction)
      } else {
        try check(mdb_txn_commit(transaction))
      }
    }
  }

  private mutating func step(
    _ transaction: OpaquePointer, _ handles: [MDB_dbi], depth: Int
  ) throws {
    let deletes = number(0..<(keepsMost ? 4 : 10))
    for _ in 0..<number(1..<scale) {
      let database = number(0..<handles.count)
      let handle = handles[database]
      let key = key()
      if number(0..<10) < deletes {
        let value = value(in: database)
        let whole = number(0..<3) == 0 || database % 4 == 0
        let code = withValue(key) { key in
          withValue(value) { value in
            whole
              ? mdb_del(transaction, handle, &key, nil)
              : mdb_del(transaction, handle, &key, &value)
          }
        }
        guard code == 0 || code == MDB_NOTFOUND else { throw RawError(code: code, line: #line) }
      } else if database % 4 != 0, number(0..<12) == 0 {
        // Many values of one key make a tree of its own.
        for _ in 0..<number(1..<(scale * 8)) {
          let code = try put(transaction, handle, key, value(in: database))
          guard code == 0 else { throw RawError(code: code, line: #line) }
        }
      } else {
        try check(try put(transaction, handle, key, value(in: database)))
      }
    }
    if !keepsMost, number(0..<6) == 0 {
      // What is put at the end of the file and deleted again is never written there.
      try check(try put(transaction, handles[0], [255, 1], data(number(5_000..<60_000))))
      _ = withValue([255, 1]) { key in mdb_del(transaction, handles[0], &key, nil) }
    }
    if !keepsMost, number(0..<40) == 0 {
      try check(mdb_drop(transaction, handles[number(0..<handles.count)], 0))
    }
    if depth < 3, number(0..<4) == 0 {
      let child = try environment.begin(parent: transaction)
      do {
        try step(child, handles, depth: depth + 1)
      } catch {
        mdb_txn_abort(child)
        throw error
      }
      if number(0..<3) == 0 { mdb_txn_abort(child) } else { try check(mdb_txn_commit(child)) }
    }
  }
}

extension SeededGenerator {
  /// Eight bytes at a time: a debug build is slow in loops over bytes.
  mutating func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, length in
      let base = UnsafeMutableRawPointer(buffer.baseAddress)
      for offset in stride(from: 0, to: count, by: 8) {
        base?.storeBytes(of: next(), toByteOffset: offset, as: UInt64.self)
      }
      length = count
    }
  }
}
