extension CatalogLoader {
  /// Handles of every collection of the file, for a program that knows none of the types.
  ///
  /// Records can be taken in through them as through typed ones, as long as no index asks for the
  /// type: see `IndexNeedsType`.
  ///
  /// - Parameter isForBuilding: an index whose building has not begun is left out unless this is
  ///   set: it need not be kept up, since whoever builds it looks at every record.
  func untypedCatalog(isForBuilding: Bool = false) throws -> Catalog {
    try environment.openDatabases { transaction in
      let storage = try openStorage(in: transaction)
      let stored = try storage.collections(in: transaction)
      let associations = try storage.associations(in: transaction)
      let dotted = try dottedNames(storage, in: transaction)
      let collections = try stored.enumerated().map { place, entry in
        try untypedHandle(
          entry, place: place, isForBuilding: isForBuilding, stored, associations, dotted, storage,
          in: transaction)
      }
      return Catalog(
        storage: storage, generation: try storage.generation(in: transaction),
        collections: collections, associations: [], missing: [])
    }
  }

  /// The names of fields that have a dot in them. A definition joins the names of a path by dots.
  private func dottedNames(
    _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws -> Set<String> {
    var found: Set<String> = []
    for number in 0..<(try storage.shapeCount(in: transaction)) {
      guard let shape = try storage.shape(UInt16(number + 1), in: transaction) else { continue }
      for field in shape.fields where field.name.utf8.contains(UInt8(ascii: ".")) {
        found.insert(field.name)
      }
    }
    return found
  }

  private func untypedHandle(
    _ entry: StoredCollection, place: Int, isForBuilding: Bool, _ stored: [StoredCollection],
    _ associations: [StoredAssociation], _ dotted: Set<String>, _ storage: CatalogStorage,
    in transaction: LMDBTransaction
  ) throws -> CollectionHandle {
    let form = try storage.fieldHistory(of: entry.id, in: transaction)?.versions.last
    let schemas = entry.indexes.map { index in
      IndexSchema(untyped: index, form: form) { path in
        let text = path.joined(separator: ".")
        return path.count > 1 && dotted.contains { text.contains($0) }
      }
    }
    var indexes: [IndexHandle] = []
    for (position, index) in entry.indexes.enumerated() {
      let hasBegun =
        try isForBuilding || index.state == .ready
        || storage.value(.buildProgress(index.id), in: transaction) != nil
      guard hasBegun else { continue }
      indexes.append(
        IndexHandle(
          stored: index, schema: schemas[position], position: position,
          database: try existing(CatalogStorage.indexName(index.id), in: transaction)))
    }
    let references = try associations.compactMap { association in
      try untypedReference(association, of: entry, indexes, stored, in: transaction)
    }
    return CollectionHandle(
      stored: entry, schema: CollectionSchema(untyped: entry, indexes: schemas),
      records: try existing(CatalogStorage.recordsName(entry.id), in: transaction),
      indexes: indexes, references: references, place: place, reading: nil)
  }

  /// A reference of the collection's records, by the index that lists who holds an id.
  private func untypedReference(
    _ association: StoredAssociation, of entry: StoredCollection, _ indexes: [IndexHandle],
    _ stored: [StoredCollection], in transaction: LMDBTransaction
  ) throws -> SavedReference? {
    let isList = association.traits.contains(.list)
    guard association.kind == .reference, association.first == entry.name,
      let target = stored.first(where: { $0.name == association.second }),
      let number = indexes.firstIndex(where: { index in
        index.schema.fields.count == 1 && !index.schema.fields[0].isFolded
          && index.schema.fields[0].storedPath == association.path
          && index.schema.fields[0].isMultiple == isList
      }),
      let form = ReferenceForm(indexes[number].schema.fields[0].form, target.idKind)
    else { return nil }
    let schema = ReferenceSchema(
      UntypedReference(
        association, form: indexes[number].schema.fields[0].form, targetKind: target.idKind),
      path: association.path, form: form, index: indexes[number].position,
      isOne: association.traits.contains(.one))
    return SavedReference(
      number: number, key: association.key, schema: schema,
      isEnforced: association.secondRule != .none,
      target: try existing(CatalogStorage.recordsName(target.id), in: transaction),
      targetStored: target)
  }
}
