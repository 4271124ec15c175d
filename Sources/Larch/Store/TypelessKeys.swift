/// Makes the keys of one index from the bytes of records, without their type.
///
/// The catalog tells which fields they are of, and which of these are optional. Where a record has
/// not what that asks for (one of an older version of the type, which decoding completes), only the
/// program can tell.
struct TypelessKeys: ~Copyable {
  private let plan: TypelessKeyPlan
  private var writer: KeyWriter
  private let isWhole: Bool

  /// Nil for an index whose keys records do not tell.
  ///
  /// - Parameters:
  ///   - form: the newest version of the type.
  ///   - isWhole: whether all that goes into a key is wanted, of any length.
  init?(_ definition: IndexDefinition, form: FieldForm?, isWhole: Bool = false) {
    guard let plan = TypelessKeyPlan(definition, form) else { return nil }
    self.plan = plan
    self.isWhole = isWhole
    writer = KeyWriter(keepsWhole: isWhole)
  }

  /// Puts the keys of a record into the list; false where only the program can tell them.
  mutating func collect(
    of record: UnsafeRawBufferPointer, _ shapes: ShapeTable, into list: inout EntryList
  ) throws -> Bool {
    list.removeAll()
    writer.clear()
    return try append(0, of: record, shapes, into: &list)
  }

  private mutating func append(
    _ start: Int, of record: UnsafeRawBufferPointer, _ shapes: ShapeTable,
    into list: inout EntryList
  ) throws -> Bool {
    for number in start..<plan.count {
      let step = plan.steps + number
      let value = try plan.value(number, of: record, shapes)
      if step.pointee.isMultiple {
        return try appendElements(of: value, number, of: record, shapes, into: &list)
      }
      guard writer.append(value, step, isLast: number == plan.count - 1) else { return false }
    }
    if isWhole {
      writer.withWhole { list.insert(index: 0, key: $0, isCut: false, hasNil: writer.hasNil) }
    } else {
      list.insert(index: 0, key: writer.bytes, isCut: writer.isCut, hasNil: writer.hasNil)
    }
    return true
  }

  private mutating func appendElements(
    of value: RawField, _ number: Int, of record: UnsafeRawBufferPointer, _ shapes: ShapeTable,
    into list: inout EntryList
  ) throws -> Bool {
    switch value {
    case .missing: return false
    case .absent: return true
    case .value(let kind, let bytes):
      guard kind == .list else { return false }
      let mark = writer.mark
      var elements = try RawList(kind, bytes)
      while let element = try elements.next() {
        writer.rewind(to: mark)
        guard
          writer.append(element, plan.steps + number, isLast: number == plan.count - 1),
          try append(number + 1, of: record, shapes, into: &list)
        else { return false }
      }
      return true
    }
  }
}

/// The fields of an index, in the form in which keys are made of them.
private final class TypelessKeyPlan {
  let steps: UnsafeMutablePointer<KeyPlan.Step>
  let count: Int
  /// For each field the ways to it and to each record that it lies in, the outermost first, and
  /// whether what is there may be left out for nil.
  private let ways: [[(path: FieldPath, isOptional: Bool)]]

  init?(_ definition: IndexDefinition, _ form: FieldForm?) {
    // A name with a dot in it looks like two names in a definition.
    guard definition.isTold, form?.hasDottedNames != true else { return nil }
    var ways: [[(path: FieldPath, isOptional: Bool)]] = []
    var drafts: [KeyPlan.Step] = []
    for field in definition.fields {
      guard let names = field.path, let primitive = field.primitive, let key = field.form else {
        return nil
      }
      let way = names.indices.map { end in
        let part = Array(names[...end])
        return (path: FieldPath(part), isOptional: form?.isOptional(part) ?? false)
      }
      ways.append(way)
      drafts.append(
        KeyPlan.Step(
          path: way[way.count - 1].path, primitive: primitive, isOptional: key.isOptional,
          isMultiple: field.isMultiple, isFolded: field.isFolded))
    }
    self.ways = ways
    count = drafts.count
    steps = .allocate(capacity: count)
    steps.initialize(from: drafts, count: count)
  }

  deinit { steps.deallocate() }

  /// What a record has for a field. What is left out is nil where the type writes nil so.
  func value(
    _ number: Int, of record: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> RawField {
    let value = try steps[number].read(in: record, shapes: shapes)
    guard case .missing = value else { return value }
    for (path, isOptional) in ways[number] {
      if case .missing = try path.read(in: record, shapes: shapes) {
        return isOptional ? .absent : .missing
      }
    }
    return .missing
  }
}

extension FieldForm {
  /// Whether the type leaves out the field at a path when it is nil.
  fileprivate func isOptional(_ path: [String]) -> Bool {
    guard case .record(let record) = self, let name = path.first, let field = record.field(name)
    else { return false }
    return path.count == 1 ? field.isOptional : field.form.isOptional(Array(path.dropFirst()))
  }

  /// Whether a name in it has a dot.
  fileprivate var hasDottedNames: Bool {
    switch self {
    case .record(let record):
      record.fields.contains { $0.name.contains(".") || $0.form.hasDottedNames }
    case .list(let inner), .map(let inner): inner.hasDottedNames
    case .unknown, .scalar: false
    }
  }
}
