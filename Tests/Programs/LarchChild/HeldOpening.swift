internal import CLMDB
internal import Foundation
internal import LarchCrashSupport

/// `hold-opening <store> <beacon> <number> <commits> <exclusive or shared>`: stops where a process is
/// that opens a store with LMDB as the first one: it has the lock of the lock file, and has begun to
/// fill it, but has not yet written the number of the last commit. Until it is killed, others wait.
///
/// With `commits`, the lock file has the number of a store with so many commits, or is empty if that is
/// less than 0; with `shared`, others do not wait.
func holdOpening(_ arguments: [String]) throws {
  guard arguments.count == 5, let number = Int(arguments[2]), let commits = Int(arguments[3]) else {
    throw UsageError()
  }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let other = arguments[0] + "-other"
  let environment = try RawEnvironment(path: other)
  for round in 0..<max(0, commits) {
    try environment.write { transaction in
      var database: MDB_dbi = 0
      try check(mdb_dbi_open(transaction, nil, 0, &database))
      try withValue([UInt8(truncatingIfNeeded: round)]) { key in
        var value = key
        try check(mdb_put(transaction, database, &key, &value, 0))
      }
    }
  }
  var state = [UInt8](try Data(contentsOf: URL(fileURLWithPath: other + "-lock")))
  if commits < 0 { state = [UInt8](repeating: 0, count: state.count) }
  environment.close()
  let file = open(arguments[0] + "-lock", O_RDWR | O_CLOEXEC)
  guard file >= 0 else { throw Mismatch("no lock file: \(errno)") }
  var lock = flock()
  lock.l_type = Int16(F_WRLCK)
  lock.l_whence = Int16(SEEK_SET)
  lock.l_len = 1
  guard fcntl(file, F_SETLKW, &lock) == 0 else { throw Mismatch("no lock: \(errno)") }
  guard pwrite(file, state, state.count, 0) == state.count else { throw Mismatch("not written") }
  if arguments[4] == "shared" {
    lock.l_type = Int16(F_RDLCK)
    guard fcntl(file, F_SETLK, &lock) == 0 else { throw Mismatch("not shared: \(errno)") }
  }
  beacon[.started(number)] = Int(getpid())
  while true { sleep(1000) }
}
