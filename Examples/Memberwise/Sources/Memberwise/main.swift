import Foundation
import Larch
import Library
import Nothing

// The build plugin finds the structs whose Codable is the compiler's. This program shows which they
// are, and that the others are coded by their own code.

/// A record of the program itself.
struct Loan: Record {
  var id = RecordID<Loan>()
  var book: RecordID<Book>
  var due: Date
  var notes: [Note] = []

  struct Note: Codable {
    var text: String
  }
}

private struct Hidden: Codable {
  var a = 1
}

/// A default implementation in an extension of a protocol takes the place of the compiler's code.
protocol Versioned: Codable {
  init(version: Int)
}

extension Versioned {
  init(from decoder: any Decoder) throws { self.init(version: 2) }
}

struct Format: Versioned {
  var version: Int
}

func isMemberwise(_ type: Any.Type) -> Bool { type is any MemberwiseCoded.Type }

func check(_ condition: Bool, _ text: String) {
  guard condition else {
    print("wrong: \(text)")
    exit(1)
  }
  print(text)
}

for type in [
  Book.self, Book.Edition.self, Cover.self, Loan.self, Loan.Note.self,
] as [Any.Type] {
  check(isMemberwise(type), "\(type) is MemberwiseCoded")
}
for type in [Shelf.self, Hidden.self, Format.self, Nothing.self] as [Any.Type] {
  check(!isMemberwise(type), "\(type) is not")
}

let directory = FileManager.default.temporaryDirectory.appending(path: "larch-\(UUID())")
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: directory) }
let store = try Store(
  at: directory.appending(path: "library.larch").path, for: Book.self, Shelf.self, Loan.self)

var book = Book(
  title: "Trees", cover: Cover(color: "green"), editions: [.init(year: 1998, pages: 212)])
var shelf = Shelf(title: "old_cellar")
try store.write { tx in
  try tx.save(&book)
  try tx.save(&shelf)
  var loan = Loan(
    book: book.id, due: Date(timeIntervalSinceReferenceDate: 7), notes: [.init(text: "a")])
  try tx.save(&loan)
}
let found = try store.read { tx in try tx.find(Book.self, book.id) }
check(found?.cover?.color == "green" && found?.editions == book.editions, "The book is read back")
let cellar = try store.read { tx in try tx.find(Shelf.self, shelf.id) }
check(cellar?.title == "Cellar", "The shelf is read by its own init(from:)")
