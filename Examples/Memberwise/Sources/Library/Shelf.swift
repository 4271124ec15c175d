import Larch

/// Its coding is written in another file.
package struct Shelf: LibraryRecord {
  package var id = RecordID<Shelf>()
  package var title: String
  package init(title: String) { self.title = title }
}

extension Shelf {
  enum CodingKeys: CodingKey { case id, title }
}
