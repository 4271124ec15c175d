internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `text-writer <store> <beacon> <writer> <seed>`: saves, changes and deletes texts endlessly, and notes
/// each acknowledged write in the beacon.
func textWriter(_ arguments: [String]) throws {
  guard arguments.count == 4, let writer = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Texts.open(at: arguments[0])
  var state = try store.read { tx throws in try TextState.read(writer, seed: seed, in: tx) }
  beacon[.started(writer)] = Int(getpid())
  while true {
    try state.write(to: store)
    beacon[.acknowledged(writer)] = state.writes
  }
}

/// `text-reader <store> <beacon> <number> <seed> <writers>`: searches endlessly; in each snapshot the
/// answers must be those of its records.
func textReader(_ arguments: [String]) throws {
  guard arguments.count == 5, let number = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Texts.open(at: arguments[0])
  beacon[.started(number)] = Int(getpid())
  var random = SeededGenerator(seed: seed ^ UInt64(getpid()))
  var tally = TextTally()
  while true {
    try store.read { tx throws in try Texts.check(tx, queries: 2, &tally, &random) }
    beacon[.acknowledged(number)] += 1
  }
}
