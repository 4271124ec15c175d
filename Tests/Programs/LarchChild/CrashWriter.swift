internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// Ends this program if the test that started it no longer runs.
///
/// A program that a task of a test starts inherits that thread's signals, which are blocked.
func limitLifetime() {
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGALRM)
  pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  // Beside the other tests of a suite, one that waits may take many minutes.
  alarm(3600)
}

/// `crash-writer <store> <beacon> <writer> <seed>`: writes transactions endlessly, and notes each
/// acknowledged one in the beacon.
func crashWriter(_ arguments: [String]) throws {
  guard arguments.count == 4, let writer = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Store.forCrashes(at: arguments[0])
  var ids: [Int: RecordID<Item>] = [:]
  var model = try store.read { tx throws in
    for item in try tx.all(Item.self) where item.owner == writer { ids[item.serial] = item.id }
    return try WriterModel.read(writer, seed: seed, in: tx)
  }
  beacon[.started(writer)] = Int(getpid())
  while true {
    try model.write(to: store, ids: &ids)
    beacon[.acknowledged(writer)] = model.progress.transactions
  }
}

/// `crash-reader <store> <beacon> <number> <seed> <writers>`: reads snapshots endlessly; each must
/// be consistent.
func crashReader(_ arguments: [String]) throws {
  guard arguments.count == 5, let number = Int(arguments[2]), let seed = UInt64(arguments[3]),
    let writers = Int(arguments[4])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Store.forCrashes(at: arguments[0])
  beacon[.started(number)] = Int(getpid())
  var last = [Int](repeating: 0, count: writers)
  while true {
    try store.read { tx throws in
      for writer in 0..<writers {
        let done = try WriterModel.read(writer, seed: seed, in: tx).progress.transactions
        guard done >= last[writer] else {
          throw Mismatch("writer \(writer) was at \(last[writer]) and is at \(done)")
        }
        last[writer] = done
      }
    }
    beacon[.acknowledged(number)] += 1
  }
}

/// `crash-logged <store> <beacon> <seed> [stays]`: opens a store whose commits are logged, writes, and
/// closes it, endlessly; or never closes it. Notes each acknowledged transaction in the beacon, and as
/// what it tries what it does: 1 opens, 2 writes, 3 closes.
func crashLogged(_ arguments: [String]) throws {
  guard arguments.count >= 3, let seed = UInt64(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  var random = SeededGenerator(seed: seed ^ UInt64(getpid()))
  while true {
    beacon[.attempted(0)] = 1
    let store = try Store.forCrashes(at: arguments[0]) {
      $0.durability = .logged
      $0.logLimits = .forPowerFailures
    }
    var ids: [Int: RecordID<Item>] = [:]
    var model = try store.read { tx throws in
      for item in try tx.all(Item.self) { ids[item.serial] = item.id }
      return try WriterModel.read(0, seed: seed, in: tx)
    }
    let (found, acknowledged) = (model.progress.transactions, beacon[.acknowledged(0)])
    guard found == acknowledged || found == acknowledged + 1 else {
      throw Mismatch("\(acknowledged) acknowledged, \(found) in the store")
    }
    // It has been seen.
    beacon[.acknowledged(0)] = found
    beacon[.started(0)] = Int(getpid())
    beacon[.attempted(0)] = 2
    for _ in 0..<(arguments.count > 3 ? .max : 1 + random.below(60)) {
      try model.write(to: store, ids: &ids)
      beacon[.acknowledged(0)] = model.progress.transactions
    }
    beacon[.attempted(0)] = 3
    store.close()
  }
}
