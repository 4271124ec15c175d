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
    let form: KeyForm?

    /// The type of the key as text, such as `string?`.
    package var kind: String? { form?.description }
  }

  /// `stored` where the bytes of records tell the keys, `decoded` where only the program does,
  /// `where` where it also picks the records.
  package let origin: String
  package let fields: [Field]
  /// What else the keys depend on: defaults and older names of fields, which the program knows.
  let marks: [String]

  package init(_ text: String) {
    var parts = text.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
    let forms = KeyForm(parts.removeFirst())?.parts ?? []
    origin = parts.isEmpty ? "" : parts.removeFirst()
    let isMark = { (part: String) in part.hasPrefix("default:") || part.hasPrefix("renamed:") }
    marks = parts.filter(isMark)
    let paths = parts.filter { !isMark($0) }
    fields = paths.enumerated().map { place, text in
      Field(text, forms.count == paths.count ? forms[place] : nil)
    }
  }

  /// Whether the bytes of a record and its declared fields tell all keys that it has.
  package var isTold: Bool {
    origin == "stored" && marks.isEmpty && !fields.isEmpty && fields.allSatisfy(\.isTold)
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
