import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A list of books by the names of their authors had to be sorted by hand: an order took fields of the
/// record alone.
@Suite("Orders across associations")
struct RelatedOrderPlanTests {
  struct Author: Record {
    var id = RecordID<Author>()
    var name = ""
    var born: Int?
    var tags: [String] = []
    static let schema = Schema<Author> {
      HasMany(\Book.authorID, onDelete: .none)
      Index(\.name)
    }
  }

  struct Book: Record, Equatable {
    var id = RecordID<Book>()
    var title = ""
    var authorID: Author.ID?
    static let author = BelongsTo<Book, Author>(\.authorID)
    var shopID: Shop.ID?
    static let cover = HasOne<Book, Cover>(\.bookID)
    static let shop = BelongsTo<Book, Shop>(\.shopID)
    static let schema = Schema<Book> {
      author
      cover
      Index(\.title)
    }
  }

  /// Books of an earlier program, which had no covers.
  struct OldBook: Record {
    var id = RecordID<OldBook>()
    var title = ""
    static let collectionName = "Book"
  }

  struct OldCover: Record {
    var id = RecordID<OldCover>()
    var color = ""
    var bookID: RecordID<OldBook>?
    static let collectionName = "Cover"
  }

  /// No store is opened with it.
  struct Shop: Record {
    var id = RecordID<Shop>()
    var name = ""
  }

  struct Cover: Record {
    var id = RecordID<Cover>()
    var color = ""
    var bookID: Book.ID?
  }

  private func filled(books: Int, authors: Int) throws -> Store {
    let store = try Store.temporary(for: Author.self, Book.self, Cover.self)
    try store.write { tx in
      var ids: [Author.ID] = []
      for number in 0..<authors {
        var author = Author(name: "author \((number * 7) % authors)", born: 1800 + number)
        try tx.insert(&author)
        ids.append(author.id)
      }
      for number in 0..<books {
        var book = Book(title: "book \(number % 10)", authorID: ids[(number * 3) % authors])
        try tx.insert(&book)
      }
    }
    return store
  }

  @Test("The plan names the field of the related record; each author is read once")
  func plan() throws {
    let store = try filled(books: 1000, authors: 8)
    let query = Book.all.sorted(by: \.author.name, .descending).then(by: \.title).limit(5)
    // Each book, each author once, and the books that are returned.
    #expect(
      try store.explain(query, running: true) == """
        all records
          sort by related(authorID).name descending, title, keeping 5
          limit 5
        examined 0 index entries, 1013 records; returned 5
        """)
    #expect(
      "\(query)" == """
        Book
          sort by related(authorID).name descending, title
          limit 5
        """)
    let filtered = Book.where { $0.title == "book 3" }.sorted(by: \.author.born)
    let text = try store.explain(filtered, running: true)
    #expect(text.hasPrefix("index title [\"book 3\"]"), "\(text)")
    #expect(text.hasSuffix("examined 100 index entries, 204 records; returned 100"), "\(text)")
  }

  @Test("A missing related record sorts like nil, for every cause")
  func missing() throws {
    let store = try Store.temporary(for: Author.self, Book.self, Cover.self)
    var books: [Book] = []
    try store.write { tx in
      var named = Author(name: "B", born: 1900)
      var other = Author(name: "A")
      try tx.insert(&named)
      try tx.insert(&other)
      for id in [named.id, nil, other.id, RecordID(99), named.id] {
        var book = Book(title: "t", authorID: id)
        try tx.insert(&book)
        books.append(book)
      }
    }
    func places(_ query: Query<Book>) throws -> [Int] {
      try store.fetch(query).map { books.firstIndex(of: $0) ?? -1 }
    }
    #expect(try places(Book.all.sorted(by: \.author.name)) == [1, 3, 2, 0, 4])
    #expect(try places(Book.all.sorted(by: \.author.name, .descending)) == [0, 4, 2, 1, 3])
    #expect(try places(Book.all.sorted(by: \.author.name).reversed()) == [4, 0, 2, 3, 1])
    #expect(try places(Book.all.sorted(by: \.author.born)) == [1, 2, 3, 0, 4])
    #expect(try places(Book.all.sorted(by: \.author.id)) == [1, 3, 0, 4, 2])
    #expect(try store.first(Book.all.sorted(by: \.author.name, .descending)) == books[0])
  }

  @Test("An association that a read-only file does not have yet is followed without an index")
  func withoutIndex() throws {
    let scratch = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    let url = scratch.appendingPathComponent("books.larch")
    let old = try Store(at: url, for: OldBook.self, OldCover.self)
    try old.write { tx in
      var books: [OldBook] = []
      for number in 0..<4 {
        var book = OldBook(title: "\(number)")
        try tx.insert(&book)
        books.append(book)
      }
      for (place, color) in [(2, "blue"), (0, "red"), (2, "zinc"), (3, "azure")] {
        var cover = OldCover(color: color, bookID: books[place].id)
        try tx.insert(&cover)
      }
    }
    old.close()
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store(
      at: url, for: Author.self, Book.self, Cover.self, options: options)
    let ids = try store.ids(Book.all)
    let query = Book.all.sorted(by: \.cover.color)
    // Of two covers the first one counts.
    #expect(try store.ids(query) == [ids[1], ids[3], ids[2], ids[0]])
    let page = try store.page(query.limit(2))
    #expect(try store.ids(query.after(try #require(page.next))) == [ids[2], ids[0]])
  }

  @Test("A page token belongs to its own order")
  func tokens() throws {
    let store = try filled(books: 10, authors: 3)
    let token = try #require(try store.page(Book.all.sorted(by: \.author.name).limit(2)).next)
    func code(_ query: Query<Book>) -> LarchError.Code? {
      do {
        _ = try store.fetch(query.after(token))
        return nil
      } catch { return (error as? LarchError)?.code }
    }
    #expect(code(Book.all.sorted(by: \.author.name)) == nil)
    #expect(code(Book.all.sorted(by: \.author.name, .descending)) == .invalidQuery)
    #expect(code(Book.all.sorted(by: \.title)) == .invalidQuery)
    #expect(code(Book.all.sorted(by: \.author.born)) == .invalidQuery)
  }

  @Test("Requests that begin with other words accept the same orders")
  func otherForms() throws {
    let store = try filled(books: 6, authors: 2)
    let names = try store.fetch(Book.select(\.authorID).sorted(by: \.author.name, .descending))
    let sorted = try store.fetch(Book.all.sorted(by: \.author.name, .descending)).map(\.authorID)
    #expect(names == sorted)
    #expect(
      try store.fetch(Book.all.select(\.authorID).distinct().sorted(by: \.author.name)).count == 2)
    let author = try #require(try store.first(Author.all))
    let own = HasMany<Author, Book>(\.authorID)
    #expect(
      try store.fetch(author.related(own).sorted(by: \.author.name)).count
        == store.count(author.related(own)))
  }

  @Test(
    "An order that is not a field of the related record is an error, and so is a type that is not open"
  )
  func errors() throws {
    let store = try Store.temporary(for: Author.self, Book.self, Cover.self)
    func error(_ query: Query<Book>) -> LarchError? {
      do {
        _ = try store.fetch(query)
        return nil
      } catch { return error as? LarchError }
    }
    #expect(error(Book.all.sorted(by: \.author.born.isEven))?.code == .invalidQuery)
    #expect(error(Book.all.sorted(by: \.shop.name))?.code == .unknownCollection)
  }
}

extension Int? {
  fileprivate var isEven: Bool? { map { $0 % 2 == 0 } }
}
