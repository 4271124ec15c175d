import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Queries of a type as text, with values beside the text, and as a dictionary.
@Suite struct TextQueryTests {
  /// A type with fields that are no keys, and one whose key is not the stored value.
  struct Book: Record, Equatable {
    static let keyStrategy = KeyStrategy.snakeCase
    static let schema = Schema<Book> {
      Index(\.homeCity, \.pageCount)
      Index(\.isbn)
      Index(\.shelf)
      Index(\.code)
    }
    var id = RecordID<Book>()
    var homeCity: String
    var pageCount: Int
    var isbn: ISBN?
    var kind: Kind
    var shelf = Shelf(row: "a")
    var firstOwner: Owner?
    var pastOwners: [Owner] = []
    var volume: Int128 = 0
    var `in`: Int = 0
    var code = Code("A")

    /// Stored as it is, and a key in lower case.
    struct Code: Codable, Hashable, Sendable, IndexKey {
      let text: String
      init(_ text: String) { self.text = text }
      init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
      }
      var indexValue: String { text.lowercased() }
    }
    struct ISBN: RawRepresentable, Codable, Hashable, Sendable, IndexKey { var rawValue: String }
    enum Kind: String, Codable, Sendable, CaseIterable { case novel, poem }
    struct Shelf: Codable, Hashable, Sendable, IndexKey {
      var row: String
      var indexValue: String { String(row.reversed()) }
    }
    struct Owner: Codable, Hashable, Sendable { var name: String; var age: Int? }
  }
  final class Box: Record, @unchecked Sendable {
    var id: Int
    let size: Int
    init(id: Int, size: Int) { (self.id, self.size) = (id, size) }
  }

  private static let cities = ["Oslo", "Lyon", "' or id > 0 or home_city = '", "é"]

  private func makeBooks(_ store: Store, _ random: inout SeededGenerator) throws -> [Book] {
    var books = (0..<80).map { _ in
      Book(
        homeCity: random.pick(Self.cities), pageCount: random.below(9),
        isbn: random.optional(Book.ISBN(rawValue: random.pick(["1", "2"]))),
        kind: random.pick(Book.Kind.allCases),
        shelf: Book.Shelf(row: random.pick(["ab", "ba", "c"])),
        firstOwner: random.optional(
          Book.Owner(name: random.pick(["A", "B"]), age: random.optional(random.below(3)))),
        pastOwners: (0..<random.below(3)).map { _ in
          Book.Owner(name: random.pick(["A", "B"]), age: random.below(3))
        }, volume: Int128(random.below(3)) << 80, in: random.below(2),
        code: Book.Code(random.pick(["a", "A", "b"])))
    }
    try store.write { tx in
      for place in books.indices { try tx.save(&books[place]) }
    }
    return books
  }

  private func checked() -> Store.Options { .quick.with { $0.checksQueries = true } }

  @Test func aQueryWithValuesGivesTheAnswerOfTheClosure() throws {
    var random = SeededGenerator(seed: 31)
    let store = try Store.temporary(for: Book.self, options: checked())
    defer { store.close() }
    let books = try makeBooks(store, &random)
    func expect(
      _ query: Query<Book>, _ closure: (Book) -> Bool, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let wanted = books.filter(closure)
      #expect(try store.fetch(query) == wanted, "\(query)", sourceLocation: location)
      #expect(try store.count(query) == wanted.count, "\(query)", sourceLocation: location)
    }
    for _ in 0..<60 {
      let city = random.pick(Self.cities)
      let pages = random.below(9)
      let kind = random.pick(Book.Kind.allCases)
      let isbn = random.optional(Book.ISBN(rawValue: "1"))
      let age: Int? = random.optional(random.below(3))
      let volume = Int128(random.below(3)) << 80
      try expect(Book.query(text: "home_city = ? and page_count > ? order by id", city, pages)) {
        $0.homeCity == city && $0.pageCount > pages
      }
      try expect(
        Book.query(text: "home_city = :c or page_count < :p", named: ["c": city, "p": pages])
      ) {
        $0.homeCity == city || $0.pageCount < pages
      }
      let code = Book.Code(random.pick(["a", "A", "B"]))
      try expect(Book.query(text: "code = ?", code)) { $0.code == code }
      try expect(Book.query(text: "not kind = ?", kind)) { $0.kind != kind }
      try expect(Book.query(text: "isbn = ?", isbn)) { $0.isbn == isbn }
      try expect(Book.query(text: "first_owner.age = ?", age)) { $0.firstOwner?.age == age }
      try expect(Book.query(text: "past_owners.age >= ?", pages)) {
        $0.pastOwners.contains { $0.age ?? -1 >= pages }
      }
      try expect(Book.query(text: "volume < ?", volume)) { $0.volume < volume }
      try expect(
        Book.query(
          text: "home_city in ? and not page_count in :some", [city, "x"], named: ["some": [1, 2]])
      ) {
        $0.homeCity == city && ![1, 2].contains($0.pageCount)
      }
      try expect(Book.query(text: "page_count between ? and ?", pages - 1, pages + 1)) {
        abs($0.pageCount - pages) <= 1
      }
      try expect(Book.query(text: "`in` = ? and shelf.row begins with ?", 1, "b")) {
        $0.in == 1 && $0.shelf.row.hasPrefix("b")
      }
      try expect(
        Book.query(text: "first_owner.name = :c", named: ["c": "A"]).where { $0.pageCount > pages }
      ) {
        $0.firstOwner?.name == "A" && $0.pageCount > pages
      }
    }
    let limited = try Book.query(text: "order by page_count desc limit ? offset ?", 3, 1)
    #expect(
      try store.fetch(limited)
        == Array(
          books.sorted { ($1.pageCount, $0.id) < ($0.pageCount, $1.id) }.dropFirst().prefix(3)))
    // Sorted by the key of the type, as a typed query is.
    #expect(
      try store.fetch(Book.query(text: "order by shelf"))
        == store.fetch(Book.all.sorted(by: \.shelf)))
  }

  @Test func aDictionaryGivesTheAnswerOfTheClosure() throws {
    var random = SeededGenerator(seed: 32)
    let store = try Store.temporary(for: Book.self, options: checked())
    defer { store.close() }
    let books = try makeBooks(store, &random)
    for _ in 0..<120 {
      var values: [String: (any Sendable)?] = [:]
      var tests: [(Book) -> Bool] = []
      if random.chance(1, in: 2) {
        let city = random.pick(Self.cities)
        values["home_city"] = city
        tests.append { $0.homeCity == city }
      }
      if random.chance(1, in: 2) {
        let pages = [random.below(9), random.below(9)]
        values["page_count"] = pages
        tests.append { pages.contains($0.pageCount) }
      }
      if random.chance(1, in: 3) {
        let isbn = random.optional(Book.ISBN(rawValue: "2"))
        values.updateValue(isbn, forKey: "isbn")
        tests.append { $0.isbn == isbn }
      }
      if random.chance(1, in: 3) {
        values["kind"] = Book.Kind.poem
        tests.append { $0.kind == .poem }
      }
      if random.chance(1, in: 3) {
        values["past_owners.name"] = "A"
        tests.append { $0.pastOwners.contains { $0.name == "A" } }
      }
      if random.chance(1, in: 3) {
        values.updateValue(nil, forKey: "first_owner.age")
        tests.append { $0.firstOwner?.age == nil }
      }
      let query = try Book.where(matching: values)
      let wanted = books.filter { book in tests.allSatisfy { $0(book) } }
      #expect(try store.fetch(query) == wanted, "\(query)")
    }
    let one = books[5]
    #expect(
      try store.fetch(
        Book.where(matching: ["id": one.id, "home_city": one.value(named: "home_city")])) == [one])
    #expect(try store.count(Book.where(matching: [:])) == books.count)
    // A range encodes its bounds as a list, which would mean one of them.
    let ranges: [any Sendable] = [2...4, 2..<4, 2..., ..<4, ...4]
    for range in ranges {
      do {
        _ = try Book.where(matching: ["page_count": range])
        Issue.record("\(range) was taken")
      } catch let error as LarchError {
        #expect(error.code == .invalidQuery && error.message.contains("A range"))
      }
    }
    #expect(try store.count(Book.where(matching: ["page_count": [Int]()])) == 0)
    #expect(
      try store.fetch(Book.where { $0.pageCount > 3 }.where(matching: ["home_city": "Oslo"]))
        == books.filter { $0.pageCount > 3 && $0.homeCity == "Oslo" })
    #expect(
      try store.explain(Book.where(matching: ["page_count": 3, "home_city": "Oslo"]))
        == store.explain(Book.where { $0.homeCity == "Oslo" && $0.pageCount == 3 }))
  }

  @Test func indexesAreUsedAsByTypedQueries() throws {
    let store = try Store.temporary(for: Book.self)
    defer { store.close() }
    #expect(
      try store.explain(Book.query(text: "home_city = 'Oslo' and page_count >= 3"))
        == store.explain(Book.where { $0.homeCity == "Oslo" && $0.pageCount >= 3 }))
    #expect(
      try store.explain(Book.query(text: "isbn = '1'"))
        == store.explain(Book.where { $0.isbn == Book.ISBN(rawValue: "1") }))
    #expect(try store.explain(Book.query(text: "kind = 'poem'")).contains("kind = 'poem'"))
  }

  // MARK: Mistakes

  @Test(arguments: [
    ("page_cout = 1", "column 1: there is no field \"page_cout\"; did you mean \"page_count\"?"),
    ("pageCount = 1", "did you mean \"page_count\"?"),
    ("first_owner.nam = 'A'", "did you mean \"first_owner.name\"?"),
    ("page_count = 'x'", "column 14: \"page_count\" is an int64: expected a number"),
    ("page_count = ", "column 14: expected a constant or a field, found the end"),
    ("kind = 1", "column 8: \"kind\" is a string: expected a text in quotes, found \"1\""),
    ("volume = 'x'", "is of kind int128: expected a number"),
    ("first_owner = 1", "has fields of its own"),
    ("order by kind", "cannot be used for sorting"),
    ("home_city = ?", "column 13: this placeholder has no value: the number of values is 0"),
    ("home_city = :city", "column 13: there is no value named \"city\""),
    ("home_city = :", "column 13: expected a name after \":\""),
    ("? = ?", "column 1: this placeholder has no value"),
  ])
  func aMistakeNamesItsPlaceAndWhatWasExpected(text: String, message: String) {
    let error = caught { _ = try Book.query(text: text) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.context.collection == "Book")
    #expect(error?.context.detail?.contains(message) == true, "\(error?.context.detail ?? "")")
  }

  @Test func valuesThatDoNotFitAreRefusedAndNotShown() throws {
    let mistakes: [(String, () throws -> Query<Book>)] = [
      (
        "column 14: \"page_count\" is an int64: expected a number, found ?, which is a text",
        { try Book.query(text: "page_count = ?", "secret") }
      ),
      (
        "found :a, which is a number",
        { try Book.query(text: "home_city = :a", named: ["a": 5151]) }
      ),
      ("found ?, which is a list", { try Book.query(text: "page_count = ?", [5151]) }),
      ("found ?, which is a text", { try Book.query(text: "home_city ?", "secret") }),
      (
        "value with fields of its own",
        { try Book.query(text: "page_count = ?", Book.Owner(name: "secret")) }
      ),
      (
        "the number of values is 2, but that of the placeholders \"?\" is 1",
        { try Book.query(text: "page_count = ?", 1, 2) }
      ),
      (
        "no placeholder uses the value named \"b\"",
        { try Book.query(text: "id = :a", named: ["a": 1, "b": 2]) }
      ),
      (
        "did you mean \"city\"?",
        { try Book.query(text: "home_city = :citty", named: ["city": "secret"]) }
      ),
      ("expected a whole number", { try Book.query(text: "limit ?", -5151) }),
    ]
    for (message, make) in mistakes {
      let error = caught { _ = try make() }
      #expect(error?.code == .invalidQuery, "\(message)")
      let text = "\(error.map { "\($0)" } ?? "")"
      #expect(text.contains(message), "\(text)")
      #expect(!text.contains("secret") && !text.contains("5151"), "\(text)")
    }
    let pairs: [(String, (any Sendable)?, String)] = [
      ("page_cout", 1, "did you mean \"page_count\"?"),
      (
        "page_count", "secret",
        "\"page_count\" is an int64: expected a number, found the value, which is a text"
      ),
      ("home_city", 5151, "expected a text in quotes"), ("kind", 5151, "is a string"),
      ("first_owner", "secret", "has fields of its own"),
      ("home_city", Book.Owner(name: "secret"), "fields or elements of its own"),
      ("home_city", [["secret"]], "fields or elements of its own"), ("", 1, "there is no field"),
      ("first_owner.", 1, "there is no field"), ("home_city", Data([1]), "which is data"),
      ("page_count", UUID(), "which is a UUID"), ("page_count", Date(), "which is a date"),
    ]
    for (name, value, message) in pairs {
      let error = caught { _ = try Book.where(matching: [name: value]) }
      #expect(error?.code == .invalidQuery, "\(name)")
      #expect(error?.context.field == name)
      let text = "\(error.map { "\($0)" } ?? "")"
      #expect(text.contains(message), "\(text)")
      #expect(!text.contains("secret") && !text.contains("5151"), "\(text)")
    }
    struct NotStored: Sendable {}
    #expect(caught { _ = try Book.where(matching: ["id": NotStored()]) }?.code == .invalidQuery)
    #expect(caught { _ = try Book.query(text: "id = ?", NotStored()) }?.code == .invalidQuery)
  }

  @Test func theTextOfAUserIsNeverAPartOfTheQuery() throws {
    let store = try Store.temporary(for: Book.self)
    defer { store.close() }
    try store.saveAll(Self.cities.map { Book(homeCity: $0, pageCount: 1, kind: .novel) })
    for city in Self.cities {
      #expect(
        try Book.query(text: "home_city = ?", city).fetch(in: store).map(\.homeCity) == [city])
      #expect(
        try Book.where(matching: ["home_city": city]).fetch(in: store).map(\.homeCity) == [city])
    }
  }

  @Test func logsShowNoValues() throws {
    let query = try Book.query(text: "kind = 'secret' and not past_owners.name in ('secret')")
    let text = PlanText.withoutValues { query.details.filter.text }
    #expect(!text.contains("secret"), "\(text)")
    #expect(query.details.filter.text.contains("secret"))
  }

  // MARK: Types that are no structs

  @Test func aClassIsQueriedByItsEncodedValues() throws {
    let store = try Store.temporary(for: Box.self)
    defer { store.close() }
    try store.saveAll((1...5).map { Box(id: $0, size: $0 * 10) })
    #expect(try Box.query(text: "size > 20 and id < 5").fetch(in: store).map(\.id) == [3, 4])
    #expect(try Box.where(matching: ["size": 30]).fetch(in: store).map(\.id) == [3])
  }

  // MARK: Verbs

  @Test func everyVerbWorksOnIt() async throws {
    let store = try Store.temporary(for: Book.self)
    defer { store.close() }
    try await store.write { tx in
      for number in 0..<6 {
        var book = Book(homeCity: "Oslo", pageCount: number, kind: .novel)
        try tx.save(&book)
      }
    }
    let query = try Book.query(text: "kind = 'novel' and page_count >= 3")
    #expect(try store.fetch(query.select(\.pageCount)) == [3, 4, 5])
    #expect(try store.sum(\.pageCount, of: query) == 12)
    #expect(try store.counts(by: \.homeCity, of: query).map(\.count) == [3])
    var counts: [Int] = []
    for try await books in store.observe(query) {
      counts.append(books.count)
      if counts.count == 2 { break }
      try await store.write { tx in
        var book = Book(homeCity: "Oslo", pageCount: 9, kind: .novel)
        try tx.save(&book)
      }
    }
    #expect(counts == [3, 4])
    #expect(try await store.write { tx in try tx.delete(query) } == 4)
    #expect(try store.count(Book.all) == 3)
  }

  // MARK: The tool

  @Test func theToolReadsTheSameNames() throws {
    let store = try Store.temporary(for: Book.self)
    defer { store.close() }
    try store.saveAll((0..<6).map { Book(homeCity: "Oslo", pageCount: $0, kind: .novel) })
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first)
      let text = "home_city = 'Oslo' and page_count > 3 order by page_count"
      let typeless = try inspector.query(text, in: collection)
      #expect(try typeless.count() == store.count(Book.query(text: text)))
      #expect(try typeless.explain().contains("index homeCity_pageCount"))
      let error = #expect(throws: QueryTextError.self) {
        try inspector.query("page_count = ?", in: collection)
      }
      #expect(error?.message.contains("write the constant itself") == true)
    }
  }
}
