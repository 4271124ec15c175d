import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Records are fetched with their related ones in one pass")
struct EagerFetchingTests {
  struct Author: Record {
    var id = RecordID<Author>()
    var name = ""
    var age = 0
    var mentorID: Author.ID?

    static let books = HasMany<Author, Book>(\.authorID, onDelete: .none)
    static let profile = HasOne<Author, Profile>(\.authorID, onDelete: .destroy)
    static let pupils = HasMany<Author, Author>(\.mentorID, onDelete: .nullify)
    static let mentor = BelongsTo<Author, Author>(\.mentorID)
    static let shelves = ManyToMany<Author, Shelf>(named: "authors")
    static let friends = ManyToMany<Author, Author>(named: "friends")
    static let befriended = ManyToMany<Author, Author>(named: "friends", isInverse: true)
    static let schema = Schema<Author> {
      books
      profile
      pupils
      shelves
      friends
      befriended
    }
  }

  struct Book: Record {
    var id = UUID()
    var title = ""
    var year = 0
    var authorID: Author.ID?
    var tagIDs: [Tag.ID] = []

    static let author = BelongsTo<Book, Author>(\.authorID)
    static let tags = HasMany<Book, Tag>(in: \.tagIDs)
    static let readers = HasMany<Book, Reader>(through: \Loan.bookID, \Loan.readerID)
    static let schema = Schema<Book> {
      author
      tags
      readers
      Index(\.year)
    }
  }

  struct Profile: Record {
    var id = RecordID<Profile>()
    var authorID: Author.ID
    var text = ""
  }

  /// With ids that are cut in the index of a reference.
  struct Tag: Record {
    var id: String
    var rank = 0

    static let books = HasMany<Tag, Book>(\.tagIDs, onDelete: .none)
    static let schema = Schema<Tag> { books }
  }

  struct Shelf: Record {
    var id: Int
    static let authors = ManyToMany<Shelf, Author>(named: "authors")
    static let schema = Schema<Shelf> { authors }
  }

  struct Reader: Record {
    var id = RecordID<Reader>()
    var name = ""
    static let books = HasMany<Reader, Book>(through: \Loan.readerID, \Loan.bookID)
    static let schema = Schema<Reader> { books }
  }

  struct Loan: Record {
    var id = RecordID<Loan>()
    var bookID: Book.ID
    var readerID: Reader.ID?
    var day = 0
  }

  private struct World {
    var authors: [Author] = []
    var books: [Book] = []
    var profiles: [Profile] = []
    var tags: [Tag] = []
    var shelves: [Shelf] = []
    var readers: [Reader] = []
    var loans: [Loan] = []
    var shelved: Set<[Int64]> = []
    var friends: Set<[Int64]> = []
  }

  private static func store(checks: Bool = false) throws -> Store {
    var options = Store.Options()
    options.checksQueries = checks
    return try Store.temporary(
      for: Author.self, Book.self, Profile.self, Tag.self, Shelf.self, Reader.self, Loan.self,
      options: options)
  }

  private static func fill(
    _ writer: some RecordWriting, seed: UInt64
  ) throws -> World {
    var random = SeededGenerator(seed: seed)
    var world = World()
    func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &random) }
    let long = String(repeating: "t", count: 150)
    try writer._writing { tx in
      for number in 0..<below(12) {
        var author = Author(name: "author \(number)", age: below(5))
        author.mentorID = below(2) == 0 ? world.authors.randomElement(using: &random)?.id : nil
        try tx.save(&author)
        world.authors.append(author)
      }
      for number in 0..<below(6) {
        var tag = Tag(id: (number % 2 == 0 ? long : "tag ") + "\(number)", rank: below(3))
        try tx.save(&tag)
        world.tags.append(tag)
      }
      for number in 0..<below(4) {
        var shelf = Shelf(id: number - 2)
        try tx.save(&shelf)
        world.shelves.append(shelf)
      }
      for number in 0..<below(5) {
        var reader = Reader(name: "reader \(number)")
        try tx.save(&reader)
        world.readers.append(reader)
      }
      for number in 0..<below(40) {
        var book = Book(title: "book \(number)", year: 1990 + below(6))
        // The rule is none, so references may dangle.
        book.authorID =
          below(4) == 0
          ? (below(2) == 0 ? nil : RecordID(999))
          : world.authors.randomElement(
            using: &random)?.id
        for _ in 0..<below(4) {
          if let tag = world.tags.randomElement(using: &random) { book.tagIDs.append(tag.id) }
          if below(6) == 0 { book.tagIDs.append(long + "gone") }
        }
        try tx.save(&book)
        world.books.append(book)
      }
      for author in world.authors where below(2) == 0 {
        var profile = Profile(authorID: author.id, text: "of \(author.name)")
        try tx.save(&profile)
        world.profiles.append(profile)
      }
      for _ in 0..<below(60) {
        guard let book = world.books.randomElement(using: &random) else { break }
        var loan = Loan(
          bookID: book.id,
          readerID: below(5) == 0 ? nil : world.readers.randomElement(using: &random)?.id)
        try tx.save(&loan)
        world.loans.append(loan)
      }
      for _ in 0..<below(20) {
        guard let author = world.authors.randomElement(using: &random) else { break }
        if let shelf = world.shelves.randomElement(using: &random) {
          try tx.add(shelf.id, to: author.related(Author.shelves))
          world.shelved.insert([author.id.rawValue, Int64(shelf.id)])
        }
        if let friend = world.authors.randomElement(using: &random) {
          try tx.add(friend.id, to: author.related(Author.friends))
          world.friends.insert([author.id.rawValue, friend.id.rawValue])
        }
      }
    }
    world.books.sort { $0.id.uuidString < $1.id.uuidString }
    world.tags.sort { $0.id < $1.id }
    return world
  }

  /// Fetches and compares with arrays, plain and refined.
  private static func checkMany<A: ToManyAssociation>(
    _ association: A, _ reader: some RecordReading, _ owners: [A.Owner], _ seed: UInt64,
    refined: Query<A.Target>, _ refine: ([A.Target]) -> [A.Target],
    _ related: (A.Owner) -> [A.Target]
  ) throws {
    let rows = try reader.fetch(A.Owner.all.with(association))
    #expect(rows.map(\.0.id) == owners.map(\.id), "seed \(seed), \(A.self)")
    #expect(
      rows.map { $0.1.map(\.id) } == owners.map { related($0).map(\.id) },
      "seed \(seed), \(A.self)")
    var visited: [[A.Target.ID]] = []
    try reader.forEach(A.Owner.all.with(association)) { visited.append($1.map(\.id)) }
    #expect(visited == rows.map { $0.1.map(\.id) }, "seed \(seed), \(A.self)")
    let part = try reader.fetch(A.Owner.all.with(association, from: refined))
    #expect(
      part.map { $0.1.map(\.id) } == owners.map { refine(related($0)).map(\.id) },
      "seed \(seed), refined \(A.self)")
  }

  private static func sorted<R, V: Comparable>(_ list: [R], by value: (R) -> V) -> [R] {
    list.enumerated().sorted {
      (value($0.element), $0.offset) < (value($1.element), $1.offset)
    }.map(\.element)
  }

  private static func check(_ reader: some RecordReading, _ world: World, _ seed: UInt64) throws {
    try checkMany(
      Author.books, reader, world.authors, seed,
      refined: Book.where { $0.year > 1992 }.sorted(by: \.year).limit(2).offset(1),
      { Array(sorted($0.filter { $0.year > 1992 }, by: \.year).dropFirst().prefix(2)) },
      { author in world.books.filter { $0.authorID == author.id } })
    try checkMany(
      Author.pupils, reader, world.authors, seed, refined: Author.all.reversed(),
      { $0.reversed() }, { author in world.authors.filter { $0.mentorID == author.id } })
    try checkMany(
      Author.shelves, reader, world.authors, seed, refined: Shelf.where { $0.id > -1 },
      { $0.filter { $0.id > -1 } },
      { author in
        world.shelves.filter { world.shelved.contains([author.id.rawValue, Int64($0.id)]) }
      })
    try checkMany(
      Shelf.authors, reader, world.shelves, seed, refined: Author.all.sorted(by: \.age),
      { sorted($0, by: \.age) },
      { shelf in
        world.authors.filter { world.shelved.contains([$0.id.rawValue, Int64(shelf.id)]) }
      })
    try checkMany(
      Author.friends, reader, world.authors, seed, refined: Author.all.limit(1),
      { Array($0.prefix(1)) },
      { author in
        world.authors.filter { world.friends.contains([author.id.rawValue, $0.id.rawValue]) }
      })
    try checkMany(
      Author.befriended, reader, world.authors, seed, refined: Author.all.limit(0), { _ in [] },
      { author in
        world.authors.filter { world.friends.contains([$0.id.rawValue, author.id.rawValue]) }
      })
    let tags = Dictionary(uniqueKeysWithValues: world.tags.map { ($0.id, $0) })
    try checkMany(
      Book.tags, reader, world.books, seed, refined: Tag.where { $0.rank > 0 }.sorted(by: \.rank),
      { list in
        let wanted = list.filter { $0.rank > 0 }.sorted { $0.id < $1.id }
        return sorted(wanted, by: \.rank)
      }, { book in book.tagIDs.compactMap { tags[$0] } })
    try checkMany(
      Book.tags, reader, world.books, seed, refined: Tag.where { $0.rank > 0 }.limit(2),
      { Array($0.filter { $0.rank > 0 }.prefix(2)) },
      { book in book.tagIDs.compactMap { tags[$0] } })
    try checkMany(
      Tag.books, reader, world.tags, seed, refined: Book.all.filter { $0.year % 2 == 0 },
      { $0.filter { $0.year % 2 == 0 } },
      { tag in world.books.filter { $0.tagIDs.contains(tag.id) } })
    try checkMany(
      Book.readers, reader, world.books, seed, refined: Reader.all.reversed().limit(2),
      { Array($0.reversed().prefix(2)) },
      { book in
        let ids = Set(world.loans.filter { $0.bookID == book.id }.compactMap(\.readerID))
        return world.readers.filter { ids.contains($0.id) }
      })
    try checkMany(
      Reader.books, reader, world.readers, seed,
      refined: Book.all.sorted(by: \.year, .descending), { sorted($0, by: { -$0.year }) },
      { reader in
        let ids = Set(world.loans.filter { $0.readerID == reader.id }.map(\.bookID))
        return world.books.filter { ids.contains($0.id) }
      })
    let authors = Dictionary(uniqueKeysWithValues: world.authors.map { ($0.id, $0) })
    let withAuthor = try reader.fetch(Book.where { $0.year > 1991 }.with(Book.author))
    let books = world.books.filter { $0.year > 1991 }
    #expect(withAuthor.map(\.0.id) == books.map(\.id), "seed \(seed)")
    #expect(
      withAuthor.map(\.1?.name) == books.map { $0.authorID.flatMap { authors[$0]?.name } },
      "seed \(seed)")
    let withOld = try reader.fetch(
      Book.all.with(Book.author, from: Author.where { $0.age > 2 }))
    #expect(
      withOld.map(\.1?.name)
        == world.books.map { book in
          book.authorID.flatMap { authors[$0] }.flatMap { $0.age > 2 ? $0.name : nil }
        }, "seed \(seed)")
    let withMentor = try reader.fetch(Author.all.with(Author.mentor))
    #expect(
      withMentor.map(\.1?.name) == world.authors.map { $0.mentorID.flatMap { authors[$0]?.name } },
      "seed \(seed)")
    let withProfile = try reader.fetch(Author.all.sorted(by: \.name).with(Author.profile))
    #expect(
      withProfile.map(\.1?.text)
        == sorted(world.authors, by: \.name).map { author in
          world.profiles.first { $0.authorID == author.id }?.text
        }, "seed \(seed)")
    #expect(
      try Author.all.limit(3).with(Author.books).fetch(in: reader).map(\.0.id)
        == world.authors.prefix(3).map(\.id), "seed \(seed)")
  }

  @Test("For every association the result equals that of dictionaries", arguments: 0..<20)
  func everyKind(number: UInt64) throws {
    let store = try Self.store(checks: number % 2 == 0)
    let world = try Self.fill(store, seed: 7_000 + number)
    try Self.check(store, world, 7_000 + number)
  }

  @Test("In a write, pending entries are seen", arguments: 0..<5)
  func unsavedEntries(number: UInt64) throws {
    let store = try Self.store()
    try store.write { tx in
      let world = try Self.fill(tx, seed: 8_000 + number)
      try Self.check(tx, world, 8_000 + number)
    }
  }

  @Test("An association that no open type declares is an error, not an empty list")
  func undeclared() throws {
    let store = try Self.store()
    let links = ManyToMany<Reader, Shelf>(named: "unknown")
    let unknown = #expect(throws: LarchError.self) {
      _ = try store.fetch(Reader.all.with(links))
    }
    #expect(unknown?.code == .unknownAssociation)
  }

  @Test("A related record of several records is read once")
  func shared() throws {
    let store = try Self.store()
    let world = try Self.fill(store, seed: 7_004)
    try store.read { tx in
      try tx.run(Book.all.with(Book.author)) { rows in
        try rows.forEach { _ in }
        #expect(
          rows.parts[0].counters.recordsExamined
            == Set(world.books.compactMap(\.authorID)).intersection(world.authors.map(\.id)).count)
      }
      try tx.run(Book.all.with(Book.tags)) { rows in
        try rows.forEach { _ in }
        #expect(
          rows.parts[0].counters.recordsExamined
            == Set(world.books.flatMap(\.tagIDs)).intersection(world.tags.map(\.id)).count)
      }
    }
  }

  @Test("A page token cannot refine related records")
  func token() throws {
    let store = try Self.store()
    _ = try Self.fill(store, seed: 7_004)
    guard let token = try store.page(Book.all.limit(1)).next else { return }
    let error = #expect(throws: LarchError.self) {
      _ = try store.fetch(Author.all.with(Author.books, from: Book.all.after(token)))
    }
    #expect(error?.code == .invalidQuery)
  }
}
