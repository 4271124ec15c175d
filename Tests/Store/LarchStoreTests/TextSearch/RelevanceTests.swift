import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Orders by relevance: what they need, what they read, and what tells of them.
@Suite struct RelevanceTests {
  typealias Page = SearchIndexTests.Page
  typealias OldPage = SearchIndexTests.OldPage
  typealias OtherPage = SearchIndexTests.OtherPage

  static let larch = TextQuery("larch")

  private func store(_ count: Int = 300) throws -> Store {
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(SearchIndexTests.pages(0..<count))
    return store
  }

  /// The pages that are found, by the formula.
  private func ranked(_ pages: [Page], _ query: TextQuery, _ weights: [Double] = [1, 1]) -> [Int] {
    let scores = RelevanceReference(pages.map { [[$0.title], $0.body.map { [$0] } ?? []] })
      .scores(query, weights)
    return pages.indices.filter { query.matches(pages[$0].title, pages[$0].body) }
      .sorted { (scores[$0], pages[$1].id) > (scores[$1], pages[$0].id) }.map { pages[$0].id }
  }

  @Test func manyRecordsOfOneWordAreRankedLikeFew() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    var random = SeededGenerator(seed: 11)
    var pages = (0..<6000).map { number in
      let many = String(repeating: " larch", count: Int.random(in: 1...4, using: &random))
      let others = String(repeating: " tree", count: Int.random(in: 0...150, using: &random))
      return Page(
        id: number, title: number % 3 == 0 ? "larch" : "a b c",
        body: number % 5 == 0 ? nil : many + others,
        year: 2000)
    }
    _ = try store.save(contentsOf: pages)
    // Some wait beside the others, and some have gone.
    for number in stride(from: 5, to: 6000, by: 997) {
      pages[number].body = "larch and no more"
      try store.update(pages[number])
    }
    for number in stride(from: 5990, to: 0, by: -995) {
      try store.delete(pages.remove(at: number))
    }
    for weights in [[1.0, 1], [4, 1], [0, 3]] {
      let larch = Self.larch
      let query = Page.where { larch.matches($0.title, $0.body) }
        .sortedByRelevance(weights: weights)
      let expected = ranked(pages, larch, weights)
      #expect(expected.count > 4500)
      #expect(try store.ids(query) == expected)
      #expect(try store.ids(query.limit(20)) == Array(expected.prefix(20)))
    }
  }

  // MARK: What it needs

  @Test func aConditionWithoutWordsIsAnError() throws {
    let store = try store(3)
    let error = caught { _ = try store.fetch(Page.all.sortedByRelevance()) }
    #expect(error?.code == .invalidQuery && error?.message.contains("needs words") == true)
    let larch = Self.larch
    // Only one of both must be true.
    let either = Page.where { larch.matches($0.title, $0.body) || $0.year == 2000 }
    #expect(caught { _ = try store.ids(either.sortedByRelevance()) }?.code == .invalidQuery)
    let without = Page.where { !larch.matches($0.title, $0.body) }
    #expect(caught { _ = try store.count(without.sortedByRelevance()) }?.code == .invalidQuery)
  }

  @Test func severalTestsOfWordsAreAnError() throws {
    let store = try store(3)
    let (larch, tree) = (Self.larch, TextQuery("tree"))
    let both = Page.where { larch.matches($0.title) && tree.matches($0.body) }
    let error = caught { _ = try store.fetch(both.sortedByRelevance()) }
    #expect(error?.code == .invalidQuery && error?.message.contains("several") == true)
    // In an order that names it twice, each would count otherwise.
    let once = Page.where { larch.matches($0.title, $0.body) }
    let twice = once.sortedByRelevance(weights: 1, 2).thenByRelevance()
    #expect(caught { _ = try store.fetch(twice) }?.code == .invalidQuery)
  }

  @Test(arguments: [[1.0], [1, 1, 1], [-1, 1], [.nan, 1], [.infinity, 1], [1, 1_000_001]])
  func weightsThatDoNotFitAreAnError(_ weights: [Double]) throws {
    let store = try store(3)
    let larch = Self.larch
    var query = Page.where { larch.matches($0.title, $0.body) }
    query.details.order = [
      OrderTerm(field: FieldReference(ofRelevance: weights), descends: true)
    ]
    #expect(caught { _ = try store.fetch(query) }?.code == .invalidQuery)
    #expect(caught { _ = try store.explain(query) }?.code == .invalidQuery)
  }

  @Test func anOrderWithoutAnIndexOfTheWordsIsAnError() throws {
    let larch = Self.larch
    let store = try Store.temporary(for: OldPage.self, options: .quick)
    let none = OldPage.where { larch.matches($0.title, $0.body) }
    let error = caught { _ = try store.fetch(none.sortedByRelevance()) }
    #expect(error?.code == .invalidQuery && error?.message.contains("declare a `Search`") == true)
    let other = try Store.temporary(for: OtherPage.self, options: .quick)
    let words = OtherPage.where { larch.matches($0.title, $0.body) }
    #expect(caught { _ = try other.fetch(words.sortedByRelevance()) }?.code == .invalidQuery)
    let kept = TextQuery("larch", rules: .keepingDiacritics)
    let found = OtherPage.where { kept.matches($0.title, $0.body) }.sortedByRelevance()
    #expect(try other.fetch(found) == [])
  }

  @Test func aTextWithoutWordsHasTheOrderOfIDs() throws {
    let store = try store(30)
    for text in ["", "…", "-larch"] {
      let typed = TextQuery(text)
      let query = Page.where { typed.matches($0.title, $0.body) }
      #expect(try store.ids(query.sortedByRelevance()) == store.ids(query), "\(text)")
      #expect(
        try store.ids(query.sortedByRelevance().reversed()) == store.ids(query).reversed())
    }
  }

  @Test func recordsThatAreAlsoFoundWithoutAWordComeLast() throws {
    let store = try store(60)
    let typed: TextQuery = .word("only17") || !.word("larch")
    let pages = try store.everything(Page.self)
    let query = Page.where { typed.matches($0.title, $0.body) }.sortedByRelevance()
    #expect(try store.ids(query) == ranked(pages, typed))
    #expect(try store.first(query)?.id == 17)
  }

  @Test func aJoinHasNoSuchOrder() throws {
    let store = try store(3)
    let larch = Self.larch
    let best = Page.where { larch.matches($0.title, $0.body) }.sortedByRelevance()
    let join = best.joined(with: Page.all, on: \.year, equals: \.year)
    #expect(caught { _ = try store.fetch(join) }?.code == .invalidQuery)
    #expect(caught { _ = try store.count(join) }?.code == .invalidQuery)
  }

  struct Essay: Record, Equatable {
    var id: Int
    var pageID: Page.ID
    var text: String
    static let page = BelongsTo<Essay, Page>(\.pageID)
    static let schema = Schema<Essay> {
      page
      Search(\.text)
    }
  }

  @Test func recordsWithTheirRelatedOnesHaveIt() throws {
    let store = try Store.temporary(for: Page.self, Essay.self, options: .quick)
    try store.saveAll(SearchIndexTests.pages(0..<5))
    let essays = (0..<20).map {
      Essay(id: $0, pageID: $0 % 5, text: String(repeating: "larch ", count: $0 % 7) + "pine")
    }
    try store.saveAll(essays)
    let larch = Self.larch
    let best = Essay.where { larch.matches($0.text) }.sortedByRelevance()
    let rows = try store.fetch(best.limit(4).with(Essay.page))
    #expect(try rows.map(\.0) == store.fetch(best.limit(4)))
    #expect(rows.map(\.1?.id) == rows.map(\.0.pageID))
    // Of each page, another few would be scored.
    let error = caught {
      _ = try store.fetch(Page.all.with(HasMany<Page, Essay>(\.pageID), from: best))
    }
    #expect(error?.code == .invalidQuery, "\(String(describing: error))")
  }

  @Test func nothingIsKeptAfterAQuery() throws {
    let store = try store()
    let larch = Self.larch
    let best = Page.where { larch.matches($0.title, $0.body) }.sortedByRelevance().limit(5)
    weak var kept: AnyObject?
    try store.read { tx in
      try tx.run(best.details, of: Page.self, for: .records) { run, access in
        while try run.next() != nil {}
        #expect(access.scores != nil)
        kept = access
      }
    }
    #expect(kept == nil)
  }

  // MARK: What it reads

  @Test func onlyTheWantedRecordsAreRead() throws {
    let store = try store()
    let larch = Self.larch
    let all = Page.where { larch.matches($0.title, $0.body) }
    let best = all.sortedByRelevance().limit(5)
    let text = try store.explain(best, running: true).description
    #expect(text.contains("search title, body (larch)"), "\(text)")
    #expect(text.contains("sort by relevance, keeping 5"), "\(text)")
    #expect(text.contains("5 records"), "\(text)")
    let worst = all.sortedByRelevance(weights: 2, 1).reversed().limit(5)
    #expect(try store.explain(worst).description.contains("relevance(2, 1), the worst first"))
    // Of those that fail another condition, the ones that come before the last wanted record are read.
    let recent = Page.where { larch.matches($0.title, $0.body) && $0.year != 2003 }
      .sortedByRelevance().limit(5)
    let read = try store.read { tx in
      try tx.run(recent.details, of: Page.self, for: .records) { run, _ in
        while try run.next() != nil {}
        return run.counters.recordsExamined
      }
    }
    #expect((5...12).contains(read), "\(read)")
  }

  @Test func aWordWithMorePlacesThanAreKeptCountsEachTime() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    var pages = SearchIndexTests.pages(0..<40)
    for (place, count) in [250, 300, 900, 10, 301].enumerated() {
      let filler = String(repeating: "x ", count: 1000 - count)
      pages[place].body = String(repeating: "dense wood ", count: count) + filler
      pages[place].title = "a"
    }
    try store.saveAll(pages)
    for text in ["dense", "\"dense wood\"", "\"wood dense\"", "\"dense woo*\"", "den*"] {
      let query = TextQuery(text)
      let found = try store.ids(
        Page.where { query.matches($0.title, $0.body) }.sortedByRelevance())
      #expect(found == ranked(pages, query) && found.count == 5, "\(text)")
    }
    #expect(ranked(pages, "dense") != [0, 1, 2, 3, 4])
  }

  @Test func aPhraseThatStandsInAnotherFieldOnlyIsNotFound() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    var pages = SearchIndexTests.pages(0..<3)
    pages[0].title = "a york " + String(repeating: "new ", count: 241)
    pages[0].body = "new york"
    pages[1].title = "old york, new york"
    try store.saveAll(pages)
    let query: TextQuery = "\"new york\""
    let titles = Page.where { query.matches($0.title) }
    #expect(try store.ids(titles.sortedByRelevance()) == [1])
    #expect(try store.ids(titles) == [1])
    #expect(try store.exists(titles.offset(1)) == false)
  }

  // MARK: Totals

  private func database(_ store: Store) throws -> LMDBDatabase {
    try store.read { tx throws in
      try tx.context.collection(of: Page.self).searches[0].database
    }
  }

  private func totals(_ store: Store) throws -> [UInt8]? {
    let database = try database(store)
    return try store.environment.write { transaction in
      try withUnsafeBytes(of: SearchKey.totals) {
        try database.get($0, in: transaction).map { Array($0) }
      }
    }
  }

  /// A store of a version before there were totals.
  @Test func aTreeWithoutTotalsIsCounted() throws {
    let store = try store()
    let whole = try totals(store)
    #expect(whole != nil)
    let database = try database(store)
    let best = Page.where { Self.larch.matches($0.title, $0.body) }.sortedByRelevance()
    let ids = try store.ids(best)
    try store.environment.write { transaction in
      _ = try withUnsafeBytes(of: SearchKey.totals) {
        try database.delete($0, in: transaction)
      }
    }
    #expect(try store.ids(best) == ids && store.verify().isClean)
    // The next change of a text counts all of them.
    var page = try #require(try store.first(Page.where { $0.id == 7 }))
    let before = page
    page.title = "one two three four five six"
    try store.saveAll([page])
    #expect(try store.verify().isClean && totals(store) != nil)
    try store.saveAll([before])
    #expect(try totals(store) == whole)
  }

  @Test func totalsThatDoNotFitAreFound() throws {
    let store = try store()
    let whole = try #require(try totals(store))
    let database = try database(store)
    try store.environment.write { transaction in
      var bytes = whole
      bytes[bytes.count - 1] ^= 1
      try withUnsafeBytes(of: SearchKey.totals) { key in
        _ = try bytes.withUnsafeBytes { try database.put(key, $0, in: transaction) }
      }
    }
    let faults = try store.verify().faults.map(\.description)
    #expect(
      faults == [
        "danglingEntry, collection Page, index title_body_words, the numbers of records and words do not fit the records"
      ])
    try store.rebuild()
    #expect(try store.verify().isClean && totals(store) == whole)
    for bytes: [UInt8] in [[], [1], [1, 2, 3, 4], [0xFF, 0xFF], [0x80, 0, 0]] {
      try store.environment.write { transaction in
        try withUnsafeBytes(of: SearchKey.totals) { key in
          _ = try bytes.withUnsafeBytes { try database.put(key, $0, in: transaction) }
        }
      }
      let query = Page.where { Self.larch.matches($0.title, $0.body) }.sortedByRelevance()
      #expect(caught { _ = try store.ids(query) }?.code == .corrupted, "\(bytes)")
      #expect(try !store.verify().isClean, "\(bytes)")
    }
  }

  @Test func anEmptyCollectionHasNoTotals() throws {
    let store = try store(10)
    _ = try store.delete(Page.all)
    #expect(try totals(store) == nil && store.verify().isClean)
  }

  // MARK: Elsewhere

  struct Line: Record, Equatable {
    var id: String
    var text: String
    static let schema = Schema<Line> { Search(\.text) }
  }

  /// More than are put into order at first, saved in another order than that of their ids.
  @Test func recordsThatMatchEquallyHaveTheOrderOfTheirIDs() throws {
    let store = try Store.temporary(for: Line.self, options: .quick)
    let lines = (0..<300).map {
      let id = "\(1_000 + $0 * 7 % 300)"
      return Line(id: id, text: id.hasSuffix("0") ? "larch larch" : "larch")
    }
    try store.saveAll(lines)
    let sorted = lines.map(\.id).sorted()
    let expected = sorted.filter { $0.hasSuffix("0") } + sorted.filter { !$0.hasSuffix("0") }
    let larch = Self.larch
    let best = Line.where { larch.matches($0.text) }.sortedByRelevance()
    #expect(try store.ids(best) == expected)
    #expect(try store.ids(best.reversed()) == expected.reversed())
    #expect(try store.ids(best.offset(62).limit(4)) == Array(expected[62..<66]))
    for query in [best, best.reversed()] {
      var page = try store.page(query.limit(50))
      var paged = page.records
      while let next = page.next {
        page = try store.page(query.limit(50).after(next))
        paged += page.records
      }
      #expect(try paged == store.fetch(query))
    }
  }

  @Test func textQueriesAndTheFileWithoutItsTypesHaveTheSameOrder() throws {
    let store = try store(200)
    let pages = try store.everything(Page.self)
    let expected = ranked(pages, "larch pine")
    let text = "title, body matches 'larch pine' order by relevance limit 20"
    #expect(try store.ids(Page.query(text: text)) == Array(expected.prefix(20)))
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first { $0.name == "Page" })
      var found: [String] = []
      try inspector.query(text, in: collection).forEachID {
        found.append($0)
        return true
      }
      #expect(found == expected.prefix(20).map(String.init))
    }
    for text in [
      "title matches 'x' order by relevance desc", "title matches 'x' order by relevance asc",
      "title matches 'x' order by relevance ignoring case",
    ] {
      #expect(caught { _ = try Page.query(text: text) }?.code == .invalidQuery, "\(text)")
    }
  }

  /// Each save changes how well the others match.
  @Test func observedResultsAreThoseOfAFetchAfterEachChange() throws {
    let store = try store(50)
    let typed = TextQuery("larch OR pine OR word3")
    let best = Page.where { typed.matches($0.title, $0.body) }.sortedByRelevance().limit(10)
    let observer = try store.observe(best).makeAsyncIterator().observer.get()
    var last: [Page] = []
    var random = SeededGenerator(seed: 8)
    var changes = 0
    for round in 0..<60 {
      let number = Int.random(in: 0..<80, using: &random)
      if round % 5 == 4 {
        _ = try store.delete(Page.where { $0.id == number })
      } else {
        var page = SearchIndexTests.pages(number..<number + 1)[0]
        page.body = (0..<Int.random(in: 0..<12, using: &random)).map { _ in
          ["larch", "pine", "word3", "x"].randomElement(using: &random) ?? ""
        }.joined(separator: " ")
        try store.saveAll([page])
      }
      let expected = try store.fetch(best)
      if let value = try observer.poll()?.value {
        changes += 1
        last = value
      }
      #expect(last == expected, "round \(round)")
    }
    #expect(changes > 30)
  }
}
