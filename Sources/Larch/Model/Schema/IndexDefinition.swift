/// How the keys of an index are made, as the text in the catalog tells: `string,int64?;stored;city,age`
/// and the like, one field behind each `;` (`SchemaCompiler` writes it).
package struct IndexDefinition: Sendable {
  /// What one component of a key is taken from.
  package struct Field: Sendable {
    /// The coding names that lead to the property; nil for a computed one.
    package let path: [String]?
    /// Whether the property is an array or a set, with an entry for each element.
    package let isMultiple: Bool
    /// Whether upper and lower case are the same.
    package let isFolded: Bool
    /// Whether a type of the program makes the key.
    package let isCustom: Bool
    /// The type of the key; nil where the text does not tell which part belongs to the field.
    package let form: KeyForm?

    /// The type of the key as text, such as `string?`.
    package var kind: String? { form?.description }
  }

  /// `stored` where the bytes of records tell the keys, `decoded` where only the program does,
  /// `where` where it also picks the records.
  package let origin: String
  package let fields: [Field]
  /// Whether a default of the program may stand in for a field missing in a record, or for its nil.
  package let hasDefault: Bool
  /// Whether records may have a field under an older name, which the program knows.
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

  /// Whether bytes that have all fields tell the keys of a record.
  package var isTold: Bool { origin == "stored" && areFieldsTold }

  /// The same for an index beside others of its collection.
  ///
  /// An index of origin `decoded` may have keys of another value than the one that was stored. But
  /// where indexes of origin `stored` are over its fields, saves prove that there is one value.
  func isTold(beside others: [IndexDefinition]) -> Bool {
    if isTold { return true }
    let proved = others.filter(\.isTold).flatMap(\.fields)
    return origin == "decoded" && areFieldsTold
      && fields.allSatisfy { field in
        proved.contains {
          $0.path == field.path && $0.isMultiple == field.isMultiple
            && (field.isFolded || !$0.isFolded)
        }
      }
  }

  private var areFieldsTold: Bool { !fields.isEmpty && fields.allSatisfy(\.isTold) }
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
    isFolded = take("~")
    isCustom = take("=")
    let names = rest.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    path = rest == "()" || names.contains("") ? nil : names
    self.form = form
  }

  fileprivate var isTold: Bool { path != nil && !isCustom && primitive != nil }

  /// The type of the key without its optional; nil where bytes of a record are no key.
  var primitive: KeyForm.Primitive? {
    guard let form else { return nil }
    var inner = form
    if case .optional(let wrapped) = form.node { inner = wrapped }
    guard case .primitive(let primitive) = inner.node else { return nil }
    return primitive
  }
}
