import Foundation
import Larch

// What someone writes who meets associations for the first time: one error each, which says what to
// write.
// swiftc: -Xfrontend -solver-scope-threshold=2000

struct Author: Record {
  var id = RecordID<Author>()
  var name: String

  // The right way is open.
  static let books = HasMany<Author, Book>(\.authorID)
  static let schema = Schema<Author> { books }
}

struct Loan: Record {
  var id = RecordID<Loan>()
  var bookID: Book.ID
}

struct Book: Record {
  var id = RecordID<Book>()
  var title: String
  var pages: Int
  var parentID: Book.ID?
  var authorID: Author.ID?

  static let author = BelongsTo<Book, Author>(\.authorID)
  static let loans = HasMany<Book, Loan>(\.bookID)
  static let parts = HasMany<Book, Book>(\.parentID)
  static let schema = Schema<Book> {
    author
    loans
    parts
  }
}

func noVariable(_ store: Store, _ other: Book) throws {
  var book = Book(title: "a", pages: 3)
  try store.save(&book)
  try store.save(book)  // error: requires explicit '&'
  try store.write { try $0.insert(book) }  // error: requires explicit '&'
  try store.save(other)  // error: 'other' is a 'let' constant
}

func otherIDs(_ store: Store, _ author: Author, _ ids: [Book.ID]) throws {
  _ = try store.find(Book.self, ids)
  _ = try Book.find(ids)
  _ = try store.find(Book.self, author.id)  // error: 'RecordID<Author>' to expected argument type
  _ = try Book.find(author.id)  // error: 'RecordID<Author>' to expected argument type
  _ = try store.delete(Book.self, author.id)  // error: 'RecordID<Author>' to expected argument type
}

func wholeRecords(_ author: Author, _ maybe: Author?, _ book: Book) {
  _ = Book.where { $0.author.id == author.id && $0.author != nil }
  _ = Book.where { $0.author == author }  // error: compare the id of a record
  _ = Book.where { $0.author != maybe }  // error: compare the id of a record
  _ = Book.where { author == $0.author }  // error: compare the id of a record
  _ = Book.where { $0.author == author.id }  // error: compare the id of a record
  _ = Book.where { $0.author.id == author }  // error: compare the id of a record
  _ = Book.where { author != $0.authorID }  // error: compare the id of a record
  _ = Author.where { $0.books.contains(book) }  // error: to expected argument type 'RecordID<Book>'
  _ = Book.where {
    $0.authorID == author  // error: compare the id of a record
      && $0.pages == 2 && $0.title == "a" && $0.pages > 3 && $0.author.name == "b"
      && $0.title != "b" && $0.pages <= 65 && $0.parentID != nil && $0.author != nil
  }
  _ = Book.where {
    $0.author == author  // error: compare the id of a record
      && $0.pages == 2 && $0.title == "a" && $0.pages > 3 && $0.author.name == "b"
      && $0.title != "b" && $0.pages <= 65 && $0.parentID != nil && $0.author != nil
  }
}

func relatedValues(_ store: Store) throws {
  _ = Book.all.sorted(by: \.author.name)
  _ = Book.all.sorted(by: \.loans.count)  // error: the order is by a field of the record itself
  _ = Book.all.sorted(by: \.author)  // error: the order is by a field of the record itself
  _ = Book.all.sorted(by: \.title).then(by: \.loans.count)  // error: the order is by a field
  _ = try store.counts(by: \.author.name, of: Book.all)  // error: only fields of the record itself
  _ = try Book.all.counts(by: \.author.name)  // error: only fields of the record itself
}

enum WrongEnds {
  static let author = HasMany<Book, Author>(\.authorID)  // error: the property is one of this type
  static let writer = HasOne<Book, Author>(\.authorID)  // error: the property is one of this type
  static let book = BelongsTo<Author, Book>(\.authorID)  // error: one of the other type
  static let misspelt = HasMany<Author, Book>(\.autorID)  // error: has no member 'autorID'
  static let missing = BelongsTo<Book, Author>(\.autorID)  // error: has no member 'autorID'
  static let inAuthor = Schema<Author> { BelongsTo(\Book.authorID) }  // error: of the other type
}

func changesOfRows(_ books: Observed<[Book]>, _ titles: Observed<[String]>, _ old: [Book]) {
  _ = books.changes(from: old, of: \.title)
  _ = books.changes(from: old)  // error: declare the record Equatable, or name the fields
  _ = titles.changes(from: ["a"])  // error: only records have changes
}

struct Visit: Record {
  var id = UUID()
  var city: String
  var note: String?
}

func textAsID(_ store: Store, _ id: UUID, _ text: String) throws {
  _ = try store.find(Visit.self, id)
  _ = try Visit.find(id)
  _ = try store.find(Visit.self, "6BA7B810")  // error: not a `String`: make one of its type first
  _ = try store.find(Visit.self, text)  // error: not a `String`: make one of its type first
  _ = try Visit.find(text)  // error: not a `String`: make one of its type first
  _ = try store.find(Book.self, "7")  // error: not a `String`: make one of its type first
}

func textOfField() {
  _ = Visit.where { $0.city.equals("oslo", options: .caseInsensitive) }
  _ = Visit.where { $0.city.lowercased() == "oslo" }  // error: `equals(_:options: .
  _ = Visit.where { $0.note.uppercased() == "A" }  // error: `equals(_:options: .
  _ = Visit.where { $0.city.lowercased().hasPrefix("os") }  // error: the same option of `hasPrefix`
}

func groupsOfNothing(_ store: Store) throws {
  _ = try store.fetch(Visit.all.grouped(by: \.city).select(.count))
  _ = try store.fetch(Visit.all.grouped(by: \.city))  // error: say what is wanted of each group
}
