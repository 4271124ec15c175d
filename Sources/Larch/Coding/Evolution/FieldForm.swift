/// The known form of the values that a type writes under a key.
package indirect enum FieldForm: Hashable, Sendable {
  /// The form is known only from the values themselves.
  case unknown
  /// One value of a kind that is not a record, a list or a map.
  case scalar(FieldKind)
  case record(RecordForm)
  /// The form of the elements.
  case list(FieldForm)
  /// The form of the values.
  case map(FieldForm)
}

/// The fields of a type with keys of its own.
package struct RecordForm: Hashable, Sendable {
  package struct Field: Hashable, Sendable {
    package let name: String
    package var form: FieldForm
    /// Whether the type omits the field for nil, and reads a missing field as nil.
    package var isOptional: Bool

    package init(name: String, form: FieldForm, isOptional: Bool) {
      self.name = name
      self.form = form
      self.isOptional = isOptional
    }
  }

  /// In the order of their names.
  package private(set) var fields: [Field]
  /// Whether these are all fields.
  package var isComplete: Bool
  /// The type, for looking up older names of the fields. Not stored.
  var owner: ObjectIdentifier?

  package init(_ fields: [Field], isComplete: Bool, owner: ObjectIdentifier? = nil) {
    self.fields = fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    self.isComplete = isComplete
    self.owner = owner
  }

  package func field(_ name: String) -> Field? { fields.first { $0.name == name } }

  package static func == (a: RecordForm, b: RecordForm) -> Bool {
    a.isComplete == b.isComplete && a.fields == b.fields
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(isComplete)
    hasher.combine(fields)
  }
}

extension FieldForm: CustomStringConvertible {
  /// The text in errors: `int64`, `list of string`, `record`.
  package var description: String {
    switch self {
    case .unknown: "unknown"
    case .scalar(let kind): kind.name
    case .record: "record"
    case .list(.unknown): "list"
    case .list(let element): "list of \(element)"
    case .map(.unknown): "map"
    case .map(let value): "map of \(value)"
    }
  }
}

// MARK: - Stored

extension FieldForm {
  /// The number of a kind is the first byte; 0 stands for what is unknown.
  func write(to writer: inout StoredWriter) {
    switch self {
    case .unknown: writer.append(UInt8(0))
    case .scalar(let kind): writer.append(kind.rawValue)
    case .record(let record):
      writer.append(FieldKind.record.rawValue)
      writer.append(UInt8(record.isComplete ? 1 : 0))
      writer.append(varint: UInt64(record.fields.count))
      for field in record.fields {
        writer.append(field.name)
        writer.append(UInt8(field.isOptional ? 1 : 0))
        field.form.write(to: &writer)
      }
    case .list(let element):
      writer.append(FieldKind.list.rawValue)
      element.write(to: &writer)
    case .map(let value):
      writer.append(FieldKind.map.rawValue)
      value.write(to: &writer)
    }
  }

  /// Reads what `write` wrote. Arbitrary bytes give a form or a thrown error.
  init(reading reader: inout StoredReader, depth: Int = 0) throws {
    guard depth <= RecordFormat.depthLimit else { throw FieldForm.damaged }
    let raw: UInt8 = try reader.integer()
    if raw == 0 {
      self = .unknown
      return
    }
    switch FieldKind(rawValue: raw) {
    case nil, .tagged: throw FieldForm.damaged
    case .list: self = .list(try FieldForm(reading: &reader, depth: depth + 1))
    case .map: self = .map(try FieldForm(reading: &reader, depth: depth + 1))
    case .record: self = .record(try RecordForm(reading: &reader, depth: depth))
    case .some(let kind): self = .scalar(kind)
    }
  }

  fileprivate static var damaged: LarchError {
    LarchError(
      .corrupted, "The catalog holds a value that this format does not know; restore a backup.")
  }
}

extension RecordForm {
  fileprivate init(reading reader: inout StoredReader, depth: Int) throws {
    let complete: UInt8 = try reader.integer()
    guard complete <= 1 else { throw FieldForm.damaged }
    var fields: [Field] = []
    var names: Set<String> = []
    for _ in 0..<(try reader.count()) {
      let name = try reader.string()
      let optional: UInt8 = try reader.integer()
      guard optional <= 1, names.insert(name).inserted else { throw FieldForm.damaged }
      fields.append(
        Field(
          name: name, form: try FieldForm(reading: &reader, depth: depth + 1),
          isOptional: optional == 1))
    }
    self.init(fields, isComplete: complete == 1)
  }
}
