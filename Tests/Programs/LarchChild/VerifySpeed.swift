internal import CLMDB
internal import Foundation
internal import Larch
internal import LarchTestSupport

/// `verify-speed <file> <records>`: creates a file of records and an index if it is missing, and
/// prints the speed of its check.
func verifySpeed(_ arguments: [String]) throws {
  guard arguments.count == 2, let records = Int(arguments[1]) else { throw UsageError() }
  let path = arguments[0]
  if !FileManager.default.fileExists(atPath: path) {
    let environment = try RawEnvironment(path: path, mapSize: 8 << 30)
    defer { environment.close() }
    var random = SeededGenerator(seed: 3)
    for start in stride(from: 0, to: records, by: 20_000) {
      try environment.write { transaction in
        var plain: MDB_dbi = 0
        var index: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, "records", UInt32(MDB_CREATE), &plain))
        try check(mdb_dbi_open(transaction, "index", RawWorkload.flags(2), &index))
        for number in start..<min(records, start + 20_000) {
          let key = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
          try check(try put(transaction, plain, key, random.bytes(100)))
          let field = withUnsafeBytes(of: (random.next() % UInt64(records / 100 + 1)).bigEndian) {
            Array($0)
          }
          try check(try put(transaction, index, field, key))
        }
      }
    }
  }
  for _ in 0..<3 {
    let clock = ContinuousClock()
    var pages: UInt64 = 0
    let time = try clock.measure { pages = try FileCheck.verify(path: path).pages }
    let seconds = Double(time.components.attoseconds) / 1e18 + Double(time.components.seconds)
    let megabytes = Double(pages * 4_096) / 1e6
    print("\(Int(megabytes)) MB in \(Int(seconds * 1_000)) ms: \(Int(megabytes / seconds)) MB/s")
  }
}

/// `verify-live <dir> <seconds>`: checks a file again and again while another thread commits to it;
/// every refusal is a line that starts with "refused".
func verifyLive(_ arguments: [String]) throws {
  guard arguments.count == 2, let seconds = Double(arguments[1]) else { throw UsageError() }
  let path = arguments[0] + "/live-\(getpid()).larch"
  let end = Date(timeIntervalSinceNow: seconds)
  let environment = try RawEnvironment(path: path)
  var first = RawWorkload(environment: environment, random: SeededGenerator(seed: 1), scale: 20)
  try first.run(databases: 6, transactions: 4)
  environment.close()
  let writer = Thread {
    do {
      let environment = try RawEnvironment(path: path)
      defer { environment.close() }
      var work = RawWorkload(environment: environment, random: SeededGenerator(seed: 2), scale: 20)
      while Date() < end { try work.run(databases: 6, transactions: 5) }
    } catch {
      print("refused: the writer failed: \(error)")
    }
  }
  writer.start()
  var walks = 0
  var states = Set<UInt64>()
  while !writer.isFinished {
    do {
      states.insert(try FileCheck.verify(path: path).transaction)
      walks += 1
    } catch {
      print("refused: \(error)")
    }
  }
  unlink(path)
  unlink(path + "-lock")
  print("done \(walks) walks over \(states.count) states")
}
