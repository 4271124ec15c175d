internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `space-work <store> <beacon> <number> <directory> <what> [<step>]`: compacts, backs up or
/// restores a store of the crash tests again and again; the beacon counts. With a step the process
/// ends itself there, like a crash.
func spaceWork(_ arguments: [String]) throws {
  guard (5...6).contains(arguments.count), let number = Int(arguments[2]) else {
    throw UsageError()
  }
  limitLifetime()
  let path = arguments[0]
  let beacon = try Beacon(path: arguments[1])
  let step = arguments.count == 6 ? ReplacementStep(rawValue: arguments[5]) : nil
  let store = try Store.forCrashes(at: path) { options in
    options.replacing = { if $0 == step { kill(getpid(), SIGKILL) } }
  }
  beacon[.started(number)] = Int(getpid())
  while true {
    let round = beacon[.acknowledged(number)] + 1
    let backup = "\(arguments[3])/backup-\(round % 4).larch"
    switch arguments[4] {
    case "compact": try store.compact()
    case "backup": try store.backup(to: backup, replacing: true)
    case "restore":
      try Store.restore(from: arguments[3] + "/source.larch", to: path, replacing: true)
    default: throw UsageError()
    }
    beacon[.acknowledged(number)] = round
  }
}

/// `space-limit <store> <directory> <seed>`: compacts, backs up and restores with a file size limit
/// that is too small, for many limits, and checks that nothing is changed.
func spaceLimit(_ arguments: [String]) throws {
  guard arguments.count == 3, let seed = UInt64(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let path = arguments[0]
  let store = try Store(at: path, for: IndexedBook.self)
  let backup = arguments[1] + "/whole.larch"
  try store.backup(to: backup)
  var size = stat()
  stat(backup, &size)
  let names = try FileManager.default.contentsOfDirectory(atPath: arguments[1]).sorted()
  var refused = 0
  for part in 0..<16 {
    try limitFiles(to: UInt64(Int(size.st_size) * part / 16 + part))
    for what in ["compact", "backup", "restore", "replace"] {
      do {
        switch what {
        case "compact": try store.compact()
        case "backup": try store.backup(to: arguments[1] + "/other.larch")
        case "restore": try Store.restore(from: backup, to: arguments[1] + "/other.larch")
        default: try Store.restore(from: backup, to: path, replacing: true)
        }
        throw Mismatch("\(what) had no room and did not say so")
      } catch let error as LarchError {
        guard error.code == .diskFull || error.code == .ioFailure else { throw error }
        refused += 1
      }
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: arguments[1]).sorted()
    guard left == names else { throw Mismatch("left: \(left), before: \(names)") }
    try store.read { try Books.check($0, asIndexed: seed) }
  }
  try limitFiles(to: nil)
  try store.compact()
  try store.read { try Books.check($0, asIndexed: seed) }
  guard try store.verify().isClean else { throw Mismatch("not clean") }
  print(refused)
}

extension Books {
  /// Throws if the books differ from the created ones, for any number of them.
  fileprivate static func check(_ tx: ReadTransaction, asIndexed seed: UInt64) throws {
    for found in try tx.all(IndexedBook.self) {
      let number = Int(found.id.rawValue)
      guard found.isbn == book(number, seed: seed).isbn else {
        throw Mismatch("book \(number) is \(found)")
      }
    }
  }
}
