extension IndexSchema {
  /// The form of the keys, from the text in the catalog; nil for a text of a newer format.
  package static func form(ofDefinition definition: String) -> KeyForm? {
    let fields = IndexDefinition(definition).fields
    let forms = fields.compactMap { field in
      // What is in a form of another version is shown as it is.
      field.form.map { $0.ofKey(field.isFormKnown ? field.textForm : TextForm(.root)) }
    }
    return !forms.isEmpty && forms.count == fields.count
      ? .composite(forms) : KeyForm(String(definition.prefix { $0 != ";" }))
  }

  /// A key as text: `["London", 18]`.
  func text(of key: UnsafeRawBufferPointer) -> String { IndexSchema.text(of: key, form: form) }

  /// A key as text, or its bytes in hexadecimal if they do not fit the form.
  package static func text(of key: UnsafeRawBufferPointer, form: KeyForm?) -> String {
    if let form, let decoded = try? KeyReader.read(key, as: form) { return decoded.description }
    return "0x" + key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Whether a component of the key is nil or NaN: such a key conflicts with no other.
  func hasNil(_ key: UnsafeRawBufferPointer) throws -> Bool {
    try KeyReader.read(key, as: form).values.contains {
      switch $0 {
      case .null: true
      case .double(let value), .date(let value): value.isNaN
      case .float(let value): value.isNaN
      default: false
      }
    }
  }

  /// Whether the key has only the beginning of a long value.
  func mayBeCut(_ key: UnsafeRawBufferPointer) throws -> Bool {
    try KeyReader.read(key, as: form).isCut
  }
}
