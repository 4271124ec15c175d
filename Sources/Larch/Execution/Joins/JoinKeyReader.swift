/// The form of the join values as keys, for finding them in an index or a table.
struct JoinKeyForm {
  /// The number of optionals that the index has around the value.
  var optionals = 0
  /// Whether the key ends with the value, so that it is not the first part of a longer one.
  var isLast = true
}

/// Reads the join values of a record, from its bytes if possible.
///
/// Nil and NaN are skipped, since they match nothing.
final class JoinKeyReader {
  /// A value where it was found.
  private enum Value {
    case id(UnsafeRawBufferPointer)
    case stored(FieldKind, UnsafeRawBufferPointer)
    case decoded([KeyValue])
  }

  let field: FieldReference
  /// The form of a value that is not nil.
  let form: KeyForm
  private let path: FieldPath?
  private let isID: Bool
  private let isOptional: Bool
  private let hasMarks: Bool
  private let primitive: KeyForm.Primitive
  private let step: UnsafeMutablePointer<KeyPlan.Step>
  private let shapes: ShapeTable
  private let typed: TypedAccess
  @exclusivity(unchecked) private var current = Value.decoded([])
  @exclusivity(unchecked) private var wholeWriter = KeyWriter(keepsWhole: true)

  init(_ field: FieldReference, context: TransactionContext, typed: TypedAccess) {
    self.field = field
    self.typed = typed
    form = field.form.unwrapped
    shapes = context.shapes
    let simple = field.form.simple
    isOptional = simple?.isOptional ?? false
    hasMarks = simple == nil && field.form.isOptional
    primitive = simple?.primitive ?? .bool
    isID = field.identity == .id && simple != nil && !field.isMultiple
    path = isID || simple == nil ? nil : field.storedPath.map { context.path($0, typed.reading) }
    step = .allocate(capacity: 1)
    // A path of the context, which outlives the run.
    step.initialize(
      to: KeyPlan.Step(
        path: path ?? context.idPath, primitive: primitive, isOptional: false,
        isMultiple: field.isMultiple, textForm: .exact))
  }

  deinit { step.deallocate() }

  /// Calls with each join value of a record, written as a key; equal values may repeat.
  func forEachKey(
    of record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, as form: JoinKeyForm,
    in writer: inout KeyWriter, _ body: (inout KeyWriter) throws -> Void
  ) throws {
    if isID {
      try emit(.id(id), form, &writer, body)
      return
    }
    if let path, try emitStored(path, record, form, &writer, body) { return }
    for marked in try typed.values(of: field, in: record) {
      let values = hasMarks ? field.form.withoutMarks(marked) : marked
      if KeyValue.isNil(values) { continue }
      guard try emit(.decoded(values), form, &writer, body) else {
        throw LarchError(
          .decodingFailed,
          "The stored values of a field do not fit its type; please report this bug with the declaration of the type."
        ) { $0.field = field.name }
      }
    }
  }

  /// False if the stored bytes are not enough; equal values may have been emitted before that.
  private func emitStored(
    _ path: FieldPath, _ record: UnsafeRawBufferPointer, _ form: JoinKeyForm,
    _ writer: inout KeyWriter, _ body: (inout KeyWriter) throws -> Void
  ) throws -> Bool {
    switch try path.read(in: record, shapes: shapes) {
    case .missing: return false
    case .absent: return isOptional || field.isMultiple
    case .value(let kind, let bytes):
      guard field.isMultiple else { return try emit(.stored(kind, bytes), form, &writer, body) }
      guard kind == .list else { return false }
      var elements = try RawList(kind, bytes)
      while let element = try elements.next() {
        switch element {
        case .missing: return false
        case .absent: if !isOptional { return false }
        case .value(let kind, let bytes):
          guard try emit(.stored(kind, bytes), form, &writer, body) else { return false }
        }
      }
      return true
    }
  }

  @discardableResult
  private func emit(
    _ value: Value, _ form: JoinKeyForm, _ writer: inout KeyWriter,
    _ body: (inout KeyWriter) throws -> Void
  ) throws -> Bool {
    writer.clear()
    guard write(value, form, to: &writer) else { return false }
    if isNaN(value, writer) { return true }
    current = value
    try body(&writer)
    return true
  }

  /// Whether the value, which is not nil, equals nothing. A nil in a composite value equals another.
  private func isNaN(_ value: Value, _ writer: borrowing KeyWriter) -> Bool {
    guard writer.hasNil else { return false }
    if case .decoded(let values) = value { return values.contains(where: \.isNaN) }
    return true
  }

  private func write(
    _ value: Value, _ form: JoinKeyForm, to writer: inout KeyWriter
  ) -> Bool {
    for _ in 0..<form.optionals { writer.appendPresent() }
    switch value {
    case .id(let id): return append(id: id, form, to: &writer)
    case .stored(let kind, let bytes):
      return writer.append(.value(kind, bytes), step, isLast: form.isLast)
    case .decoded(let values):
      return writer.append(values, as: self.form, isLast: form.isLast)
    }
  }

  private func append(
    id: UnsafeRawBufferPointer, _ form: JoinKeyForm, to writer: inout KeyWriter
  ) -> Bool {
    switch primitive {
    case .uuid: writer.append(uuid: id)
    case .string:
      guard id.count > 0 else { return false }
      writer.append(
        stringUTF8: UnsafeRawBufferPointer(rebasing: id.dropFirst()), isLast: form.isLast)
    default:
      guard id.count == 8 else { return false }
      let bits = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
      let number = Int64(bitPattern: bits ^ 1 << 63)
      switch primitive {
      case .int64: writer.append(int64: number)
      case .int32: writer.append(int32: Int32(truncatingIfNeeded: number))
      case .int16: writer.append(int16: Int16(truncatingIfNeeded: number))
      case .int8: writer.append(int8: Int8(truncatingIfNeeded: number))
      case .uint64: writer.append(uint64: bits)
      case .uint32: writer.append(uint32: UInt32(truncatingIfNeeded: bits))
      case .uint16: writer.append(uint16: UInt16(truncatingIfNeeded: bits))
      case .uint8: writer.append(uint8: UInt8(truncatingIfNeeded: bits))
      default: return false
      }
    }
    return true
  }

  /// The whole last value, however long. Only inside the closure that received it.
  func withWholeValue<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    wholeWriter.clear()
    _ = write(current, JoinKeyForm(), to: &wholeWriter)
    return try wholeWriter.withWhole(body)
  }

  /// Whether a record has exactly this value, which `withWholeValue` has written.
  func hasValue(
    _ whole: UnsafeRawBufferPointer, in record: UnsafeRawBufferPointer,
    id: UnsafeRawBufferPointer, _ writer: inout KeyWriter
  ) throws -> Bool {
    var isFound = false
    try forEachKey(of: record, id: id, as: JoinKeyForm(), in: &writer) { writer in
      if !isFound, writer.isCut { isFound = withWholeValue { $0.equals(whole) } }
    }
    return isFound
  }
}
