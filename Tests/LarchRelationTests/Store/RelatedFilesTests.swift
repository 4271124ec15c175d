import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The same collections, with and without their associations.
@Suite("Associations in files and stores that know other ones")
struct RelatedFilesTests {
  struct Book: Record, Equatable {
    var id = RecordID<Book>()
    var title = ""
    static let collectionName = "Book"
    static let authors = ManyToMany<Book, Author>(named: "authors")
    static let schema = Schema<Book> { authors }
    var authors: Related<Book, Author> { related(Book.authors) }
  }

  struct Author: Record, Equatable {
    var id: String
    static let collectionName = "Author"
    static let books = ManyToMany<Author, Book>(named: "authors")
    static let schema = Schema<Author> { books }
    var books: Related<Author, Book> { related(Author.books) }
  }

  struct PlainBook: Record {
    var id = RecordID<PlainBook>()
    var title = ""
    static let collectionName = "Book"
    static let authors = ManyToMany<PlainBook, PlainAuthor>(named: "authors")
  }

  struct PlainAuthor: Record {
    var id: String
    var bookID: PlainBook.ID?
    static let collectionName = "Author"
  }

  private func using<T>(
    _ path: String, _ types: any Record.Type..., body: (Store) throws -> T
  ) throws -> T {
    let store = try Store(path: path, types: types, options: Store.Options(), isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  @Test("Lists are there when the file is opened again, and outlive a program without them")
  func reopening() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try using(path, Book.self, Author.self) { store in
      try store.write { tx in
        var book = Book(title: "Trees")
        try tx.save(&book)
        for name in ["ada", "bo"] {
          var author = Author(id: name)
          try tx.add(&author, to: book.authors)
        }
      }
    }
    try using(path, Book.self, Author.self) { store in
      #expect(try Book(id: 1).authors.ids(in: store) == ["ada", "bo"])
      #expect(try Author(id: "bo").books.fetch(in: store).map(\.title) == ["Trees"])
      try Book(id: 1).authors.remove("ada", in: store)
    }
    try using(path, PlainBook.self, PlainAuthor.self) { store in
      var book = PlainBook(title: "More trees")
      try store.write { try $0.save(&book) }
      let error = #expect(throws: LarchError.self) {
        try store.count(book.related(PlainBook.authors))
      }
      #expect(error?.code == .unknownAssociation)
    }
    try using(path, Book.self, Author.self) { store in
      #expect(try Book(id: 1).authors.ids(in: store) == ["bo"])
      #expect(try Book(id: 2).authors.ids(in: store) == [])
      try Author(id: "bo").books.add(2, in: store)
      #expect(try Author(id: "bo").books.ids(in: store) == [1, 2])
    }
  }

  @Test("An association that no open type declares is unknown, whatever is done with it")
  func unknown() throws {
    let store = try Store.temporary(for: PlainBook.self, PlainAuthor.self)
    var book = PlainBook()
    try store.write { try $0.save(&book) }
    let saved = book
    let links = saved.related(PlainBook.authors)
    let children = saved.related(\PlainAuthor.bookID)
    func expectUnknown(_ work: (Store) throws -> Void) {
      let error = #expect(throws: LarchError.self) { try work(store) }
      #expect(error?.code == .unknownAssociation)
      #expect(error?.context.collection == "Book")
    }
    expectUnknown { _ = try $0.fetch(links) }
    expectUnknown { try $0.add("a", to: links) }
    expectUnknown { try $0.remove("a", from: links) }
    expectUnknown { try $0.removeAll(from: links) }
    expectUnknown { _ = try $0.contains("a", in: links) }
    expectUnknown { try $0.forEachID(of: links) { _ in } }
    expectUnknown { _ = try $0.count(children) }
    expectUnknown { try $0.add("a", to: children) }
    expectUnknown { try $0.replace(children, with: ["a"]) }
  }

  @Test("A record that was never saved has no related records")
  func unsaved() throws {
    let store = try Store.temporary(for: Book.self, Author.self)
    let book = Book()
    func expectUnsaved(_ work: (Store) throws -> Void) {
      let error = #expect(throws: LarchError.self) { try work(store) }
      #expect(error?.code == .unsavedReference)
    }
    expectUnsaved { _ = try $0.fetch(book.authors) }
    expectUnsaved { _ = try $0.fetch(book.authors.query) }
    expectUnsaved { _ = try $0.count(book.authors.where { $0.id == "a" }) }
    expectUnsaved { _ = try $0.count(book.authors) }
    expectUnsaved { try $0.add("a", to: book.authors) }
    expectUnsaved { try $0.add(contentsOf: ["a"], to: book.authors) }
    expectUnsaved { try $0.remove("a", from: book.authors) }
    expectUnsaved { try $0.removeAll(from: book.authors) }
    expectUnsaved { store in
      var author = Author(id: "a")
      try store.add(&author, to: book.authors)
    }
    #expect(try store.read { try $0.count(Author.all) } == 0)
  }

  @Test("A type that the store was not opened with has no lists")
  func closedType() throws {
    let store = try Store.temporary(for: PlainBook.self)
    let error = #expect(throws: LarchError.self) { try store.count(Author(id: "a").books) }
    #expect(error?.code == .unknownCollection)
  }
}

@Suite("References that must lead somewhere")
struct RequiredReferenceTests {
  struct House: Record {
    var id = RecordID<House>()
    static let rooms = HasMany<House, Room>(\.houseID)
    static let key = HasOne<House, Key>(\.houseID)
    static let stamps = HasMany<House, Stamp>(\.houseID)
    static let schema = Schema<House> {
      rooms
      key
      stamps
    }
  }

  struct Room: Record {
    var id = RecordID<Room>()
    var houseID: House.ID
  }

  struct Key: Record {
    var id = RecordID<Key>()
    var houseID: House.ID?
  }

  struct Stamp: Record {
    var id = RecordID<Stamp>()
    let houseID: House.ID?

    init(_ houseID: House.ID?) { self.houseID = houseID }
  }

  private func houses(in tx: WriteTransaction) throws -> [House] {
    try (0..<2).map { _ in
      var house = House()
      try tx.save(&house)
      return house
    }
  }

  @Test("One that must have a value can be moved, but not taken away")
  func required() throws {
    let store = try Store.temporary(for: House.self, Room.self, Key.self, Stamp.self)
    try store.write { tx in
      let houses = try houses(in: tx)
      var room = Room(houseID: houses[0].id)
      try tx.save(&room)
      let (first, second) = (houses[0].related(House.rooms), houses[1].related(House.rooms))
      let id = room.id
      func expectUnsuitable(_ work: () throws -> Void) {
        let error = #expect(throws: LarchError.self) { try work() }
        #expect(error?.code == .unsuitableAssociation)
        #expect(error?.context.field == "Room.houseID")
      }
      expectUnsuitable { try tx.remove(id, from: first) }
      expectUnsuitable { try tx.removeAll(from: first) }
      expectUnsuitable { try tx.replace(first, with: []) }
      try tx.remove(id, from: second)
      try tx.add(id, to: second)
      #expect(try tx.ids(first) == [])
      #expect(try tx.ids(second) == [id])
    }
  }

  @Test("A constant that holds the reference cannot be set")
  func constant() throws {
    let store = try Store.temporary(for: House.self, Room.self, Key.self, Stamp.self)
    try store.write { tx in
      let houses = try houses(in: tx)
      var stamp = Stamp(houses[0].id)
      try tx.save(&stamp)
      let id = stamp.id
      let stamps = houses[1].related(House.stamps)
      let error = #expect(throws: LarchError.self) { () throws in try tx.add(id, to: stamps) }
      #expect(error?.code == .unsuitableAssociation)
      #expect(try tx.ids(houses[0].related(House.stamps)) == [id])
    }
  }

  @Test(
    "Of what one record has one of, a second is a conflict, and can take the place of the first")
  func one() throws {
    let store = try Store.temporary(for: House.self, Room.self, Key.self, Stamp.self)
    try store.write { tx in
      let houses = try houses(in: tx)
      var first = Key()
      var second = Key()
      try tx.save(&second)
      let key = houses[0].related(House.key)
      try tx.add(&first, to: key)
      let other = second.id
      let error = #expect(throws: LarchError.self) { () throws in try tx.add(other, to: key) }
      #expect(error?.code == .uniqueConflict)
      try tx.replace(key, with: [other])
      #expect(try tx.ids(key) == [other])
      try tx.replace(key, with: [first.id])
      #expect(try tx.first(key)?.id == first.id)
    }
  }
}
