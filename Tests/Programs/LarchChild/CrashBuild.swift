internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `build-indexes <store> <beacon> <batch> <number> [<steps>]`: opens the books with the new
/// declarations and so builds what is missing; the beacon counts the steps that were done. After
/// the given number of steps it waits to be killed.
func buildIndexes(_ arguments: [String]) throws {
  try build(arguments) { try Store(at: $0, for: IndexedBook.self, options: $1) }
}

/// `build-searches`, with the same arguments: opens the texts with their searches.
func buildSearches(_ arguments: [String]) throws {
  try build(arguments) { try Texts.open(at: $0, options: $1) }
}

private func build(
  _ arguments: [String], _ open: (_ path: String, Store.Options) throws -> Store
) throws {
  guard (4...5).contains(arguments.count), let batch = Int(arguments[2]),
    let number = Int(arguments[3])
  else { throw UsageError() }
  let pause = arguments.count == 5 ? Int(arguments[4]) : nil
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  var options = Store.Options()
  options.indexBatchSize = batch
  options.indexProgress = { _ in
    beacon[.acknowledged(number)] += 1
    while beacon[.acknowledged(number)] == pause { sleep(1) }
  }
  beacon[.started(number)] = Int(getpid())
  try open(arguments[0], options).close()
}

/// `rebuild-indexes <store> <beacon> <batch>`: rebuilds all indexes, again and again.
func rebuildIndexes(_ arguments: [String]) throws {
  guard arguments.count == 3, let batch = Int(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  var options = Store.Options()
  options.indexBatchSize = batch
  let store = try Store(at: arguments[0], for: IndexedBook.self, options: options)
  beacon[.started(0)] = Int(getpid())
  while true {
    try store.rebuild()
    beacon[.acknowledged(0)] += 1
  }
}

/// `create-stores <directory> <beacon>`: makes one store after the other, with a record in each.
func createStores(_ arguments: [String]) throws {
  guard arguments.count == 2 else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  beacon[.started(0)] = Int(getpid())
  while true {
    let number = beacon[.acknowledged(0)]
    let store = try Store.forCrashes(at: "\(arguments[0])/new-\(number).larch")
    try store.write { tx throws in
      var progress = Progress(id: number)
      try tx.save(&progress)
    }
    store.close()
    beacon[.acknowledged(0)] = number + 1
  }
}

/// `salvage-stores <store> <directory> <beacon>`: salvages the store again and again, each time to
/// a new path.
func salvageStores(_ arguments: [String]) throws {
  guard arguments.count == 3 else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[2])
  beacon[.started(0)] = Int(getpid())
  while true {
    let number = beacon[.acknowledged(0)]
    let target = "\(arguments[1])/saved-\(number).larch"
    // Files of a killed salvage, if there are any.
    unlink(target)
    unlink(target + "-lock")
    try Store.salvage(arguments[0], to: target)
    beacon[.acknowledged(0)] = number + 1
  }
}
