import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A process is killed while it opens a store with LMDB, and others wait for it.
///
/// The first process that opens a store fills the lock file, and writes the number of the last commit
/// into it at the end. If it was killed before that, those that waited had a lock file with the number
/// 0: they read one of the two last states, whichever lay where commit 0 would be, and wrote over the
/// other one. A suite on a busy machine lost 3,000 records by that.
@Suite("Killed while opening")
struct KilledOpeningTests {
  static let count = 200

  /// A store whose last commit is in one or the other header; or, with `packed`, the packed copy of
  /// one, which has had a single commit. The last commit is seen in the first book.
  private func make(_ changes: Int, packed: Bool = false, in directory: CrashDirectory) throws {
    let path = packed ? directory.path + "/first.larch" : directory.store
    try Books.make(at: path, count: Self.count, seed: runSeed)
    let store = try Store(at: path, for: PlainBook.self)
    defer { store.close() }
    for change in 0..<changes {
      try store.write { tx in
        var book = try #require(try tx.find(PlainBook.self, 1))
        book.isbn = "change \(change)"
        try tx.save(&book)
      }
    }
    guard packed else { return }
    try store.backup(to: directory.store)
    // The lock file stays when nobody has the store open any more.
    try Store(at: directory.store, for: PlainBook.self).close()
  }

  private func expectWhole(_ directory: CrashDirectory, _ changes: Int, _ what: String) throws {
    let store = try Store(
      at: directory.store, for: IndexedBook.self, migrations: BookMigrations.all)
    defer { store.close() }
    #expect(try store.verify().isClean)
    let books = try store.read { tx in Array(try tx.all(IndexedBook.self)) }
    var expected = BookMigrations.books(3, count: Self.count, seed: runSeed)
    if changes > 0 { expected[0].isbn = "change \(changes - 1)" }
    #expect(books.map(\.isbn) == expected.map(\.isbn), "\(what), seed \(runSeed)")
  }

  @Test(
    "Those that wait for it lose no commit", arguments: [-1, 0, 1, 2], [-1, 0, 1, 50])
  func waiting(changes: Int, commits: Int) throws {
    let directory = try CrashDirectory()
    try make(max(0, changes), packed: changes < 0, in: directory)
    let beacon = try Beacon(path: directory.beacon)
    let first = try Child(
      ["hold-opening", directory.store, directory.beacon, "0", "\(commits)", "exclusive"],
      in: directory.path)
    try first.waitUntilStarted(beacon, 0)
    let others = try (1...3).map {
      try Child(
        ["migrate-books", directory.store, directory.beacon, "\($0)"], in: directory.path)
    }
    for (number, other) in others.enumerated() {
      try other.waitUntilStarted(beacon, number + 1)
      #if os(Linux)
        try other.wait("waits for the lock") {
          // Not every system for containers has the list.
          guard let locks = try? systemText("/proc/locks") else { return true }
          return locks.split(separator: "\n").contains {
            $0.contains("->") && $0.contains(" \(other.id) ")
          }
        }
      #endif
    }
    try first.killHard()
    for other in others { #expect(try other.wait() == .exit(0), "\(other.output)") }
    try expectWhole(directory, changes, "\(changes), \(commits)")
  }

  @Test("As long as a program holds a lock file with another number, the store is busy")
  func held() throws {
    for commits in [0, 50] {
      let directory = try CrashDirectory()
      try make(1, in: directory)
      let beacon = try Beacon(path: directory.beacon)
      let other = try Child(
        ["hold-opening", directory.store, directory.beacon, "0", "\(commits)", "shared"],
        in: directory.path)
      try other.waitUntilStarted(beacon, 0)
      for isReadOnly in [false, true] {
        var options = Store.Options()
        options.isReadOnly = isReadOnly
        do {
          let store = try Store(at: directory.store, for: PlainBook.self, options: options)
          store.close()
          Issue.record("it was opened")
        } catch let error as LarchError {
          #expect(error.code == .busy && error.context.path == directory.store)
        }
      }
      try other.killHard()
      try expectWhole(directory, 1, "\(commits)")
    }
  }
}
