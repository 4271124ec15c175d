extension Record {
  /// The value of a stored field by its name, as `larch` shows it.
  ///
  /// ```swift
  /// try person.value(named: "age")  // 36
  /// try person.value(named: "age") == 36  // true
  /// try person.value(named: "address.city").string  // "Oslo"
  /// ```
  ///
  /// Fields have their stored names: those of the coding keys, as ``KeyNaming/keyStrategy`` changes
  /// them. A dot leads to the field of a nested value, or to an entry of a dictionary with strings as
  /// keys. A field that is nil is ``FieldValue/null``, and so is a field of a nested value that is nil,
  /// and an entry that does not exist.
  ///
  /// - Throws: `.unknownField` for a name that the type does not have, with a similar one; and
  ///   `.encodingFailed`.
  /// - Complexity: encodes the record.
  public func value(named name: String) throws -> FieldValue {
    let fields = NamedFields<Self>()
    let path = fields.path(name)
    var value = try FieldValue.encoded(self)
    var rest = path[...]
    var form = fields.forms.versions.first ?? .unknown
    while let next = rest.popFirst() {
      guard case .record(let entries) = value else {
        guard value == .null, form.has(next) else { throw unknownField(name, fields) }
        form = form.form(of: next)
        continue
      }
      if let entry = entries[next] {
        value = entry
      } else if path == ["id"],
        let key = TypeProbe.keys(of: Self.self)?.codingName(ofProperty: "id"),
        let id = entries[key]
      {
        value = id
      } else {
        guard form.has(next) else { throw unknownField(name, fields) }
        value = .null
      }
      form = form.form(of: next)
    }
    return value
  }

  /// The stored fields with their names and values, in the order of the coding keys.
  ///
  /// A field that is nil has the value ``FieldValue/null``. For one field, use ``value(named:)``.
  ///
  /// - Throws: `.encodingFailed`.
  /// - Complexity: encodes the record.
  public func values() throws -> [(name: String, value: FieldValue)] {
    guard case .record(let entries) = try FieldValue.encoded(self) else { return [] }
    let facts = TypeProbe.facts(of: Self.self)
    var names = facts.questions.map(\.name)
    if case .record(let record) = facts.form { names += record.fields.map(\.name) }
    // Last come those that only the type's own coding knows.
    names += entries.keys.sorted()
    var seen: Set<String> = []
    return names.filter { seen.insert($0).inserted }.map { ($0, entries[$0] ?? .null) }
  }

  private func unknownField(_ name: String, _ fields: NamedFields<Self>) -> LarchError {
    let known = fields.forms.paths.map { $0.joined(separator: ".") }
    return LarchError(
      .unknownField,
      "The type has no stored field with this name; use the name that `larch schema` shows."
    ) { context in
      context.collection = Self.collectionName
      context.field = name
      if let near = SimilarName.best(for: name, among: known) {
        context.detail = "did you mean \(near)?"
      }
    }
  }
}

extension FieldForm {
  /// Whether a value of this form may have a field with this name.
  fileprivate func has(_ name: String) -> Bool {
    switch self {
    case .record(let record):
      record.field(name) != nil || record.fields.isEmpty && !record.isComplete
    case .map, .unknown: true
    case .scalar, .list: false
    }
  }

  fileprivate func form(of name: String) -> FieldForm {
    switch self {
    case .record(let record): record.field(name)?.form ?? .unknown
    case .map(let value): value
    case .scalar, .list, .unknown: .unknown
    }
  }
}
