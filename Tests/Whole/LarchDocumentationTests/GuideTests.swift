import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/guide.md, in its order; the last are in GuideTests+Files.swift.

// MARK: - Records

// snippet: guide-record
struct Book: Record {
  var id = RecordID<Book>()
  var title: String
  var pages: Int
  var cover: Cover?
  var readings: [Date] = []
}

struct Cover: Codable, Sendable {
  var colour: Colour
  var image: URL?
}

enum Colour: String, Codable, Sendable { case red, green, blue }
// end snippet

// snippet: guide-collection-name
struct Chapter: Record {
  static let collectionName = "Section"  // as it was called before

  var id = RecordID<Chapter>()
  var heading: String
}
// end snippet

// snippet: guide-key-strategy
struct Author: Record {
  static let keyStrategy = KeyStrategy.snakeCase

  var id = RecordID<Author>()
  var firstName: String  // first_name
  var homeURL: String?  // home_url
}
// end snippet

// snippet: guide-memberwise
extension Book: MemberwiseCoded {}
extension Cover: MemberwiseCoded {}
// end snippet

@Suite("guide.md: records")
struct RecordGuideTests {
  @Test("A record of nested types is read as it was written")
  func record() throws {
    let store = try Store.temporary(for: Book.self)
    let cover = Cover(colour: .green, image: URL(string: "https://larch.example/cover.png"))
    var book = Book(title: "Trees", pages: 212, cover: cover, readings: [.distantPast])
    try store.write { tx in try tx.save(&book) }
    let found = try store.read { tx in try tx.find(Book.self, book.id) }
    #expect(found?.cover?.colour == .green)
    #expect(found?.cover?.image == cover.image)
    #expect(found?.readings == [.distantPast])
  }

  @Test("Fields have names in snake_case, and values are read by them")
  func keyStrategy() throws {
    let store = try Store.temporary(for: Author.self)
    var author = Author(firstName: "Ada", homeURL: nil)
    try store.write { tx in try tx.save(&author) }
    // snippet: guide-values
    let first = try author.value(named: "first_name")  // "Ada", a FieldValue
    let isAda = try author.value(named: "first_name") == "Ada"
    for (name, value) in try author.values() { print(name, value) }  // id 1, first_name "Ada", …
    // end snippet
    #expect(first.string == "Ada")
    #expect(isAda)
    #expect(try author.values().map(\.name) == ["id", "first_name", "home_url"])
    #expect(try author.values().map(\.value) == [1, "Ada", .null])
    #expect(try Author.query(text: "first_name = 'Ada'").fetch(in: store).count == 1)
  }

  @Test("A renamed type finds its old records")
  func renamed() throws {
    struct Section: Record {
      var id = RecordID<Section>()
      var heading: String
    }
    let folder = try TemporaryFolder()
    let old = try Store(at: folder.path("a.larch"), for: Section.self)
    var section = Section(heading: "Roots")
    try old.write { tx in try tx.save(&section) }
    old.close()
    let store = try Store(at: folder.path("a.larch"), for: Chapter.self)
    #expect(try store.read { tx in try tx.find(Chapter.self, 1) }?.heading == "Roots")
  }
}

// MARK: - Ids

// snippet: guide-ids
struct Session: Record {
  var id = UUID()  // chosen by the program
  var user: String
}

struct Country: Record {
  var id: String  // "NO"
  var name: String
}

struct ISBN: RawRepresentable, RecordIdentifier {
  var rawValue: Int64
}
// end snippet

@Suite("guide.md: ids")
struct IDGuideTests {
  struct Edition: Record {
    var id: ISBN
    var title: String
  }

  @Test("Ids of every kind find their records")
  func ids() throws {
    let store = try Store.temporary(for: Session.self, Country.self, Edition.self, Book.self)

    // snippet: guide-assigned
    var book = Book(title: "Trees", pages: 212)
    print(book.id)  // unassigned
    try store.write { tx in try tx.save(&book) }
    print(book.id)  // 1
    // end snippet
    #expect(book.id == 1)
    #expect("\(Book(title: "", pages: 0).id)" == "unassigned")

    var session = Session(user: "ada")
    var country = Country(id: "NO", name: "Norway")
    var edition = Edition(id: ISBN(rawValue: 9_780_000_000_002), title: "Trees")
    try store.write { tx in
      try tx.save(&session)
      try tx.save(&country)
      try tx.save(&edition)
    }
    #expect(try store.read { tx in try tx.find(Session.self, session.id)?.user } == "ada")
    #expect(try store.read { tx in try tx.find(Country.self, "NO")?.name } == "Norway")
    #expect(try store.read { tx in try tx.find(Edition.self, edition.id)?.title } == "Trees")
  }
}

// MARK: - Schema

// snippet: guide-schema
struct Member: Record {
  var id = RecordID<Member>()
  var name: String
  var email: String?
  var role: Role = .guest
  var address: Place
  var languages: Set<String> = []
  var joined: Date
  var left: Date?

  var initial: String { String(name.prefix(1)) }

  static let schema = Schema<Member> {
    Unique(\.email, options: .caseInsensitive)
    Index(\.address.city, \.name)  // nested, and two fields
    Index(\.languages)  // an entry for each element
    Index(\.role)
    Index(\.initial, name: "initial")  // computed: needs a name
    Index(\.joined, name: "active", where: { $0.left == nil })
    Default(\.role, .guest)  // for records that were stored without a role
  }
}

struct Place: Codable, Sendable {
  var city: String
  var zip: String
}

enum Role: Int, Codable, Sendable, IndexKey { case guest, member, admin }
// end snippet

// snippet: guide-index-key
struct Version: Codable, Sendable {
  var major: Int
  var minor: Int
}

extension Version: IndexKey {
  var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
}
// end snippet

@Suite("guide.md: schema")
struct SchemaGuideTests {
  @Test("Each declaration is an index with the entries that it describes")
  func declarations() throws {
    let store = try Store.temporary(for: Member.self)
    var ada = Member(
      name: "Ada", email: "Ada@larch.example", role: .admin,
      address: Place(city: "London", zip: "SW1"), languages: ["en", "fr"],
      joined: Date(timeIntervalSinceReferenceDate: 0))
    try store.write { tx in try tx.save(&ada) }
    let dump = try store.dump(.entries)
    for index in ["address.city_name", "languages", "role", "initial", "active"] {
      #expect(dump.contains("index \(index): "))
    }
    #expect(dump.contains("unique email: 1 entry"))
    #expect(dump.contains("index languages: 2 entries"))
    var other = ada
    other.id = RecordID()
    other.email = "ADA@larch.example"
    #expect(throws: LarchError.self) { try store.write { tx in try tx.save(&other) } }
    ada.left = Date(timeIntervalSinceReferenceDate: 1)
    try store.write { tx in try tx.save(&ada) }
    #expect(try store.dump(.entries).contains("index active: 0 entries"))
  }

  @Test("A type of several parts is a key in the order of the parts")
  func composite() throws {
    struct Release: Record {
      var id = RecordID<Release>()
      var version: Version
      static let schema = Schema<Release> { Index(\.version) }
    }
    let store = try Store.temporary(for: Release.self)
    try store.write { tx in
      for (major, minor) in [(2, 0), (1, 10), (1, 9)] {
        var release = Release(version: Version(major: major, minor: minor))
        try tx.save(&release)
      }
    }
    let lines = try store.dump(.entries).split(separator: "\n").suffix(3)
    #expect(lines.map { String($0.suffix(4)) } == ["-> 3", "-> 2", "-> 1"])
  }
}

// MARK: - Queries

@Suite("guide.md: queries")
struct QueriesGuideTests {
  @Test("A filter, a look-up by a field and a count")
  func queries() throws {
    let store = try Store.checked(for: Member.self)
    try store.write { tx in
      for (number, name) in ["Bo", "Ada", "Cy", "Alan"].enumerated() {
        var member = Member(
          name: name, email: nil, role: number == 2 ? .guest : .member,
          address: Place(city: "London", zip: ""), joined: .distantPast,
          left: number == 0 ? .distantFuture : nil)
        try tx.insert(&member)
      }
    }
    // snippet: guide-queries
    let members = try store.fetch(
      Member.where { $0.address.city == "London" && $0.role != .guest }.sorted(by: \.name))
    let ada = try store.find(Member.self, by: \.initial, equals: "A")
    let left = try store.count(Member.where { $0.left != nil })
    // end snippet
    #expect(members.map(\.name) == ["Ada", "Alan", "Bo"])
    #expect(ada?.name == "Ada")
    #expect(left == 1)
  }
}

// MARK: - Transactions

@Suite("guide.md: transactions")
struct TransactionGuideTests {
  @Test("Reading and writing")
  func readAndWrite() throws {
    let store = try Store.temporary(for: Book.self)

    // snippet: guide-write
    var book = Book(title: "Trees", pages: 212)
    try store.write { tx in
      try tx.insert(&book)  // refuses an id that exists
      book.pages = 214
      try tx.update(book)  // refuses one that does not
      try tx.save(&book)  // does either
    }
    // end snippet

    // snippet: guide-read
    let (count, long) = try store.read { tx in
      var long: [String] = []
      for book in try tx.all(Book.self) where book.pages > 200 { long.append(book.title) }
      return (try tx.count(Book.all), long)
    }
    // end snippet
    #expect(count == 1)
    #expect(long == ["Trees"])

    // snippet: guide-delete
    try store.write { tx in
      try tx.delete(book)  // true: it was there
      try tx.delete(Book.self, book.id)  // false, and no error
      try tx.erase(Book.self)  // all of them, without looking at any
    }
    // end snippet
    #expect(try store.read { tx in try tx.count(Book.all) } == 0)
  }

  @Test("A thrown error undoes the transaction, or the savepoint around it")
  func undo() throws {
    struct Changed: Error {}
    let store = try Store.temporary(for: Book.self)
    #expect(throws: Changed.self) {
      // snippet: guide-rollback
      try store.write { tx in
        var book = Book(title: "Trees", pages: 212)
        try tx.save(&book)
        throw Changed()  // nothing was saved
      }
      // end snippet
    }
    #expect(try store.read { tx in try tx.count(Book.all) } == 0)

    let titles = ["Trees", "", "Roots"]
    // snippet: guide-savepoint
    try store.write { tx in
      for title in titles {
        do {
          try tx.savepoint {
            var book = Book(title: title, pages: 1)
            try tx.save(&book)
            if title.isEmpty { throw Changed() }
          }
        } catch is Changed {
          continue  // this book is undone, the others stay
        }
      }
    }
    // end snippet
    #expect(try store.read { tx in try tx.all(Book.self).map(\.title) } == ["Trees", "Roots"])
  }

  @Test("Work after a commit runs once, however often the closure ran")
  func afterCommit() throws {
    var options = Store.Options()
    options.runsWritesTwice = true
    let store = try Store.temporary(for: Book.self, options: options)
    var sent = 0
    func sendMail() { sent += 1 }
    // snippet: guide-after-commit
    try store.write { tx in
      var book = Book(title: "Trees", pages: 212)
      try tx.save(&book)
      tx.afterCommit { sendMail() }
    }
    // end snippet
    #expect(sent == 1)
    #expect(try store.read { tx in try tx.count(Book.all) } == 1)
  }
}
