internal import Larch

extension StoreInspector {
  /// A tree of pages that belongs to a collection.
  package enum TreeName: Hashable, Sendable {
    case records(String)
    case index(_ collection: String, _ name: String)
  }

  /// The number of bytes that each tree uses in its pages: for keys, values and the node headers of
  /// LMDB.
  ///
  /// - Complexity: O(records + entries); values are skipped, not read.
  package func usedBytes() throws -> [TreeName: Int] {
    var found: [TreeName: Int] = [:]
    for collection in collections {
      found[.records(collection.name)] = try usedBytes(of: collection.handle.records)
      let width = collection.stored.idKind.width
      for index in collection.indexes {
        found[.index(collection.name, index.name)] =
          try index.searchDefinition == nil
          ? usedBytes(of: index.handle.database, idWidth: width)
          : usedBytes(of: index.handle.database)
      }
    }
    return found
  }

  /// A node has a header of eight bytes, and two more on its page for its position.
  private static let nodeOverhead = 10

  private func usedBytes(of database: LMDBDatabase) throws -> Int {
    var sum = 0
    var cursor = try LMDBCursor(database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      sum += Self.nodeOverhead + here.key.count + here.value.count
      entry = try cursor.next()
    }
    return sum
  }

  /// Ids of one length are packed; others have a node each, inside that of their key.
  private func usedBytes(of database: LMDBDatabase, idWidth: Int?) throws -> Int {
    var sum = 0
    var cursor = try LMDBCursor(database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      sum += Self.nodeOverhead + here.key.count
      if let idWidth {
        sum += try cursor.duplicateCount() * idWidth
      } else {
        var id: LMDBEntry? = here
        while let one = id {
          sum += Self.nodeOverhead + one.value.count
          id = try cursor.nextDuplicate()
        }
      }
      entry = try cursor.nextKey()
    }
    return sum
  }
}
