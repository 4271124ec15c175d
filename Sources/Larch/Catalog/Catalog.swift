/// One index of an open store: what the file says, what the program declares, and the handle.
///
/// A class, like all that a save passes through for each index: a struct of strings and arrays
/// would count each of them.
package final class IndexHandle: Sendable {
  package let stored: StoredIndex
  package let schema: IndexSchema
  /// The place of the declaration in the schema.
  package let position: Int
  package let database: LMDBDatabase

  init(stored: StoredIndex, schema: IndexSchema, position: Int, database: LMDBDatabase) {
    self.stored = stored
    self.schema = schema
    self.position = position
    self.database = database
  }

  package var isReady: Bool { stored.state == .ready }
}

/// One collection of an open store.
package final class CollectionHandle: Sendable {
  package let stored: StoredCollection
  /// `stored.id`, which every checksum needs.
  package let number: UInt32
  package let schema: CollectionSchema
  package let records: LMDBDatabase
  package let indexes: [IndexHandle]
  /// The indexes that can answer queries, by bit and by their place in the schema: those that are
  /// complete, over all records. A schema has 64 at most.
  let answering: UInt64
  /// The indexes that could answer queries if they were complete, by bit as these.
  let unfinished: UInt64
  /// The references that records of the collection hold.
  let references: [SavedReference]
  /// The indexes of these references, by bit and by their place in `indexes`.
  let referenceIndexes: UInt64
  /// The place among the collections of the catalog.
  let place: Int
  /// The declarations that opened the file and have to be noted with the next record: see
  /// `FieldHistory`.
  let unwrittenForms: [FieldForm]
  /// How fields are read that stored records have in another way; nil where none is.
  let reading: FieldReading?

  init(
    stored: StoredCollection, schema: CollectionSchema, records: LMDBDatabase,
    indexes: [IndexHandle], references: [SavedReference], place: Int,
    unwrittenForms: [FieldForm], reading: FieldReading?
  ) {
    self.unwrittenForms = unwrittenForms
    self.references = references
    referenceIndexes = references.reduce(0) { $0 | 1 << UInt64($1.number) }
    self.place = place
    self.reading = reading
    self.stored = stored
    number = stored.id
    self.schema = schema
    self.records = records
    self.indexes = indexes
    var answering: UInt64 = 0
    var unfinished: UInt64 = 0
    for index in indexes where !index.schema.isPartial {
      let bit: UInt64 = 1 << UInt64(index.position)
      if index.isReady { answering |= bit } else { unfinished |= bit }
    }
    (self.answering, self.unfinished) = (answering, unfinished)
  }
}

/// The handles of everything that the program named when it opened the store.
///
/// An immutable value that all transactions share: nothing is opened by name after the store is.
package final class Catalog: Sendable {
  package let storage: CatalogStorage
  /// Older names of fields, which coders look for.
  let aliases: FieldAliases
  /// The number of the schema in the file that these handles belong to.
  let generation: UInt64
  package let collections: [CollectionHandle]
  let associations: [AssociationHandle]
  /// The ends that each collection is, by its place.
  private let ends: [[AssociationEnd]]
  /// Those of them that a deletion must look at.
  private let deletionEnds: [[AssociationEnd]]
  /// Whether code that may write runs with saves or deletions of any of the types.
  let hasHooks: Bool
  private let byType: [ObjectIdentifier: CollectionHandle]
  /// Types that are declared, but that a file opened read-only has no collection for.
  private let missing: Set<ObjectIdentifier>

  init(
    storage: CatalogStorage, generation: UInt64, collections: [CollectionHandle],
    associations: [AssociationHandle], missing: Set<ObjectIdentifier>,
    aliases: FieldAliases = FieldAliases()
  ) {
    self.aliases = aliases
    self.associations = associations
    let ends = collections.map { collection in
      associations.flatMap { association in
        var ends: [AssociationEnd] = []
        if association.first === collection {
          ends.append(AssociationEnd(association: association, isFirst: true))
        }
        if association.second === collection {
          ends.append(AssociationEnd(association: association, isFirst: false))
        }
        return ends
      }
    }
    self.ends = ends
    hasHooks = collections.contains { $0.schema.savesRunCode }
    deletionEnds = ends.map { $0.filter(\.actsOnDelete) }
    self.missing = missing
    self.storage = storage
    self.generation = generation
    self.collections = collections
    byType = Dictionary(collections.map { ($0.schema.typeID, $0) }, uniquingKeysWith: { $1 })
  }

  func collection(_ type: ObjectIdentifier) -> CollectionHandle? { byType[type] }

  /// The ends of associations that a collection is.
  func ends(of collection: CollectionHandle) -> [AssociationEnd] { ends[collection.place] }

  /// The ends at which something may have to happen when a record of the collection is deleted.
  func deletionEnds(of collection: CollectionHandle) -> [AssociationEnd] {
    deletionEnds[collection.place]
  }

  /// The association that the catalog knows by this key; nil where no open type is an end of it.
  package func association(_ key: String) -> AssociationHandle? {
    associations.first { $0.stored.key == key }
  }

  func isMissing(_ type: ObjectIdentifier) -> Bool { missing.contains(type) }

  /// Whether everything that is declared is in the file, complete.
  var isComplete: Bool {
    collections.allSatisfy { $0.indexes.allSatisfy(\.isReady) }
  }
}
