internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `named-teller <store> <beacon> <number> <seed> <reopens>`: moves money without end on a store
/// that others may have open under another name. If it is refused it tries again, and counts the
/// refusals in the beacon under their own number.
func namedTeller(_ arguments: [String]) throws {
  guard arguments.count == 5, let number = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let refusals = SharedBank.tellerCount + number
  let bank = SharedBank(seed: seed)
  var random = SeededGenerator(seed: seed &+ UInt64(getpid()))
  beacon[.started(number)] = Int(getpid())
  while true {
    let store: Store
    do {
      store = try SharedBank.open(at: arguments[0]) { $0.createsFile = false }
    } catch let error as LarchError
      where [.busy, .unsuitableFile, .fileNotFound].contains(error.code)
    {
      if beacon[.acknowledged(refusals)] == 0 {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
      }
      beacon[.acknowledged(refusals)] += 1
      usleep(500)
      continue
    }
    defer { store.close() }
    var done = try store.read { try bank.check($0) }
    guard done[number] >= beacon[.acknowledged(number)] else { throw Mismatch("something is lost") }
    repeat {
      beacon[.attempted(number)] = done[number] + 1
      try store.write { try bank.move(1, teller: number, in: $0) {} }
      done[number] += 1
      beacon[.acknowledged(number)] = done[number]
      if random.below(8) == 0 {
        let found = try store.read { try bank.check($0) }
        guard found[number] == done[number] else { throw Mismatch("something is lost") }
      }
    } while arguments[4] != "1" || random.below(1000) > 0
  }
}

/// `read-as <user> <store> <beacon>`: opens a store read-only as that user, prints how many accounts
/// it has, and goes on reading until it is killed.
func readAs(_ arguments: [String]) throws {
  guard arguments.count == 3, let user = uid_t(arguments[0]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[2])
  if getuid() == 0 {
    guard setgroups(0, nil) == 0, setgid(gid_t(user)) == 0, setuid(user) == 0 else {
      throw Mismatch("this process cannot become user \(user)")
    }
  }
  let store = try SharedBank.open(at: arguments[1]) { $0.isReadOnly = true }
  while true {
    let count = try store.read { try $0.count(Account.all) }
    guard count == SharedBank.accountCount else { throw Mismatch("\(count) accounts") }
    beacon[.acknowledged(0)] += 1
    usleep(500)
  }
}
