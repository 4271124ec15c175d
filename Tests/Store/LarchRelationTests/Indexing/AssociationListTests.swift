import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The list of an association for a record")
struct AssociationListTests {
  struct Shelf: Record {
    var id: String

    static let volumes = HasMany<Shelf, Volume>(\.shelfID)
    static let themes = ManyToMany<Shelf, Volume>(named: "themes")
    static let schema = Schema<Shelf> {
      volumes
      themes
    }
  }

  struct Volume: Record {
    var id = RecordID<Volume>()
    var shelfID: Shelf.ID?
  }

  private func id(_ number: Int64) -> [UInt8] {
    withUnsafeBytes(of: (UInt64(bitPattern: number) ^ 1 << 63).bigEndian) { [UInt8]($0) }
  }

  private func listed(_ list: AssociationList, _ tx: ReadTransaction) throws -> [[UInt8]] {
    var ids: [[UInt8]] = []
    try list.forEach(tx.context) {
      ids.append([UInt8]($0))
      return true
    }
    return ids
  }

  @Test("Two strings with the same cut key have separate lists")
  func cutKeys() throws {
    let store = try Store.temporary(for: Shelf.self, Volume.self)
    let long = String(repeating: "s", count: 300)
    let shelves = ["1", "2"].map { Shelf(id: long + $0) }
    try store.write { tx in
      for var shelf in shelves { try tx.save(&shelf) }
      for number in 0..<6 {
        var volume = Volume(shelfID: shelves[number % 2].id)
        try tx.save(&volume)
      }
    }
    try store.read { tx in
      let list = try #require(try tx.list(of: shelves[1].related(Shelf.volumes)))
      #expect(try listed(list, tx) == [2, 4, 6].map(id))
      #expect(try list.count(tx.context) == 3)
      #expect(try id(4).withUnsafeBytes { try list.contains($0, tx.context) })
      #expect(try id(3).withUnsafeBytes { try !list.contains($0, tx.context) })
      #expect(try id(9).withUnsafeBytes { try !list.contains($0, tx.context) })
      let none = try #require(
        try tx.list(of: Shelf(id: long + "3").related(Shelf.volumes)))
      #expect(try none.count(tx.context) == 0)
    }
  }

  @Test("A new list is empty, and a loop over a list can be left")
  func plain() throws {
    let store = try Store.temporary(for: Shelf.self, Volume.self)
    var shelf = Shelf(id: "a")
    try store.write { tx in
      try tx.save(&shelf)
      for _ in 0..<4 {
        var volume = Volume()
        try tx.add(&volume, to: shelf.related(Shelf.themes))
      }
    }
    try store.read { tx in
      let list = try #require(try tx.list(of: shelf.related(Shelf.themes)))
      #expect(try list.count(tx.context) == 4)
      #expect(try listed(list, tx) == (1...4).map(id))
      var count = 0
      try list.forEach(tx.context) { _ in
        count += 1
        return count < 2
      }
      #expect(count == 2)
      let empty = try #require(try tx.list(of: shelf.related(Shelf.volumes)))
      #expect(try empty.count(tx.context) == 0)
      #expect(try listed(empty, tx) == [])
      #expect(try id(1).withUnsafeBytes { try !empty.contains($0, tx.context) })
    }
  }

  @Test("The end that holds the reference has no list")
  func holder() throws {
    let store = try Store.temporary(for: Shelf.self, Volume.self)
    try store.read { tx in
      let volume = Volume(id: 1, shelfID: "a")
      let list = try tx.list(of: volume.related(BelongsTo<Volume, Shelf>(\.shelfID)))
      #expect(list == nil)
    }
  }
}
