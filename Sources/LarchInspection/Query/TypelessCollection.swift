internal import Larch

/// A field in a typeless query.
enum TypelessField {
  /// A field with key values, for indexes, stored bytes and orders.
  case reference(FieldReference)
  /// A field that only each record determines; with its kind, if known.
  case other([String], FieldKind?, isList: Bool)
  /// A nested value with these fields.
  case record([String])

  var isList: Bool {
    switch self {
    case .reference(let reference): reference.isMultiple
    case .other(_, _, let isList): isList
    case .record: false
    }
  }
}

/// A collection for planning queries without its Swift type.
struct TypelessCollection {
  let handle: CollectionHandle
  let fields: TypelessFields
  /// The indexes that can answer queries.
  let indexes: [IndexHandle]

  init(_ handle: CollectionHandle, fields: TypelessFields) {
    self.handle = handle
    self.fields = fields
    indexes = handle.indexes.filter { $0.isReady && fields.prove($0.schema) }
  }

  /// The same by bit and by their place in the schema.
  var usable: UInt64 { indexes.reduce(0) { $0 | 1 << UInt64($1.position) } }

  // MARK: Fields

  func field(_ name: QueryText.Name) throws(QueryTextError) -> TypelessField {
    if name.names == ["id"] { return .reference(idReference) }
    for index in indexes {
      if let component = index.schema.fields.first(where: { $0.storedPath == name.names }) {
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
      form, isMultiple: isMultiple, name: names.joined(separator: "."), identity: .stored(names))
  }

  private var idReference: FieldReference {
    let primitive: KeyForm.Primitive =
      switch handle.stored.idKind {
      case .assigned, .integer: .int64
      case .unsigned: .uint64
      case .uuid: .uuid
      case .string: .string
      }
    return FieldReference(.primitive(primitive), name: "id", identity: .id)
  }

  // MARK: Errors

  private func unknown(_ name: QueryText.Name) -> QueryTextError {
    var known = fields.paths.map { $0.joined(separator: ".") }
    if !known.contains("id") { known.insert("id", at: 0) }
    var message = "there is no field \(QueryTextError.shown(name.text))"
    if let near = SimilarName.best(for: name.text, among: known) {
      message += "; did you mean \(QueryTextError.shown(near))?"
    }
    return QueryTextError(name.column, message + TypelessCollection.listed(known))
  }

  /// The list of fields at the end of an error.
  static func listed(_ names: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(30).map { QueryTextError.plain($0) }.joined(separator: ", ")
    return " (fields: \(shown)\(names.count > 30 ? ", …" : ""))"
  }
}
