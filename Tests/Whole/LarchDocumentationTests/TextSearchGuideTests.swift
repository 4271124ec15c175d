import Larch
import LarchTestSupport
import Testing

// The examples of docs/text-search.md.

/// The records of the examples.
enum TextSearchGuide {
  struct Author: Record, Equatable {
    var id = RecordID<Author>()
    var name: String
  }

  struct Article: Record, Equatable {
    var id = RecordID<Article>()
    var title: String
    var body: String
    var tags: [String] = []
    var year: Int
    var authorID: Author.ID?

    static let author = BelongsTo<Article, Author>(\.authorID)
    static let schema = Schema<Article> {
      author
      Index(\.year)
    }
  }

  struct Essay: Record, Equatable {
    var id = RecordID<Essay>()
    var title: String
    var body: String
    var tags: [String] = []
    var notes: String?
    var year: Int

    // snippet: text-search-declaration
    static let schema = Schema<Essay> {
      Search(\.title, \.body, \.tags)  // one index over all three
      Search(\.notes, rules: .keepingDiacritics)  // other rules for words
      Index(\.year)
    }
    // end snippet
  }
}

@Suite("text-search.md")
struct TextSearchGuideTests {
  typealias Article = TextSearchGuide.Article
  typealias Author = TextSearchGuide.Author

  let store: Store
  let articles: [Article]

  init() throws {
    store = try Store.checked(for: Author.self, Article.self)
    var made = [
      Article(
        title: "The larch", body: "A tree of the north that loses its needles.", tags: ["trees"],
        year: 2024),
      Article(
        title: "Larch", body: "An object store on LMDB, with stores of all sizes.", year: 2025),
      Article(title: "SQL", body: "Not an object store: LMDB is below sql here.", year: 2026),
    ]
    try store.write { tx in
      var author = Author(name: "Linnaeus")
      try tx.save(&author)
      made[0].authorID = author.id
      for place in made.indices { try tx.save(&made[place]) }
    }
    articles = made
  }

  @Test("A search field finds while words are typed")
  func searchField() throws {
    let searchField = "lmdb \"object store\" -sql sto"
    // snippet: text-search-field
    let typed = TextQuery(searchField, completesLast: true)  // "lmdb \"object store\" -sql sto"
    let found = try store.fetch(
      Article.where { typed.matches($0.title, $0.body) && $0.year > 2020 }
        .sorted(by: \.year, .descending).limit(20))
    // end snippet
    #expect(found.map(\.year) == [2025])
  }

  @Test("A filter of words means what it means over an array")
  func filter() throws {
    // snippet: text-search-filter
    let typed = TextQuery("larch tree*")
    let found = try store.fetch(
      Article.where { typed.matches($0.title, $0.tags, $0.author.name) && $0.year > 2000 })
    let inMemory = articles.filter { typed.matches($0.title, $0.tags) && $0.year > 2000 }
    let others = try store.count(Article.where { !typed.matches($0.body) })
    // end snippet
    #expect(found == inMemory)
    #expect(found.map(\.year) == [2024])
    #expect(others == 3)
  }

  @Test("The plan shows the words")
  func explain() throws {
    let typed = TextQuery("larch tree*")
    // snippet: text-search-explain
    let query = Article.where { typed.matches($0.title, $0.body) && $0.year == 2024 }
    print(try store.explain(query))
    // end snippet
    #expect(
      try store.explain(query) == """
        index year [2024]
          filter (larch && tree*).matches(title, body)
        """)
  }

  @Test("The strict reading tells the place")
  func strict() throws {
    var printed = ""
    func print(_ text: String) { printed = text }
    // snippet: text-search-strict
    do {
      _ = try TextQuery(validating: "larch \"tree")
    } catch let error as LarchError {
      print(error.context.detail ?? "")  // character 7: the quote is not closed
    }
    // end snippet
    #expect(printed == "character 7: the quote is not closed")
  }

  @Test("Queries are built of words")
  func built() {
    // snippet: text-search-built
    let query = TextQuery.word("larch") && (.prefix("tre") || .phrase("object store"))
    let others = query && !.word("sql")
    let literal: TextQuery = "larch -sql"  // read as if it were typed
    // end snippet
    #expect(others.description == "larch && (tre* || \"object store\") && !sql")
    #expect(literal.description == "larch && !sql")
  }

  @Test("Forms of a word are found if the query asks for them")
  func forms() {
    // snippet: text-search-forms
    let typed = TextQuery("running shoes", stemming: .english)
    let isFound = typed.matches("He runs, and needs a new shoe")  // true
    // end snippet
    #expect(isFound)
    #expect(!TextQuery("\"running\" shoes", stemming: .english).matches("He runs, in a shoe"))
  }

  @Test("Words are cut by the rules")
  func words() {
    // snippet: text-search-words
    let words = Array(TextWords(of: "Don't miss Café №5!"))  // ["don", "t", "miss", "cafe", "5"]
    let kept = Array(TextWords(of: "Café", rules: .keepingDiacritics))  // ["café"]
    // end snippet
    #expect(words == ["don", "t", "miss", "cafe", "5"])
    #expect(kept == ["café"])
  }

  @Test("A snippet shows why a text was found")
  func snippet() {
    let typed = TextQuery("object stor*")
    let article = articles[1]
    // snippet: text-search-snippet
    let snippet = typed.snippet(of: article.body, words: 12)
    let marked = snippet.parts.map { $0.isMatch ? "[\($0.text)]" : String($0.text) }.joined()
    let line = (snippet.isCutAtStart ? "…" : "") + marked + (snippet.isCutAtEnd ? "…" : "")
    let places = typed.ranges(in: article.title)  // for an AttributedString
    // end snippet
    #expect(line == "An [object] [store] on LMDB, with [stores] of all sizes.")
    #expect(places.isEmpty)
  }

  @Test("An index of words answers the same queries")
  func indexed() throws {
    typealias Essay = TextSearchGuide.Essay
    let store = try Store.checked(for: Essay.self)
    try store.write { tx in
      for article in articles {
        var essay = Essay(
          title: article.title, body: article.body, tags: article.tags, year: article.year)
        try tx.save(&essay)
      }
    }
    var printed = ""
    func print(_ text: some CustomStringConvertible) { printed = text.description }
    // snippet: text-search-indexed
    let typed = TextQuery("larch tree*")
    let query = Essay.where { typed.matches($0.title, $0.body) && $0.year > 2000 }
    print(try store.explain(query))
    // end snippet
    #expect(printed == "search title, body (larch && tree*)\n  filter year > 2000")
    #expect(try store.fetch(query).map(\.year) == [2024])
  }

  @Test("What matches best comes first")
  func relevance() throws {
    typealias Essay = TextSearchGuide.Essay
    let store = try Store.checked(for: Essay.self)
    try store.saveAll([
      Essay(title: "Trees", body: "A larch needs a store of water.", year: 2001),
      Essay(title: "Larch", body: "A store.", year: 2002),
      Essay(title: "Larch store", body: "Old", year: 1999),
    ])
    var printed = ""
    func print(_ text: some CustomStringConvertible) { printed = text.description }
    // snippet: text-search-relevance
    let typed = TextQuery("larch store")
    let best = Essay.where { typed.matches($0.title, $0.body) && $0.year > 2000 }
      .sortedByRelevance(weights: 4, 1).limit(20)
    print(try store.explain(best))
    // end snippet
    #expect(
      printed
        == "search title, body (larch && store)\n  filter year > 2000\n  sort by relevance(4, 1), keeping 20\n  limit 20"
    )
    #expect(try store.fetch(best).map(\.year) == [2002, 2001])
  }
}
