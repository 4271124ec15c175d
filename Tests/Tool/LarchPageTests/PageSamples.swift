import Foundation

@testable import Larch

/// Texts that would have an effect if they were treated as markup or script.
enum Hostile {
  static let texts = [
    "</script><script>window.hacked = 1</script>", "<img src=x onerror=\"window.hacked = 2\">",
    "\" onmouseover=\"window.hacked = 3", "'><svg onload=window.hacked=4>", "a\u{2028}b\u{2029}c",
    "&lt;b&gt;", "<!-- <script>", "]]>", "\u{202E}drowssap", "${window.hacked = 5}", "\\u003cb>",
  ]
}

struct Author: Record {
  var id: String
  var name: String
  var notes: [String: String]
  static let schema = Schema<Author> {
    Unique(\.name)
    HasMany(\Work.authorID, onDelete: .destroy)
  }
}
struct Work: Record {
  var id = RecordID<Work>()
  var title: String
  var year: Int?
  var authorID: String?
  static let shelves = ManyToMany<Work, Shelf>(named: "shelves")
  static let schema = Schema<Work> {
    BelongsTo(\.authorID, to: Author.self)
    shelves
    Index(\.title)
    Index(\.year, \.title)
  }
  var shelves: Related<Work, Shelf> { related(Work.shelves) }
}
struct Shelf: Record {
  var id: Int
  var place: String
  static let schema = Schema<Shelf> { ManyToMany<Shelf, Work>(named: "shelves") }
}

/// A store with hostile texts in every place where a text can be.
func makeHostileStore(at path: String) throws {
  var options = Store.Options()
  options.durability = .none
  let store = try Store(at: path, for: Author.self, Work.self, Shelf.self, options: options)
  defer { store.close() }
  try store.write { tx throws in
    for (number, text) in Hostile.texts.enumerated() {
      var author = Author(id: text, name: "author \(number)", notes: [text: text])
      try tx.insert(&author)
      var work = Work(title: text, year: number == 0 ? nil : 1900 + number, authorID: text)
      try tx.insert(&work)
      var shelf = Shelf(id: number, place: text)
      try tx.insert(&shelf)
      try tx.add(shelf.id, to: work.shelves)
    }
    for number in 0..<150 {
      var shelf = Shelf(id: 100 + number, place: "shelf \(number)")
      try tx.insert(&shelf)
    }
  }
}
