/// One index of an open store: its catalog entry, its declaration, and the handle.
///
/// It is a class, like everything that a save uses for each index: copying a struct would count the
/// references of its strings and arrays.
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
  /// The indexes of words. Their positions in the schema come after those of the indexes.
  package let searches: [IndexHandle]
  /// The indexes that can answer queries, by bit and by their place in the schema: they are
  /// complete and over all records. A schema has at most 64.
  let answering: UInt64
  /// The incomplete indexes that could otherwise answer queries, by the same bits.
  let incomplete: UInt64
  /// The searches that can answer queries, by bit and by their place in the schema, and the incomplete ones.
  let answeringSearches: UInt64
  let incompleteSearches: UInt64
  /// The references of records of the collection.
  let references: [SavedReference]
  /// The indexes of these references, by bit and by their place in `indexes`.
  let referenceIndexes: UInt64
  /// Whether one of these references has no index yet.
  let hasUnindexedReferences: Bool
  /// The place among the collections of the catalog.
  let place: Int
  /// The declarations that opened the file, to be noted with the next record: see `FieldHistory`.
  let unwrittenForms: [FieldForm]
  /// How to read fields whose stored form differs; nil if there are none.
  let reading: FieldReading?

  init(
    stored: StoredCollection, schema: CollectionSchema, records: LMDBDatabase,
    indexes: [IndexHandle], searches: [IndexHandle], references: [SavedReference], place: Int,
    unwrittenForms: [FieldForm], reading: FieldReading?
  ) {
    self.unwrittenForms = unwrittenForms
    self.references = references
    referenceIndexes = references.reduce(0) { $0 | $1.indexBit }
    hasUnindexedReferences = references.contains { $0.number == nil }
    self.place = place
    self.reading = reading
    self.stored = stored
    number = stored.id
    self.schema = schema
    self.records = records
    self.indexes = indexes
    self.searches = searches
    var answering: UInt64 = 0
    var incomplete: UInt64 = 0
    for index in indexes where !index.schema.isPartial {
      let bit: UInt64 = 1 << UInt64(index.position)
      if index.isReady { answering |= bit } else { incomplete |= bit }
    }
    (self.answering, self.incomplete) = (answering, incomplete)
    (answering, incomplete) = (0, 0)
    for search in searches {
      let bit: UInt64 = 1 << UInt64(search.position - schema.indexes.count)
      if search.isReady { answering |= bit } else { incomplete |= bit }
    }
    (answeringSearches, incompleteSearches) = (answering, incomplete)
  }

  /// The indexes, and the searches after them.
  package var allIndexes: [IndexHandle] { searches.isEmpty ? indexes : indexes + searches }

  /// The search that was declared at this place, if it is complete.
  func readySearch(_ place: Int) -> IndexHandle? {
    searches.first { $0.position == schema.indexes.count + place && $0.isReady }
  }

  /// What the program declares for the type of the collection's records, with the type.
  func declarations<R: Record>(of type: R.Type) -> TypedDeclarations<R> {
    // The compiler of schemas made both from the type.
    unsafeDowncast(schema.typed, to: TypedDeclarations<R>.self)
  }
}

/// The handles of everything that the program named when it opened the store.
///
/// It is an immutable value that all transactions share: after the store is open, nothing is opened
/// by name.
package final class Catalog: Sendable {
  package let storage: CatalogStorage
  /// Older names of fields, for coders.
  let aliases: FieldAliases
  /// The generation of the schema in the file to which these handles belong.
  let generation: UInt64
  /// Whether a Larch that does not know the pending entries of searches refuses the file.
  let allowsPendingWords: Bool
  package let collections: [CollectionHandle]
  let associations: [AssociationHandle]
  /// Made once: each observer asks for them.
  let dataTrees: DataTrees
  /// The associations that the schemas of the open types list, whether or not the file has them.
  let declared: [AssociationSchema]
  /// The associations' ends of each collection, by its place.
  private let ends: [[AssociationEnd]]
  /// The ends that a deletion must check.
  private let deletionEnds: [[AssociationEnd]]
  /// Whether code that may write runs when records of any of the types are saved or deleted.
  let hasHooks: Bool
  private let byType: [ObjectIdentifier: CollectionHandle]
  /// Declared types for which a read-only file has no collection.
  private let missing: Set<ObjectIdentifier>

  init(
    storage: CatalogStorage, generation: UInt64, allowsPendingWords: Bool,
    collections: [CollectionHandle], associations: [AssociationHandle],
    declared: [AssociationSchema],
    missing: Set<ObjectIdentifier>, aliases: FieldAliases = FieldAliases()
  ) {
    self.aliases = aliases
    self.associations = associations
    dataTrees = DataTrees(collections, associations)
    self.declared = declared
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
    self.allowsPendingWords = allowsPendingWords
    self.collections = collections
    byType = Dictionary(collections.map { ($0.schema.typeID, $0) }, uniquingKeysWith: { $1 })
  }

  func collection(_ type: ObjectIdentifier) -> CollectionHandle? { byType[type] }

  /// The ends of associations at a collection.
  func ends(of collection: CollectionHandle) -> [AssociationEnd] { ends[collection.place] }

  /// The ends at which deleting a record of the collection may have effects.
  func deletionEnds(of collection: CollectionHandle) -> [AssociationEnd] {
    deletionEnds[collection.place]
  }

  /// The association with this key in the catalog; nil if no open type is an end of it.
  package func association(_ key: String) -> AssociationHandle? {
    associations.first { $0.stored.key == key }
  }

  /// Says that a program must know the pending entries of searches to use the file, if it does not say so yet.
  func requirePendingWords(in transaction: LMDBTransaction) throws {
    if try allowsPendingWords || storage.allowsPendingWords(in: transaction) { return }
    try storage.requirePendingWords(in: transaction)
    // Programs that have the store open read the format again.
    try storage.setGeneration(try storage.generation(in: transaction) + 1, in: transaction)
  }

  func isMissing(_ type: ObjectIdentifier) -> Bool { missing.contains(type) }

  /// Whether the file has everything that is declared, and all indexes are complete.
  var isComplete: Bool {
    collections.allSatisfy { $0.allIndexes.allSatisfy(\.isReady) }
  }
}
