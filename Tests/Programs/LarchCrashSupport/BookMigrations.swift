package import Larch

/// The migrations of the books by a new version of the program, in three steps. It is visible if
/// one of them ran twice.
package enum BookMigrations {
  package static let all = [
    Migration("titles") { tx in
      try tx.rewrite(IndexedBook.self) { fields in
        fields["title"] = .string("new " + (fields["title"]?.string ?? ""))
      }
    },
    Migration("shelves") { tx in
      try tx.rewrite(IndexedBook.self, from: PlainBook.self) { old in
        IndexedBook(
          id: .init(old.id.rawValue), title: old.title, shelf: old.shelf + 100,
          topics: old.topics, isbn: old.isbn)
      }
    },
    Migration("another") { tx in
      var book = IndexedBook(title: "last", shelf: 7, topics: [], isbn: "last")
      try tx.save(&book)
    },
  ]

  /// The books after the given number of migrations.
  package static func books(_ steps: Int, count: Int, seed: UInt64) -> [PlainBook] {
    var books = (1...count).map { number in
      var book = Books.book(number, seed: seed)
      if steps > 0 { book.title = "new " + book.title }
      if steps > 1 { book.shelf += 100 }
      return book
    }
    if steps > 2 {
      books.append(
        PlainBook(
          id: .init(Int64(count + 1)), title: "last", shelf: 7, topics: [], isbn: "last"))
    }
    return books
  }
}
