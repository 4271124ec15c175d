/// Reads selected fields of rows from keys and stored bytes, if these determine every bit.
///
/// A key does not determine which zero or NaN a number was, nor the code points of a text beyond
/// ASCII.
package final class RowSelector {
  /// Its objects belong to the selector, so that a row does not count references to them.
  private struct Field {
    let bytes: Unmanaged<SelectedBytes>
    let simple: (primitive: KeyForm.Primitive, isOptional: Bool)?
    /// The component of the keys of the index that the rows come from.
    let component: Int?
  }

  private let owned: (fields: [SelectedBytes], components: KeyComponents?)
  private let count: Int
  private let fields: UnsafeMutablePointer<Field>
  private let components: Unmanaged<KeyComponents>?
  /// The number of the row whose key was split last.
  @exclusivity(unchecked) private var split = 0
  private let reader: RowReader

  init(_ run: PlanRun) {
    reader = run.reader
    var schema: IndexSchema?
    if case .index(let scan) = run.plan.source {
      schema = run.collection.indexes.first { $0.position == scan.index }?.schema
    }
    owned = (
      run.selection.map { SelectedBytes($0, run.context, run.collection.reading) },
      schema.map(KeyComponents.init)
    )
    components = owned.components.map(Unmanaged.passUnretained)
    count = run.selection.count
    fields = .allocate(capacity: max(1, count))
    for (place, field) in run.selection.enumerated() {
      let bytes = owned.fields[place]
      let component = schema?.fields.firstIndex {
        $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
      }
      (fields + place).initialize(
        to: Field(
          bytes: Unmanaged.passUnretained(bytes), simple: bytes.simple,
          component: bytes.simple == nil ? nil : component))
    }
  }

  deinit { fields.deallocate() }

  /// The part of the key that has a field; `cut` if it is not known.
  @inline(__always)
  private func component(
    of place: Int, in row: RowSource, _ number: Int
  ) throws -> KeyComponents.Component {
    guard row.record == nil, let key = row.key, let components, let place = fields[place].component
    else { return .cut }
    return try components._withUnsafeGuaranteedRef { components in
      if split != number {
        split = number
        components.open(key)
      }
      return try components.component(place)
    }
  }

  /// Makes the value of a field from the key of a row; false if that does not determine every bit.
  ///
  /// - Parameter number: the number of the row, from 1 on.
  @inline(__always)
  func make<Value>(
    _ place: Int, in row: RowSource, _ number: Int, _ coding: KeyCoding<Value>,
    at target: UnsafeMutablePointer<Value>
  ) throws -> Bool {
    guard 0..<count ~= place,
      case .value(let bytes) = try component(of: place, in: row, number)
    else { return false }
    return coding.make(component: bytes, at: target)
  }

  /// The value of a field of a row in the form of keys, which a key always determines; nil if only the
  /// decoded record does.
  func keyValue(of place: Int, in row: RowSource, _ number: Int) throws -> KeyValue? {
    guard 0..<count ~= place, let simple = fields[place].simple else { return nil }
    switch try component(of: place, in: row, number) {
    case .null: return .null
    case .value(let bytes): return KeyValue(simple.primitive, key: bytes)
    case .cut: return try value(of: place, in: row, number)?.ofKey
    }
  }

  /// The value of a field of a row; nil if only the decoded record determines every bit.
  func value(of place: Int, in row: RowSource, _ number: Int) throws -> KeyValue? {
    guard 0..<count ~= place, let simple = fields[place].simple else { return nil }
    switch try component(of: place, in: row, number) {
    case .cut: break
    case .null: return .null
    case .value(let bytes):
      if let known = KeyValue(exactly: simple.primitive, key: bytes) { return known }
    }
    return try fields[place].bytes._withUnsafeGuaranteedRef { field in
      if field.isID, let value = RowSelector.value(ofID: row.id, simple.primitive) { return value }
      guard let path = field.path else { return nil }
      return try field.value(at: path, simple, in: row.record(reader), reader.context.shapes)
    }
  }

  package static func values(
    ofID id: UnsafeRawBufferPointer, _ primitive: KeyForm.Primitive
  ) -> [KeyValue]? {
    value(ofID: id, primitive).map { [$0] }
  }

  fileprivate static func value(
    ofID id: UnsafeRawBufferPointer, _ primitive: KeyForm.Primitive
  ) -> KeyValue? {
    if primitive == .uuid { return id.count == 16 ? .uuid([UInt8](id)) : nil }
    if primitive == .string {
      guard id.count >= 1 else { return nil }
      let text = UnsafeRawBufferPointer(rebasing: id[1...])
      return KeyValue(exactly: .string, key: text)
    }
    guard id.count == 8 else { return nil }
    let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
    switch primitive {
    case .int8, .int16, .int32, .int64: return .signed(Int64(bitPattern: number ^ 1 << 63))
    case .uint8, .uint16, .uint32, .uint64: return .unsigned(number)
    default: return nil
    }
  }
}

/// How a selected field is read from stored bytes. An object, so that a row does not count the
/// references in it.
final class SelectedBytes {
  fileprivate let simple: (primitive: KeyForm.Primitive, isOptional: Bool)?
  fileprivate let isID: Bool
  fileprivate let path: FieldPath?

  init(_ field: FieldReference, _ context: TransactionContext, _ reading: FieldReading?) {
    let simple = field.isPlain ? field.form.simple : nil
    self.simple = simple
    isID = field.identity == .id
    path = simple == nil ? nil : field.storedPath.map { context.path($0, reading) }
  }

  /// The value in a record; nil if only the decoded record determines every bit.
  func value(
    in record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> KeyValue? {
    guard let simple else { return nil }
    if isID, let value = RowSelector.value(ofID: id, simple.primitive) { return value }
    guard let path else { return nil }
    return try value(at: path, simple, in: record, shapes)
  }

  @inline(__always)
  fileprivate func value(
    at path: FieldPath, _ simple: (primitive: KeyForm.Primitive, isOptional: Bool),
    in record: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> KeyValue? {
    switch try path.read(in: record, shapes: shapes) {
    case .missing: return nil
    case .absent: return simple.isOptional ? .null : nil
    case .value(let kind, let bytes):
      guard kind == simple.primitive.storedKind else { return nil }
      return try KeyValue(stored: kind, bytes)
    }
  }
}

extension FieldReference {
  /// Whether its bytes are those of one value.
  fileprivate var isPlain: Bool { isStandard && !isMultiple }
}

extension KeyValue {
  /// A stored value of a standard kind; nil for kinds that keys do not have.
  package init?(stored kind: FieldKind, _ bytes: UnsafeRawBufferPointer) throws {
    func little<T: FixedWidthInteger>(_: T.Type) -> T {
      T(littleEndian: bytes.loadUnaligned(as: T.self))
    }
    switch kind {
    case .bool: self = .bool(bytes[0] != 0)
    case .int8: self = .signed(Int64(little(Int8.self)))
    case .int16: self = .signed(Int64(little(Int16.self)))
    case .int32: self = .signed(Int64(little(Int32.self)))
    case .int64: self = .signed(little(Int64.self))
    case .uint8: self = .unsigned(UInt64(bytes[0]))
    case .uint16: self = .unsigned(UInt64(little(UInt16.self)))
    case .uint32: self = .unsigned(UInt64(little(UInt32.self)))
    case .uint64: self = .unsigned(little(UInt64.self))
    case .float: self = .float(Float(bitPattern: little(UInt32.self)))
    case .double: self = .double(Double(bitPattern: little(UInt64.self)))
    case .date: self = .date(Double(bitPattern: little(UInt64.self)))
    case .uuid: self = .uuid([UInt8](bytes))
    case .data: self = .data([UInt8](bytes))
    case .decimal:
      guard let digits = DecimalDigits(stored: bytes) else { throw ByteReader.damaged("decimal") }
      self = .decimal(DecimalKey(digits))
    case .string, .url:
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw ByteReader.damaged("text")
      }
      self = kind == .string ? .string(text) : .url(text)
    case .int128, .uint128, .record, .list, .map, .tagged: return nil
    }
  }
}
