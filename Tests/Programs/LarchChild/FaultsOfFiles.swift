internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// A backup that replaces an older one, and is restored over an older store. Each path always has
/// the complete old or new file.
final class BackupFaults: FaultScenario {
  private static let counts = (old: 3, new: 40)
  private var store: Store?
  private var isBackedUp = false
  private var isRestored = false

  private func backup(_ path: String) -> String { path + ".backup" }
  private func other(_ path: String) -> String { path + ".other" }

  private func add(_ numbers: Range<Int>, to store: Store) throws {
    try store.write { tx throws in
      for number in numbers {
        var entry = Entry(
          id: "entry-\(number)", owner: 0,
          text: String(repeating: "text \(number) ", count: number % 9 == 0 ? 900 : 9))
        try tx.insert(&entry)
      }
    }
  }

  func prepare(_ path: String) throws {
    (isBackedUp, isRestored) = (false, false)
    let store = try Store.forCrashes(at: path)
    try add(0..<Self.counts.old, to: store)
    try store.backup(to: backup(path))
    try store.backup(to: other(path))
    try add(Self.counts.old..<Self.counts.new, to: store)
    self.store = store
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    do {
      try store.backup(to: backup(path), replacing: true)
      isBackedUp = true
    } catch {
      _ = try check(error)
    }
    do {
      try Store.restore(from: backup(path), to: other(path), replacing: true)
      isRestored = true
    } catch {
      _ = try check(error)
    }
    // The store itself is read as before, whatever happened to its copies.
    guard try store.read({ try $0.count(Entry.all) }) == Self.counts.new else {
      throw Mismatch("the store was changed")
    }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    let backedUp = try count(backup(path))
    guard backedUp == Self.counts.new || !isBackedUp && backedUp == Self.counts.old else {
      throw Mismatch("\(backedUp) records are in the backup, acknowledged \(isBackedUp)")
    }
    let restored = try count(other(path))
    guard restored == Self.counts.old || restored == backedUp,
      !isRestored || restored == backedUp
    else { throw Mismatch("\(restored) records were restored, acknowledged \(isRestored)") }
    try add(Self.counts.new..<(Self.counts.new + 1), to: store)
    try store.backup(to: backup(path), replacing: true)
    try Store.restore(from: backup(path), to: other(path), replacing: true)
    guard try count(other(path)) == Self.counts.new + 1, try store.verify().isClean else {
      throw Mismatch("a backup on a disk that works")
    }
    store.close()
    self.store = nil
    for file in [backup(path), other(path)] { for end in ["", "-lock"] { unlink(file + end) } }
  }

  private func count(_ path: String) throws -> Int {
    let store = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { store.close() }
    guard try store.verify().isClean else { throw Mismatch("\(path) is not sound") }
    return try store.read { try $0.count(Entry.all) }
  }
}
