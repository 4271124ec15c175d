import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Indexes of words that were changed without the store: each fault is found and named.
@Suite struct SearchIndexDamageTests {
  typealias Page = SearchIndexTests.Page

  private func change(
    _ store: Store, _ body: (LMDBDatabase, LMDBTransaction) throws -> Void
  ) throws {
    let database = try store.read { tx throws in
      try tx.context.collection(of: Page.self).searches[0].database
    }
    try store.environment.write { try body(database, $0) }
  }

  private func key(_ word: String, _ id: Int) -> [UInt8] {
    var bytes = ByteBuffer(capacity: 64)
    SearchKey.append(UInt64(bitPattern: Int64(id)) ^ 1 << 63, base: 1 << 63, to: &bytes)
    return Array(word.utf8) + [0] + bytes.bytes
  }

  @Test func verificationNamesTheWordAndTheRecord() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(SearchIndexTests.pages(0..<300))
    func faults() throws -> [String] {
      let report = try store.verify()
      let typeless = try store.verifyWithoutTypes().report
      #expect(typeless.faults == report.faults)
      return report.faults.map(\.description)
    }
    #expect(try faults().isEmpty)
    try change(store) { database, transaction in
      try key("only17", 17).withUnsafeBytes {
        _ = try database.delete($0, in: transaction)
      }
    }
    #expect(
      try faults() == [
        "missingEntry, collection Page, index title_body_words, id 17, word \"only17\""
      ])
    try change(store) { database, transaction in
      // One posting: the word is the first one of the title.
      try key("only17", 17).withUnsafeBytes { key in
        _ = try [UInt8](arrayLiteral: 0, 1, 0).withUnsafeBytes {
          try database.put(key, $0, in: transaction)
        }
      }
      try key("nowhere", 18).withUnsafeBytes { key in
        _ = try [UInt8](arrayLiteral: 0, 2, 0).withUnsafeBytes {
          try database.put(key, $0, in: transaction)
        }
      }
    }
    #expect(
      try Set(faults()) == [
        "missingEntry, collection Page, index title_body_words, id 17, word \"only17\", with other places",
        "danglingEntry, collection Page, index title_body_words, id 18, word \"nowhere\"",
      ])
    try store.rebuild()
    #expect(try faults().isEmpty)
    try change(store) { database, transaction in
      try key("only17", 17).withUnsafeBytes { key in
        _ = try [UInt8](arrayLiteral: 5, 0).withUnsafeBytes {
          try database.put(key, $0, in: transaction)
        }
      }
    }
    #expect(
      try faults() == [
        "danglingEntry, collection Page, index title_body_words, a block of words cannot be read"
      ])
    _ = try store.rebuildWithoutTypes()
    #expect(try faults().isEmpty)
  }

  @Test func blocksOfAWordThatAreNotInOrderAreAnErrorOfARankedSearch() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    try store.saveAll(SearchIndexTests.pages(0..<600))
    let ids = try store.ids(Page.where { TextQuery("tree").matches($0.title, $0.body) })
    let first = try #require(ids.first)
    try change(store) { database, transaction in
      let block = try key("tree", first).withUnsafeBytes {
        try database.get($0, in: transaction).map { [UInt8]($0) }
      }
      // The same records begin again in the middle of the first ones.
      try key("tree", ids[40]).withUnsafeBytes { key in
        _ = try (block ?? []).withUnsafeBytes { try database.put(key, $0, in: transaction) }
      }
    }
    let best = Page.where { TextQuery("tree").matches($0.title, $0.body) }.sortedByRelevance()
    #expect(caught { _ = try store.fetch(best) }?.code == .corrupted)
    #expect(try store.verify().isClean == false)
    try store.rebuild()
    #expect(try store.fetch(best).count == ids.count)
  }

  private struct Note: Record {
    var id = UUID()
    var title: String
    static let schema = Schema<Note> { Search(\.title) }
  }

  /// The records of these searches are not read, so their ids come from the index alone.
  @Test func anIdOfAnotherLengthIsAnError() throws {
    for length in [0, 15, 17] {
      let store = try Store.temporary(for: Note.self, options: .quick)
      try store.saveAll((0..<3).map { Note(title: "larch \($0)") })
      let database = try store.read { tx throws in
        try tx.context.collection(of: Note.self).searches[0].database
      }
      var key = ByteBuffer(capacity: 16)
      key.append(SearchKey.numbers)
      key.append(bigEndian: 1)
      try store.environment.write { transaction in
        guard try database.get(key.bytes, in: transaction)?.count == 16 else {
          throw LarchError(.storage, "There is no such key.")
        }
        try [UInt8](repeating: 7, count: length).withUnsafeBytes {
          _ = try database.put(key.bytes, $0, in: transaction)
        }
      }
      let query = Note.where { TextQuery("larch").matches($0.title) }
      #expect(caught { _ = try store.fetch(query) }?.code == .corrupted)
      #expect(caught { _ = try store.ids(query) }?.code == .corrupted)
      let best = query.sortedByRelevance().limit(2)
      #expect(caught { _ = try store.delete(best) }?.code == .corrupted)
    }
  }

  /// Any bytes in place of a block give an answer or a typed error, and never a trap.
  @Test func damagedBlocksAreErrors() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let pages = SearchIndexTests.pages(0..<200)
    try store.saveAll(pages)
    var random = SeededGenerator(seed: 77)
    let target = key("tree", 1)
    let block = try store.environment.write { transaction in
      let database = try #require(
        try LMDBDatabase.open(
          CatalogStorage.indexName(searchNumber(store)), in: transaction))
      return try target.withUnsafeBytes {
        Array(try #require(try database.get($0, in: transaction)))
      }
    }
    var failures = 0
    for _ in 0..<300 {
      var bytes = block
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
            in: 0...255, using: &random)
        case 1 where bytes.count > 2:
          bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
        default: bytes.append(.random(in: 0...255, using: &random))
        }
      }
      try change(store) { database, transaction in
        try target.withUnsafeBytes { key in
          _ = try bytes.withUnsafeBytes { try database.put(key, $0, in: transaction) }
        }
      }
      for text in ["tree", "\"tree of\"", "tree -larch"] {
        let q = TextQuery(text)
        let error = caught { _ = try store.count(Page.where { q.matches($0.title, $0.body) }) }
        #expect(error == nil || error?.code == .corrupted)
        let inTitle = caught { _ = try store.ids(Page.where { q.matches($0.title) }) }
        #expect(inTitle == nil || inTitle?.code == .corrupted)
      }
      let save = caught {
        try store.write { tx in
          var page = pages[1]
          page.title = "tree of tree \(bytes.count)"
          try tx.save(&page)
          throw LarchError(.recordNotFound, "undone")
        }
      }
      #expect(save?.code == .corrupted || save?.code == .recordNotFound)
      if bytes != block, try !store.verify().isClean { failures += 1 }
    }
    #expect(failures > 250)
  }

  private func searchNumber(_ store: Store) throws -> UInt32 {
    try store.read { tx throws in
      try tx.context.collection(of: Page.self).searches[0].stored.id
    }
  }

  struct Shelf: Record, Equatable {
    var id: Int
    var name: String
    static let schema = Schema<Shelf> {
      HasMany(\Book.shelfID, onDelete: .destroy)
      Search(\.name)
    }
  }
  struct Book: Record, Equatable {
    var id: Int
    var shelfID: Shelf.ID
    var title: String
    static let shelf = BelongsTo<Book, Shelf>(\.shelfID)
    static let schema = Schema<Book> {
      shelf
      Search(\.title)
    }
  }

  @Test func aDeletionThatFailsInTheMiddleLeavesTheWords() throws {
    let store = try Store.temporary(for: Shelf.self, Book.self, options: .quick)
    try store.saveAll([Shelf(id: 1, name: "larch"), Shelf(id: 2, name: "pine")])
    try store.saveAll((1...5).map { Book(id: $0, shelfID: 1, title: "larch \($0)") })
    try damage(4, Book.self, store)
    try store.write { tx in
      var book = Book(id: 9, shelfID: 2, title: "larch again")
      try tx.save(&book)
      #expect(caught { _ = try tx.delete(Shelf.self, 1) }?.code == .checksumMismatch)
      book.title = "larch tree"
      try tx.save(&book)
    }
    let larch: TextQuery = "larch"
    #expect(try store.ids(Book.where { larch.matches($0.title) }) == [1, 2, 3, 4, 5, 9])
    #expect(try store.ids(Shelf.where { larch.matches($0.name) }) == [1])
    let tree: TextQuery = "larch tree"
    #expect(try store.ids(Book.where { tree.matches($0.title) }) == [9])
    let faults = try store.verify().faults
    #expect(!faults.isEmpty && faults.allSatisfy { $0.id == "4" }, "\(faults)")
  }

  struct Tree: Record {
    var id: Int
    static let schema = Schema<Tree> { HasMany(\Leaf.treeID, onDelete: .destroy) }
  }
  struct BareLeaf: Record {
    var id: Int
    var treeID: Int?
    var kind: SearchIndexFileTests.OldKind
    static let collectionName = "Leaf"
  }
  struct GrownLeaf: Record {
    var id: Int
    var treeID: Int?
    var kind: SearchIndexFileTests.OldKind
    var text: String
    static let collectionName = "Leaf"
    static let schema = Schema<GrownLeaf> {
      Search(\.text)
      Default(\.text, "larch")
    }
  }
  struct Leaf: Record {
    var id: Int
    var treeID: Tree.ID?
    var kind: SearchIndexFileTests.Kind
    var text: String
    static let tree = BelongsTo<Leaf, Tree>(\.treeID)
    static let schema = Schema<Leaf> {
      tree
      Search(\.text)
      Default(\.text, "larch")
    }
  }

  /// The words of the third one are found in the index, where those of the first two must be removed for that;
  /// the fourth one cannot be read.
  @Test func aDeletionThatFailsBehindAMergeUndoesItsTransaction() throws {
    try withScratchPath { path in
      try Store.using(path, BareLeaf.self) { store in
        try store.saveAll((1...5).map { BareLeaf(id: $0, treeID: 1, kind: $0 == 3 ? .odd : .open) })
      }
      try Store.using(path, GrownLeaf.self) { _ in }
      try Store.using(path, Tree.self, Leaf.self) { store throws in
        try store.saveAll([Tree(id: 1)])
        try damage(4, Leaf.self, store)
        let larch: TextQuery = "larch"
        let query = Leaf.where { larch.matches($0.text) }
        #expect(try store.ids(query) == [1, 2, 3, 4, 5])
        var error: LarchError?
        let failure = caught {
          try store.write { tx in error = caught { _ = try tx.delete(Tree.self, 1) } }
        }
        #expect(error?.code == .checksumMismatch)
        #expect(failure != nil, "the deletion cannot be undone by itself")
        #expect(try store.ids(query) == [1, 2, 3, 4, 5])
        let faults = try store.verify().faults
        #expect(faults.allSatisfy { ["3", "4"].contains($0.id) }, "\(faults)")
      }
    }
  }

  @Test func overlappingBlocksAreTold() throws {
    let store = try Store.temporary(
      for: Page.self, options: .quick.with { $0.searchLimits = SearchLimits(records: 0) })
    try store.saveAll((1...10).map { Page(id: $0, title: "larch", body: nil) })
    // The same block once more, as if it began four records later.
    try change(store) { database, transaction in
      let block = try key("larch", 1).withUnsafeBytes {
        try #require(try database.get($0, in: transaction).map { [UInt8]($0) })
      }
      try key("larch", 5).withUnsafeBytes { key in
        try block.withUnsafeBytes { _ = try database.put(key, $0, in: transaction) }
      }
    }
    #expect(caught { try store.delete(Page.self, 1) }?.code == .corrupted)
  }

  /// Alters the last byte of a record.
  private func damage<R: Record>(_ id: Int, _ type: R.Type, _ store: Store) throws {
    let records = try store.read { tx throws in try tx.context.collection(of: type).records }
    try store.environment.write { transaction in
      try withUnsafeBytes(of: (UInt64(id) ^ 1 << 63).bigEndian) { id in
        var bytes = try #require(try records.get(id, in: transaction).map { [UInt8]($0) })
        bytes[bytes.count - 1] ^= 0x55
        try bytes.withUnsafeBytes { _ = try records.put(id, $0, in: transaction) }
      }
    }
  }
}
