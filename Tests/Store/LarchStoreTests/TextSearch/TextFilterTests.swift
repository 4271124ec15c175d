import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Words in filters: every answer is that of the same closure over an array.
@Suite struct TextFilterTests {
  struct Place: Codable, Equatable, Sendable {
    var name: String
    var about: String?
  }
  struct Writer: Record, Equatable {
    var id: Int
    var name: String
    var about: String?
  }
  struct Article: Record, Equatable {
    static let writer = BelongsTo<Article, Writer>(\.writerID)
    static let schema = Schema<Article> {
      writer
      Index(\.year)
      Index(\.title)
      Index(\.tags)
    }
    var id: Int
    var title: String
    var body: String?
    var tags: [String]
    var notes: [String?]?
    var labels: Set<String>
    var lists: [[String]]
    var place: Place
    var origin: Place?
    var year: Int
    var writerID: Int?

    var both: String { title + " " + (body ?? "") }
  }
  struct Page: Record, Equatable {
    var id: String
    var text: String
  }

  static func article(_ id: Int, _ random: inout SeededGenerator) -> Article {
    func text() -> String {
      RandomTexts.text(Int.random(in: 0...4, using: &random), &random)
    }
    func maybe() -> String? { Bool.random(using: &random) ? text() : nil }
    func list() -> [String] { (0..<Int.random(in: 0...2, using: &random)).map { _ in text() } }
    return Article(
      id: id, title: text(), body: maybe(), tags: list(),
      notes: Bool.random(using: &random) ? list().map { $0.isEmpty ? nil : $0 } : nil,
      labels: Set(list()), lists: [list(), list()], place: Place(name: text(), about: maybe()),
      origin: Bool.random(using: &random) ? Place(name: text(), about: maybe()) : nil,
      year: Int.random(in: 1990...2030, using: &random),
      writerID: Bool.random(using: &random) ? Int.random(in: 0..<20, using: &random) : nil)
  }

  private func withStore(
    seed: UInt64, _ count: Int, _ body: (Store, [Article], [Int: Writer]) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    let writers = (0..<15).map {
      Writer(
        id: $0, name: RandomTexts.text(2, &random),
        about: $0 % 2 == 0 ? RandomTexts.text(2, &random) : nil)
    }
    let articles = (0..<count).map { Self.article($0, &random) }
    let store = try Store.temporary(for: Article.self, Writer.self)
    try store.saveAll(writers)
    // A dangling reference has no record.
    try store.saveAll(
      articles.map {
        var article = $0
        if let writer = article.writerID, writer >= 15 { article.writerID = nil }
        return article
      })
    try body(
      store, try store.everything(Article.self),
      Dictionary(uniqueKeysWithValues: writers.map { ($0.id, $0) }))
  }

  /// Counts what was found, so that a check of nothing is noticed.
  private final class Found { var count = 0 }

  private func check(
    _ store: Store, _ articles: [Article], _ found: Found, _ text: String,
    _ query: Query<Article>, _ isMatch: (Article) -> Bool
  ) throws {
    let expected = articles.filter(isMatch).map(\.id)
    found.count += expected.count
    #expect(try store.ids(query) == expected, "\(text)")
    #expect(try store.count(query) == expected.count, "\(text)")
    #expect(try store.exists(query) == !expected.isEmpty, "\(text)")
    #expect(try store.fetch(query).map(\.id) == expected, "\(text)")
  }

  @Test func everyFormOfTextAnswersAsTheArrayDoes() throws {
    try withStore(seed: 30, 150) { store, articles, _ in
      var random = SeededGenerator(seed: 31)
      let found = Found()
      for _ in 0..<16 {
        let q = RandomTexts.query(2, &random)
        func check(_ query: Query<Article>, _ isMatch: (Article) -> Bool) throws {
          try self.check(store, articles, found, "\(q)", query, isMatch)
        }
        try check(Article.where { q.matches($0.title) }) { q.matches($0.title) }
        try check(Article.where { q.matches($0.body) }) { q.matches($0.body) }
        try check(Article.where { q.matches($0.tags) }) { q.matches($0.tags) }
        try check(Article.where { q.matches($0.notes) }) { q.matches($0.notes) }
        try check(Article.where { q.matches($0.labels) }) { q.matches($0.labels) }
        try check(Article.where { q.matches($0.lists) }) { q.matches($0.lists) }
        try check(Article.where { q.matches($0.both) }) { q.matches($0.both) }
        try check(Article.where { q.matches($0.place.name, $0.place.about) }) {
          q.matches($0.place.name, $0.place.about)
        }
        try check(Article.where { q.matches($0.origin.name, $0.origin.about) }) {
          q.matches($0.origin?.name, $0.origin?.about)
        }
        try check(Article.where { q.matches($0.title, $0.body, $0.tags) }) {
          q.matches($0.title, $0.body, $0.tags)
        }
        try check(Article.where { q.matches($0.title, $0.lists, $0.both) }) {
          q.matches($0.title, $0.lists, $0.both)
        }
        try check(Article.where { !q.matches($0.title, $0.body) && $0.year > 2005 }) {
          !q.matches($0.title, $0.body) && $0.year > 2005
        }
        try check(Article.where { q.matches($0.body) || $0.year < 1995 && !q.matches($0.tags) }) {
          q.matches($0.body) || $0.year < 1995 && !q.matches($0.tags)
        }
        try check(Article.where { $0.tags.contains { q.matches($0) } }) {
          $0.tags.contains { q.matches($0) }
        }
      }
      #expect(found.count > 1_500)
    }
  }

  @Test func textsOfRelatedRecordsAnswerAsTheArrayDoes() throws {
    try withStore(seed: 38, 150) { store, articles, writers in
      var random = SeededGenerator(seed: 39)
      let found = Found()
      func writer(_ article: Article) -> Writer? { article.writerID.flatMap { writers[$0] } }
      for _ in 0..<16 {
        let q = RandomTexts.query(2, &random)
        func check(_ query: Query<Article>, _ isMatch: (Article) -> Bool) throws {
          try self.check(store, articles, found, "\(q)", query, isMatch)
        }
        try check(Article.where { q.matches($0.writer.name) }) { q.matches(writer($0)?.name) }
        try check(Article.where { q.matches($0.writer.name, $0.writer.about) }) {
          q.matches(writer($0)?.name, writer($0)?.about)
        }
        try check(Article.where { q.matches($0.title, $0.writer.about, $0.tags) }) {
          q.matches($0.title, writer($0)?.about, $0.tags)
        }
        try check(Article.where { $0.writer.matches { q.matches($0.name, $0.about) } }) {
          guard let writer = writer($0) else { return false }
          return q.matches(writer.name, writer.about)
        }
      }
      #expect(found.count > 300)
    }
  }

  @Test func updatesAndDeletesReachTheSameRecords() throws {
    try withStore(seed: 32, 200) { store, articles, _ in
      let q = TextQuery("larch OR tre*")
      let changed = try store.update(Article.where { q.matches($0.title, $0.body) }) {
        $0.year += 100
      }
      let expected = articles.filter { q.matches($0.title, $0.body) }
      #expect(changed == expected.count && changed > 0)
      #expect(
        try store.ids(Article.where { $0.year > 2050 }) == expected.map(\.id))
      let deleted = try store.delete(Article.where { !q.matches($0.title, $0.body) })
      #expect(deleted == articles.count - expected.count)
      #expect(try store.everything(Article.self).map(\.id) == expected.map(\.id))
    }
  }

  @Test func pagesOrdersAndJoinsUseTheFilter() throws {
    try withStore(seed: 33, 300) { store, articles, writers in
      let q = TextQuery("larch* OR 设备 OR cafe")
      let query = Article.where { q.matches($0.title, $0.tags) }.sorted(by: \.year, .descending)
      let expected = articles.filter { q.matches($0.title, $0.tags) }
        .sorted { ($0.year, $1.id) > ($1.year, $0.id) }
      #expect(try store.fetch(query.limit(10).offset(3)) == Array(expected.dropFirst(3).prefix(10)))
      let rows = try store.fetch(query.with(Article.writer))
      #expect(rows.map(\.0) == expected)
      #expect(rows.map(\.1) == expected.map { $0.writerID.flatMap { writers[$0] } })
    }
  }

  @Test func aQueryWithoutWordsIsTrueForAllAndItsNegationForNone() throws {
    try withStore(seed: 34, 50) { store, _, _ throws in
      let none = TextQuery("…")
      #expect(try store.count(Article.where { none.matches($0.body) }) == 50)
      #expect(try store.count(Article.where { !none.matches($0.body) }) == 0)
      #expect(try store.count(Article.where { none.matches($0.writer.name) }) == 50)
    }
  }

  @Test func textsOfIDsAreWordsToo() throws {
    let store = try Store.temporary(for: Page.self)
    let pages = ["Larch tree", "cafe\u{301}", "pine"].map { Page(id: $0, text: "") }
    try store.saveAll(pages)
    let q = TextQuery("café OR larch")
    #expect(
      try store.count(Page.where { q.matches($0.id) })
        == pages.filter { q.matches($0.id) }.count)
    #expect(try store.count(Page.where { q.matches($0.id, $0.text) }) == 2)
  }

  // MARK: Plans

  @Test func thePlanShowsTheFilterWithTheWordsThatWereRead() throws {
    try withStore(seed: 35, 5) { store, _, _ in
      let q = TextQuery("Larch \"Object Store\" -sql tre*")
      let plan = try store.explain(
        Article.where { $0.year == 2020 && !q.matches($0.title, $0.tags) })
      #expect(
        plan.description.contains(
          #"!(larch && "object store" && !sql && tre*).matches(title, tags)"#))
      #expect(plan.description.contains("index year"))
      #expect(plan.description.hasPrefix("index"))
    }
  }

  /// Only the words of a filter that no field's bytes can answer are looked for in decoded records.
  @Test func storedTextsAreReadWithoutDecoding() throws {
    try withStore(seed: 36, 5) { _, _, _ in
      let q: TextQuery = "larch"
      func isDecidable(_ query: Query<Article>) -> Bool {
        FilterProgram.isDecidable(query.details.filter)
      }
      #expect(isDecidable(Article.where { q.matches($0.title, $0.tags) }))
      #expect(isDecidable(Article.where { q.matches($0.origin.about) }))
      #expect(isDecidable(Article.where { q.matches($0.labels) }))
      #expect(!isDecidable(Article.where { q.matches($0.both) }))
    }
  }

  @Test func wordsAreLookedForAfterAllThatCostsLess() {
    let q: TextQuery = "larch"
    let filter = Article.where {
      q.matches($0.writer.name) && (q.matches($0.title) || $0.year > 2030) && $0.year > 2000
        && q.matches($0.body) && $0.place.name == "x"
    }.details.filter
    let ordered = FilterProgram.inOrderOfCost(FilterProgram.conjuncts([filter])).map(\.text)
    #expect(
      ordered == [
        "year > 2000", "place.name == \"x\"", "(larch).matches(title) || year > 2030",
        "(larch).matches(body)",
        "related(writerID).matches { (larch).matches(name) }",
      ])
  }

  // MARK: Text queries

  @Test func textQueriesFindTheSame() throws {
    try withStore(seed: 37, 200) { store, articles, _ in
      let q = TextQuery("larch* OR cafe")
      let expected = articles.filter { q.matches($0.title, $0.tags) && $0.year > 2000 }.map(\.id)
      let text = "title, tags matches 'larch* OR cafe' and year > 2000"
      #expect(try store.ids(Article.query(text: text)) == expected)
      let given = try Article.query(
        text: "title, tags matches ? and year > 2000", "larch* OR cafe")
      #expect(try store.ids(given) == expected)
      let others = articles.filter { !q.matches($0.body) }.map(\.id)
      #expect(try store.ids(Article.query(text: "body not matches 'larch* OR cafe'")) == others)
      #expect(try store.ids(Article.query(text: "not body matches 'larch* OR cafe'")) == others)
      let nested = articles.filter { q.matches($0.place.name, $0.origin?.about) }.map(\.id)
      #expect(
        try store.ids(
          Article.query(text: "place.name, origin.about matches 'larch* OR cafe'")) == nested)
      try store.inspect { inspector in
        let collection = try #require(inspector.collections.first { $0.name == "Article" })
        let query = try inspector.query(text, in: collection)
        var ids: [String] = []
        try query.forEachID {
          ids.append($0)
          return true
        }
        #expect(ids == expected.map(String.init))
        #expect(
          try query.explain().contains("(larch* || cafe).matches(title, tags)"))
      }
    }
  }

  @Test(arguments: [
    ("year matches 'a'", "column 1"), ("title matches 5", "expected a text in quotes"),
    ("title, year matches 'a'", "column 8"),
    ("title, tags = 'a'", "expected matches after several"),
    ("title,", "expected a field"), ("place matches 'a'", "is not a text in every record"),
  ])
  func wrongTextQueriesAreToldTheirPlace(_ text: String, _ detail: String) {
    let error = caught { _ = try Article.query(text: text) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.context.detail?.contains(detail) == true, "\(error?.context.detail ?? "")")
  }

  // MARK: Live results

  @Test func observedResultsFollowTheWords() async throws {
    let store = try Store.temporary(for: Page.self)
    try store.saveAll([Page(id: "a", text: "larch"), Page(id: "b", text: "pine")])
    let q: TextQuery = "larch"
    let rows = store.observe(Page.where { q.matches($0.text) }).makeAsyncIterator()
    #expect(try await rows.next()?.map(\.id) == ["a"])
    try store.saveAll([Page(id: "b", text: "Larch tree")])
    #expect(try await rows.next()?.map(\.id) == ["a", "b"])
    try store.saveAll([Page(id: "a", text: "oak")])
    #expect(try await rows.next()?.map(\.id) == ["b"])
  }

  @Test func equalQueriesAreObservedAsOne() {
    let q: TextQuery = "larch"
    let other: TextQuery = "LARCH"
    let different: TextQuery = "larch*"
    func node(_ q: TextQuery) -> FilterNode { Page.where { q.matches($0.text) }.details.filter }
    #expect(node(q).hasSameParts(as: node(other)))
    #expect(!node(q).hasSameParts(as: node(different)))
    #expect(node(q).hasKnownParts)
  }
}
