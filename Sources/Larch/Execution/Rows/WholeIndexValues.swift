/// The whole values of the keys of an index, however long: if keys are cut, these give the order of
/// entries.
///
/// It works for any index, even over a computed property: the declaration makes the key from the
/// decoded record, and the writer keeps what it would have cut.
final class WholeIndexValues: TypedAccess {
  private let position: Int
  private let collection: CollectionHandle
  private let context: TransactionContext
  @exclusivity(unchecked) private var writer = KeyWriter(keepsWhole: true)

  init(_ position: Int, _ reader: RowReader) {
    self.position = position
    collection = reader.collection
    context = reader.context
  }

  override var reading: FieldReading? { collection.reading }

  override func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    let schema = try collection.index(at: position).schema
    let position = position
    var found: [KeyValue] = []
    // Entries of one record differ only in multiple fields, which orders do not use.
    try collection.schema.decodedKeys(
      record, context.coder, &writer, { $0 == position },
      { _, writer in
        try writer.withWhole {
          var reader = WholeReader($0)
          for component in schema.fields {
            let values = try reader.values(component.form)
            if component.identity == field.identity, component.form == field.form {
              found = values
            }
          }
        }
      })
    return [found]
  }
}

/// Reads the values of a `KeyWriter` that keeps everything.
private struct WholeReader {
  private var reader: StoredReader

  init(_ bytes: UnsafeRawBufferPointer) { reader = StoredReader(bytes) }

  mutating func values(_ form: KeyForm) throws -> [KeyValue] {
    switch form.node {
    case .composite(let parts):
      var list: [KeyValue] = []
      for part in parts { list += try values(part) }
      return list
    case .optional(let wrapped):
      if try number(UInt8.self) == 0 { return [.null] }
      return try (wrapped.mayBeginWithNil ? [.present] : []) + values(wrapped)
    case .primitive(let primitive): return [try value(primitive)]
    }
  }

  private mutating func value(_ primitive: KeyForm.Primitive) throws -> KeyValue {
    switch primitive {
    case .bool: return .bool(try number(UInt8.self) != 0)
    case .int8: return .signed(Int64(Int8(bitPattern: try number(UInt8.self) ^ 1 << 7)))
    case .int16: return .signed(Int64(Int16(bitPattern: try number(UInt16.self) ^ 1 << 15)))
    case .int32: return .signed(Int64(Int32(bitPattern: try number(UInt32.self) ^ 1 << 31)))
    case .int64: return .signed(Int64(bitPattern: try number(UInt64.self) ^ 1 << 63))
    case .uint8: return .unsigned(UInt64(try number(UInt8.self)))
    case .uint16: return .unsigned(UInt64(try number(UInt16.self)))
    case .uint32: return .unsigned(UInt64(try number(UInt32.self)))
    case .uint64: return .unsigned(try number(UInt64.self))
    case .float:
      let bits = try number(UInt32.self)
      return .float(Float(bitPattern: bits >> 31 == 1 ? bits ^ 1 << 31 : ~bits))
    case .double: return .double(try double())
    case .date: return .date(try double())
    case .string: return .string(String(decoding: try bytes(), as: UTF8.self))
    case .url: return .url(String(decoding: try bytes(), as: UTF8.self))
    case .data: return .data([UInt8](try bytes()))
    case .uuid: return .uuid([UInt8](try bytes()))
    case .decimal: return .decimal(DecimalKey(unverified: try bytes()))
    }
  }

  private mutating func double() throws -> Double {
    let bits = try number(UInt64.self)
    return Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
  }

  /// Numbers are kept as they are in memory.
  private mutating func number<T: FixedWidthInteger>(_: T.Type) throws -> T {
    try reader.take(MemoryLayout<T>.size).loadUnaligned(as: T.self)
  }

  private mutating func bytes() throws -> UnsafeRawBufferPointer {
    try reader.take(try number(Int.self))
  }
}
