import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Long work in steps that is killed: it continues where it was, and everything that is read in the
/// meantime is correct.
@Suite("Killed in the middle of long work", .serialized)
struct KilledBuildTests {
  static let count = 1500
  static let batch = 10

  @Test("A killed index build continues where it was, and old programs can read meanwhile")
  func build() throws {
    let wanted = amount("LARCH_BUILD_KILLS", 120)
    var random = SeededGenerator(seed: runSeed)
    var kills = 0
    var stores = 0
    var lookedAt = 0
    while kills < wanted {
      let directory = try CrashDirectory()
      let seed = random.next()
      try Books.make(at: directory.store, count: Self.count, seed: seed)
      let beacon = try Beacon(path: directory.beacon)
      var killsHere = 0
      while true {
        let child = try Child(
          ["build-indexes", directory.store, directory.beacon, "\(Self.batch)", "0"],
          in: directory.path)
        try child.waitUntilStarted(beacon, 0)
        if !child.ends(within: 2_000 + random.below(14_000)), child.killOrLeave() {
          killsHere += 1
          // A read-only opening with the declarations of either version.
          try look(at: directory.store, seed: seed, isNew: random.below(2) == 0)
          lookedAt += 1
          continue
        }
        #expect(try child.wait() == .exit(0), "\(child.output)")
        break
      }
      kills += killsHere
      stores += 1
      // Each record is read once for each index, however often the build was killed. For each kill
      // at most one step was committed and not counted, and each index ends with a short step.
      let steps = beacon[.acknowledged(0)]
      let whole = IndexedBook.newIndexCount * (Self.count / Self.batch + 1)
      #expect(steps <= whole, "seed \(runSeed): \(steps) steps for \(whole), \(killsHere) kills")
      #expect(
        steps + killsHere >= whole, "seed \(runSeed): \(steps) steps, \(killsHere) kills")
      try expectComplete(directory.store, seed: seed)
    }
    print(
      "index build: \(kills) kills in \(stores) stores, read-only looks \(lookedAt), seed \(runSeed)"
    )
  }

  @Test("Two processes that build the same indexes share the work")
  func twoBuilders() throws {
    var random = SeededGenerator(seed: runSeed &+ 1)
    let directory = try CrashDirectory()
    try Books.make(at: directory.store, count: Self.count, seed: runSeed)
    let beacon = try Beacon(path: directory.beacon)
    func start(_ number: Int) throws -> Child {
      try Child(
        ["build-indexes", directory.store, directory.beacon, "\(Self.batch)", "\(number)"],
        in: directory.path)
    }
    var killed = [try start(0), try start(1)]
    for (number, child) in killed.enumerated() { try child.waitUntilStarted(beacon, number) }
    usleep(UInt32(random.below(20_000)))
    // One dies in the middle, and another one follows. On a fast machine it may have ended before.
    let first = killed.remove(at: random.below(2))
    if !first.killOrLeave() { #expect(try first.wait() == .exit(0), "\(first.output)") }
    let other = try start(2)
    for child in killed + [other] { #expect(try child.wait() == .exit(0), "\(child.output)") }
    let steps = (0..<3).map { beacon[.acknowledged($0)] }.reduce(0, +)
    let whole = IndexedBook.newIndexCount * (Self.count / Self.batch + 1)
    print("two builders: \(steps) steps for \(whole), seed \(runSeed)")
    // If the other process has finished an index, a builder has one useless step.
    #expect(steps <= whole + 2 * IndexedBook.newIndexCount, "seed \(runSeed)")
    try expectComplete(directory.store, seed: runSeed)
  }

  @Test("The progress of a continued build includes earlier work")
  func progressOfResumed() throws {
    let directory = try CrashDirectory()
    try Books.make(at: directory.store, count: Self.count, seed: runSeed)
    let beacon = try Beacon(path: directory.beacon)
    let steps = 40
    try killBuilder(after: steps, directory, beacon)
    let seen = Locked<[Store.IndexProgress]>([])
    var options = Store.Options()
    options.indexBatchSize = Self.batch
    options.indexProgress = { step in seen.withLock { $0.append(step) } }
    try Store(at: directory.store, for: IndexedBook.self, options: options).close()
    let first = try #require(seen.withLock { $0.first })
    #expect(first.done == (steps + 1) * Self.batch, "\(steps) steps, then \(first)")
    let last = try #require(seen.withLock { $0.last })
    #expect(last.done == Self.count && last.total == Self.count)
  }

  @Test("A program with old declarations removes a half-built index, which is then built again")
  func oldProgramWrites() throws {
    let directory = try CrashDirectory()
    try Books.make(at: directory.store, count: Self.count, seed: runSeed)
    let beacon = try Beacon(path: directory.beacon)
    try killBuilder(after: 40, directory, beacon)
    let old = try Store(at: directory.store, for: PlainBook.self)
    try old.read { try Books.check($0, count: Self.count, seed: runSeed) }
    try old.write { tx throws in
      // A change that the future index must include.
      var book = try #require(try tx.find(PlainBook.self, 3))
      book.isbn = "changed"
      try tx.update(book)
      book = Books.book(3, seed: runSeed)
      try tx.update(book)
    }
    #expect(try old.verify().isClean)
    old.close()
    try expectComplete(directory.store, seed: runSeed)
  }

  @Test("A killed rebuild leaves every index complete, and saves meanwhile wait for their turn")
  func rebuild() throws {
    var random = SeededGenerator(seed: runSeed &+ 2)
    let directory = try CrashDirectory()
    let count = 300
    try Books.make(at: directory.store, count: count, seed: runSeed)
    // Builds the indexes of the new version.
    try Store(at: directory.store, for: IndexedBook.self).close()
    let beacon = try Beacon(path: directory.beacon)
    let kills = amount("LARCH_BUILD_KILLS", 120) / 3
    var duplicates = 0
    for kill in 0..<kills {
      let child = try Child(
        ["rebuild-indexes", directory.store, directory.beacon, "20"], in: directory.path)
      try child.waitUntilStarted(beacon, 0)
      let store = try Store(at: directory.store, for: IndexedBook.self)
      let end = Date() + Double(random.below(20_000)) / 1_000_000
      var number = 0
      repeat {
        number = number % count + 1
        var book = try #require(try store.find(IndexedBook.self, RecordID(Int64(number))))
        book.id = RecordID()
        if caught({ try store.save(&book) })?.code != .uniqueConflict { duplicates += 1 }
      } while Date() < end
      // One gets to its end on any machine.
      if kill == 0 { try child.wait("rebuilds") { beacon[.acknowledged(0)] > 0 } }
      try child.killHard()
      store.close()
      try withReadOnly(directory.store, for: IndexedBook.self) { store in
        try store.inspect { inspector in
          #expect(
            inspector.collections.allSatisfy { $0.indexes.allSatisfy(\.isReady) }, "kill \(kill)")
        }
        #expect(try store.verify().isClean, "seed \(runSeed), kill \(kill)")
      }
      if kill % 4 == 3 { try expectComplete(directory.store, seed: runSeed, count: count) }
    }
    #expect(duplicates == 0)
    #expect(beacon[.acknowledged(0)] > 0)
    print("rebuild: \(kills) kills, \(beacon[.acknowledged(0)]) rebuilds, seed \(runSeed)")
    try expectComplete(directory.store, seed: runSeed, count: count)
  }

  @Test("A store whose creation is killed is complete or does not exist")
  func create() throws {
    var random = SeededGenerator(seed: runSeed &+ 3)
    let directory = try CrashDirectory()
    let beacon = try Beacon(path: directory.beacon)
    let kills = amount("LARCH_BUILD_KILLS", 120)
    var found = 0
    var absent = 0
    for kill in 0..<kills {
      let child = try Child(
        ["create-stores", directory.path, directory.beacon], in: directory.path)
      try child.waitUntilStarted(beacon, 0)
      usleep(UInt32(random.below(12_000)))
      try child.killHard()
      // The one that was being made.
      let number = beacon[.acknowledged(0)]
      let path = "\(directory.path)/new-\(number).larch"
      if FileManager.default.fileExists(atPath: path) {
        found += 1
        let store = try Store.forCrashes(at: path) { $0.createsFile = false }
        #expect(
          try store.read { try $0.count(Progress.all) } <= 1, "seed \(runSeed), kill \(kill)")
        #expect(try store.verify().isClean, "seed \(runSeed), kill \(kill)")
        store.close()
      } else {
        absent += 1
      }
      beacon[.acknowledged(0)] = number + 1
    }
    let stores = beacon[.acknowledged(0)]
    print(
      "create: \(kills) kills, \(stores) stores, \(found) whole and \(absent) absent, seed \(runSeed)"
    )
    for number in 0..<stores {
      let path = "\(directory.path)/new-\(number).larch"
      guard FileManager.default.fileExists(atPath: path) else { continue }
      let store = try Store.forCrashes(at: path) { $0.isVerified = true }
      store.close()
    }
    // The next process that creates a store removes the files of the killed ones.
    try Store.forCrashes(at: "\(directory.path)/last.larch").close()
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") } == [])
  }

  @Test("A killed salvage does not change the damaged file and can be repeated")
  func salvage() throws {
    var random = SeededGenerator(seed: runSeed &+ 4)
    let directory = try CrashDirectory()
    let count = 400
    try Books.make(at: directory.store, count: count, seed: runSeed)
    let source = try Data(contentsOf: URL(fileURLWithPath: directory.store))
    let beacon = try Beacon(path: directory.beacon)
    var partial = 0
    let kills = amount("LARCH_BUILD_KILLS", 120) / 3
    for kill in 0..<kills {
      let child = try Child(
        ["salvage-stores", directory.store, directory.path, directory.beacon], in: directory.path)
      try child.waitUntilStarted(beacon, 0)
      usleep(UInt32(random.below(25_000)))
      try child.killHard()
      #expect(try Data(contentsOf: URL(fileURLWithPath: directory.store)) == source)
      let path = "\(directory.path)/saved-\(beacon[.acknowledged(0)]).larch"
      guard FileManager.default.fileExists(atPath: path) else { continue }
      partial += 1
      let store = try Store(at: path, for: PlainBook.self)
      #expect(try store.verify().isClean, "seed \(runSeed), kill \(kill)")
      // A part would look like the whole, so only the whole may exist.
      try store.read { try Books.check($0, count: count, seed: runSeed) }
      store.close()
    }
    let saved = beacon[.acknowledged(0)]
    print("salvage: \(kills) kills, \(saved) salvaged, \(partial) found at a kill, seed \(runSeed)")
    let last = "\(directory.path)/last.larch"
    #expect(try Store.salvage(directory.store, to: last).recordCount == count)
    try expectComplete(last, seed: runSeed, count: count)
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") } == [])
  }

  /// Kills a builder that waits after the given number of steps, so that it is in the middle of its
  /// work on any machine.
  private func killBuilder(after steps: Int, _ directory: CrashDirectory, _ beacon: Beacon) throws {
    let child = try Child(
      ["build-indexes", directory.store, directory.beacon, "\(Self.batch)", "0", "\(steps)"],
      in: directory.path)
    try child.wait("has built for a while") { beacon[.acknowledged(0)] == steps }
    try child.killHard()
  }

  // MARK: What must hold

  private func withReadOnly<R: Record>(
    _ path: String, for type: R.Type, _ body: (Store) throws -> Void
  ) throws {
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store(at: path, for: type, options: options)
    defer { store.close() }
    try body(store)
  }

  /// The records are right and every index that is ready is whole, while others are half-built.
  private func look(
    at path: String, seed: UInt64, isNew: Bool, count: Int = Self.count
  ) throws {
    try withReadOnly(path, for: PlainBook.self) { store in
      if !isNew { try store.read { try Books.check($0, count: count, seed: seed) } }
      #expect(try store.verify().isClean, "seed \(runSeed)")
    }
    if isNew {
      try withReadOnly(path, for: IndexedBook.self) { store in
        let report = try store.verify()
        #expect(report.isClean && report.recordCount == count, "seed \(runSeed): \(report)")
      }
    }
  }

  /// Every declaration is applied, and the store equals one that was created without a kill.
  private func expectComplete(
    _ path: String, seed: UInt64, count: Int = Self.count
  ) throws {
    let store = try Store(at: path, for: IndexedBook.self)
    defer { store.close() }
    let report = try store.verify()
    #expect(report.isClean, "seed \(runSeed): \(report)")
    #expect(
      try store.dump(.associations).contains("lists Book/Book/alike: Book with Book, 0 links"))
    let other = try CrashDirectory()
    try Books.make(at: other.store, count: count, seed: seed)
    let fresh = try Store(at: other.store, for: IndexedBook.self)
    defer { fresh.close() }
    let difference = TextDifference.between(
      expected: try fresh.dump([.entries, .associations]),
      actual: try store.dump([.entries, .associations]))
    #expect(difference == nil, "seed \(runSeed)")
    #expect(try fresh.dump(.records) == store.dump(.records), "seed \(runSeed)")
  }
}
