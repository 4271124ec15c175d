/// What was made anew without the types of the program.
package struct TypelessRebuild: Sendable {
  package struct Index: Sendable {
    package let collection: String
    package let index: String
    package let entriesBefore: Int
    package let entriesAfter: Int
  }

  /// The indexes that were made anew.
  package fileprivate(set) var rebuilt: [Index] = []
  /// Those that were left as they are, since only the program can tell all their keys.
  package fileprivate(set) var left: [(collection: String, index: String)] = []
}

extension Store {
  /// Makes each index whose keys the records tell anew from them, and both directions of lists
  /// agree, as ``rebuild()`` does for types.
  ///
  /// An index is one transaction: either all its entries are new, or nothing of it has changed.
  ///
  /// - Parameter progress: is called before each index with its collection and name.
  /// - Throws: `.checksumMismatch` for a damaged record, `.uniqueConflict` when two records share a
  ///   unique value, and what ``write(_:)`` and `progress` throw.
  /// - Complexity: O(n log n) for each index.
  package func rebuildWithoutTypes(
    progress: (_ collection: String, _ index: String) throws -> Void = { _, _ in }
  ) throws -> TypelessRebuild {
    // Without types these are the lists.
    try rebuild()
    let indexes = try inspect { inspector in
      inspector.collections.sorted { $0.name < $1.name }.flatMap { collection in
        collection.indexes.filter(\.isReady).map { (collection: collection.name, index: $0.name) }
          .sorted { $0.index < $1.index }
      }
    }
    var result = TypelessRebuild()
    for (collection, index) in indexes {
      try progress(collection, index)
      do {
        if let counts = try rebuild(index, of: collection) {
          result.rebuilt.append(
            .init(
              collection: collection, index: index, entriesBefore: counts.before,
              entriesAfter: counts.after))
        }
      } catch is OnlyTheProgramTells {
        result.left.append((collection, index))
      }
    }
    return result
  }

  /// How many entries there were and are; nil for an index that is gone meanwhile.
  private func rebuild(
    _ index: String, of collection: String
  ) throws -> (before: Int, after: Int)? {
    try inspectToWrite { inspector in
      guard let collection = inspector.collections.first(where: { $0.name == collection }),
        let index = collection.indexes.first(where: { $0.name == index && $0.isReady })
      else { return nil }
      let builder = try TypelessBuilder(inspector, index, of: collection)
      return (index.entryCount, try builder.build())
    }
  }
}

/// Records do not tell all keys of an index.
private struct OnlyTheProgramTells: Error {}

/// Makes the entries of an index anew, in one transaction.
private struct TypelessBuilder {
  private static let batchSize = 20_000
  private let inspector: StoreInspector
  private let index: StoreInspector.Index
  private let collection: StoreInspector.Collection
  private let form: FieldForm?

  init(
    _ inspector: StoreInspector, _ index: StoreInspector.Index,
    of collection: StoreInspector.Collection
  ) throws {
    self.inspector = inspector
    self.index = index
    self.collection = collection
    form = try inspector.forms(of: collection).last
  }

  /// Returns how many entries there are then.
  func build() throws -> Int {
    guard var keys = TypelessKeys(index.parsedDefinition, form: form) else {
      throw OnlyTheProgramTells()
    }
    let transaction = inspector.transaction
    try index.database.empty(in: transaction)
    var last: [UInt8]?
    repeat { last = try addBatch(after: last, &keys) } while last != nil
    if index.isUnique,
      let found = try TypelessUniqueness(index, collection, form).firstConflict(
        in: transaction, inspector.shapes)
    {
      throw LarchError(
        .uniqueConflict,
        "Two stored records have the same value in an index that is declared unique; change one of them with a program that does not declare it."
      ) {
        $0.collection = collection.name
        $0.index = index.name
        $0.id = found.id
        $0.otherID = found.otherID
      }
    }
    return try index.database.statistics(in: transaction).entries
  }

  /// Adds the entries of the records behind an id; returns the last id, nil at the end.
  private func addBatch(after last: [UInt8]?, _ keys: inout TypelessKeys) throws -> [UInt8]? {
    let pending = PendingIndex(index.database, isUnique: index.isUnique)
    var entries = EntryList()
    var next: [UInt8]?
    do {
      var cursor = try LMDBCursor(collection.records, in: inspector.transaction)
      var record = try start(&cursor, after: last)
      var count = 0
      while let here = record {
        guard
          let bytes = RecordEnvelope.open(
            here.value, id: here.key, collection: collection.stored.id)
        else { throw RecordEnvelope.damaged(here.key, collection.stored) }
        guard try keys.collect(of: bytes, inspector.shapes, into: &entries) else {
          throw OnlyTheProgramTells()
        }
        for item in entries.items { pending.add(entries.key(item), id: here.key) }
        count += 1
        if count == Self.batchSize {
          next = [UInt8](here.key)
          break
        }
        record = try cursor.next()
      }
    }
    try pending.flush(in: inspector.transaction)
    return next
  }

  private func start(_ cursor: inout LMDBCursor, after id: [UInt8]?) throws -> LMDBEntry? {
    guard let id else { return try cursor.first() }
    return try id.withUnsafeBytes { id in
      let entry = try cursor.seek(atOrAfter: id)
      guard let entry, entry.key.equals(id) else { return entry }
      return try cursor.next()
    }
  }
}
