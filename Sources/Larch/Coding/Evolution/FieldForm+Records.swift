extension FieldForm {
  /// The form of one stored record: its fields, and those that it might have.
  ///
  /// - Throws: `.corrupted` for bytes that are not a record.
  package init(of record: UnsafeRawBufferPointer, _ shapes: ShapeTable) throws {
    let value = try RecordFormat.value(of: record)
    self = try FieldForm(RawField(value), shapes, depth: 0)
  }

  private init(_ value: RawField, _ shapes: ShapeTable, depth: Int) throws {
    guard depth < RecordFormat.depthLimit * 2 else {
      throw ByteReader.damaged("nesting depth of values")
    }
    guard case .value(let kind, let bytes) = value else {
      self = .unknown
      return
    }
    switch kind {
    case .record:
      let record = RawRecord(bytes, shapes: shapes)
      var fields = try record.slots().map { name, value in
        RecordForm.Field(
          name: name, form: try FieldForm(value, shapes, depth: depth + 1), isOptional: value.isNil)
      }
      // A field that is nil here had a value when the shape was created.
      for field in try record.shape()?.fields ?? []
      where !fields.contains(where: { $0.name == field.name }) {
        fields.append(
          RecordForm.Field(name: field.name, form: FieldForm(ofKind: field.kind), isOptional: true))
      }
      self = .record(RecordForm(fields, isComplete: true))
    case .list:
      var list = try RawList(.list, bytes)
      var form: FieldForm?
      while let element = try list.next() {
        let next = try FieldForm(element, shapes, depth: depth + 1)
        // Elements of one type have one form, except for optional fields.
        if let form, form != next {
          self = .list(.unknown)
          return
        }
        form = next
      }
      self = .list(form ?? .unknown)
    // A type whose fields vary, or a dictionary.
    case .map: self = .map(.unknown)
    case .tagged: self = .unknown
    default: self = .scalar(kind)
    }
  }

  private init(ofKind kind: FieldKind) {
    switch kind {
    case .record, .tagged: self = .unknown
    case .list: self = .list(.unknown)
    case .map: self = .map(.unknown)
    default: self = .scalar(kind)
    }
  }

  /// Whether a record of this form may have been written under this declaration.
  func isForm(of stored: FieldForm) -> Bool {
    switch (self, stored) {
    case (.unknown, _), (_, .unknown): true
    case (.scalar(let mine), .scalar(let other)): mine == other
    case (.list(let mine), .list(let other)), (.map(let mine), .map(let other)):
      mine.isForm(of: other)
    case (.record, .map(.unknown)): true
    case (.record(let mine), .record(let other)):
      other.fields.allSatisfy { field in
        mine.field(field.name).map { $0.form.isForm(of: field.form) } ?? !mine.isComplete
      }
        && mine.fields.allSatisfy { $0.isOptional || other.field($0.name)?.isOptional == false }
    default: false
    }
  }
}

extension RawField {
  fileprivate var isNil: Bool {
    if case .value = self { return false }
    return true
  }
}
