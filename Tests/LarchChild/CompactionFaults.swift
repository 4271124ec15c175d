internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// A store is compacted while the disk fails: the old file or the new one is the store, whole, and the
/// one that is open goes on with it.
final class CompactionFaults: FaultScenario {
  private static let count = 40
  private var store: Store?
  /// How many records were there when the disk failed, and one more if a write was acknowledged.
  private var expected = 0

  func prepare(_ path: String) throws {
    let store = try Store.forCrashes(at: path)
    try store.write { tx throws in
      for number in 0..<(Self.count * 2) {
        var entry = Entry(
          id: "entry-\(number)", owner: 0,
          text: String(repeating: "text \(number) ", count: number % 9 == 0 ? 900 : 9))
        try tx.insert(&entry)
      }
    }
    try store.write { tx throws in
      for number in 0..<Self.count { try tx.delete(Entry.self, "entry-\(number)") }
    }
    expected = Self.count
    self.store = store
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    do {
      _ = try store.compact()
    } catch {
      _ = try check(error)
    }
    do {
      var entry = Entry(id: "after", owner: 0, text: "after")
      try store.write { tx throws in try tx.insert(&entry) }
      expected += 1
    } catch {
      if try check(error) == .reached { expected += 1 }
    }
    do {
      let found = try store.read { try $0.count(Entry.all) }
      guard found == expected else { throw Mismatch("\(found) records, not \(expected)") }
    } catch let error as LarchError {
      // The file could not be reopened; it can when the disk works again.
      _ = try check(error)
    }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    try prove(store)
    var entry = Entry(id: "last", owner: 0, text: "last")
    try store.write { tx throws in try tx.insert(&entry) }
    expected += 1
    let compaction = try store.compact()
    guard compaction.bytesAfter <= compaction.bytesBefore else {
      throw Mismatch("larger than before: \(compaction)")
    }
    try prove(store)
    store.close()
    self.store = nil
    let again = try Store.forCrashes(at: path) { $0.isVerified = true }
    defer { again.close() }
    try prove(again)
  }

  private func prove(_ store: Store) throws {
    let found = try store.read { try $0.count(Entry.all) }
    guard found == expected else { throw Mismatch("\(found) records, not \(expected)") }
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("not clean: \(report)") }
  }
}
