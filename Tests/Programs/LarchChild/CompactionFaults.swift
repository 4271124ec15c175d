internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// A store is compacted while the disk fails. The store is then completely the old file or
/// completely the new one, and the open store continues with it.
final class CompactionFaults: FaultScenario {
  private static let count = 40
  private var store: Store?
  /// The number of records when the disk failed, plus one if a write was acknowledged.
  private var expected = 0
  /// Whether one more may be there.
  private var isUnknown = false
  private let durability: Store.Options.Durability

  init(durability: Store.Options.Durability = .durable) { self.durability = durability }

  func prepare(_ path: String) throws {
    let store = try Store.forFaults(at: path, durability)
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
    isUnknown = false
    self.store = store
  }

  func run(_ path: String, check: (any Error) throws -> FaultVerdict) throws {
    guard let store else { return }
    do {
      _ = try store.compact()
    } catch {
      if try check(error) == .unchanged { try expectNoCopy(path) }
    }
    do {
      var entry = Entry(id: "after", owner: 0, text: "after")
      try store.write { tx throws in try tx.insert(&entry) }
      expected += 1
    } catch {
      let verdict = try check(error)
      if verdict == .reached { expected += 1 }
      isUnknown = verdict == .unknown
    }
    do {
      let found = try store.read { try $0.count(Entry.all) }
      guard found == expected || isUnknown && found == expected + 1 else {
        throw Mismatch("\(found) records, not \(expected)")
      }
    } catch let error as LarchError {
      // The file could not be reopened; it can when the disk works again.
      _ = try check(error)
    }
  }

  /// Where one call failed, and the copy was certainly not announced, nothing of it is left.
  private func expectNoCopy(_ path: String) throws {
    guard durability == .durable, let recorder = Recorder.current, recorder.failures == 1,
      recorder.failed.isSubset(of: [.data, .meta, .flush])
    else { return }
    if access(path + "-compact", F_OK) == 0 { throw Mismatch("a copy that nobody needs is left") }
  }

  func finish(_ path: String) throws {
    guard let store else { return }
    if isUnknown, try store.read({ try $0.find(Entry.self, "after") }) != nil { expected += 1 }
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
