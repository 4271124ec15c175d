/// Where the keys of an index, with the ids beside them, have the stored fields of a record.
///
/// Only for an index that has all of them, over a type whose `init(from:)` asks for each field once
/// and for nothing else. So a record that has these fields is the stored record, whatever else an
/// older one also had.
struct RecordInKeys: Sendable {
  struct Field: Sendable {
    /// The coding name.
    let name: String
    let primitive: KeyForm.Primitive
    let isOptional: Bool
    /// The component of the keys; nil for the id.
    let component: Int?
  }

  /// In the order of their names.
  let fields: [Field]

  /// Nil if the keys do not have every field.
  init?<R: Record>(_ type: R.Type, _ components: [IndexFieldSchema]) {
    guard components.contains(where: { $0.storedPath != nil && !$0.isFolded && !$0.isMultiple }),
      !(type is any CustomCoded.Type)
    else { return nil }
    let facts = TypeProbe.facts(of: type)
    guard facts.asksOnce, facts.isUnaware, case .record(let form) = facts.form, form.isComplete,
      form.fields.count == facts.questions.count,
      // A key that is only written would be missing.
      TypeProbe.keys(of: type)?.cases.count == form.fields.count
    else { return nil }
    let id = RecordInKeys.id(of: type)
    var fields: [Field] = []
    for field in form.fields {
      guard case .scalar(let kind) = field.form else { return nil }
      if let id, field.name == id.name {
        guard id.primitive.storedKind == kind, !field.isOptional else { return nil }
        fields.append(
          Field(name: field.name, primitive: id.primitive, isOptional: false, component: nil))
        continue
      }
      let place = components.firstIndex {
        $0.storedPath == [field.name] && !$0.isFolded && !$0.isMultiple
      }
      // A URL may be stored in more than one way.
      guard let place, let simple = components[place].form.simple, simple.primitive != .url,
        simple.primitive.storedKind == kind, simple.isOptional == field.isOptional
      else { return nil }
      fields.append(
        Field(
          name: field.name, primitive: simple.primitive, isOptional: simple.isOptional,
          component: place))
    }
    self.fields = fields
  }

  /// The coding name of the stored id, if the key of the record has its bytes.
  private static func id<R: Record>(
    of type: R.Type
  ) -> (name: String, primitive: KeyForm.Primitive)? {
    let coding = R.ID.keyCoding
    guard coding.isStandard, case .primitive(let primitive) = coding.form.node,
      let name = TypeProbe.keys(of: type)?.codingName(ofProperty: "id")
    else { return nil }
    return (name, primitive)
  }
}

extension KeyForm.Primitive {
  /// The kind under which a value of the type is stored.
  package var storedKind: FieldKind {
    switch self {
    case .bool: .bool
    case .int8: .int8
    case .int16: .int16
    case .int32: .int32
    case .int64: .int64
    case .uint8: .uint8
    case .uint16: .uint16
    case .uint32: .uint32
    case .uint64: .uint64
    case .float: .float
    case .double: .double
    case .date: .date
    case .string: .string
    case .data: .data
    case .uuid: .uuid
    case .url: .url
    case .decimal: .decimal
    }
  }
}
