/// Reads the ids that stored records hold in a reference.
final class HeldIDs {
  private let holder: CollectionHandle
  private let reference: ReferenceDeclaration
  private let context: TransactionContext
  /// Nil if the decoded record is needed.
  private let path: FieldPath?
  private let primitive: KeyForm.Primitive
  @exclusivity(unchecked) private var writer = KeyWriter()

  /// Nil for routes on which owners hold no ids.
  convenience init?(_ route: RelatedRoute, _ context: TransactionContext) {
    guard case .held(let reference) = route.kind else { return nil }
    self.init(reference, in: route.owner, context)
  }

  /// The ids in a reference of the records of a collection.
  init(
    _ reference: ReferenceDeclaration, in holder: CollectionHandle, _ context: TransactionContext
  ) {
    self.holder = holder
    self.reference = reference
    self.context = context
    let simple = reference.form.simple
    primitive = simple?.primitive ?? .bool
    if reference.isStandard, simple != nil, case .stored(let names, _) = reference.resolve() {
      path = context.path(names, holder.reading)
    } else {
      path = nil
    }
  }

  /// Calls with each id until the closure returns false; not with those that no record can have.
  func forEach(
    in record: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    guard let path else { return try forEachDecoded(record, body) }
    switch try path.read(in: record, shapes: context.shapes) {
    case .missing: try forEachDecoded(record, body)
    case .absent: break
    case .value(.list, let bytes) where reference.isList:
      var elements = try RawList(.list, bytes)
      while let element = try elements.next() {
        switch element {
        case .missing: return try forEachDecoded(record, body)
        case .absent: break
        case .value(let kind, let bytes):
          guard kind == primitive.storedKind else { return try forEachDecoded(record, body) }
          if try !call(body, bytes) { return }
        }
      }
    case .value(let kind, let bytes):
      guard kind == primitive.storedKind, !reference.isList else {
        return try forEachDecoded(record, body)
      }
      _ = try call(body, bytes)
    }
  }

  private func call(
    _ body: (UnsafeRawBufferPointer) throws -> Bool, _ stored: UnsafeRawBufferPointer
  ) throws -> Bool {
    if primitive.isNumber {
      let number = ComparableNumber.of(primitive.storedKind, stored: stored).bigEndian
      return try withUnsafeBytes(of: number) { try body($0) }
    }
    if primitive == .uuid { return try body(stored) }
    return try call(body, String(decoding: stored, as: UTF8.self))
  }

  /// A text that is too long for an id may be stored where references are not enforced.
  private func call(
    _ body: (UnsafeRawBufferPointer) throws -> Bool, _ id: String
  ) throws -> Bool {
    writer.clear()
    guard writer.append(idString: id) else { return true }
    return try body(writer.bytes)
  }

  private func forEachDecoded(
    _ record: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var isEnough = false
    var count = 0
    do {
      try holder.schema.referencedIDs(record, context.coder, reference, &writer) { id in
        count += 1
        if !isEnough { isEnough = try !body(id) }
      }
    } catch let error as LarchError where error.code == .idTooLong {
      // It ends at such an id, and others may follow.
      for values in try decodedValues(in: record).dropFirst(count) where !isEnough {
        guard case .string(let id)? = values.first else { continue }
        isEnough = try !call(body, id)
      }
    }
  }

  /// The ids of the decoded record as values.
  private func decodedValues(in record: UnsafeRawBufferPointer) throws -> [[KeyValue]] {
    func read<R: Record>(_ type: R.Type) throws -> [[KeyValue]] {
      guard let reference = reference as? TypedReference<R> else { return [] }
      var values: [[KeyValue]] = []
      reference.forEachValue(try context.coder.decode(type, from: record)) {
        values.append($0.list)
        return true
      }
      return values
    }
    return try read(holder.schema.type)
  }
}
