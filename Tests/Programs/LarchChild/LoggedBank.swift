internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// Opens the store while others may be at the same: one who is refused tries again.
private func opened(
  _ path: String, _ change: (inout Store.Options) -> Void
) throws -> Store {
  while true {
    do {
      return try SharedBank.open(at: path) {
        $0.logLimits = .forPowerFailures
        change(&$0)
      }
    } catch let error as LarchError where error.code == .busy {
      usleep(2000)
    }
  }
}

/// `logged-teller <store> <beacon> <seed>`: transfers money endlessly with logged commits, and closes
/// the store and opens it again at times.
func loggedTeller(_ arguments: [String]) throws {
  guard arguments.count == 3, let seed = UInt64(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let bank = SharedBank(seed: seed)
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  var store = try opened(arguments[0]) { $0.durability = .logged }
  var done = try store.read { try bank.check($0) }[0]
  guard done >= beacon[.acknowledged(0)], done <= beacon[.attempted(0)] else {
    throw Mismatch("\(done) is there, \(beacon[.acknowledged(0)]) was acknowledged")
  }
  while true {
    if random.below(60) == 0 {
      store.close()
      store = try opened(arguments[0]) { $0.durability = .logged }
    }
    let count = random.below(12) == 0 ? 20 : 1
    beacon[.attempted(0)] = done + count
    try store.write { tx throws in try bank.move(count, teller: 0, in: tx) {} }
    done += count
    beacon[.acknowledged(0)] = done
    if random.below(8) == 0 { usleep(UInt32(random.below(4000))) }
  }
}

/// `logged-reader <store> <beacon> <seed> <number>`: reads the bank endlessly, and opens it again at
/// times. What it sees is never older than what was acknowledged before.
func loggedReader(_ arguments: [String]) throws {
  guard arguments.count == 4, let seed = UInt64(arguments[2]), let number = Int(arguments[3]) else {
    throw UsageError()
  }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let bank = SharedBank(seed: seed)
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  var store = try opened(arguments[0]) { $0.isReadOnly = true }
  while true {
    if random.below(12) == 0 {
      store.close()
      store = try opened(arguments[0]) { $0.isReadOnly = true }
    }
    let least = beacon[.acknowledged(0)]
    let found = try store.read { try bank.check($0) }[0]
    guard found >= least else { throw Mismatch("\(found) is there, \(least) was acknowledged") }
    beacon[.acknowledged(number)] += 1
    usleep(UInt32(random.below(3000)))
  }
}
