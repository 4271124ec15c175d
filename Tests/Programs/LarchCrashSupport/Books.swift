package import Larch
internal import LarchTestSupport

/// Books as an old version of a program declares them.
package struct PlainBook: Record {
  package var id = RecordID<PlainBook>()
  package var title: String
  package var shelf: Int
  package var topics: [String]
  package var isbn: String

  package static let collectionName = "Book"
  package static let schema = Schema<PlainBook> { Index(\.shelf) }
}

/// The same books as a new version declares them, with more indexes.
package struct IndexedBook: Record {
  package var id = RecordID<IndexedBook>()
  package var title: String
  package var shelf: Int
  package var topics: [String]
  package var isbn: String

  package var initial: String { String(title.prefix(1)) }

  package static let collectionName = "Book"
  /// The number of indexes that the old version does not have.
  package static let newIndexCount = 5
  package static let schema = Schema<IndexedBook> {
    Index(\.shelf)
    Unique(\.isbn)
    Index(\.title, \.shelf)
    Index(\.topics)
    Index(\.initial, name: "initial")
    Index(\.shelf, name: "front", where: { $0.shelf < 20 })
    // Lists are created in the step that begins the indexes.
    ManyToMany(IndexedBook.self, named: "alike")
  }
}

package enum Books {
  /// The book with this id.
  package static func book(_ number: Int, seed: UInt64) -> PlainBook {
    var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
    let title = ["Emma", "Walden", "Ulysses", "Dune", "Ivanhoe"][random.below(5)]
    return PlainBook(
      id: RecordID(Int64(number)), title: "\(title) \(random.below(300))",
      shelf: random.below(100),
      topics: (0..<random.below(4)).map { _ in "topic\(random.below(40))" },
      isbn: "isbn-\(random.below(1_000_000))-\(number)")
  }

  /// A store of the old version with `count` books.
  package static func make(at path: String, count: Int, seed: UInt64) throws {
    let store = try Store(at: path, for: PlainBook.self)
    defer { store.close() }
    try store.write { tx throws in
      for number in 1...count {
        var book = book(number, seed: seed)
        book.id = RecordID<PlainBook>()
        try tx.insert(&book)
      }
    }
  }

  /// Throws if the books differ from the created ones.
  package static func check(
    _ tx: ReadTransaction, count: Int, seed: UInt64
  ) throws {
    var number = 0
    for found in try tx.all(PlainBook.self) {
      number += 1
      guard "\(found)" == "\(book(number, seed: seed))" else {
        throw Mismatch("book \(number) is \(found)")
      }
    }
    guard number == count else { throw Mismatch("\(number) books of \(count)") }
  }
}
