/// One index of an open store: what the file says, what the program declares, and the handle.
///
/// A class, like all that a save passes through for each index: a struct of strings and arrays
/// would count each of them.
final class IndexHandle: Sendable {
  let stored: StoredIndex
  let schema: IndexSchema
  /// The place of the declaration in the schema.
  let position: Int
  let database: LMDBDatabase

  init(stored: StoredIndex, schema: IndexSchema, position: Int, database: LMDBDatabase) {
    self.stored = stored
    self.schema = schema
    self.position = position
    self.database = database
  }

  var isReady: Bool { stored.state == .ready }
}

/// One collection of an open store.
final class CollectionHandle: Sendable {
  let stored: StoredCollection
  /// `stored.id`, which every checksum needs.
  let number: UInt32
  let schema: CollectionSchema
  let records: LMDBDatabase
  let indexes: [IndexHandle]
  /// The indexes that can answer queries, by bit and by their place in the schema: those that are
  /// complete, over all records. A schema has 64 at most.
  let answering: UInt64

  init(
    stored: StoredCollection, schema: CollectionSchema, records: LMDBDatabase,
    indexes: [IndexHandle]
  ) {
    self.stored = stored
    number = stored.id
    self.schema = schema
    self.records = records
    self.indexes = indexes
    answering = indexes.reduce(0) { known, index in
      index.isReady && !index.schema.isPartial ? known | 1 << UInt64(index.position) : known
    }
  }
}

/// The handles of everything that the program named when it opened the store.
///
/// An immutable value that all transactions share: nothing is opened by name after the store is.
final class Catalog: Sendable {
  let storage: CatalogStorage
  /// The number of the schema in the file that these handles belong to.
  let generation: UInt64
  let collections: [CollectionHandle]
  private let byType: [ObjectIdentifier: CollectionHandle]
  /// Types that are declared, but that a file opened read-only has no collection for.
  private let missing: Set<ObjectIdentifier>

  init(
    storage: CatalogStorage, generation: UInt64, collections: [CollectionHandle],
    missing: Set<ObjectIdentifier>
  ) {
    self.missing = missing
    self.storage = storage
    self.generation = generation
    self.collections = collections
    byType = Dictionary(collections.map { ($0.schema.typeID, $0) }, uniquingKeysWith: { $1 })
  }

  func collection(_ type: ObjectIdentifier) -> CollectionHandle? { byType[type] }

  func isMissing(_ type: ObjectIdentifier) -> Bool { missing.contains(type) }

  /// Whether everything that is declared is in the file, complete.
  var isComplete: Bool {
    collections.allSatisfy { $0.indexes.allSatisfy(\.isReady) }
  }
}
