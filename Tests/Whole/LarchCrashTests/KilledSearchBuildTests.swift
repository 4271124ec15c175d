import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// An index of words that is built of existing records, and killed meanwhile.
@Suite("Killed while a search is built", .serialized)
struct KilledSearchBuildTests {
  static let count = 600
  static let batch = 20

  @Test("A killed build of a search continues, and leaves nothing of an unfinished one")
  func build() throws {
    let wanted = amount("LARCH_SEARCH_KILLS", 40)
    var random = SeededGenerator(seed: runSeed)
    var tally = TextTally()
    var (kills, stores, looks, begunAgain) = (0, 0, 0, 0)
    while kills < wanted {
      let directory = try CrashDirectory()
      try Texts.make(at: directory.store, count: Self.count, seed: random.next())
      let beacon = try Beacon(path: directory.beacon)
      var killsHere = 0
      while true {
        let child = try start(directory)
        try child.waitUntilStarted(beacon, 0)
        // On a slow machine it would hardly get on.
        if killsHere < 24, !child.ends(within: 2_000 + random.below(40_000)), child.killOrLeave() {
          killsHere += 1
          switch random.below(12) {
          case 0:
            // It knows no search, so it removes what there is of one.
            try withStore(directory.store, isPlain: true) { store in
              try changePlain(store, &random)
              try expectSound(store)
              try expectNoLeftovers(store)
            }
            begunAgain += 1
          case 1..<6:
            try look(at: directory.store, &tally, &random)
            looks += 1
          default: break
          }
          continue
        }
        #expect(try child.wait() == .exit(0), "\(child.output)")
        break
      }
      kills += killsHere
      stores += 1
      try expectComplete(directory, &tally, &random)
    }
    print(
      "search build: \(kills) kills in \(stores) stores, \(looks) read-only looks,",
      "\(begunAgain) begun again, \(tally), seed \(runSeed)")
    #expect(tally.found > 100 && tally.searched > 0, "seed \(runSeed): \(tally)")
  }

  @Test("A program that knows no search removes a half-built one, which is then built again")
  func oldProgram() throws {
    var random = SeededGenerator(seed: runSeed &+ 6)
    var tally = TextTally()
    // In the search of essays, and in that of letters.
    for steps in [5, 40] {
      let directory = try CrashDirectory()
      try Texts.make(at: directory.store, count: Self.count, seed: random.next())
      try killBuilder(after: steps, directory)
      try withStore(directory.store, isPlain: true) { store in
        try changePlain(store, &random)
        try expectSound(store)
        try expectNoLeftovers(store)
      }
      try expectComplete(directory, &tally, &random)
    }
  }

  @Test(
    "A half-built search follows changes of the records that it has, and of those that it has not yet"
  )
  func changedMeanwhile() throws {
    var random = SeededGenerator(seed: runSeed &+ 5)
    var tally = TextTally()
    let count = 300
    // Steps in the search of essays, of which the sixteenth is the last, and in that of letters.
    for steps in [1, 8, 15, 16, 22, 31] {
      let directory = try CrashDirectory()
      try Texts.make(at: directory.store, count: count, seed: random.next())
      try killBuilder(after: steps, directory)
      let changes = changes(60, below: count + 100, &random)
      let change = Migration("change") { tx in
        for (number, writing) in changes.sorted(by: { $0.key < $1.key }) {
          if let writing {
            try Essay.saveAll([Essay(owner: 0, number: number, writing)], in: tx)
            try Letter.saveAll([Letter(owner: 0, number: number, writing)], in: tx)
          } else {
            try tx.delete(Essay.self, ids: Essay.ids([number], owner: 0, in: tx))
            try tx.delete(Letter.self, ids: Letter.ids([number], owner: 0, in: tx))
          }
        }
      }
      let store = try Store(
        at: directory.store, for: Essay.self, Letter.self, TextProgress.self, migrations: [change])
      defer { store.close() }
      try expectSound(store)
      try expectNoLeftovers(store)
      try store.read { tx throws in
        let state = try TextState.read(0, seed: 0, in: tx)
        for (number, writing) in changes {
          #expect(state[.essay][number] == writing && state[.letter][number] == writing)
        }
        try Texts.check(tx, queries: 12, &tally, &random)
      }
      try expectSameWhenBuiltAgain(store)
    }
    #expect(tally.found > 100 && tally.searched > 0, "seed \(runSeed): \(tally)")
  }

  /// A child that builds both searches; it waits to be killed after so many steps.
  private func start(_ directory: CrashDirectory, pause: Int? = nil) throws -> Child {
    try Child(
      ["build-searches", directory.store, directory.beacon, "\(Self.batch)", "0"]
        + (pause.map { ["\($0)"] } ?? []), in: directory.path)
  }

  private func killBuilder(after steps: Int, _ directory: CrashDirectory) throws {
    let beacon = try Beacon(path: directory.beacon)
    let child = try start(directory, pause: steps)
    try child.wait("has built for a while") { beacon[.acknowledged(0)] == steps }
    try child.killHard()
  }

  /// New texts by their numbers; nil for those that are deleted.
  private func changes(
    _ count: Int, below limit: Int, _ random: inout SeededGenerator
  ) -> [Int: Writing?] {
    var changes: [Int: Writing?] = [:]
    for _ in 0..<count {
      let writing = random.below(3) == 0 ? nil : Texts.writing(&random)
      changes.updateValue(writing, forKey: random.below(limit))
    }
    return changes
  }

  private func changePlain(_ store: Store, _ random: inout SeededGenerator) throws {
    let before = random
    random = try store.write { tx throws in
      var random = before
      for _ in 0..<20 {
        let number = random.below(Self.count)
        let writing = Texts.writing(&random)
        try PlainEssay.saveAll([PlainEssay(owner: 0, number: number, writing)], in: tx)
        try PlainLetter.saveAll([PlainLetter(owner: 0, number: number, writing)], in: tx)
      }
      return random
    }
  }

  // MARK: What must hold

  private func withStore(
    _ path: String, isPlain: Bool, isReadOnly: Bool = false, _ body: (Store) throws -> Void
  ) throws {
    var options = Store.Options()
    options.isReadOnly = isReadOnly
    let store =
      try isPlain
      ? Texts.openPlain(at: path, options: options) : Texts.open(at: path, options: options)
    defer { store.close() }
    try body(store)
  }

  private func expectSound(_ store: Store) throws {
    let report = try store.verify()
    #expect(report.isClean, "seed \(runSeed): \(report)")
  }

  /// Every answer is right while a search is half-built, for programs of both versions.
  private func look(
    at path: String, _ tally: inout TextTally, _ random: inout SeededGenerator
  ) throws {
    try withStore(path, isPlain: true, isReadOnly: true) { store in
      try expectSound(store)
      #expect(try store.count(PlainEssay.all) == Self.count)
    }
    try withStore(path, isPlain: false, isReadOnly: true) { store in
      try expectSound(store)
      try store.read { tx throws in try Texts.check(tx, queries: 1, &tally, &random) }
    }
  }

  private func expectComplete(
    _ directory: CrashDirectory, _ tally: inout TextTally, _ random: inout SeededGenerator
  ) throws {
    try withStore(directory.store, isPlain: false) { store in
      try expectSound(store)
      #expect(try store.verifyWithoutTypes().report.isClean, "seed \(runSeed)")
      try expectNoLeftovers(store)
      try store.inspect { inspector in
        #expect(inspector.collections.allSatisfy { $0.indexes.allSatisfy(\.isReady) })
      }
      try store.read { tx throws in
        #expect(try tx.explain(Essay.found("larch")).description.hasPrefix("search "))
        #expect(try tx.explain(Letter.found("larch")).description.hasPrefix("search "))
        try Texts.check(tx, queries: 12, &tally, &random)
      }
      try expectSameWhenBuiltAgain(store)
    }
  }

  private func expectSameWhenBuiltAgain(_ store: Store) throws {
    let dump = try store.dump()
    try store.rebuild()
    #expect(
      TextDifference.between(expected: try store.dump(), actual: dump) == nil, "seed \(runSeed)")
  }

  /// The file has no tree that its catalog does not name, and no progress of a build.
  private func expectNoLeftovers(_ store: Store) throws {
    var needed: Set<String> = [CatalogStorage.databaseName, CatalogStorage.shapesName]
    var keys: [String] = []
    var trees: Set<String> = []
    try store.read { tx throws in
      let transaction = try tx.context.transaction()
      func forEach(_ database: LMDBDatabase, _ body: (LMDBEntry) throws -> Void) throws {
        var cursor = try LMDBCursor(database, in: transaction)
        var entry = try cursor.first()
        while let here = entry {
          try body(here)
          entry = try cursor.next()
        }
      }
      try forEach(.unnamed) { trees.insert(String(decoding: $0.key, as: UTF8.self)) }
      let catalog = try #require(
        try LMDBDatabase.open(CatalogStorage.databaseName, in: transaction))
      try forEach(catalog) { entry in
        keys.append(String(decoding: entry.key, as: UTF8.self))
        let value = try CatalogStorage.checked(entry.value, key: entry.key)
        needed.formUnion(try CatalogStorage.databases(for: entry.key, value))
      }
    }
    #expect(trees == needed, "seed \(runSeed)")
    #expect(keys.filter { $0.hasPrefix("progress/") } == [], "seed \(runSeed)")
  }
}
