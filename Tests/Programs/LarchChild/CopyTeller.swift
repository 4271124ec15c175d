internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchPostgres
internal import LarchTestSupport

/// `copy-teller <copy> <beacon> <number> <seed> <server> <name>`: as `teller`, on a copy of a shared store.
/// Its snapshots must be states of the bank; what it has been told is there, and nothing that it never did.
func copyTeller(_ arguments: [String]) throws {
  guard arguments.count == 6, let number = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let bank = SharedBank(seed: seed)
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  let store = try Store(
    sharing: .postgres(arguments[4], store: arguments[5]), copy: arguments[0], for: Account.self,
    LarchCrashSupport.Transfer.self, Teller.self)
  var done = try store.read(.fresh) { try bank.check($0) }
  guard done[number] >= beacon[.acknowledged(number)], done[number] <= beacon[.attempted(number)]
  else {
    throw Mismatch(
      "\(done[number]), told \(beacon[.acknowledged(number)]), tried \(beacon[.attempted(number)])")
  }
  beacon[.acknowledged(number)] = done[number]
  beacon[.started(number)] = Int(getpid())
  while true {
    if random.below(4) == 0 {
      let found = try store.read { try bank.check($0) }
      for teller in found.indices where found[teller] < done[teller] {
        throw Mismatch("teller \(teller) was at \(done[teller]) and is at \(found[teller])")
      }
      guard found[number] == done[number] else {
        throw Mismatch("\(found[number]) is there, \(done[number]) was acknowledged")
      }
      done = found
    }
    let count = random.below(12) == 0 ? 20 : 1
    beacon[.attempted(number)] = done[number] + count
    try store.write { tx throws in try bank.move(count, teller: number, in: tx) {} }
    done[number] += count
    beacon[.acknowledged(number)] = done[number]
  }
}

/// `copy-follower <copy> <beacon> <number> <seed> <server> <name>`: reads a bank that others write, from
/// a copy that follows.
func copyFollower(_ arguments: [String]) throws {
  guard arguments.count == 6, let number = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let bank = SharedBank(seed: seed)
  let store = try Store(
    following: .postgres(arguments[4], store: arguments[5]), copy: arguments[0], for: Account.self,
    LarchCrashSupport.Transfer.self, Teller.self)
  var done = try store.read { try bank.check($0) }
  guard done.reduce(0, +) >= beacon[.acknowledged(number)] else {
    throw Mismatch("\(done) after \(beacon[.acknowledged(number)])")
  }
  beacon[.started(number)] = Int(getpid())
  while true {
    let found = try store.read { try bank.check($0) }
    for teller in found.indices where found[teller] < done[teller] {
      throw Mismatch("teller \(teller) was at \(done[teller]) and is at \(found[teller])")
    }
    done = found
    beacon[.acknowledged(number)] = done.reduce(0, +)
    if let error = store.follower?.status.error { throw error }
    usleep(500)
  }
}
