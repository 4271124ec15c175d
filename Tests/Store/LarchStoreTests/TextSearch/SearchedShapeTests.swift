import LarchTestSupport
import Testing

@testable import Larch

/// A record as an older program wrote it.
private struct OldLeaf: Record {
  var id: Int
  var title: String?
  var tags: [String?]
  var notes: String

  static let collectionName = "leaves"
}

/// The same records, of which the type itself reads some in its own way.
private struct Leaf: Record, Equatable {
  var id: Int
  var title: String
  var tags: [String]
  var notes: [String]

  static let collectionName = "leaves"
  static let schema = Schema<Leaf> {
    Search(\.title)
    Search(\.tags)
    Search(\.notes)
  }

  init(id: Int, title: String, tags: [String], notes: [String]) {
    (self.id, self.title, self.tags, self.notes) = (id, title, tags, notes)
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    title = try container.decodeIfPresent(String.self, forKey: .title) ?? "untitled leaf"
    tags = try container.decode([String?].self, forKey: .tags).map { $0 ?? "untagged" }
    if let one = try? container.decode(String.self, forKey: .notes) {
      notes = one.isEmpty ? ["unnoted"] : [one]
    } else {
      notes = try container.decode([String].self, forKey: .notes)
    }
  }
}

@Suite struct SearchedShapeTests {
  @Test func `words are those of the value that the type makes of what is stored`() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try Store.using(path, OldLeaf.self) { store throws in
      try store.saveAll([
        OldLeaf(id: 1, title: nil, tags: ["ash", nil], notes: ""),
        OldLeaf(id: 2, title: "larch", tags: [], notes: "a note"),
        OldLeaf(id: 3, title: nil, tags: [nil], notes: "larch"),
      ])
    }
    try Store.using(path, Leaf.self) { store throws in
      try store.saveAll([
        Leaf(id: 4, title: "untitled", tags: ["untagged"], notes: ["larch", "unnoted"])
      ])
      let all = try store.fetch(Leaf.all)
      #expect(all.count == 4)
      for word in ["untitled", "leaf", "larch", "ash", "untagged", "unnoted", "note"] {
        let query = TextQuery(word)
        for (found, expected) in [
          (
            try store.ids(Leaf.where { query.matches($0.title) }),
            all.filter { query.matches($0.title) }
          ),
          (
            try store.ids(Leaf.where { query.matches($0.tags) }),
            all.filter { query.matches($0.tags) }
          ),
          (
            try store.ids(Leaf.where { query.matches($0.notes) }),
            all.filter { query.matches($0.notes) }
          ),
        ] {
          #expect(found == expected.map(\.id), "\(word)")
        }
      }
      // Words of a record that is saved again are those of the new value, and the old ones are gone.
      try store.saveAll([Leaf(id: 1, title: "oak", tags: ["oak"], notes: ["oak"])])
      #expect(try store.ids(Leaf.where { TextQuery("untitled").matches($0.title) }) == [3, 4])
      #expect(try store.ids(Leaf.where { TextQuery("untagged").matches($0.tags) }) == [3, 4])
      #expect(try store.ids(Leaf.where { TextQuery("unnoted").matches($0.notes) }) == [4])
      #expect(try store.verify().isClean)
    }
  }
}
