/// The catalog's own entries: keys, checksums, reading and writing inside a transaction.
///
/// Every value is followed by the CRC-32C of key and value, since the catalog decides how all
/// other bytes are read.
package struct CatalogStorage: Sendable {
  /// The name of the catalog's database in the file.
  package static let databaseName = "larch"
  /// The name of the database that holds the shapes of records.
  package static let shapesName = "larch.shapes"

  static func recordsName(_ collection: UInt32) -> String { "records.\(collection)" }
  /// The number of the collection whose records are in the database with this name.
  package static func collection(ofRecordsName name: String) -> UInt32? {
    name.hasPrefix("records.") ? UInt32(name.dropFirst(8)) : nil
  }
  static func indexName(_ index: UInt32) -> String { "index.\(index)" }
  /// Lists of the ids of the second end by those of the first.
  static func linksName(_ number: UInt32) -> String { "links.\(number)" }
  /// The same lists in the other direction.
  static func inverseLinksName(_ number: UInt32) -> String { "links.\(number).inverse" }

  let entries: LMDBDatabase
  let shapes: LMDBDatabase

  /// The keys of the catalog.
  package enum Key {
    case format
    /// Rises with every change of the schema, so that an open store notices the changes of others.
    case generation
    /// The next numbers of collections and indexes; a number is never reused.
    case counters
    case collection(String)
    /// The highest id of a record that was deleted since.
    case highestDeletedID(UInt32)
    /// The first id of a shared store that no process has claimed.
    case claimedIDs(UInt32)
    /// The progress of an index build: the last id in the index.
    case buildProgress(UInt32)
    case association(String)
    /// A migration that has run.
    case migration(String)
    /// The declarations under which the records of a collection were written.
    case fields(UInt32)
    /// The declarations that opened the file, but under which no record was written yet.
    case opened(UInt32)

    static let collectionPrefix: [UInt8] = Array("collection/".utf8)
    static let associationPrefix: [UInt8] = Array("association/".utf8)
    static let migrationPrefix: [UInt8] = Array("migration/".utf8)

    var bytes: [UInt8] {
      switch self {
      case .format: Array("format".utf8)
      case .generation: Array("generation".utf8)
      case .counters: Array("counters".utf8)
      case .collection(let name): Key.collectionPrefix + Array(name.utf8)
      case .highestDeletedID(let id): Array("deleted/\(id)".utf8)
      case .claimedIDs(let id): Array("claimed/\(id)".utf8)
      case .buildProgress(let id): Array("progress/\(id)".utf8)
      case .association(let key): Key.associationPrefix + Array(key.utf8)
      case .migration(let name): Key.migrationPrefix + Array(name.utf8)
      case .fields(let id): Array("fields/\(id)".utf8)
      case .opened(let id): Array("opened/\(id)".utf8)
      }
    }
  }

  func value(_ key: Key, in transaction: LMDBTransaction) throws -> [UInt8]? {
    try key.bytes.withUnsafeBytes { key in
      guard let stored = try entries.get(key, in: transaction) else { return nil }
      return [UInt8](try CatalogStorage.checked(stored, key: key))
    }
  }

  func set(_ key: Key, to value: [UInt8], in transaction: LMDBTransaction) throws {
    try CatalogStorage.put(value, under: key.bytes, into: entries, in: transaction)
  }

  package func remove(_ key: Key, in transaction: LMDBTransaction) throws {
    _ = try key.bytes.withUnsafeBytes { try entries.delete($0, in: transaction) }
  }

  /// Checks the value and returns it without its checksum.
  static func checked(
    _ stored: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer {
    guard stored.count >= 4 else { throw damagedCatalog }
    let value = UnsafeRawBufferPointer(rebasing: stored.dropLast(4))
    var checksum = Checksum()
    checksum.add(key)
    checksum.add(value)
    let expected = UInt32(
      littleEndian: stored.loadUnaligned(fromByteOffset: value.count, as: UInt32.self))
    guard checksum.value == expected else { throw damagedCatalog }
    return value
  }

  /// The databases that must be there for an entry of the catalog, of which the checksum is right.
  static func databases(
    for key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> [String] {
    if key.starts(with: Key.collectionPrefix) {
      let collection = try StoredCollection(decoding: value)
      return [recordsName(collection.id)] + collection.indexes.map { indexName($0.id) }
    }
    guard key.starts(with: Key.associationPrefix) else { return [] }
    let association = try association(key, value)
    guard association.kind == .links else { return [] }
    return [linksName(association.number), inverseLinksName(association.number)]
  }

  private static func put(
    _ value: [UInt8], under key: [UInt8], into database: LMDBDatabase,
    in transaction: LMDBTransaction
  ) throws {
    var checksum = Checksum()
    key.withUnsafeBytes { checksum.add($0) }
    value.withUnsafeBytes { checksum.add($0) }
    var stored = value
    withUnsafeBytes(of: checksum.value.littleEndian) { stored.append(contentsOf: $0) }
    _ = try key.withUnsafeBytes { key in
      try stored.withUnsafeBytes { try database.put(key, $0, in: transaction) }
    }
  }

  private static var damagedCatalog: LarchError {
    LarchError(
      .corrupted, "The catalog of the store is damaged; restore a backup, or salvage the file.")
  }
}

// MARK: - Numbers

extension CatalogStorage {
  package func generation(in transaction: LMDBTransaction) throws -> UInt64 {
    try integer(.generation, in: transaction) ?? 0
  }

  package func setGeneration(_ generation: UInt64, in transaction: LMDBTransaction) throws {
    try setInteger(.generation, to: generation, in: transaction)
  }

  package func highestDeletedID(_ collection: UInt32, in transaction: LMDBTransaction) throws
    -> Int64
  {
    try integer(.highestDeletedID(collection), in: transaction) ?? 0
  }

  package func setHighestDeletedID(
    _ id: Int64, of collection: UInt32, in transaction: LMDBTransaction
  ) throws {
    try setInteger(.highestDeletedID(collection), to: id, in: transaction)
  }

  /// The first id of a shared store that no process has claimed.
  func firstUnclaimedID(_ collection: UInt32, in transaction: LMDBTransaction) throws -> Int64 {
    try integer(.claimedIDs(collection), in: transaction) ?? 1
  }

  func setFirstUnclaimedID(
    _ id: Int64, of collection: UInt32, in transaction: LMDBTransaction
  ) throws {
    try setInteger(.claimedIDs(collection), to: id, in: transaction)
  }

  /// Returns the next number for a collection or an index, and reserves it.
  func nextNumber(in transaction: LMDBTransaction) throws -> UInt32 {
    let next = (try integer(.counters, in: transaction, as: UInt32.self) ?? 0) + 1
    try setInteger(.counters, to: next, in: transaction)
    return next
  }

  private func integer<T: FixedWidthInteger>(
    _ key: Key, in transaction: LMDBTransaction, as type: T.Type = T.self
  ) throws -> T? {
    guard let bytes = try value(key, in: transaction) else { return nil }
    return try bytes.withUnsafeBytes {
      var reader = StoredReader($0)
      return try reader.integer(T.self)
    }
  }

  private func setInteger<T: FixedWidthInteger>(
    _ key: Key, to value: T, in transaction: LMDBTransaction
  ) throws {
    var writer = StoredWriter()
    writer.append(value)
    try set(key, to: writer.bytes, in: transaction)
  }
}

// MARK: - Collections

extension CatalogStorage {
  package func collections(in transaction: LMDBTransaction) throws -> [StoredCollection] {
    var found: [StoredCollection] = []
    let prefix = Key.collectionPrefix
    var cursor = try LMDBCursor(entries, in: transaction)
    var entry = try prefix.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    while let here = entry, here.key.starts(with: prefix) {
      found.append(
        try StoredCollection(decoding: try CatalogStorage.checked(here.value, key: here.key)))
      entry = try cursor.next()
    }
    return found
  }

  func set(_ collection: StoredCollection, in transaction: LMDBTransaction) throws {
    try set(.collection(collection.name), to: collection.encoded(), in: transaction)
  }
}

// MARK: - Associations

extension CatalogStorage {
  /// In the order of their keys.
  package func associations(in transaction: LMDBTransaction) throws -> [StoredAssociation] {
    var found: [StoredAssociation] = []
    let prefix = Key.associationPrefix
    var cursor = try LMDBCursor(entries, in: transaction)
    var entry = try prefix.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
    while let here = entry, here.key.starts(with: prefix) {
      let association = try CatalogStorage.association(
        here.key, try CatalogStorage.checked(here.value, key: here.key))
      if association.kind == .links, found.contains(where: { $0.number == association.number }) {
        throw CatalogStorage.damagedCatalog
      }
      found.append(association)
      entry = try cursor.next()
    }
    return found
  }

  /// The association of an entry, from its key, which has the prefix of associations, and its
  /// value.
  static func association(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> StoredAssociation {
    guard
      let text = String(validating: key.dropFirst(Key.associationPrefix.count), as: UTF8.self)
    else { throw damagedCatalog }
    return try StoredAssociation(key: text, decoding: value)
  }

  func set(_ association: StoredAssociation, in transaction: LMDBTransaction) throws {
    try set(.association(association.key), to: association.encoded(), in: transaction)
  }

  /// Creates the two databases of lists of ids.
  static func createLists(
    _ number: UInt32, first: RecordIDKind, second: RecordIDKind, in transaction: LMDBTransaction
  ) throws {
    for (name, kind) in [(linksName(number), second), (inverseLinksName(number), first)] {
      _ = try LMDBDatabase.open(name, [.ids(of: kind), .create], in: transaction)
    }
  }
}

extension StoredIndex {
  /// The flags of its database: the blocks of a search are single values.
  func flags(_ idKind: RecordIDKind) -> LMDBDatabase.Flags { isSearch ? [] : .ids(of: idKind) }
}

extension LMDBDatabase.Flags {
  /// For databases whose values are ids of a kind. Ids of one length are packed, without a header
  /// for each.
  static func ids(of kind: RecordIDKind) -> Self {
    kind.width == nil ? .duplicates : [.duplicates, .fixedDuplicates]
  }
}

// MARK: - Salvage

extension CatalogStorage {
  /// Collection and id, if the entry is the note of a deleted id.
  static func highestDeletedID(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> (collection: UInt32, id: Int64)? {
    let prefix = "deleted/".utf8
    guard key.starts(with: prefix),
      let collection = UInt32(String(decoding: key.dropFirst(prefix.count), as: UTF8.self))
    else { return nil }
    var reader = StoredReader(value)
    guard let id = try? reader.integer(Int64.self) else { return nil }
    return (collection, id)
  }

  /// Adds collections and shapes of another file to a new one under their old numbers, which the
  /// records and their checksums contain.
  func restore(
    _ collections: [StoredCollection], _ shapes: [UInt16: [UInt8]],
    highestDeletedIDs: [UInt32: Int64], in transaction: LMDBTransaction
  ) throws {
    for collection in collections {
      try set(collection, in: transaction)
      if let id = highestDeletedIDs[collection.id] {
        try setHighestDeletedID(id, of: collection.id, in: transaction)
      }
      _ = try LMDBDatabase.open(
        CatalogStorage.recordsName(collection.id), .create, in: transaction)
    }
    // Indexes that are not copied may have higher numbers than the collections.
    let highest = collections.map(\.id).max() ?? 0
    try setInteger(.counters, to: highest &+ 10_000, in: transaction)
    // Shape numbers are dense; an unused shape takes the place of a lost one.
    for id in 1..<((shapes.keys.max() ?? 0) + 1) {
      let shape = shapes[id] ?? Shape(id: id, typeName: "lost", fields: []).encoded()
      let key = withUnsafeBytes(of: id.bigEndian) { [UInt8]($0) }
      try CatalogStorage.put(shape, under: key, into: self.shapes, in: transaction)
    }
  }
}

extension CatalogStorage {
  /// Creates an empty collection with its own number. Its indexes are still to be built.
  package func create(
    _ name: String, typeName: String, idKind: RecordIDKind,
    indexes: [(name: String, isUnique: Bool, definition: String)], in transaction: LMDBTransaction
  ) throws -> StoredCollection {
    var stored = StoredCollection(
      id: try nextNumber(in: transaction), name: name, typeName: typeName, idKind: idKind,
      indexes: [])
    _ = try LMDBDatabase.open(CatalogStorage.recordsName(stored.id), .create, in: transaction)
    for index in indexes {
      let number = try nextNumber(in: transaction)
      stored.indexes.append(
        StoredIndex(
          id: number, name: index.name, isUnique: index.isUnique, definition: index.definition,
          state: .building))
      _ = try LMDBDatabase.open(
        CatalogStorage.indexName(number),
        stored.indexes[stored.indexes.count - 1].flags(idKind).union(.create), in: transaction)
    }
    if stored.indexes.contains(where: \.isSearch) {
      try requirePendingWords(in: transaction)
    }
    try set(stored, in: transaction)
    return stored
  }

  /// Adds associations of another file to a new one, after their collections. Their lists are
  /// empty, and have numbers of the new file.
  package func restore(
    _ associations: [StoredAssociation], of collections: [StoredCollection],
    in transaction: LMDBTransaction
  ) throws {
    for var association in associations {
      guard let first = collections.first(where: { $0.name == association.first }),
        let second = collections.first(where: { $0.name == association.second })
      else { continue }
      if association.kind == .links {
        association.number = try nextNumber(in: transaction)
        try CatalogStorage.createLists(
          association.number, first: first.idKind, second: second.idKind, in: transaction)
      }
      try set(association, in: transaction)
    }
  }
}

// MARK: - Shapes

extension CatalogStorage {
  package func shape(_ id: UInt16, in transaction: LMDBTransaction) throws -> Shape? {
    try withUnsafeBytes(of: id.bigEndian) { key in
      guard let stored = try shapes.get(key, in: transaction) else { return nil }
      return try Shape(id: id, decoding: try CatalogStorage.checked(stored, key: key))
    }
  }

  package func add(_ shape: Shape, in transaction: LMDBTransaction) throws {
    let key = withUnsafeBytes(of: shape.id.bigEndian) { [UInt8]($0) }
    try CatalogStorage.put(shape.encoded(), under: key, into: shapes, in: transaction)
  }

  package func shapeCount(in transaction: LMDBTransaction) throws -> Int {
    try shapes.statistics(in: transaction).entries
  }
}
