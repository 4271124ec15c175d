internal import Larch

/// A collection for planning queries without its Swift type.
struct TypelessCollection: QueryFieldSource {
  let handle: CollectionHandle
  let fields: FormFields
  /// The indexes that can answer queries.
  let indexes: [IndexHandle]
  /// The indexes of words that can, by bit and by their place in the schema.
  let searches: UInt64

  init(_ handle: CollectionHandle, fields: FormFields) {
    self.handle = handle
    self.fields = fields
    indexes = handle.indexes.filter { $0.isReady && fields.prove($0.schema) }
    searches = handle.searches.reduce(0) { found, search in
      guard search.isReady, fields.prove(search: search.schema) else { return found }
      return found | 1 << UInt64(search.position - handle.schema.indexes.count)
    }
  }

  /// The same by bit and by their place in the schema.
  var usable: UInt64 { indexes.reduce(0) { $0 | 1 << UInt64($1.position) } }

  // MARK: Fields

  func field(_ name: QueryText.Name) throws(QueryTextError) -> QueryField {
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
      return .record(fields.fields(in: name.names))
    case nil: throw fields.unknown(name)
    }
  }

  func node(_ filter: DynamicFilter, _ text: FilterText) -> FilterNode {
    .record(StoredTest(filter, text: text.whole))
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
}

extension FormFields {
  /// The same for an index of words: every record has its texts as they are stored.
  func prove(search index: IndexSchema) -> Bool {
    guard !index.isDecoded, let search = index.search,
      let definition = SearchDefinition(index.definition)
    else { return false }
    return search.fields.allSatisfy { field in
      // For a record without the field, the program may have read another value than nil.
      switch kind(of: field.path) {
      case .values(.string, let isOptional):
        isAlwaysPresent(field.path) || isOptional && !definition.isMarked
      case .elements(.string): isAlwaysPresent(field.path) || !definition.isMarked
      default: false
      }
    }
  }

  /// Whether an index certainly has the entries for the stored fields of every record, so that it
  /// can answer a query.
  ///
  /// This requires more than keys from stored bytes: a scan of the records can skip a single one,
  /// but a query uses the index for all of them.
  func prove(_ index: IndexSchema) -> Bool {
    guard !index.isDecoded, !index.isPartial else { return false }
    let definition = IndexDefinition(index.definition)
    let isMarked = definition.hasDefault || definition.hasRename
    return index.fields.allSatisfy { field in
      guard let names = field.storedPath, names != ["id"],
        case .primitive(let primitive) = field.form.unwrapped.node
      else { return false }
      switch kind(of: names) {
      case .values(primitive, _) where !field.isMultiple,
        .elements(primitive) where field.isMultiple:
        break
      // The kind of the values is not in the catalog, but in the index.
      case .other(nil) where !field.isMultiple, .otherElements where field.isMultiple: break
      // A file that was never compared with its types does not say either what is a list.
      case .other(nil) where !isProved: break
      default: return false
      }
      // For a record without the field, the program may have read another value than nil.
      let mayBeMissing = !isMarked && (field.isMultiple || field.form.isOptional)
      return mayBeMissing || isAlwaysPresent(names)
    }
  }
}
