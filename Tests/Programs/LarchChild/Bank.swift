internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `bank-writer <store> <beacon> <number> <seed>`: transfers money between accounts endlessly; the
/// sum of all accounts never changes.
func bankWriter(_ arguments: [String]) throws {
  guard arguments.count == 4, let number = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Bank.open(at: arguments[0])
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  beacon[.started(number)] = Int(getpid())
  while true {
    let from = random.below(Bank.accountCount)
    let to = random.below(Bank.accountCount)
    let amount = random.below(100)
    try store.write { tx throws in
      guard var source = try tx.find(Account.self, from), from != to else { return }
      source.balance -= amount
      try tx.update(source)
      // The other half is sometimes in a savepoint, so that there are child transactions too.
      guard var target = try tx.find(Account.self, to) else { return }
      target.balance += amount
      if amount % 4 == 0 {
        try tx.savepoint { try tx.update(target) }
      } else {
        try tx.update(target)
      }
    }
    beacon[.acknowledged(number)] += 1
  }
}

/// `bank-reader <store> <beacon> <number> <reopens: 0 or 1>`: adds up all accounts endlessly.
func bankReader(_ arguments: [String]) throws {
  guard arguments.count == 4, let number = Int(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  var store = try Bank.open(at: arguments[0])
  beacon[.started(number)] = Int(getpid())
  while true {
    try store.read { try Bank.check($0) }
    beacon[.acknowledged(number)] += 1
    if arguments[3] == "1", beacon[.acknowledged(number)] % 20 == 0 {
      store.close()
      store = try Bank.open(at: arguments[0])
    }
  }
}
