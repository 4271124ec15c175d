import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Migrations that are killed: the earlier ones are kept, the running one has no effect, and the
/// next opening continues.
@Suite("Killed in the middle of a migration", .serialized)
struct KilledMigrationTests {
  static let count = 3000

  @Test("Each migration runs completely and once, however often it is killed")
  func killed() throws {
    let wanted = amount("LARCH_MIGRATION_KILLS", 40)
    var random = SeededGenerator(seed: runSeed)
    var kills = 0
    var stores = 0
    var seen: [Int: Int] = [:]
    while kills < wanted {
      let directory = try CrashDirectory()
      let seed = random.next()
      try Books.make(at: directory.store, count: Self.count, seed: seed)
      let beacon = try Beacon(path: directory.beacon)
      var killsHere = 0
      while true {
        let child = try Child(
          ["migrate-books", directory.store, directory.beacon, "0"], in: directory.path)
        try child.waitUntilStarted(beacon, 0)
        if killsHere < 12, !child.ends(within: 1_000 + random.below(150_000)),
          child.killOrLeave()
        {
          killsHere += 1
          seen[try look(at: directory.store, seed: seed), default: 0] += 1
          continue
        }
        #expect(try child.wait() == .exit(0), "\(child.output)")
        break
      }
      kills += killsHere
      stores += 1
      try expectComplete(directory.store, seed: seed)
    }
    print("migrations: \(kills) kills in \(stores) stores, steps done \(seen), seed \(runSeed)")
  }

  @Test("Two processes that open at once run each migration once")
  func twoProcesses() throws {
    var random = SeededGenerator(seed: runSeed &+ 2)
    for round in 0..<4 {
      let directory = try CrashDirectory()
      try Books.make(at: directory.store, count: Self.count, seed: runSeed)
      let beacon = try Beacon(path: directory.beacon)
      var children = try (0..<3).map {
        try Child(
          ["migrate-books", directory.store, directory.beacon, "\($0)"], in: directory.path)
      }
      if round % 2 == 1 {
        try children[0].waitUntilStarted(beacon, 0)
        usleep(UInt32(random.below(50_000)))
        let first = children.removeFirst()
        if !first.killOrLeave() { #expect(try first.wait() == .exit(0), "\(first.output)") }
      }
      for child in children { #expect(try child.wait() == .exit(0), "\(child.output)") }
      try expectComplete(directory.store, seed: runSeed)
    }
  }

  @Test("Indexes that are half built when a migration changes records are correct in the end")
  func halfBuilt() throws {
    let directory = try CrashDirectory()
    try Books.make(at: directory.store, count: 1500, seed: runSeed)
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(
      ["build-indexes", directory.store, directory.beacon, "10", "0", "40"], in: directory.path)
    try child.wait("is half-way") { beacon[.acknowledged(0)] == 40 }
    try child.killHard()
    let change = Migration("change") { tx in
      var book = try #require(try tx.find(IndexedBook.self, 3))
      book.isbn = "changed"
      book.topics = ["other"]
      try tx.save(&book)
      try tx.delete(IndexedBook.self, 4)
      var later = try #require(try tx.find(IndexedBook.self, 1400))
      later.topics = ["other"]
      try tx.save(&later)
    }
    let store = try Store(at: directory.store, for: IndexedBook.self, migrations: [change])
    defer { store.close() }
    let report = try store.verify()
    #expect(report.isClean, "seed \(runSeed): \(report)")
    #expect(try store.count(IndexedBook.where { $0.isbn == "changed" }) == 1)
    #expect(try store.count(IndexedBook.where { $0.topics.contains("other") }) == 2)
  }

  /// The number of finished steps, as every record shows.
  private func look(at path: String, seed: UInt64) throws -> Int {
    var options = Store.Options()
    options.isReadOnly = true
    options.evolution = .off
    let store = try Store(at: path, for: PlainBook.self, options: options)
    defer { store.close() }
    let applied = try CatalogLoader(store.environment, StoreSchema()).appliedMigrations()
    let steps = applied.count
    #expect(applied.map(\.name) == BookMigrations.all.prefix(steps).map(\.name))
    let books = try store.read { tx in Array(try tx.all(PlainBook.self)) }
    let expected = BookMigrations.books(steps, count: Self.count, seed: seed)
    #expect(books.map { "\($0)" } == expected.map { "\($0)" }, "seed \(runSeed)")
    return steps
  }

  private func expectComplete(_ path: String, seed: UInt64) throws {
    #expect(try look(at: path, seed: seed) == 3)
    let store = try Store(at: path, for: IndexedBook.self, migrations: BookMigrations.all)
    defer { store.close() }
    let report = try store.verify()
    #expect(report.isClean, "seed \(runSeed): \(report)")
    #expect(try store.count(IndexedBook.where { $0.isbn == "last" }) == 1)
  }
}
