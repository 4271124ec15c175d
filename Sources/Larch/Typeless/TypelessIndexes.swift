/// The indexes of a collection that queries without types can be answered from, made from what the
/// catalog keeps of them.
///
/// An index is taken only where it surely has the entries that the stored fields say. Left out are
/// those that are being built, those over a part of the records, over computed properties or key
/// types of the program's own, and those whose fields some record may lack while the program has
/// another value in their place.
struct TypelessIndexes {
  private let fields: TypelessFields
  private let paths: [String: [[String]]]
  /// Names that would make the text of a definition mean two things.
  private let areNamesPlain: Bool

  init(_ fields: TypelessFields) {
    self.fields = fields
    let all = fields.paths
    paths = Dictionary(grouping: all) { $0.joined(separator: ".") }
    areNamesPlain = all.allSatisfy { path in
      path.allSatisfy { name in
        !name.contains(";") && !["[", "~", "=", "("].contains { name.hasPrefix($0) }
      }
    }
  }

  /// The index as a declaration; nil for one that is left out.
  func schema(of index: StoredIndex) -> IndexSchema? {
    let definition = IndexDefinition(index.definition)
    guard areNamesPlain, index.state == .ready, !definition.fields.isEmpty,
      definition.origin == "stored" || definition.origin == "decoded"
    else { return nil }
    var components: [IndexFieldSchema] = []
    for field in definition.fields {
      guard let component = component(field, isMarked: !definition.marks.isEmpty) else {
        return nil
      }
      components.append(component)
    }
    return IndexSchema(
      name: index.name, isUnique: index.isUnique, fields: components, isDecoded: false,
      isPartial: false, definition: index.definition)
  }

  private func component(_ field: IndexDefinition.Field, isMarked: Bool) -> IndexFieldSchema? {
    guard !field.isCustom, let form = field.form,
      case .primitive(let primitive) = form.unwrapped.node,
      let path = field.path, let found = paths[path.joined(separator: ".")], found.count == 1,
      let names = found.first, names != ["id"]
    else { return nil }
    switch fields.kind(of: names) {
    case .values(primitive, _) where !field.isMultiple, .elements(primitive) where field.isMultiple:
      break
    // The catalog does not say of which kind the values are: the index does.
    case .other(nil) where !field.isMultiple, .otherElements where field.isMultiple: break
    // Nor does a file that was never compared with its types say what is a list.
    case .other(nil) where !fields.isProved: break
    default: return nil
    }
    // Where a record lacks the field, the program may have read another value than nil.
    if isMarked || !(field.isMultiple || form.isOptional) {
      guard fields.isAlwaysPresent(names) else { return nil }
    }
    return IndexFieldSchema(
      storedPath: names, identity: .stored(names), form: form, isMultiple: field.isMultiple,
      isFolded: field.isFolded)
  }
}
