import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// The pending entries of an index of words: what is in them, when they are merged, and what damage does.
@Suite struct PendingWordsTests {
  typealias Page = SearchIndexTests.Page
  typealias Letter = SearchIndexTests.Letter

  private static func options(_ limit: Int) -> Store.Options {
    .quick.with { $0.searchLimits.records = limit }
  }

  private func pending(_ store: Store) throws -> [String] {
    try PendingWordsOfStore(store, Page.self).entries
  }

  private func expectClean(_ store: Store) throws {
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
    #expect(try store.verifyWithoutTypes().report.isClean)
  }

  // MARK: Entries

  @Test func anEntryHasTheWordsThatChanged() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(4))
    try store.saveAll((0..<5).map { Page(id: $0, title: "larch tree", body: "old \($0)") })
    #expect(try pending(store) == [])
    try store.saveAll([Page(id: 2, title: "larch", body: "new 2")])
    // In the title alone "larch" is where it was; what stands in other places has another posting.
    #expect(try pending(store) == ["2 +new -old -tree"])
    try store.saveAll([Page(id: 2, title: "pine larch", body: "new 2")])
    #expect(try pending(store) == ["2 ~larch +new -old +pine -tree"])
    try store.saveAll([Page(id: 7, title: "larch", body: nil)])
    #expect(try pending(store) == ["2 ~larch +new -old +pine -tree", "7 +larch"])
    try expectClean(store)
    // What was never in a block, and is gone, is no change.
    try store.write { tx in try tx.delete(Page.self, 7) }
    try store.write { tx in try tx.delete(Page.self, 3) }
    #expect(
      try pending(store) == ["2 ~larch +new -old +pine -tree", "3 -3 -larch -old -tree"])
    try expectClean(store)
    try store.write { tx in
      for id in [0, 1] { try tx.delete(Page.self, id) }
    }
    #expect(try pending(store).count == 4)
    try store.saveAll([Page(id: 9, title: "oak", body: nil)])
    #expect(try pending(store) == [])
    #expect(try store.dump().contains("\"oak\" -> 9"))
    try expectClean(store)
  }

  @Test func whatIsUndoneIsNotPending() throws {
    struct Undone: Error {}
    let store = try Store.temporary(for: Page.self, options: Self.options(10))
    try store.saveAll((0..<20).map { Page(id: $0, title: "larch", body: nil) })
    try store.saveAll([Page(id: 1, title: "pine", body: nil)])
    let oak: TextQuery = "oak"
    let oaks = Page.where { oak.matches($0.title, $0.body) }
    try store.write { tx in
      var page = Page(id: 2, title: "oak", body: nil)
      do {
        try tx.savepoint {
          try tx.save(&page)
          #expect(try tx.count(oaks) == 1)
          throw Undone()
        }
      } catch is Undone {}
      #expect(try tx.count(oaks) == 0)
      page.id = 3
      try tx.save(&page)
    }
    #expect(try pending(store) == ["1 -larch +pine", "3 -larch +oak"])
    #expect(throws: Undone.self) {
      try store.write { tx in
        for id in 0..<20 { try tx.delete(Page.self, id) }
        #expect(try tx.count(oaks) == 0)
        throw Undone()
      }
    }
    #expect(try pending(store) == ["1 -larch +pine", "3 -larch +oak"])
    #expect(try store.ids(oaks) == [3])
    try expectClean(store)
  }

  // MARK: Pieces

  /// Words of which each text has others, spread over the alphabet.
  private func long(_ number: Int, words: Int = 40) -> String {
    (0..<words).map { "w\(($0 * 7_919 + number * 104_729) % 100_000)" }.joined(separator: " ")
  }

  @Test func aPieceIsMergedWhereManyBytesWait() throws {
    let limits = SearchLimits(records: 100, bytes: 8_000)
    let store = try Store.temporary(
      for: Page.self, options: .quick.with { $0.searchLimits = limits })
    var most = 0
    for number in 0..<200 {
      let before = try PendingWordsOfStore(store, Page.self)
      // New records and changed ones; some have more words, which all come behind those of the others.
      let body = number % 9 == 0 ? long(number, words: 70).replacing("w", with: "ж") : "larch"
      try store.saveAll([Page(id: number * 7 % 120, title: long(number), body: body)])
      let after = try PendingWordsOfStore(store, Page.self)
      // Nothing waits for long, and no save has to merge all that does.
      #expect(after.bytes <= limits.bytes * 5 / 4 && after.entries.count < 40, "\(number)")
      #expect(after.bytes * 3 > before.bytes, "\(number)")
      most = max(most, after.entries.count)
      if number % 20 == 0 { try expectClean(store) }
    }
    #expect(most > 12)
    try expectClean(store)
    for number in 0..<200 {
      let last = (number..<200).last { $0 * 7 % 120 == number * 7 % 120 } ?? number
      let word = long(number).split(separator: " ")[number % 40]
      let query = TextQuery(String(word))
      let found = try store.ids(Page.where { query.matches($0.title, $0.body) })
      let pages = try store.everything(Page.self)
      #expect(found == pages.filter { query.matches($0.title, $0.body) }.map(\.id))
      #expect(number != last || found.contains(number * 7 % 120), "\(number)")
    }
    let dump = try store.dump()
    try store.rebuild()
    #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
  }

  @Test func aTextWithMoreBytesThanMayWaitIsMerged() throws {
    let options = Self.options(100).with { $0.searchLimits.bytes = 1_000 }
    let store = try Store.temporary(for: Page.self, options: options)
    try store.saveAll([Page(id: 1, title: "larch", body: nil)])
    try store.saveAll([Page(id: 2, title: long(2), body: nil)])
    #expect(try pending(store).count == 2)
    try store.saveAll([Page(id: 3, title: long(3, words: 400), body: nil)])
    #expect(try pending(store) == [])
    try expectClean(store)
  }

  @Test func entriesOfOneWordAreMergedInPiecesToo() throws {
    let limits = SearchLimits(records: 100, bytes: 500)
    let store = try Store.temporary(
      for: Page.self, options: .quick.with { $0.searchLimits = limits })
    try store.saveAll([Page(id: 1, title: "larch", body: nil)])
    // Each of one word only, so that a piece is the words of some records.
    for number in 0..<300 {
      try store.saveAll([Page(id: number, title: "w\(number * 37 % 300)", body: nil)])
      #expect(try PendingWordsOfStore(store, Page.self).bytes <= 600, "\(number)")
    }
    try expectClean(store)
  }

  @Test func wordsAreFoundThatOnlyPendingEntriesHave() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(100))
    try store.saveAll((0..<400).map { Page(id: $0, title: "larch", body: "body\($0 % 3)") })
    try store.saveAll([Page(id: 500, title: "larix", body: nil)])
    try store.saveAll([Page(id: -5, title: "larch", body: "larger")])
    try store.saveAll([Page(id: 390, title: "gone", body: nil)])
    func ids(_ text: String) throws -> [Int] {
      let query = TextQuery(text)
      let all = Page.where { query.matches($0.title, $0.body) }
      let ids = try store.ids(all)
      #expect(try store.count(all) == ids.count, "\(text)")
      #expect(try store.ids(all.limit(3)) == Array(ids.prefix(3)), "\(text)")
      let last = try store.ids(all.reversed().limit(3))
      #expect(last == Array(ids.suffix(3).reversed()), "\(text)")
      let best = try store.ids(all.sortedByRelevance())
      #expect(best.count == ids.count && Set(best) == Set(ids), "\(text)")
      return ids
    }
    let larches = [-5] + (0..<390) + (391..<400)
    #expect(try ids("larch") == larches)
    #expect(try ids("lar*") == larches + [500])
    #expect(try ids("lari*") == [500])
    #expect(try ids("\"larch larger\"") == [])
    #expect(try ids("larch larger") == [-5])
    #expect(try ids("gone OR larix") == [390, 500])
    #expect(try ids("body0") == (0..<400).filter { $0 % 3 == 0 && $0 != 390 })
    // The only record of a word loses it.
    try store.saveAll([Page(id: 500, title: "larch", body: nil)])
    #expect(try ids("lari*") == [])
    #expect(try store.dump().contains("larix") == false)
    try expectClean(store)
  }

  @Test func aBlockThatIsFullBecomesTwoForReaders() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(400))
    try store.saveAll((0..<450).map { Page(id: $0 * 3, title: "larch", body: nil) })
    for id in 0..<256 where id % 2 == 0 {
      try store.saveAll([Page(id: id * 3 + 1, title: "larch", body: nil)])
    }
    for id in 2_000..<2_200 { try store.saveAll([Page(id: id, title: "larch tree", body: nil)]) }
    #expect(try pending(store).count == 328)
    let larch: TextQuery = "larch"
    let all = Page.where { larch.matches($0.title, $0.body) }
    #expect(try store.ids(all) == store.everything(Page.self).map(\.id))
    #expect(try store.count(all) == 778)
    try expectClean(store)
  }

  @Test func numbersOfDeletedRecordsAreNotGivenAgain() throws {
    let store = try Store.temporary(for: Letter.self, options: Self.options(50))
    try store.saveAll((0..<60).map { Letter(id: .make($0), text: "larch letter\($0)") })
    for id in 10..<20 { try store.write { tx in _ = try tx.delete(Letter.self, .make(id)) } }
    for id in 15..<25 { try store.saveAll([Letter(id: .make(id), text: "pine letter\(id)")]) }
    let larch: TextQuery = "larch"
    let pine: TextQuery = "pine letter*"
    #expect(try store.count(Letter.where { larch.matches($0.text) }) == 45)
    let pines = try store.ids(Letter.where { pine.matches($0.text) })
    #expect(Set(pines) == Set((15..<25).map { UUID.make($0) }))
    #expect(try store.verify().isClean)
    try store.saveAll((100..<160).map { Letter(id: .make($0), text: "oak") })
    #expect(try PendingWordsOfStore(store, Letter.self).entries.isEmpty)
    #expect(try store.count(Letter.where { larch.matches($0.text) }) == 45)
    #expect(try store.verify().isClean)
  }

  @Test func copiesOfEveryKindHaveWhatIsPending() throws {
    let types: [any Record.Type] = [Page.self]
    try withScratchPath { path in
      let store = try Store(path: path, types: types, options: Self.options(50), isTemporary: false)
      defer { store.close() }
      try store.saveAll(SearchIndexTests.pages(0..<100))
      for id in 90..<110 {
        try store.saveAll([Page(id: id, title: "larch again\(id)", body: nil)])
      }
      #expect(try pending(store).count == 20)
      let dump = try store.dump()
      func expectSame(_ copy: String, pending count: Int) throws {
        let other = try Store(path: copy, types: types, options: .quick, isTemporary: false)
        defer { other.close() }
        #expect(TextDifference.between(expected: dump, actual: try other.dump()) == nil)
        #expect(try pending(other).count == count)
        try expectClean(other)
      }
      try withScratchPath { copy in
        try store.backup(to: copy)
        try expectSame(copy, pending: 20)
      }
      try withScratchPath { copy in
        _ = try Store.salvage(path, to: copy)
        try expectSame(copy, pending: 0)
      }
      try withScratchPath { file in
        try store.export(toFile: file)
        try withScratchPath { copy in
          _ = try Store.makeStore(at: copy, from: .file(file))
          try expectSame(copy, pending: 0)
        }
      }
      try store.compact()
      #expect(try pending(store).count == 20)
      #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
      try store.rebuild()
      #expect(try pending(store) == [])
      try expectClean(store)
    }
  }

  // MARK: Format

  @Test func theFirstChangeOfAnOlderFileMakesOlderProgramsRefuseIt() throws {
    func format(_ store: Store) throws -> UInt16 {
      let storage = try store.read { tx throws in tx.context.catalog.storage }
      return try store.environment.write { transaction in
        try #require(try storage.value(.format, in: transaction))
          .withUnsafeBytes { try StoredFormat(decoding: $0) }.minimumReader
      }
    }
    try withScratchPath { path in
      try Store.using(path, Page.self) { store in
        try store.saveAll([Page(id: 1, title: "larch", body: nil)])
        #expect(try format(store) == StoredFormat.withPendingWords)
        try store.rebuild()
        let storage = try store.read { tx throws in tx.context.catalog.storage }
        try store.environment.write { transaction in
          var format = StoredFormat(unicodeVersion: "17.0.0")
          format.minimumReader = StoredFormat.withSearch
          try storage.set(.format, to: format.encoded(), in: transaction)
        }
      }
      try Store.using(path, Page.self) { store in
        let larch: TextQuery = "larch"
        #expect(try store.count(Page.where { larch.matches($0.title) }) == 1)
        #expect(try format(store) == StoredFormat.withSearch)
        try store.saveAll([Page(id: 2, title: "larch", body: nil)])
        #expect(try format(store) == StoredFormat.withPendingWords)
        #expect(try store.count(Page.where { larch.matches($0.title) }) == 2)
        try store.saveAll([Page(id: 3, title: "larch", body: nil)])
        #expect(try pending(store) == ["2 +larch", "3 +larch"])
        try expectClean(store)
      }
    }
  }

  // MARK: Damage

  private func change(
    _ store: Store, _ body: (LMDBDatabase, LMDBTransaction) throws -> Void
  ) throws {
    let database = try store.read { tx throws in
      try tx.context.collection(of: Page.self).searches[0].database
    }
    try store.environment.write { try body(database, $0) }
  }

  private func key(_ id: Int) -> [UInt8] {
    var bytes = ByteBuffer(capacity: 64)
    bytes.append(SearchKey.pending)
    SearchKey.append(UInt64(bitPattern: Int64(id)) ^ 1 << 63, base: 1 << 63, to: &bytes)
    return Array(bytes.bytes)
  }

  private func set(_ store: Store, _ id: Int, _ bytes: [UInt8]) throws {
    try change(store) { database, transaction in
      try key(id).withUnsafeBytes { key in
        _ = try bytes.withUnsafeBytes { try database.put(key, $0, in: transaction) }
      }
    }
  }

  private func stored(_ store: Store, _ id: Int) throws -> [UInt8] {
    var found: [UInt8]?
    try change(store) { database, transaction in
      try key(id).withUnsafeBytes { found = try database.get($0, in: transaction).map(Array.init) }
    }
    return try #require(found)
  }

  @Test func verificationNamesWhatThePendingEntriesSayWrongly() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(50))
    try store.saveAll(SearchIndexTests.pages(0..<80))
    try store.saveAll([Page(id: 7, title: "birch", body: nil)])
    let sound = try stored(store, 7)
    try expectClean(store)
    func faults() throws -> [String] {
      let report = try store.verify()
      #expect(try store.verifyWithoutTypes().report.faults == report.faults)
      return report.faults.map(\.description)
    }
    // The state of "birch", which is the word after "and", comes after its letters.
    let birch = Array("birch".utf8)
    let place = try #require(
      sound.indices.first { sound[$0...].starts(with: birch) }.map { $0 + birch.count })
    #expect(sound[place] == 1)
    var bytes = sound
    bytes[place] = 2
    try set(store, 7, bytes)
    #expect(
      try faults() == [
        "missingEntry, collection Page, index title_body_words, id 7, word \"birch\", which is pending and not in the blocks"
      ])
    // A word of the record that is pending as new, and stands in a block.
    try set(store, 7, sound)
    try change(store) { database, transaction in
      let block = Array("birch".utf8) + [0] + key(7).dropFirst()
      try block.withUnsafeBytes { key in
        _ = try [UInt8](arrayLiteral: 0, 1, 0).withUnsafeBytes {
          try database.put(key, $0, in: transaction)
        }
      }
    }
    #expect(
      try faults() == [
        "danglingEntry, collection Page, index title_body_words, id 7, word \"birch\", which is pending and not new"
      ])
    // Nothing tells of the changes any more.
    try store.rebuild()
    try store.saveAll([Page(id: 8, title: "birch", body: nil)])
    try change(store) { database, transaction in
      try key(8).withUnsafeBytes { _ = try database.delete($0, in: transaction) }
    }
    #expect(
      try faults().contains(
        "missingEntry, collection Page, index title_body_words, id 8, word \"birch\""))
    // One of a record that is not there.
    try store.rebuild()
    try set(store, 1_000, sound)
    #expect(try faults().contains { $0.contains("id 1000, word \"birch\"") })
    try store.rebuild()
    try set(store, 3, Array(sound.dropLast()))
    #expect(
      try faults() == [
        "danglingEntry, collection Page, index title_body_words, a pending entry or its block cannot be read"
      ])
    _ = try store.rebuildWithoutTypes()
    #expect(try faults().isEmpty)
  }

  @Test func aDamagedEntryDoesNotStopTheSavesOfOtherRecords() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(50))
    try store.saveAll(SearchIndexTests.pages(0..<80))
    try store.saveAll([Page(id: 7, title: "birch", body: nil)])
    try set(store, 7, Array(try stored(store, 7).dropLast()))
    try store.saveAll([Page(id: 8, title: "oak", body: nil)])
    #expect(
      caught { try store.saveAll([Page(id: 7, title: "oak", body: nil)]) }?.code == .corrupted)
  }

  /// Any bytes in place of a pending entry give an answer or a typed error, and never a trap.
  @Test func damagedEntriesAreErrors() throws {
    let store = try Store.temporary(for: Page.self, options: Self.options(50))
    try store.saveAll(SearchIndexTests.pages(0..<100))
    try store.saveAll([Page(id: 7, title: "birch tree larch", body: "tree of larch")])
    let sound = try stored(store, 7)
    var random = SeededGenerator(seed: 78)
    var failures = 0
    for _ in 0..<300 {
      var bytes = sound
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
            in: 0...255, using: &random)
        case 2 where bytes.count > 2:
          bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
        default: bytes.append(.random(in: 0...255, using: &random))
        }
      }
      try set(store, 7, bytes)
      for text in ["tree", "\"tree of\"", "tree -larch", "bi*", "only7 larch"] {
        let q = TextQuery(text)
        let query = Page.where { q.matches($0.title, $0.body) }
        for error in [
          caught { _ = try store.count(query) }, caught { _ = try store.ids(query.limit(2)) },
          caught { _ = try store.ids(query.sortedByRelevance()) },
        ] {
          #expect(error == nil || error?.code == .corrupted)
        }
      }
      for limit in [7, 8] {
        let save = caught {
          try store.write { tx in
            var page = Page(id: limit, title: "tree of tree \(bytes.count)", body: nil)
            try tx.save(&page)
            throw LarchError(.recordNotFound, "undone")
          }
        }
        #expect(save?.code == .corrupted || save?.code == .recordNotFound)
      }
      if bytes != sound, try !store.verify().isClean { failures += 1 }
      #expect(caught { _ = try store.dump() }.map { $0.code == .corrupted } ?? true)
    }
    #expect(failures > 270, "\(failures)")
    try store.rebuild()
    try expectClean(store)
  }
}
