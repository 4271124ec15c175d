/// Makes the bytes of records from keys of an index that have every field, and from the ids. They are
/// the bytes that a save of the same values writes.
///
/// It belongs to one run at a time, and is kept in the context for the next one.
final class KeyedRecords {
  private struct Step {
    let primitive: KeyForm.Primitive
    let isOptional: Bool
    /// The component of the key; -1 for the id.
    let component: Int
    let slot: Int
    /// Where the value begins in every key, and in every record: only if all have a fixed width.
    let source: Int
    let target: Int
  }

  private let schema: IndexSchema
  private let shape: Shape
  private let components: KeyComponents
  /// In the order of the shape.
  private let steps: UnsafeMutablePointer<Step>
  private let count: Int
  /// The length of all keys if each value has its place in them; otherwise 0.
  private let keyCount: Int
  @exclusivity(unchecked) private var output: RecordOutput

  private init(_ schema: IndexSchema, _ record: RecordInKeys, _ shape: Shape) {
    self.schema = schema
    self.shape = shape
    components = KeyComponents(schema)
    var places: [Int] = []
    var end = 0
    var isFixed = true
    for field in schema.fields {
      places.append(end)
      let simple = field.form.simple
      if let simple, !simple.isOptional, let width = simple.primitive.keyWidth {
        end += width
      } else {
        isFixed = false
      }
    }
    let fields = record.fields.map { (field: $0, slot: shape.slot(of: $0.name) ?? 0) }
    isFixed = isFixed && fields.allSatisfy { $0.field.primitive.keyWidth != nil }
    keyCount = isFixed ? end : 0
    count = fields.count
    steps = .allocate(capacity: count)
    for (place, (field, slot)) in fields.sorted(by: { $0.slot < $1.slot }).enumerated() {
      (steps + place).initialize(
        to: Step(
          primitive: field.primitive, isOptional: field.isOptional,
          component: field.component ?? -1, slot: slot,
          source: field.component.map { places[$0] } ?? 0,
          target: Int(shape.layouts[slot].offset)))
    }
    output = RecordOutput(capacity: shape.slotsEnd + KeyWriter.keyLimit)
    guard isFixed else { return }
    var builder = RecordBuilder(shape, in: &output)
    for place in 0..<count {
      for _ in 0..<Int(shape.layouts[place].width) { output.append(0) }
      builder.end(place, isPresent: true, in: &output)
    }
  }

  deinit {
    steps.deallocate()
    output.deallocate()
  }

  /// The maker for an index; nil if no record was saved yet with the present fields of the type.
  static func of(
    _ schema: IndexSchema, _ collection: CollectionHandle, _ context: TransactionContext
  ) throws -> KeyedRecords? {
    guard let record = schema.record else { return nil }
    if let spare = context.spareRecords {
      context.spareRecords = nil
      // Nothing else is kept there.
      let spare = unsafeDowncast(spare, to: KeyedRecords.self)
      if spare.schema === schema { return spare }
    }
    let typeName = collection.schema.typeName
    let known = try context.catalog.storage.shapeCount(in: context.transaction())
    for id in stride(from: known, to: 0, by: -1) {
      let shape = try context.shapes.shape(UInt16(id))
      if shape.typeName == typeName, record.isIn(shape) {
        return KeyedRecords(schema, record, shape)
      }
    }
    return nil
  }

  /// Keeps it for the next run.
  func end(in context: TransactionContext) { context.spareRecords = self }

  /// The record of an entry, valid until the next one; nil if the key does not determine every bit.
  @inline(__always)
  func record(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    keyCount > 0 ? fixedRecord(key, id) : try variedRecord(key, id)
  }

  private func fixedRecord(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    guard key.count == keyCount, let start = key.baseAddress else { return nil }
    for place in 0..<count {
      let step = steps[place]
      let target = output.base + step.target
      if step.component < 0 {
        guard KeyedRecords.copy(step.primitive, id: id, to: target) else { return nil }
      } else {
        guard KeyedRecords.copy(step.primitive, from: start + step.source, to: target) else {
          return nil
        }
      }
    }
    return output.bytes
  }

  private func variedRecord(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    components.open(key)
    output.count = 0
    var builder = RecordBuilder(shape, in: &output)
    for place in 0..<count {
      let step = steps[place]
      var isPresent = true
      if step.component < 0 {
        guard append(step.primitive, id: id) else { return nil }
      } else {
        switch try components.component(step.component) {
        case .cut: return nil
        case .null:
          guard step.isOptional else { return nil }
          isPresent = false
        case .value(let bytes): guard append(step.primitive, key: bytes) else { return nil }
        }
      }
      builder.end(step.slot, isPresent: isPresent, in: &output)
    }
    return output.bytes
  }

  /// Appends the stored value of a component; false if it does not determine every bit.
  private func append(_ primitive: KeyForm.Primitive, key bytes: UnsafeRawBufferPointer) -> Bool {
    switch primitive {
    case .string:
      guard bytes.isASCII else { return false }
      output.append(bytes)
    case .data: output.append(bytes)
    case .decimal:
      guard let digits = DecimalDigits(key: bytes) else { return false }
      output.append(fixed: Leaf.decimal(digits))
    case .url: return false
    default:
      guard bytes.count == primitive.keyWidth, let start = bytes.baseAddress else { return false }
      output.reserve(bytes.count)
      guard KeyedRecords.copy(primitive, from: start, to: output.base + output.count) else {
        return false
      }
      output.count += bytes.count
    }
    return true
  }

  private func append(_ primitive: KeyForm.Primitive, id: UnsafeRawBufferPointer) -> Bool {
    if primitive == .string {
      guard id.count >= 1 else { return false }
      return append(.string, key: UnsafeRawBufferPointer(rebasing: id[1...]))
    }
    let width = primitive.storedKind.width
    output.reserve(width)
    guard KeyedRecords.copy(primitive, id: id, to: output.base + output.count) else {
      return false
    }
    output.count += width
    return true
  }

  /// Writes the stored value of a component of fixed width. Of a zero, or of what is not a number,
  /// keys do not have every bit.
  @inline(__always)
  private static func copy(
    _ primitive: KeyForm.Primitive, from source: UnsafeRawPointer,
    to target: UnsafeMutableRawPointer
  ) -> Bool {
    func big<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) -> T {
      T(bigEndian: source.loadUnaligned(as: T.self))
    }
    func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
      target.storeBytes(of: value.littleEndian, as: T.self)
    }
    switch primitive {
    case .int64: put(big(UInt64.self) ^ 1 << 63)
    case .double, .date:
      let bits = big(UInt64.self)
      let value = Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
      if value == 0 || value.isNaN { return false }
      put(value.bitPattern)
    case .float:
      let bits = big(UInt32.self)
      let value = Float(bitPattern: bits >> 31 == 1 ? bits ^ 1 << 31 : ~bits)
      if value == 0 || value.isNaN { return false }
      put(value.bitPattern)
    case .bool:
      if big(UInt8.self) > 1 { return false }
      put(big(UInt8.self))
    case .int8: put(big(UInt8.self) ^ 1 << 7)
    case .int16: put(big(UInt16.self) ^ 1 << 15)
    case .int32: put(big(UInt32.self) ^ 1 << 31)
    case .uint8: put(big(UInt8.self))
    case .uint16: put(big(UInt16.self))
    case .uint32: put(big(UInt32.self))
    case .uint64: put(big(UInt64.self))
    case .uuid: target.copyMemory(from: source, byteCount: 16)
    case .string, .data, .url, .decimal: return false
    }
    return true
  }

  /// Writes the stored value of an id, which has eight bytes, or those of a UUID.
  @inline(__always)
  private static func copy(
    _ primitive: KeyForm.Primitive, id: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> Bool {
    if primitive == .uuid {
      guard id.count == 16, let start = id.baseAddress else { return false }
      target.copyMemory(from: start, byteCount: 16)
      return true
    }
    guard id.count == 8, let start = id.baseAddress else { return false }
    func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T?) -> Bool {
      guard let value else { return false }
      target.storeBytes(of: value.littleEndian, as: T.self)
      return true
    }
    let bits = UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
    let number = Int64(bitPattern: bits ^ 1 << 63)
    switch primitive {
    case .int64: return put(number)
    case .int32: return put(Int32(exactly: number))
    case .int16: return put(Int16(exactly: number))
    case .int8: return put(Int8(exactly: number))
    case .uint64: return put(bits)
    case .uint32: return put(UInt32(exactly: bits))
    case .uint16: return put(UInt16(exactly: bits))
    case .uint8: return put(UInt8(exactly: bits))
    case .bool, .float, .double, .date, .string, .data, .uuid, .url, .decimal: return false
    }
  }
}

extension RecordInKeys {
  /// Whether a shape has these fields and no others.
  fileprivate func isIn(_ shape: Shape) -> Bool {
    shape.fields.count == fields.count
      && fields.allSatisfy { field in
        guard let slot = shape.slot(of: field.name) else { return false }
        return shape.fields[slot].kind == field.primitive.storedKind
      }
  }
}
