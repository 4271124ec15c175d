/// Reconciles the file with the declarations of the program when a store is opened.
package struct CatalogLoader {
  let environment: LMDBEnvironment
  let schemas: [CollectionSchema]
  private let associations: [AssociationSchema]
  let aliases: FieldAliases
  /// Whether the fields of the types are compared with those of stored records.
  let comparesFields: Bool
  /// Whether unreadable records are accepted for now: migrations will rewrite them, and
  /// `checkFields` is called after that.
  var awaitsMigrations = false

  package init(
    _ environment: LMDBEnvironment, _ schema: StoreSchema,
    evolution: SchemaEvolution = .automatic
  ) {
    self.environment = environment
    schemas = schema.collections
    associations = schema.associations
    aliases = schema.aliases
    comparesFields = evolution != .off
  }

  /// The first entries of a new file.
  static func initialize(in transaction: LMDBTransaction) throws {
    let storage = CatalogStorage(
      entries: try create(CatalogStorage.databaseName, [], in: transaction),
      shapes: try create(CatalogStorage.shapesName, [], in: transaction))
    try storage.set(
      .format, to: StoredFormat(unicodeVersion: NFC.unicodeVersion).encoded(), in: transaction)
    try storage.setGeneration(1, in: transaction)
  }

  /// The catalog of the file, or nil if the file must be changed first.
  func load() throws -> Catalog? {
    try environment.openDatabases { transaction in
      let storage = try openStorage(in: transaction)
      let renamed = try renames(storage, in: transaction)
      guard renamed.moves.isEmpty else { return nil }
      for schema in schemas {
        let entry = renamed.collections.first { $0.name == schema.name }
        guard try SchemaDiff.change(stored: entry, declared: schema) == .nothing else {
          return nil
        }
        guard let entry else { return nil }
        let fields = try fields(of: schema, entry, storage, in: transaction)
        if fields.mustBeNoted { return nil }
      }
      let change = try associationChange(renamed.associations)
      return try change.isNothing ? catalog(storage, renamed, in: transaction) : nil
    }
  }

  func associationChange(
    _ stored: [StoredAssociation]
  ) throws -> SchemaDiff.AssociationChange {
    try SchemaDiff.change(
      stored: stored, declared: associations, collections: Set(schemas.map(\.name)))
  }

  /// The catalog of a file that must not be changed: missing collections and indexes are omitted.
  func loadReadOnly() throws -> Catalog {
    try environment.openDatabases { transaction in
      let storage = try openStorage(in: transaction)
      let renamed = try renames(storage, in: transaction)
      _ = try associationChange(renamed.associations)
      for schema in schemas {
        let entry = renamed.collections.first { $0.name == schema.name }
        _ = try SchemaDiff.change(stored: entry, declared: schema)
        if let entry { _ = try fields(of: schema, entry, storage, in: transaction) }
      }
      return try catalog(storage, renamed, in: transaction)
    }
  }

  /// Brings the file up to date with the declarations; indexes over existing records are begun, not
  /// built.
  func update() throws { try environment.write { try update(in: $0) } }

  func update(in transaction: LMDBTransaction) throws {
    let storage = try openStorage(in: transaction)
    let renamed = try renames(storage, in: transaction)
    var isChanged = !renamed.moves.isEmpty
    try apply(renamed, storage, in: transaction)
    let stored = try storage.collections(in: transaction)
    for schema in schemas {
      let entry = stored.first { $0.name == schema.name }
      let change = try SchemaDiff.change(stored: entry, declared: schema)
      guard var entry, change != .create else {
        try create(schema, storage, in: transaction)
        isChanged = true
        continue
      }
      let fields = try fields(of: schema, entry, storage, in: transaction)
      if let history = fields.history, fields.mustBeNoted || change != .nothing {
        try storage.setFieldHistory(history, of: entry.id, in: transaction)
        isChanged = true
      }
      if case .adjust(let drop, let add) = change {
        try adjust(&entry, schema, drop: drop, add: add, storage, in: transaction)
        isChanged = true
      }
    }
    let change = try associationChange(try storage.associations(in: transaction))
    for association in change.drop {
      try storage.remove(.association(association.key), in: transaction)
    }
    for association in change.set { try set(association, storage, in: transaction) }
    if isChanged || !change.isNothing {
      let generation = try storage.generation(in: transaction)
      try storage.setGeneration(generation + 1, in: transaction)
    }
  }

  /// Makes all programs that have the store open read the catalog again.
  func raiseGeneration(in transaction: LMDBTransaction) throws {
    let storage = try openStorage(in: transaction)
    try storage.setGeneration(try storage.generation(in: transaction) + 1, in: transaction)
  }

  // MARK: Changes

  private func create(
    _ schema: CollectionSchema, _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws {
    var entry = StoredCollection(
      id: try storage.nextNumber(in: transaction), name: schema.name, typeName: schema.typeName,
      idKind: schema.idKind, indexes: [])
    _ = try CatalogLoader.create(CatalogStorage.recordsName(entry.id), [], in: transaction)
    for index in schema.allIndexes {
      entry.indexes.append(
        try add(index, state: .ready, idKind: schema.idKind, storage, in: transaction))
    }
    try storage.set(entry, in: transaction)
    if comparesFields {
      try storage.setFieldHistory(FieldHistory([schema.form]), of: entry.id, in: transaction)
    }
  }

  private func adjust(
    _ entry: inout StoredCollection, _ schema: CollectionSchema, drop: [Int], add: [Int],
    _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws {
    for position in drop.reversed() {
      let index = entry.indexes.remove(at: position)
      try dropDatabase(CatalogStorage.indexName(index.id), in: transaction)
      try storage.remove(.buildProgress(index.id), in: transaction)
    }
    let isEmpty = try isEmpty(entry, in: transaction)
    for position in add {
      entry.indexes.append(
        try self.add(
          schema.allIndexes[position], state: isEmpty ? .ready : .building, idKind: schema.idKind,
          storage, in: transaction))
    }
    entry.typeName = schema.typeName
    try storage.set(entry, in: transaction)
  }

  private func add(
    _ index: IndexSchema, state: StoredIndex.State, idKind: RecordIDKind,
    _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws -> StoredIndex {
    let stored = StoredIndex(
      id: try storage.nextNumber(in: transaction), name: index.name, isUnique: index.isUnique,
      definition: index.definition, state: state)
    _ = try CatalogLoader.create(
      CatalogStorage.indexName(stored.id), stored.flags(idKind), in: transaction)
    if stored.isSearch { try storage.requirePendingWords(in: transaction) }
    return stored
  }

  /// Stores an association, with databases for new lists.
  private func set(
    _ association: StoredAssociation, _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws {
    var association = association
    if association.kind == .links, association.number == 0,
      let first = schemas.first(where: { $0.name == association.first }),
      let second = schemas.first(where: { $0.name == association.second })
    {
      association.number = try storage.nextNumber(in: transaction)
      try CatalogStorage.createLists(
        association.number, first: first.idKind, second: second.idKind, in: transaction)
    }
    try storage.set(association, in: transaction)
  }

  // MARK: Handles

  package func openStorage(in transaction: LMDBTransaction) throws -> CatalogStorage {
    guard
      let entries = try LMDBDatabase.open(CatalogStorage.databaseName, in: transaction),
      let shapes = try LMDBDatabase.open(CatalogStorage.shapesName, in: transaction)
    else {
      throw LarchError(
        .notAStore, "The file is an LMDB file, but not one that Larch made; choose another path."
      ) { $0.path = environment.path }
    }
    let storage = CatalogStorage(entries: entries, shapes: shapes)
    guard let format = try storage.value(.format, in: transaction) else {
      throw LarchError(
        .corrupted, "The store does not record its format version; restore a backup, or salvage it."
      ) { $0.path = environment.path }
    }
    _ = try format.withUnsafeBytes { try StoredFormat(decoding: $0) }
    return storage
  }

  /// - Parameter isComplete: whether to omit incomplete indexes.
  func catalog(
    _ storage: CatalogStorage, _ renamed: CollectionRenames, isComplete: Bool = false,
    in transaction: LMDBTransaction
  ) throws -> Catalog {
    let stored = renamed.collections
    var collections: [CollectionHandle] = []
    var missing: Set<ObjectIdentifier> = []
    for schema in schemas {
      guard let entry = stored.first(where: { $0.name == schema.name }) else {
        missing.insert(schema.typeID)
        continue
      }
      var indexes: [IndexHandle] = []
      var searches: [IndexHandle] = []
      for (position, declared) in schema.allIndexes.enumerated() {
        guard let index = entry.indexes.first(where: { declared.matches($0) }),
          !isComplete || index.state == .ready
        else { continue }
        let handle = IndexHandle(
          stored: index, schema: declared, position: position,
          database: try existing(CatalogStorage.indexName(index.id), in: transaction))
        if declared.search == nil { indexes.append(handle) } else { searches.append(handle) }
      }
      collections.append(
        CollectionHandle(
          stored: entry, schema: schema,
          records: try existing(CatalogStorage.recordsName(entry.id), in: transaction),
          indexes: indexes, searches: searches,
          references: try references(
            of: schema, indexes, stored, isComplete: isComplete, in: transaction),
          place: collections.count,
          unwrittenForms: try unwrittenForms(of: schema, entry, storage, in: transaction),
          reading: FieldReading(
            schema.type, aliases: aliases, defaults: schema.standInDefaults)))
    }
    return Catalog(
      storage: storage, generation: try storage.generation(in: transaction),
      allowsPendingWords: try storage.allowsPendingWords(in: transaction),
      collections: collections,
      associations: try handles(renamed, collections, in: transaction), declared: associations,
      missing: missing, aliases: aliases)
  }

  /// The references of records of a type, with the target records.
  ///
  /// - Parameter isComplete: whether indexes may be missing since they are incomplete.
  private func references(
    of schema: CollectionSchema, _ indexes: [IndexHandle], _ stored: [StoredCollection],
    isComplete: Bool, in transaction: LMDBTransaction
  ) throws -> [SavedReference] {
    try associations.compactMap { association in
      guard case .reference(let reference) = association.kind,
        association.first.collection == schema.name,
        let target = stored.first(where: { $0.name == association.second.collection })
      else { return nil }
      let number = indexes.firstIndex { $0.position == reference.index }
      guard number != nil || isComplete else { return nil }
      return SavedReference(
        number: number, key: association.key, schema: reference,
        isEnforced: association.isEnforced,
        target: try existing(CatalogStorage.recordsName(target.id), in: transaction),
        targetStored: target)
    }
  }

  /// The associations of the open collections.
  private func handles(
    _ renamed: CollectionRenames, _ collections: [CollectionHandle],
    in transaction: LMDBTransaction
  ) throws -> [AssociationHandle] {
    try renamed.associations.compactMap { stored in
      let first = collections.first { $0.stored.name == stored.first }
      let second = collections.first { $0.stored.name == stored.second }
      guard first != nil || second != nil else { return nil }
      let schema = associations.first { $0.key == stored.key }
      var index: IndexHandle?
      if case .reference(let reference) = schema?.kind {
        index = first?.indexes.first { $0.position == reference.index }
      }
      var lists: LinkDatabases?
      if stored.kind == .links {
        let forward = try existing(CatalogStorage.linksName(stored.number), in: transaction)
        let inverse = try existing(CatalogStorage.inverseLinksName(stored.number), in: transaction)
        let isFlipped = renamed.isFlipped(stored.key)
        lists = LinkDatabases(
          forward: isFlipped ? inverse : forward, inverse: isFlipped ? forward : inverse)
      }
      return AssociationHandle(
        stored: stored, schema: schema, first: first, second: second, index: index, lists: lists)
    }
  }

  func existing(
    _ name: String, in transaction: LMDBTransaction
  ) throws -> LMDBDatabase {
    guard let database = try LMDBDatabase.open(name, in: transaction) else {
      throw LarchError(
        .corrupted,
        "The catalog names data that is not in the file; restore a backup, or salvage the file."
      ) {
        $0.path = environment.path
        $0.detail = name
      }
    }
    return database
  }

  private static func create(
    _ name: String, _ flags: LMDBDatabase.Flags, in transaction: LMDBTransaction
  ) throws -> LMDBDatabase {
    guard
      let database = try LMDBDatabase.open(name, flags.union(.create), in: transaction)
    else {
      throw LarchError(
        .storage, "LMDB could not create a database; please report this bug in Larch."
      ) {
        $0.detail = name
      }
    }
    return database
  }
}
