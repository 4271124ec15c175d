internal import CLMDB
internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `watched-writer <store> <beacon> <number> <seed> <kind> <burst>`: makes a burst of commits each
/// time the beacon requests more of them, or all the time if the burst is negative. With the kind
/// `compact`, it compacts the store instead.
func watchedWriter(_ arguments: [String]) throws {
  guard arguments.count == 6, let number = Int(arguments[2]), let seed = UInt64(arguments[3]),
    let burst = Int(arguments[5])
  else { throw UsageError() }
  let kind = Watched.Kind(rawValue: arguments[4])
  limitLifetime()
  let store = try Watched.open(at: arguments[0])
  defer { store.close() }
  var random = SeededGenerator(seed: seed)
  try serve(arguments[1], number, isFree: burst < 0) {
    for _ in 0..<abs(burst) {
      if let kind {
        try store.write { try Watched.change(kind, $0, &random) }
      } else {
        try store.compact()
      }
    }
  }
}

/// `watched-plain <store> <beacon> <number> <database> <burst>`: the same with LMDB alone. It removes
/// the first record of a database and puts it back; of a database that does not exist, it makes one.
func watchedPlain(_ arguments: [String]) throws {
  guard arguments.count == 5, let number = Int(arguments[2]), let burst = Int(arguments[4])
  else { throw UsageError() }
  limitLifetime()
  let environment = try RawEnvironment(path: arguments[0], mapSize: 4 << 30)
  defer { environment.close() }
  var removed: (key: [UInt8], value: [UInt8])?
  try serve(arguments[1], number, isFree: burst < 0) {
    for _ in 0..<abs(burst) {
      try environment.write { transaction in
        var database = MDB_dbi()
        try check(mdb_dbi_open(transaction, arguments[3], UInt32(MDB_CREATE), &database))
        if let record = removed {
          try check(put(transaction, database, record.key, record.value))
          removed = nil
          return
        }
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, database, &cursor))
        defer { mdb_cursor_close(cursor) }
        var (key, value) = (MDB_val(), MDB_val())
        if mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == 0 {
          removed = (bytes(key), bytes(value))
          try check(mdb_cursor_del(cursor, 0))
        } else {
          try check(put(transaction, database, [1], [2]))
        }
      }
    }
  }
}

/// `watched-observer <store> <beacon> <number>`: observes until it is killed, and ends by itself if a
/// value is wrong.
func watchedObserver(_ arguments: [String]) throws {
  guard arguments.count == 3, let number = Int(arguments[2]) else { throw UsageError() }
  limitLifetime()
  yieldToTests()
  let store = try Watched.open(at: arguments[0])
  let beacon = try Beacon(path: arguments[1])
  let ended = DispatchSemaphore(value: 0)
  let items = WatchedCheck(store, WatchedItem.where { $0.group < 5 }) { ended.signal() }
  let notes = WatchedCheck(store, WatchedNote.all) { ended.signal() }
  beacon[.started(number)] = Int(getpid())
  ended.wait()
  throw Mismatch("\(items.latest.failures) \(notes.latest.failures)")
}

/// `lost-observation <store>`: observes what the store does not have, in the way in which nobody hears of
/// the error.
func lostObservation(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  let store = try Store(at: arguments[0], for: WatchedItem.self)
  let token = store.observe(WatchedNote.all) { _ in }
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    await token.settled()
    ended.signal()
  }
  ended.wait()
}

/// Takes the processor only where the tests leave it: many of these programs run beside a suite.
private func yieldToTests() { _ = nice(10) }

/// Works as often as the beacon requests, or without end, with small random pauses.
private func serve(
  _ path: String, _ number: Int, isFree: Bool, _ work: () throws -> Void
) throws {
  yieldToTests()
  let beacon = try Beacon(path: path)
  var done = beacon[.acknowledged(number)]
  beacon[.started(number)] = Int(getpid())
  while true {
    if isFree {
      usleep(UInt32.random(in: 0...2000))
    } else if beacon[.attempted(number)] <= done {
      usleep(500)
      continue
    }
    try work()
    beacon[.acknowledged(Watched.times(number))] = Watched.nanoseconds
    done += 1
    beacon[.acknowledged(number)] = done
  }
}
