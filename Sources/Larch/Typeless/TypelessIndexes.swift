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
    guard areNamesPlain, index.state == .ready, let parts = parts(of: index.definition) else {
      return nil
    }
    var components: [IndexFieldSchema] = []
    for (text, form) in zip(parts.paths, parts.form.parts) {
      guard let component = component(text, form, isMarked: !parts.marks.isEmpty) else {
        return nil
      }
      components.append(component)
    }
    return IndexSchema(
      name: index.name, isUnique: index.isUnique, fields: components, isDecoded: false,
      isPartial: false, definition: index.definition)
  }

  private typealias Parts = (form: KeyForm, paths: [String], marks: [String])

  private func parts(of definition: String) -> Parts? {
    let texts = definition.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
    guard texts.count >= 3, texts[1] == "stored" || texts[1] == "decoded",
      let form = KeyForm(texts[0])
    else { return nil }
    let rest = texts.dropFirst(2)
    let count = form.parts.count
    let marks = Array(rest.dropFirst(count))
    guard rest.count >= count,
      marks.allSatisfy({ $0.hasPrefix("default:") || $0.hasPrefix("renamed:") })
    else { return nil }
    return (form, Array(rest.prefix(count)), marks)
  }

  private func component(
    _ text: String, _ form: KeyForm, isMarked: Bool
  ) -> IndexFieldSchema? {
    var text = Substring(text)
    let isMultiple = text.hasPrefix("[]")
    if isMultiple { text.removeFirst(2) }
    let isFolded = text.hasPrefix("~")
    if isFolded { text.removeFirst() }
    // What stands before the value is its key, or there is no value.
    guard !text.hasPrefix("="), text != "()", case .primitive(let primitive) = form.unwrapped.node,
      let found = paths[String(text)], found.count == 1, let names = found.first, names != ["id"]
    else { return nil }
    switch fields.kind(of: names) {
    case .values(primitive, _) where !isMultiple, .elements(primitive) where isMultiple: break
    // The catalog does not say of which kind the values are: the index does.
    case .other(nil) where !isMultiple, .otherElements where isMultiple && names.count > 0: break
    default: return nil
    }
    // Where a record lacks the field, the program may have read another value than nil.
    if isMarked || !(isMultiple || form.isOptional) {
      guard fields.isAlwaysPresent(names) else { return nil }
    }
    return IndexFieldSchema(
      storedPath: names, identity: .stored(names), form: form, isMultiple: isMultiple,
      isFolded: isFolded)
  }
}
