internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// Where a teller kills itself; from outside nobody could hit these moments.
private enum Death: String {
  case never, inWrite, beforeCommit, afterCommit, inRead, inSavepoint
}

/// `teller <store> <beacon> <number> <seed> <death> <after>`: reads the bank and moves money without
/// end; kills itself in the way that is asked for once it has come so far.
func teller(_ arguments: [String]) throws {
  guard arguments.count == 6, let number = Int(arguments[2]), let seed = UInt64(arguments[3]),
    let death = Death(rawValue: arguments[4]), let after = Int(arguments[5])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let bank = SharedBank(seed: seed)
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  var store = try SharedBank.open(at: arguments[0])
  var steps = 0
  func die(_ place: Death) {
    if place == death, steps >= after { kill(getpid(), SIGKILL) }
  }
  // Work that was done but not reported before the last kill is reported now.
  var done = try store.read { try bank.check($0) }
  beacon[.acknowledged(number)] = done[number]
  beacon[.started(number)] = Int(getpid())
  while true {
    steps += 1
    // A process that the system leaves lying in the middle of a read for long keeps what all others
    // delete meanwhile: they must not be too fast for the size of the store.
    usleep(UInt32(random.below(20_000)))
    switch random.below(20) {
    case 0:
      store.close()
      store = try SharedBank.open(at: arguments[0])
    case 1..<8:
      try store.read { tx throws in
        die(.inRead)
        let found = try bank.check(tx)
        for teller in found.indices where found[teller] < done[teller] {
          throw Mismatch("teller \(teller) was at \(done[teller]) and is at \(found[teller])")
        }
        guard found[number] == done[number] else {
          throw Mismatch("\(found[number]) is there, \(done[number]) was acknowledged")
        }
        done = found
      }
    default:
      let count = random.below(12) == 0 ? 20 : 1
      beacon[.attempted(number)] = done[number] + count
      try store.write { tx throws in
        tx.afterCommit { die(.afterCommit) }
        try bank.move(count, teller: number, in: tx) { die(.inWrite) }
        try tx.savepoint { die(.inSavepoint) }
        die(.beforeCommit)
      }
      done[number] += count
      beacon[.acknowledged(number)] = done[number]
    }
  }
}

/// `die-in-read <store>`: kills itself in the middle of a read.
func dieInRead(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  limitLifetime()
  let store = try SharedBank.open(at: arguments[0])
  try store.read { tx throws in
    _ = try tx.count(Account.all)
    kill(getpid(), SIGKILL)
  }
}
