internal import CLMDB
internal import Foundation
internal import Larch
internal import LarchTestSupport

struct UsageError: Error {}

private func say(_ line: String) {
  // Unbuffered: the parent must know the number even if the next call ends this process.
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// `make-template <file> <seed>`: creates a file of some dozen pages, of all kinds.
func makeTemplate(_ arguments: [String]) throws {
  guard arguments.count == 2, let seed = UInt64(arguments[1]) else { throw UsageError() }
  let path = arguments[0]
  let environment = try RawEnvironment(path: path)
  defer { environment.close() }
  var work = RawWorkload(
    environment: environment, random: SeededGenerator(seed: seed), scale: 12)
  work.keepsMost = true
  try work.run(databases: 4, transactions: 10)
  // At least one tree of duplicates of each kind and one large value, for any seed.
  var random = SeededGenerator(seed: seed)
  try environment.write { transaction in
    for database in 0..<4 {
      var handle: MDB_dbi = 0
      try check(
        mdb_dbi_open(
          transaction, "database \(database)", RawWorkload.flags(database), &handle))
      if database == 0 {
        try check(
          try put(transaction, handle, [9, 9], [UInt8](repeating: 7, count: 9_000)))
        continue
      }
      for _ in 0..<600 {
        let value = withUnsafeBytes(of: random.next()) { Array($0) }
        try check(try put(transaction, handle, [9], database == 3 ? value + value : value))
      }
    }
  }
}

/// `check-valid <dir> <seed> <from> <count>`: makes files by random work and verifies each; every
/// refusal is a line that starts with "refused".
func checkValid(_ arguments: [String]) throws {
  guard arguments.count == 4, let seed = UInt64(arguments[1]), let from = UInt64(arguments[2]),
    let count = UInt64(arguments[3])
  else { throw UsageError() }
  let path = arguments[0] + "/valid-\(getpid()).larch"
  var lost: UInt64 = 0
  var short = 0
  var pages: UInt64 = 0
  for number in from..<(from + count) {
    unlink(path)
    unlink(path + "-lock")
    var random = SeededGenerator(seed: seed &+ number &* 0x9E37_79B9)
    let scale = Int.random(in: 3...60, using: &random)
    let databases = Int.random(in: 1...24, using: &random)
    let transactions = Int.random(in: 0...24, using: &random)
    let environment = try RawEnvironment(path: path)
    var work = RawWorkload(environment: environment, random: random, scale: scale)
    try work.run(databases: databases, transactions: transactions)
    var target = path
    if number % 7 == 0 {
      target = path + ".copy"
      unlink(target)
      try check(mdb_env_copy2(environment.pointer, target, UInt32(MDB_CP_COMPACT)))
    }
    environment.close()
    do {
      try FileCheck.checkHeader(path: target)
      let report = try FileCheck.verify(path: target)
      lost += report.lostPages
      pages += report.pages
      var status = stat()
      if stat(target, &status) == 0, UInt64(status.st_size) < report.pages * 4_096 { short += 1 }
    } catch {
      say("refused \(number): \(error)")
    }
  }
  unlink(path)
  unlink(path + "-lock")
  unlink(path + ".copy")
  say("done \(count) files, \(pages) pages, \(lost) lost pages, \(short) shorter than their header")
}

/// `open-damaged <verified|raw> <template> <seed> <from> <count> <dir>`: one damaged copy for
/// each number, opened with plain LMDB and used in full, after the check or without it.
func openDamaged(_ arguments: [String]) throws {
  guard arguments.count == 6, let seed = UInt64(arguments[2]), let from = UInt64(arguments[3]),
    let count = UInt64(arguments[4]), ["verified", "raw"].contains(arguments[0])
  else { throw UsageError() }
  let template = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[1])))
  let path = arguments[5] + "/damaged-\(getpid()).larch"
  defer {
    unlink(path)
    unlink(path + "-lock")
  }
  for number in from..<(from + count) {
    let kinds = FileDamage.allCases
    let kind = kinds[Int(number % UInt64(kinds.count))]
    var random = SeededGenerator(seed: seed &+ number &* 0x9E37_79B9)
    var bytes = template
    kind.apply(to: &bytes, pageSize: 4_096, using: &random)
    unlink(path)
    unlink(path + "-lock")
    guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
      throw UsageError()
    }
    say("\(number) start \(kind.rawValue)")
    if arguments[0] == "verified" {
      do {
        _ = try FileCheck.verify(path: path)
      } catch {
        say("\(number) refused")
        continue
      }
    }
    do {
      try useEverything(path, &random)
      say("\(number) opened")
    } catch {
      say("\(number) failed \(error)")
    }
  }
}

/// Reads every entry of every database forwards, backwards and by key, then writes.
private func useEverything(_ path: String, _ random: inout SeededGenerator) throws {
  let environment = try RawEnvironment(path: path)
  defer { environment.close() }
  var names: [[UInt8]] = []
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  defer { scratch.deallocate() }
  let reader = try environment.begin(readOnly: true)
  do {
    defer { mdb_txn_abort(reader) }
    var main: MDB_dbi = 0
    try check(mdb_dbi_open(reader, nil, 0, &main))
    _ = try walk(reader, main, scratch, names: &names)
    var ignored: [[UInt8]] = []
    for name in names {
      guard let handle = open(name, reader) else { continue }
      _ = try walk(reader, handle, scratch, names: &ignored)
    }
  }
  for round in 0..<2 {
    try environment.write { transaction in
      for name in names {
        guard let handle = open(name, transaction) else { continue }
        try change(transaction, handle, &random)
        if round == 1, random.next() % 8 == 0 { try check(mdb_drop(transaction, handle, 0)) }
      }
    }
  }
}

private func open(_ name: [UInt8], _ transaction: OpaquePointer) -> MDB_dbi? {
  guard !name.contains(0) else { return nil }
  var handle: MDB_dbi = 0
  let code = (name + [0]).withUnsafeBufferPointer { buffer in
    buffer.withMemoryRebound(to: CChar.self) { text in
      mdb_dbi_open(transaction, text.baseAddress, 0, &handle)
    }
  }
  return code == 0 ? handle : nil
}

/// Reads every byte of a value, at the speed of C also in a debug build.
private func touch(_ value: MDB_val, _ scratch: UnsafeMutableRawBufferPointer) {
  var done = 0
  while done < value.mv_size, let data = value.mv_data {
    let part = min(scratch.count, value.mv_size - done)
    if let base = scratch.baseAddress { memcpy(base, data + done, part) }
    done += part
  }
}

private func walk(
  _ transaction: OpaquePointer, _ handle: MDB_dbi, _ scratch: UnsafeMutableRawBufferPointer,
  names: inout [[UInt8]]
) throws -> Int {
  var cursor: OpaquePointer?
  try check(mdb_cursor_open(transaction, handle, &cursor))
  defer { mdb_cursor_close(cursor) }
  var flags: UInt32 = 0
  try check(mdb_dbi_flags(transaction, handle, &flags))
  var key = MDB_val()
  var value = MDB_val()
  var count = 0
  for step in [MDB_NEXT, MDB_PREV] {
    var code = mdb_cursor_get(cursor, &key, &value, step == MDB_NEXT ? MDB_FIRST : MDB_LAST)
    while code == 0 {
      touch(key, scratch)
      touch(value, scratch)
      if step == MDB_NEXT {
        count += 1
        names.append(bytes(key))
      }
      code = mdb_cursor_get(cursor, &key, &value, step)
    }
    guard code == MDB_NOTFOUND else { throw RawError(code: code, line: #line) }
  }
  var code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
  while code == 0 {
    if flags & UInt32(MDB_DUPSORT) != 0 {
      var duplicates = 0
      try check(mdb_cursor_count(cursor, &duplicates))
      if flags & UInt32(MDB_DUPFIXED) != 0, duplicates > 1 {
        code = mdb_cursor_get(cursor, &key, &value, MDB_GET_MULTIPLE)
        while code == 0 {
          touch(value, scratch)
          code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_MULTIPLE)
        }
      }
    }
    var again = MDB_val()
    var copy = key
    if mdb_get(transaction, handle, &copy, &again) == 0 { touch(again, scratch) }
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_NODUP)
  }
  return count
}

private func change(
  _ transaction: OpaquePointer, _ handle: MDB_dbi, _ random: inout SeededGenerator
) throws {
  var flags: UInt32 = 0
  try check(mdb_dbi_flags(transaction, handle, &flags))
  var keys: [([UInt8], [UInt8])] = []
  var cursor: OpaquePointer?
  try check(mdb_cursor_open(transaction, handle, &cursor))
  var key = MDB_val()
  var value = MDB_val()
  while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
    keys.append((bytes(key), bytes(value)))
  }
  mdb_cursor_close(cursor)
  for (key, value) in keys where random.next() % 3 == 0 {
    let code = withValue(key) { key in
      withValue(value) { value in mdb_del(transaction, handle, &key, &value) }
    }
    guard code == 0 || code == MDB_NOTFOUND else { throw RawError(code: code, line: #line) }
  }
  let isFixed = flags & UInt32(MDB_DUPFIXED) != 0
  let length = isFixed ? max(1, keys.first?.1.count ?? 8) : 0
  for number in 0..<60 {
    let size =
      isFixed
      ? length
      : flags & UInt32(MDB_DUPSORT) != 0
        ? Int(random.next() % 200) + 1 : Int(random.next() % (number % 20 == 0 ? 20_000 : 300))
    let bytes = random.bytes(size)
    let key: [UInt8] =
      number % 2 == 0 && !keys.isEmpty
      ? keys[Int(random.next() % UInt64(keys.count))].0
      : random.bytes(Int(random.next() % 60 + 1))
    let code = try put(transaction, handle, key, bytes)
    guard code == 0 || code == MDB_BAD_VALSIZE else { throw RawError(code: code, line: #line) }
  }
}
