/// A field as queries without types see it.
enum TypelessField {
  /// Its values are key values: indexes, stored bytes and orders know them.
  case reference(FieldReference)
  /// Only each record tells; of this kind, where that is known.
  case other([String], FieldKind?, isList: Bool)
  /// It has these fields.
  case record([String])

  var isList: Bool {
    switch self {
    case .reference(let reference): reference.isMultiple
    case .other(_, _, let isList): isList
    case .record: false
    }
  }
}

/// A collection that queries can be planned for without its Swift type: the same handles and
/// declarations that a type would have, made from the catalog.
struct TypelessCollection {
  let handle: CollectionHandle
  let fields: TypelessFields

  init(
    _ stored: StoredCollection, records: LMDBDatabase, fields: TypelessFields,
    index: (StoredIndex) -> LMDBDatabase?
  ) {
    self.fields = fields
    let known = TypelessIndexes(fields)
    var handles: [IndexHandle] = []
    // No program declares more, and a set of indexes is kept in so many bits.
    for entry in stored.indexes where handles.count < SchemaCompiler.indexLimit {
      guard let schema = known.schema(of: entry), let database = index(entry) else { continue }
      handles.append(
        IndexHandle(
          stored: entry, schema: schema, position: handles.count, database: database))
    }
    let schema = CollectionSchema(
      name: stored.name, typeName: stored.typeName, type: RecordStandIn.self,
      idKind: stored.idKind, indexes: handles.map(\.schema), declareDefaults: nil,
      typed: NoDeclarations(), rulesRunCode: false,
      decodedKeys: { _, _, _, _, _ in throw TypelessCollection.isReadOnly },
      referencedIDs: { _, _, _, _, _ in throw TypelessCollection.isReadOnly })
    handle = CollectionHandle(
      stored: stored, schema: schema, records: records, indexes: handles, references: [],
      place: 0, reading: nil)
  }

  /// What keeps entries up is asked only by writes, which need the types.
  private static var isReadOnly: LarchError {
    LarchError(
      .readOnly, "A collection without its record type is only read; open it with the type.")
  }

  // MARK: Fields

  func field(_ name: QueryText.Name) throws(QueryTextError) -> TypelessField {
    if name.names == ["id"] { return .reference(idReference) }
    for index in handle.schema.indexes {
      if let component = index.fields.first(where: { $0.storedPath == name.names }) {
        return .reference(reference(name.names, component.form, isMultiple: component.isMultiple))
      }
    }
    switch fields.kind(of: name.names) {
    case .values(let primitive, let isOptional):
      let form = KeyForm.primitive(primitive)
      return .reference(
        reference(name.names, isOptional ? .optional(form) : form, isMultiple: false))
    case .elements(let primitive):
      return .reference(reference(name.names, .primitive(primitive), isMultiple: true))
    case .other(let kind): return .other(name.names, kind, isList: false)
    case .mixed: return .other(name.names, nil, isList: false)
    case .otherElements: return .other(name.names, nil, isList: true)
    case .record:
      return .record(
        fields.paths.filter { $0.count == name.names.count + 1 && $0.starts(with: name.names) }
          .map { $0.joined(separator: ".") })
    case nil: throw unknown(name)
    }
  }

  private func reference(
    _ names: [String], _ form: KeyForm, isMultiple: Bool
  ) -> FieldReference {
    FieldReference(
      form: form, isMultiple: isMultiple, isStandard: true, name: names.joined(separator: "."),
      identity: .stored(names))
  }

  private var idReference: FieldReference {
    let primitive: KeyForm.Primitive =
      switch handle.stored.idKind {
      case .assigned, .integer: .int64
      case .unsigned: .uint64
      case .uuid: .uuid
      case .string: .string
      }
    return FieldReference(
      form: .primitive(primitive), isMultiple: false, isStandard: true, name: "id", identity: .id)
  }

  // MARK: Errors

  private func unknown(_ name: QueryText.Name) -> QueryTextError {
    var known = fields.paths.map { $0.joined(separator: ".") }
    if !known.contains("id") { known.insert("id", at: 0) }
    var message = "there is no field \(QueryTextError.shown(name.text))"
    if let near = NameDistance.nearest(to: name.text, among: known) {
      message += "; did you mean \(QueryTextError.shown(near))?"
    }
    return QueryTextError(name.column, message + TypelessCollection.listed(known))
  }

  /// As the end of an error.
  static func listed(_ names: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(30).map { QueryTextError.plain($0) }.joined(separator: ", ")
    return " (fields: \(shown)\(names.count > 30 ? ", …" : ""))"
  }
}

private final class NoDeclarations: Sendable {}
