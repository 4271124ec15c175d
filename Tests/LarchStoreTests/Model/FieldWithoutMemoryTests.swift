import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A type with one value only takes no memory, and the runtime does not say where it lies.
private enum Kind: String, Codable, IndexKey { case only }
private struct Nothing: Codable, Equatable {}

private struct Shelf: Record, Equatable {
  var kind = Kind.only
  var id = RecordID<Shelf>()
  var room: String

  static let schema = Schema<Shelf> { HasMany(\Book.spare?.shelfID, onDelete: .deny) }
}

private struct Label: Codable, Equatable {
  var kind = Kind.only
  var code: Int
  var nothing = Nothing()
  var text: String
  var shelfID: Shelf.ID?
}

private struct Book: Record, Equatable {
  var kind = Kind.only
  var spare: Label?
  var id = RecordID<Book>()
  var nothing = Nothing()
  var title: String
  var otherKind = Kind.only
  var number: Int
  var label: Label
  var shelfID: Shelf.ID
  var last = Kind.only

  static let schema = Schema<Book> {
    Index(\.title)
    Index(\.number, \.label.code)
    Index(\.label.text)
    Index(\.spare?.code)
    Index(\.kind, name: "kind")
    Index(\.otherKind, \.number, name: "otherKind")
    BelongsTo(\.shelfID, to: Shelf.self)
    BelongsTo(\.label.shelfID, to: Shelf.self)
    BelongsTo(\.spare?.shelfID, to: Shelf.self)
  }
}

private struct UnnamedIndex: Record {
  var id = RecordID<Self>()
  var number = 0
  var kind = Kind.only
  static let schema = Schema<Self> { Index(\.kind) }
}

@Suite("Fields without memory")
struct FieldWithoutMemoryTests {
  private func stored() throws -> (Store, [Book], [Shelf]) {
    let shelves = (1...3 as ClosedRange<Int64>).map { Shelf(id: RecordID($0), room: "room \($0)") }
    let books = (1...60).map { (number: Int) -> Book in
      func label(_ offset: Int) -> Label {
        let place = (number + offset) % (shelves.count + 1)
        return Label(
          code: (number + offset) % 5, text: "text \((number + offset) % 4)",
          shelfID: place == shelves.count ? nil : shelves[place].id)
      }
      return Book(
        spare: number % 3 == 0 ? nil : label(1), id: RecordID(Int64(number)),
        title: "title \(number % 7)", number: number % 6, label: label(2),
        shelfID: shelves[number % shelves.count].id)
    }
    let store = try Store.checked(for: Shelf.self, Book.self)
    try store.saveAll(shelves)
    try store.saveAll(books)
    return (store, books, shelves)
  }

  @Test("Records with them are found as they were stored")
  func finding() throws {
    let (store, books, _) = try stored()
    for book in books { #expect(try store.find(Book.self, book.id) == book) }
    #expect(try store.everything(Book.self) == books)
    #expect(try store.verify().isClean)
  }

  @Test(
    "Indexes over the fields beside them answer, at the top, in a nested value, behind an optional")
  func indexes() throws {
    let (store, books, _) = try stored()
    func check(
      _ query: Query<Book>, by index: String, _ isMatch: (Book) -> Bool,
      _ location: SourceLocation = #_sourceLocation
    ) throws {
      let expected = books.filter(isMatch)
      #expect(!expected.isEmpty, sourceLocation: location)
      #expect(
        Set(try store.fetch(query).map(\.id)) == Set(expected.map(\.id)), sourceLocation: location)
      let plan = try store.explain(query)
      #expect(plan.hasPrefix("index \(index) "), "\(plan)", sourceLocation: location)
    }
    try check(Book.where { $0.title == "title 3" }, by: "title") { $0.title == "title 3" }
    try check(Book.where { $0.number == 2 && $0.label.code == 3 }, by: "number_label.code") {
      $0.number == 2 && $0.label.code == 3
    }
    try check(Book.where { $0.label.text == "text 1" }, by: "label.text") {
      $0.label.text == "text 1"
    }
    try check(Book.where { $0.spare.code == 4 }, by: "spare.code") { $0.spare?.code == 4 }
    try check(Book.where { $0.otherKind == .only && $0.number == 5 }, by: "otherKind") {
      $0.number == 5
    }
    // Also without an index.
    #expect(
      try store.fetch(Book.where { $0.spare.text == "text 2" }).map(\.id)
        == books.filter { $0.spare?.text == "text 2" }.map(\.id))
  }

  @Test("Associations by the fields beside them are kept, followed and checked")
  func associations() throws {
    let (store, books, shelves) = try stored()
    for shelf in shelves {
      let all = try shelf.related(HasMany<Shelf, Book>(\.shelfID)).fetch(in: store)
      #expect(all == books.filter { $0.shelfID == shelf.id })
      let labels = try shelf.related(HasMany<Shelf, Book>(\.label.shelfID)).fetch(in: store)
      #expect(labels == books.filter { $0.label.shelfID == shelf.id })
      let spares = try shelf.related(HasMany<Shelf, Book>(\.spare?.shelfID)).fetch(in: store)
      #expect(spares == books.filter { $0.spare?.shelfID == shelf.id })
      #expect(!all.isEmpty && !labels.isEmpty && !spares.isEmpty)
    }
    var lost = books[0]
    lost.label.shelfID = 999
    #expect(caught { try store.saveAll([lost]) }?.code == .danglingReference)
    #expect(caught { _ = try store.write { try $0.delete(shelves[0]) } }?.code == .deleteDenied)
    try store.write { tx throws in
      for var book in books where [book.shelfID, book.spare?.shelfID].contains(shelves[0].id) {
        book.shelfID = shelves[1].id
        book.spare?.shelfID = nil
        try tx.save(&book)
      }
      try tx.delete(shelves[0])
    }
    let left = try store.everything(Book.self)
    #expect(left.allSatisfy { $0.label.shelfID != shelves[0].id })
    #expect(left.map(\.spare?.code) == books.map(\.spare?.code))
    #expect(try store.verify().isClean)
  }

  @Test("An index over such a field needs a name, and then has all records")
  func ownIndex() throws {
    let error = caught { _ = try Store.temporary(for: UnnamedIndex.self) }
    #expect(error?.code == .invalidSchema)
    #expect(error?.message.contains("needs a name") == true)
    let (store, books, _) = try stored()
    let query = Book.where { $0.kind == .only }
    #expect(Set(try store.fetch(query).map(\.id)) == Set(books.map(\.id)))
    #expect(try store.count(query) == books.count)
    #expect(try store.fetch(Book.where { $0.kind != .only }).isEmpty)
  }
}
