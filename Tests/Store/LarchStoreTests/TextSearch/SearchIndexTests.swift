import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Indexes of words: their declaration, their building, and what their plans read.
@Suite struct SearchIndexTests {
  struct Page: Record, Equatable {
    var id: Int
    var title: String
    var body: String?
    var year = 2000
    static let schema = Schema<Page> {
      Search(\.title, \.body)
      Index(\.year)
    }
  }
  struct OldPage: Record, Equatable {
    var id: Int
    var title: String
    var body: String?
    var year = 2000
    static let collectionName = "Page"
    static let schema = Schema<OldPage> { Index(\.year) }
  }
  struct OtherPage: Record, Equatable {
    var id: Int
    var title: String
    var body: String?
    var year = 2000
    static let collectionName = "Page"
    static let schema = Schema<OtherPage> { Search(\.title, \.body, rules: .keepingDiacritics) }
  }
  struct Letter: Record, Equatable {
    var id: UUID
    var text: String
    static let schema = Schema<Letter> { Search(\.text) }
  }

  static let common = ["the", "tree", "of", "larch", "and", "pine"]

  /// Texts with words that are in most records, in some, and in one.
  static func pages(_ ids: some Sequence<Int>) -> [Page] {
    ids.map { id in
      var words = common.filter { $0.utf8.count + id % 5 > 4 }
      words.append("word\(id % 50)")
      words.append("only\(id)")
      return Page(
        id: id, title: words.prefix(3).joined(separator: " "),
        body: words.dropFirst(2).joined(separator: " "), year: 2000 + id % 10)
    }
  }

  private func expectAnswers(_ store: Store, _ pages: [Page]) throws {
    for text in [
      "tree", "larch pine", "\"pine word7\"", "wor*", "word1*", "only17", "tree -word3",
      "\"tree of\" OR only5", "\"and pin*\" -wor*", "nothing", "\"larch and pine word12\"",
    ] {
      let q = TextQuery(text)
      let expected = pages.filter { q.matches($0.title, $0.body) }.map(\.id)
      #expect(try store.ids(Page.where { q.matches($0.title, $0.body) }) == expected, "\(text)")
      let inBody = pages.filter { q.matches($0.body) }.count
      #expect(try store.count(Page.where { q.matches($0.body) }) == inBody, "\(text)")
    }
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  // MARK: Blocks

  @Test func listsOfManyBlocksGrowAndShrinkAnywhere() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    var model: [Int: Page] = [:]
    func save(_ ids: some Sequence<Int>) throws {
      let pages = Self.pages(ids)
      try store.saveAll(pages)
      for page in pages { model[page.id] = page }
    }
    func delete(_ isGone: (Int) -> Bool) throws {
      let ids = model.keys.filter(isGone)
      try store.write { tx in for id in ids { try tx.delete(Page.self, id) } }
      for id in ids { model[id] = nil }
    }
    func check() throws {
      try expectAnswers(store, model.values.sorted { $0.id < $1.id })
      try expectBlocksAreSound(store)
    }
    try save(stride(from: 0, to: 3_000, by: 3))
    try check()
    // Between the others, before them, and after them.
    try save(stride(from: 1, to: 2_000, by: 7))
    try save(-400 ..< -100)
    for id in 3_000..<3_150 { try save([id]) }
    try check()
    try delete { $0 % 3 == 1 }
    try check()
    try delete { $0 < 2_900 && $0 % 50 != 0 }
    try check()
    try delete { _ in true }
    try check()
    #expect(try searchEntryCount(store) == 0)
  }

  private func searchEntryCount(_ store: Store) throws -> Int {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: Page.self)
      return try collection.searches[0].database.statistics(in: try tx.context.transaction())
        .entries
    }
  }

  /// No block has more than it may, and words of many records do not lie in many small blocks.
  private func expectBlocksAreSound(_ store: Store) throws {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: Page.self)
      let tree = try SearchTree(
        collection.searches[0], collection.stored.idKind, in: try tx.context.transaction())
      var counts: [String: [Int]] = [:]
      var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
      var entry = try cursor.first()
      while let here = entry {
        if here.key[0] == SearchKey.totals || here.key[0] == SearchKey.pending {
          entry = try cursor.next()
          continue
        }
        let block = try tree.block(here)
        let count = try SearchBlock.count(block.value)
        #expect(count <= SearchBlock.postingLimit)
        #expect(here.value.count <= SearchBlock.sizeLimit || count == 1)
        counts[String(decoding: block.word, as: UTF8.self), default: []].append(count)
        entry = try cursor.next()
      }
      for (word, counts) in counts where counts.count > 3 {
        let all = counts.reduce(0, +)
        #expect(counts.count <= 2 + 4 * all / SearchBlock.postingLimit, "\(word) \(counts)")
      }
    }
  }

  @Test func aWordThatStandsTooOftenIsLookedForInTheRecord() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let many = String(repeating: "tree larch ", count: 2_000)
    let pages = [
      Page(id: 1, title: many + "tree pine", body: nil),
      Page(id: 2, title: "tree pine " + many, body: many),
      Page(id: 3, title: many, body: "tree"),
      Page(id: 4, title: "pine", body: many + "tree"),
    ]
    try store.saveAll(pages)
    for text in [
      "\"tree pine\"", "\"larch tree larch tree pine\"", "\"larch larch\"", "\"tree pin*\"",
      "larch -\"tree pine\"", "\"tree tree\"", "\"pine tree\"",
    ] {
      let q = TextQuery(text)
      #expect(
        try store.ids(Page.where { q.matches($0.title, $0.body) })
          == pages.filter { q.matches($0.title, $0.body) }.map(\.id), "\(text)")
      #expect(
        try store.ids(Page.where { q.matches($0.title) })
          == pages.filter { q.matches($0.title) }.map(\.id), "\(text)")
    }
    #expect(try store.verify().isClean)
  }

  @Test func numbersOfDeletedRecordsAreNotGivenAgain() throws {
    let store = try Store.temporary(for: Letter.self, options: .quick)
    let letters = (0..<4).map { Letter(id: .make($0), text: "larch \($0)") }
    try store.saveAll(letters)
    func numbers() throws -> [UInt64] {
      try store.read { tx throws in
        let collection = try tx.context.collection(of: Letter.self)
        let tree = try SearchTree(
          collection.searches[0], collection.stored.idKind, in: try tx.context.transaction())
        var found: [UInt64] = []
        try tree.forEachPosting { word, number, _ in if word.isEmpty { found.append(number) } }
        return found
      }
    }
    #expect(try numbers() == [1, 2, 3, 4])
    try store.write { tx in try tx.delete(letters[3]) }
    try store.saveAll([Letter(id: .make(9), text: "pine")])
    #expect(try numbers() == [1, 2, 3, 5])
    // Deleted and saved again in one write, it is the same record.
    try store.write { tx in
      try tx.delete(letters[0])
      var letter = letters[0]
      letter.text = "oak"
      try tx.save(&letter)
    }
    #expect(try numbers() == [1, 2, 3, 5])
    let oak: TextQuery = "oak"
    #expect(try store.ids(Letter.where { oak.matches($0.text) }) == [letters[0].id])
    #expect(try store.verify().isClean)
    try store.write { tx in try tx.delete(Letter.all) }
    #expect(try numbers().isEmpty)
    #expect(try store.verify().isClean)
  }

  /// Of a word in most records only the blocks are read that may have the records of a rare one.
  @Test func rareWordsLeadToTheBlocksOfCommonOnes() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let pages = Self.pages(0..<3_000)
    try store.saveAll(pages)
    for text in [
      "tree only17", "tree only2999 of", "only1 \"tree of\"", "larch (only5 OR only2500)",
      "pine only0",
      "pine (only3 OR only704 OR only709)", "larch only8 OR only1203 tree",
      "larch only1499 -word7", "\"of larch\" only3", "tree only4000", "the only7 OR only2900",
    ] {
      let q = TextQuery(text)
      let query = Page.where { q.matches($0.title, $0.body) }
      #expect(
        try store.ids(query) == pages.filter { q.matches($0.title, $0.body) }.map(\.id), "\(text)")
    }
    let q: TextQuery = "tree only17"
    let text = try store.explain(
      Page.where { q.matches($0.title, $0.body) }, counting: true, running: true
    ).description
    // Of twenty blocks of the common word one is read.
    #expect(text.contains("examined 2 index entries, 0 records"), "\(text)")
  }

  // MARK: Saving

  @Test func aWriteReadsItsOwnWords() throws {
    let store = try Store.temporary(for: Page.self, Letter.self, options: .quick)
    try store.saveAll(Self.pages(0..<300))
    try store.saveAll((0..<50).map { Letter(id: .make($0), text: "pine \($0)") })
    let q: TextQuery = "birch"
    let pages = Page.where { q.matches($0.title, $0.body) }
    let letters = Letter.where { q.matches($0.text) }
    try store.write { tx in
      #expect(try tx.count(pages) == 0 && tx.count(letters) == 0)
      var page = Page(id: 500, title: "birch", body: nil)
      try tx.save(&page)
      var letter = Letter(id: .make(60), text: "birch")
      try tx.save(&letter)
      #expect(try tx.ids(pages) == [500] && tx.ids(letters) == [.make(60)])
      #expect(try tx.explain(pages).description.hasPrefix("search"))
      page.title = "oak"
      try tx.save(&page)
      try tx.delete(letter)
      #expect(try tx.ids(pages).isEmpty && tx.ids(letters).isEmpty)
    }
    #expect(try store.verify().isClean)
  }

  @Test func onlyChangedTextsAreCut() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(Self.pages(0..<3))
    let cuts = try store.write { tx in tx.writer.maintainer.searches.words.cuts }
    try store.write { tx in
      var page = try #require(try tx.find(Page.self, 1))
      page.year += 1
      try tx.save(&page)
      #expect(tx.writer.maintainer.searches.size == 0)
      #expect(tx.writer.maintainer.searches.words.cuts == cuts)
      page.title += " birch"
      try tx.save(&page)
      // The new word and the lengths, each with the old posting where there was one.
      let size = tx.writer.maintainer.searches.size
      #expect(size > 0 && size < 40)
    }
    let birch: TextQuery = "birch"
    #expect(try store.ids(Page.where { birch.matches($0.title) }) == [1])
  }

  // MARK: Building

  @Test func aSearchOverExistingRecordsIsBuiltInBatches() throws {
    let pages = Self.pages(0..<700)
    try withScratchPath { path in
      try Store.using(path, OldPage.self) { store in
        try store.saveAll(
          pages.map { OldPage(id: $0.id, title: $0.title, body: $0.body, year: $0.year) })
      }
      let steps = Locked<[Int]>([])
      let options = Store.Options.quick.with {
        $0.indexBatchSize = 200
        $0.indexProgress = { step in steps.withLock { $0.append(step.done) } }
      }
      try Store.using(path, Page.self, options: options) { store in
        #expect(steps.withLock { $0 } == [200, 400, 600, 700])
        try expectAnswers(store, pages)
        let q: TextQuery = "larch"
        let plan = try store.explain(Page.where { q.matches($0.title, $0.body) })
        #expect(plan.description.hasPrefix("search title, body (larch)"))
      }
      // Other rules are another index, and without a declaration there is none.
      try Store.using(path, OtherPage.self) { store in
        let q = TextQuery("larch tree", rules: .keepingDiacritics)
        let plan = try store.explain(OtherPage.where { q.matches($0.title) })
        #expect(plan.description.hasPrefix("search title (larch && tree)"))
        #expect(try store.verify().isClean)
        #expect(try store.statistics().collections[0].indexes.map(\.name) == ["title_body_words"])
      }
      try Store.using(path, OldPage.self) { store throws in
        #expect(try store.statistics().collections[0].indexes.map(\.name) == ["year"])
      }
    }
  }

  @Test func aBuildThatStoppedContinuesWhereItWas() throws {
    let pages = Self.pages(0..<500)
    try withScratchPath { path in
      try Store.using(path, OldPage.self) { store in
        try store.saveAll(
          pages.map { OldPage(id: $0.id, title: $0.title, body: $0.body, year: $0.year) })
      }
      struct Stopped: Error {}
      // The schema is there, and the build has done two batches.
      try Store.using(path, OldPage.self) { store in
        let loader = CatalogLoader(store.environment, try StoreSchema([Page.self]))
        try loader.update()
        let catalog = try #require(try loader.load())
        #expect(!catalog.isComplete)
        let first = IndexBuilder(
          environment: store.environment, catalog: catalog, batchSize: 150
        ) { _, _, done, _ in if done >= 300 { throw Stopped() } }
        #expect(throws: Stopped.self) { try first.buildAll() }
      }
      let steps = Locked<[Int]>([])
      let options = Store.Options.quick.with {
        $0.indexBatchSize = 150
        $0.indexProgress = { step in steps.withLock { $0.append(step.done) } }
      }
      try Store.using(path, Page.self, options: options) { store in
        try expectAnswers(store, pages)
      }
      #expect(steps.withLock { $0 } == [450, 500])
    }
  }

  // MARK: Plans

  @Test func countsAndIDsReadNoRecord() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let pages = Self.pages(0..<900)
    try store.saveAll(pages)
    let q = TextQuery("larch \"tree of\" -word7 onl*")
    let query = Page.where { q.matches($0.title, $0.body) }
    let explanation = try store.explain(query, counting: true, running: true).description
    #expect(
      explanation.hasPrefix(
        "search title, body (larch && \"tree of\" && !word7 && onl*)\n  answered from the index alone"
      ), "\(explanation)")
    #expect(explanation.contains(" 0 records"), "\(explanation)")
    let rare = TextQuery("the only17")
    let few = try store.explain(
      Page.where { rare.matches($0.title, $0.body) }, counting: true, running: true)
    #expect(few.description.contains("search title, body (the && only17)"))
  }

  @Test func otherConditionsJoinTheSearch() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(Self.pages(0..<900))
    let rare: TextQuery = "only17"
    let common: TextQuery = "tree"
    let first = try store.explain(
      Page.where { rare.matches($0.title, $0.body) && $0.year == 2007 })
    #expect(
      first.description.hasPrefix(
        "search title, body (only17)\n  filter year == 2007"), "\(first)")
    let second = try store.explain(
      Page.where { common.matches($0.body) && $0.id == 17 })
    #expect(
      second.description.hasPrefix("records [17]\n  filter (tree).matches(body)"), "\(second)")
    let either = try store.explain(
      Page.where { rare.matches($0.title, $0.body) || $0.year == 1999 })
    #expect(either.description.hasPrefix("union\n"), "\(either)")
    #expect(either.description.contains("search title, body (only17)"), "\(either)")
  }

  @Test func whatTheIndexCannotAnswerReadsRecords() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let pages = Self.pages(0..<60)
    try store.saveAll(pages)
    let q: TextQuery = "larch"
    let kept = TextQuery("larch", rules: .keepingDiacritics)
    let mixed = q && kept
    for query in [
      Page.where { !q.matches($0.title) }, Page.where { kept.matches($0.title) },
      Page.where { mixed.matches($0.title) },
      Page.where { TextQuery("-larch").matches($0.title) },
      Page.where { TextQuery("larch OR -pine").matches($0.title) },
    ] {
      #expect(try store.explain(query).description.hasPrefix("all records"))
    }
    #expect(
      try store.count(Page.where { mixed.matches($0.title) })
        == pages.filter { mixed.matches($0.title) }.count)
  }

  // MARK: Declarations

  struct Computed: Record {
    var id: Int
    var text: String
    var both: String { text + text }
    static let schema = Schema<Computed> { Search(\.text, \.both) }
  }
  struct OfID: Record {
    var id: String
    static let schema = Schema<OfID> { Search(\.id) }
  }
  struct Twice: Record {
    var id: Int
    var text: String
    static let schema = Schema<Twice> { Search(\.text, \.text) }
  }
  struct Named: Record {
    var id: Int
    var text: String
    static let schema = Schema<Named> {
      Search(\.text)
      Search(\.text, rules: .keepingDiacritics)
    }
  }
  struct BadName: Record {
    var id: Int
    var text: String
    static let schema = Schema<BadName> { Search(\.text, name: "a b") }
  }

  @Test func wrongDeclarationsAreRefusedWithTheirReason() {
    func error(_ type: any Record.Type) -> LarchError? {
      caught { _ = try Store.temporary(types: [type], options: .quick) }
    }
    func expect(_ type: any Record.Type, _ part: String) {
      let error = error(type)
      #expect(error?.code == .invalidSchema)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "none")")
    }
    expect(Computed.self, "computed property")
    #expect(error(Computed.self)?.context.detail == "field 2 of the search")
    expect(OfID.self, "is the id")
    expect(Twice.self, "names a field twice")
    expect(Named.self, "Two indexes have the same name")
    expect(BadName.self, "name of an index")
  }
}
