/// How the keys of an index are made, from the text in the catalog, such as
/// `string,int64?;stored;city,age`: after the kinds and the origin come the fields
/// (`SchemaCompiler` writes it).
package struct IndexDefinition: Sendable {
  /// The source of one component of a key.
  package struct Field: Sendable {
    /// The coding names that lead to the property; nil for a computed one.
    package let path: [String]?
    /// Whether the property is an array or a set, with an entry for each element.
    package let isMultiple: Bool
    /// The form of texts in the keys.
    package let textForm: TextForm
    /// Whether this Larch knows the form: not that of another version.
    package let isFormKnown: Bool
    /// Whether a type of the program makes the key.
    package let isCustom: Bool
    /// The type of the key; nil if the text does not say which part belongs to the field.
    package let form: KeyForm?

    /// The type of the key as text, such as `string?`.
    package var kind: String? { form?.description }
  }

  /// `stored` if the bytes of a record are enough for its keys, `decoded` if only the program can
  /// make them, and `where` if it also selects the records.
  package let origin: String
  package let fields: [Field]
  /// Whether a default of the program may replace a missing field, or its nil.
  package let hasDefault: Bool
  /// Whether records may have a field under an older name, which the program declares.
  package let hasRename: Bool

  package init(_ text: String) {
    var parts = text.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
    let forms = KeyForm(parts.removeFirst())?.parts ?? []
    origin = parts.isEmpty ? "" : parts.removeFirst()
    let isDefault = { (part: String) in part.hasPrefix("default:") }
    let isRename = { (part: String) in part.hasPrefix("renamed:") }
    hasDefault = parts.contains(where: isDefault)
    hasRename = parts.contains(where: isRename)
    let paths = parts.filter { !isDefault($0) && !isRename($0) }
    fields = paths.enumerated().map { place, text in
      Field(text, forms.count == paths.count ? forms[place] : nil)
    }
  }

  /// Whether the bytes of a record that has all fields are enough for its keys.
  package var isReadableFromBytes: Bool { origin == "stored" && areFieldsReadable }

  /// The same for an index, given the other indexes of its collection.
  ///
  /// The keys of an index of origin `decoded` may come from another value than the stored one. But
  /// if indexes of origin `stored` cover its fields, every save proves that both values are the
  /// same.
  func isReadableFromBytes(beside others: [IndexDefinition]) -> Bool {
    if isReadableFromBytes { return true }
    let proved = others.filter(\.isReadableFromBytes).flatMap(\.fields)
    return origin == "decoded" && areFieldsReadable
      && fields.allSatisfy { field in
        proved.contains {
          $0.path == field.path && $0.isMultiple == field.isMultiple
            && (field.textForm.isFolded || !$0.textForm.isFolded)
        }
      }
  }

  private var areFieldsReadable: Bool {
    !fields.isEmpty && fields.allSatisfy(\.isReadableFromBytes)
  }
}

extension IndexDefinition.Field {
  fileprivate init(_ text: String, _ form: KeyForm?) {
    var rest = text[...]
    func take(_ mark: String) -> Bool {
      guard rest.hasPrefix(mark) else { return false }
      rest.removeFirst(mark.count)
      return true
    }
    isMultiple = take("[]")
    let taken = TextForm.taken(from: &rest)
    textForm = taken ?? .exact
    isFormKnown = taken != nil
    isCustom = take("=")
    let names = rest.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    path = rest == "()" || names.contains("") ? nil : names
    self.form = form
  }

  fileprivate var isReadableFromBytes: Bool {
    path != nil && !isCustom && isFormKnown && primitive != nil
  }

  /// The type of the key without its optional; nil if stored bytes cannot be a key.
  var primitive: KeyForm.Primitive? {
    guard let form else { return nil }
    var inner = form
    if case .optional(let wrapped) = form.node { inner = wrapped }
    guard case .primitive(let primitive) = inner.node else { return nil }
    return primitive
  }
}
