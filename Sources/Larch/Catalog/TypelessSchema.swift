/// Stands where the layers below name a record type, for records whose type the program does not
/// know. No record is ever decoded as it.
struct RecordStandIn: Record {
  var id: Int64
}

/// Thrown for index keys that only the Swift type of the records can make.
package struct KeysUnknownWithoutType: Error {
  /// The indexes of these keys, by bit and by their place in the schema.
  package let positions: UInt64

  package init(positions: UInt64) { self.positions = positions }

  func includes(_ index: IndexHandle) -> Bool { positions & 1 << UInt64(index.position) != 0 }
}

extension StoreSchema {
  /// The declarations with which a file was last written, from its catalog, so that code that works
  /// on declarations without types works on any file.
  ///
  /// - Parameter isForBuilding: whether to include indexes whose build has not begun. They need no
  ///   maintenance, since the build reads every record.
  /// - Throws: `.corrupted` for an invalid catalog.
  init(
    typeless storage: CatalogStorage, isForBuilding: Bool = true, in transaction: LMDBTransaction
  ) throws {
    self.init()
    let stored = try storage.collections(in: transaction)
    let histories = try stored.map { try storage.fieldHistory(of: $0.id, in: transaction) }
    let oddNames = try storage.oddNames(in: histories.compactMap(\.self), transaction)
    for (entry, history) in zip(stored, histories) {
      // A set of indexes is kept in so many bits.
      guard entry.indexes.count <= SchemaCompiler.indexLimit else {
        throw StoredCollection.unknownValue
      }
      let indexes = try entry.indexes.filter { index in
        try isForBuilding || index.state == .ready
          || storage.value(.buildProgress(index.id), in: transaction) != nil
      }
      let ordinary = indexes.filter { !$0.isSearch }
      let definitions = entry.indexes.filter { !$0.isSearch }.map { IndexDefinition($0.definition) }
      collections.append(
        CollectionSchema(
          typeless: entry,
          indexes: ordinary.map { index in
            let definition = IndexDefinition(index.definition)
            let isReadableFromBytes =
              definition.isReadableFromBytes(beside: definitions)
              && !oddNames.contains { index.definition.contains($0) }
            return IndexSchema(
              typeless: index, definition, form: history?.declarations.last,
              isReadableFromBytes: isReadableFromBytes)
          },
          searches: indexes.filter(\.isSearch).map { index in
            IndexSchema(
              typelessSearch: index, form: history?.declarations.last,
              isReadableFromBytes: !oddNames.contains { index.definition.contains($0) })
          }))
    }
    associations = try storage.associations(in: transaction).compactMap { association in
      AssociationSchema(typeless: association, of: collections)
    }
  }
}

extension CatalogStorage {
  /// The field names that are ambiguous in the text of a definition, which joins names by dots and
  /// fields by semicolons, and puts marks before them.
  fileprivate func oddNames(
    in histories: [FieldHistory], _ transaction: LMDBTransaction
  ) throws -> Set<String> {
    var names: Set<String> = []
    for number in 0..<(try shapeCount(in: transaction)) {
      guard let shape = try shape(UInt16(number + 1), in: transaction) else { continue }
      names.formUnion(shape.fields.map(\.name))
    }
    for version in histories.flatMap(\.declarations) { version.addNames(to: &names) }
    return names.filter { name in
      name.contains(".") || name.contains(";")
        || ["[", "~", "=", "("].contains { name.hasPrefix($0) }
    }
  }
}

extension IndexSchema {
  /// An index from its catalog entry: its keys are made from stored bytes alone.
  ///
  /// - Parameters:
  ///   - form: the known form of the records, if any.
  ///   - isReadableFromBytes: whether stored bytes are enough for the keys; if not, they need the type.
  fileprivate convenience init(
    typeless stored: StoredIndex, _ definition: IndexDefinition, form: FieldForm?,
    isReadableFromBytes: Bool
  ) {
    self.init(
      name: stored.name, isUnique: stored.isUnique,
      fields: definition.fields.compactMap { field in
        IndexFieldSchema(
          typeless: field, in: definition, form, isReadableFromBytes: isReadableFromBytes)
      },
      isDecoded: !isReadableFromBytes, isPartial: definition.origin == "where",
      definition: stored.definition)
  }
}

extension IndexSchema {
  /// A search from its catalog entry: its words are cut from stored bytes alone.
  ///
  /// - Parameter isReadableFromBytes: whether the names of its fields are clear.
  fileprivate convenience init(
    typelessSearch stored: StoredIndex, form: FieldForm?, isReadableFromBytes: Bool
  ) {
    let definition = SearchDefinition(stored.definition)
    let paths = definition?.paths ?? []
    // A definition that no program writes has words that nobody can tell.
    let isKnown = paths.count <= SearchSchema.fieldLimit
    let isReadable = isReadableFromBytes && definition?.rules != nil && isKnown
    let isMarked = definition?.hasDefault == true || definition?.hasRename == true
    let fields = (isKnown ? paths : []).map { path in
      let optional = form?.optionalNames(on: path) ?? []
      return SearchFieldSchema(
        path: path, optionalNames: isMarked ? [] : optional,
        mayHaveDefault: definition?.hasDefault == true && optional.first != true)
    }
    self.init(
      name: stored.name, isUnique: false, fields: [], isDecoded: !isReadable, isPartial: false,
      definition: stored.definition,
      search: SearchSchema(rules: definition?.rules ?? .standard, fields: fields))
  }
}

extension IndexFieldSchema {
  fileprivate convenience init?(
    typeless field: IndexDefinition.Field, in definition: IndexDefinition, _ record: FieldForm?,
    isReadableFromBytes: Bool
  ) {
    guard let form = field.form else { return nil }
    let path = isReadableFromBytes ? field.path : nil
    let optional = path.flatMap { record?.optionalNames(on: $0) } ?? []
    // With marks, a default or an older name may exist for a field that a record does not have.
    let isMarked = definition.hasDefault || definition.hasRename
    self.init(
      storedPath: path, optionalNames: isMarked ? [] : optional,
      mayHaveDefault: definition.hasDefault && optional.first != true,
      identity: path.map { .stored($0) } ?? .computed(\RecordStandIn.id), form: form,
      isMultiple: field.isMultiple, textForm: field.textForm)
  }
}

extension FieldForm {
  /// For each name of a path, whether a record without the field has nil there.
  fileprivate func optionalNames(on path: [String]) -> [Bool] {
    var form = self
    return path.map { name in
      guard case .record(let record) = form, let field = record.field(name) else {
        form = .unknown
        return false
      }
      form = field.form
      return field.isOptional
    }
  }

  fileprivate func addNames(to names: inout Set<String>) {
    switch self {
    case .record(let record):
      for field in record.fields {
        names.insert(field.name)
        field.form.addNames(to: &names)
      }
    case .list(let inner), .map(let inner): inner.addNames(to: &names)
    case .unknown, .scalar: break
    }
  }
}

extension CollectionSchema {
  /// A collection from its catalog entry.
  convenience init(
    typeless stored: StoredCollection, indexes: [IndexSchema], searches: [IndexSchema]
  ) {
    self.init(
      name: stored.name, typeName: stored.typeName, type: RecordStandIn.self,
      idKind: stored.idKind, indexes: indexes, searches: searches, declareDefaults: nil,
      typed: NoDeclarations(),
      hasHooks: false, rulesRunCode: false,
      decodedKeys: { record, coder, _, isWanted, _ in
        let positions = indexes.indices.reduce(UInt64(0)) { found, position in
          isWanted(position) ? found | 1 << UInt64(position) : found
        }
        guard positions == 0 else { throw KeysUnknownWithoutType(positions: positions) }
        // Where a typed store would decode the record, this reads it completely.
        _ = try RawRecord(record, shapes: coder.shapes).json()
      },
      decodedTexts: { [count = indexes.count] _, _, search, _ in
        throw KeysUnknownWithoutType(positions: 1 << UInt64(count + search))
      },
      referencedIDs: { record, coder, reference, writer, emit in
        // Called only for references that this file creates.
        guard let reference = reference as? TypelessReference else { return }
        try reference.forEachID(in: record, coder.shapes, &writer, emit)
      })
  }

  private final class NoDeclarations: Sendable {}
}

extension AssociationSchema {
  /// A reference from its catalog entry, with the index of its holders; nil for lists, and for ids
  /// that are not in the bytes of records.
  fileprivate convenience init?(
    typeless stored: StoredAssociation, of collections: [CollectionSchema]
  ) {
    let isList = stored.traits.contains(.list)
    guard stored.kind == .reference,
      let holder = collections.first(where: { $0.name == stored.first }),
      let target = collections.first(where: { $0.name == stored.second }),
      let index = holder.indexes.firstIndex(where: { index in
        index.fields.count == 1 && !index.fields[0].isFolded
          && index.fields[0].storedPath == stored.path && index.fields[0].isMultiple == isList
      }),
      let form = ReferenceForm(holder.indexes[index].form, target.idKind)
    else { return nil }
    let reference = TypelessReference(
      stored, form: holder.indexes[index].form, targetKind: target.idKind)
    self.init(
      key: stored.key,
      kind: .reference(
        ReferenceSchema(
          reference, path: stored.path, form: form, index: index,
          isOne: stored.traits.contains(.one))),
      first: reference.holder, second: reference.target, firstRule: stored.firstRule,
      secondRule: stored.secondRule)
  }
}

/// A reference from the catalog.
final class TypelessReference: ReferenceDeclaration, @unchecked Sendable {
  private let path: [String]

  init(_ stored: StoredAssociation, form: KeyForm, targetKind: RecordIDKind) {
    path = stored.path
    super.init(
      holder: AssociatedType(
        collection: stored.first, typeName: stored.first, standIn: RecordStandIn.self),
      target: AssociatedType(
        collection: stored.second, typeName: stored.second, standIn: RecordStandIn.self),
      keyPath: \RecordStandIn.id, isOptional: stored.traits.contains(.optional),
      targetKind: targetKind, isList: stored.traits.contains(.list), isWritable: false,
      hasOffset: true,
      form: form,
      isStandard: true,
      rule: .automatic, end: .holder,
      resolution: { [path = stored.path] in
        .stored(codingNames: path, propertyNames: path)
      })
  }

  /// The bytes of each id in the references of a record.
  func forEachID(
    in record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    _ = try StoredReference(path: FieldPath(path), kind: targetKind)
      .forEachID(in: record, shapes, &writer, emit)
  }
}
