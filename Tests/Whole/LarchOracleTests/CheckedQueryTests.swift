import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The check of queries works: every verb that reads an index finds out that it was broken on
/// purpose.
@Suite("Checked queries")
struct CheckedQueryTests {
  struct Item: Record, Equatable {
    var id = RecordID<Item>()
    var name: String
    var size: Int

    static let collectionName = "CheckedItem"
    static let schema = Schema<Item> {
      Index(\.name)
      Index(\.size)
    }
  }

  private static func filled(checks: Bool) throws -> Store {
    var options = Store.Options()
    options.checksQueries = checks
    let store = try Store.temporary(for: Item.self, options: options)
    try store.write { tx throws in
      for number in 0..<200 {
        var item = Item(name: "n\(number % 4)", size: number)
        try tx.insert(&item)
      }
    }
    return store
  }

  private enum Damage: CaseIterable {
    /// An entry of the index over `size` is missing.
    case missing
    /// It has an excess entry of an existing record.
    case added
    /// An entry stands under a key that its record does not have.
    case moved
  }

  /// Breaks the index over `size`: the entry of the record of size 5 and id 6.
  private static func breakIndex(_ store: Store, _ damage: Damage) throws {
    let index = try store.write { tx throws in
      try #require(
        try tx.context.collection(of: Item.self).indexes.first { $0.schema.name == "size" })
    }
    func bytes(_ number: Int) -> [UInt8] {
      var writer = KeyWriter()
      Int.keyCoding.write(number, to: &writer, isLast: true)
      return Array(writer.bytes)
    }
    var id = KeyWriter()
    id.append(int64: 6)
    let idBytes = Array(id.bytes)
    try store.environment.write { transaction in
      try idBytes.withUnsafeBytes { id in
        if damage != .added {
          let isDeleted = try bytes(5).withUnsafeBytes {
            try index.database.delete($0, value: id, in: transaction)
          }
          #expect(isDeleted)
        }
        if damage != .missing {
          try bytes(8).withUnsafeBytes { key in
            var cursor = try LMDBCursor(index.database, in: transaction)
            _ = try cursor.put(key, id, in: transaction, mode: .ifPairAbsent)
          }
        }
      }
    }
  }

  private static func failures(_ store: Store, of query: Query<Item>) -> [String: LarchError] {
    let ways: [(String, () throws -> Void)] = [
      ("fetch", { _ = try store.fetch(query) }), ("ids", { _ = try store.ids(query) }),
      ("count", { _ = try store.count(query) }),
      ("select", { _ = try store.fetch(query.select(\.size)) }),
      ("forEach", { try store.forEach(query) { _ in } }),
      ("page", { _ = try store.page(query.limit(20)) }),
      ("sum", { _ = try store.sum(\.size, of: query) }),
      ("counts", { _ = try store.counts(by: \.size, of: query) }),
      ("delete", { try store.delete(query) }),
      ("update", { try store.update(query) { $0.name = "x" } }),
    ]
    var found: [String: LarchError] = [:]
    for (name, way) in ways {
      do { try way() } catch { found[name] = error as? LarchError }
    }
    return found
  }

  @Test("A broken index is reported as a wrong answer with both plans, by every verb")
  func bites() throws {
    for damage in Damage.allCases {
      let store = try Self.filled(checks: true)
      let query =
        damage == .added
        ? Item.where { $0.size >= 7 && $0.size < 10 } : Item.where { $0.size >= 4 && $0.size < 7 }
      #expect(
        Self.failures(store, of: Item.where { (4..<10).contains($0.size) && $0.name == "" }).isEmpty
      )
      try Self.breakIndex(store, damage)
      let found = Self.failures(store, of: query)
      let wanted: Set<String> = [
        "fetch", "ids", "count", "select", "forEach", "page", "sum", "counts", "delete", "update",
      ]
      #expect(Set(found.keys) == wanted, "\(damage)")
      for (name, error) in found {
        #expect(error.code == .wrongAnswer, "\(damage), \(name): \(error)")
        let detail = try #require(error.context.detail, "\(damage), \(name)")
        #expect(detail.contains("instead of"), "\(detail)")
        #expect(detail.contains("index size "), "\(detail)")
        #expect(detail.contains("all records"), "\(detail)")
        #expect(error.context.collection == "CheckedItem")
      }
      // Nothing was changed, and calls that do not read the index are still correct.
      #expect(try store.count(Item.all) == 200)
      #expect(try store.ids(Item.where { $0.name == "n1" }).count == 50)
      #expect(try !store.verify().isClean)
    }
  }

  @Test("Without the check the same store gives a wrong answer")
  func without() throws {
    let store = try Self.filled(checks: false)
    try Self.breakIndex(store, .missing)
    #expect(try store.count(Item.where { $0.size >= 4 && $0.size < 10 }) == 5)
    #expect(try store.find(Item.self, by: \.size, equals: 5) == nil)
  }

  @Test("A look-up by a field is checked too")
  func find() throws {
    let store = try Self.filled(checks: true)
    try Self.breakIndex(store, .missing)
    #expect(try store.find(Item.self, by: \.size, equals: 4)?.id == 5)
    do {
      _ = try store.find(Item.self, by: \.size, equals: 5)
      Issue.record("not found out")
    } catch let error as LarchError { #expect(error.code == .wrongAnswer) }
    do {
      _ = try store.max(\.size, of: Item.where { $0.size < 6 })
      Issue.record("not found out")
    } catch let error as LarchError { #expect(error.code == .wrongAnswer) }
  }
}
