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

  /// Calls with each id, written as ``RecordIdentifier/writeReference(to:)`` does, until the closure
  /// returns false.
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

  private func call(
    _ body: (UnsafeRawBufferPointer) throws -> Bool, _ id: String
  ) throws -> Bool {
    writer.clear()
    _ = writer.append(idString: id)
    return try body(writer.bytes)
  }

  private func forEachDecoded(
    _ record: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var isEnough = false
    try holder.schema.referencedIDs(record, context.coder, reference, &writer) { id in
      if !isEnough { isEnough = try !body(id) }
    }
  }
}
