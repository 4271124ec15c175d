internal import Foundation

/// Writes values without a Swift type as the bytes of a record that any type can be read from.
struct FieldValueWriter {
  private var bytes: [UInt8] = []

  /// A record of shape 0: a tagged map, which needs no shape.
  static func map(_ fields: [String: FieldValue]) throws -> [UInt8] {
    var writer = FieldValueWriter()
    writer.append(UInt16(0))
    try writer.appendTagged(.record(fields), depth: 0)
    return writer.bytes
  }

  /// A record of a shape with these fields, each of them tagged, so that what a coder knows of
  /// fields that are missing or had another name counts.
  static func record(_ fields: [String: FieldValue], shapes: ShapeTable) throws -> [UInt8] {
    let names = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    guard names.count <= RecordFormat.fieldLimit else { return try map(fields) }
    let shape = try shapes.intern(
      typeName: "", fields: names.map { ShapeField(name: $0, kind: .tagged) })
    var heap = FieldValueWriter()
    var ends: [Int] = []
    for name in names {
      try heap.appendTagged(fields[name] ?? .null, depth: 1)
      ends.append(heap.bytes.count)
    }
    let isWide = shape.slotsEnd + heap.bytes.count > RecordFormat.narrowLimit
    let start = isWide ? shape.wideSlotsEnd : shape.slotsEnd
    var writer = FieldValueWriter()
    writer.append(shape.id | (isWide ? RecordFormat.wideBit : 0))
    var mask = [UInt8](repeating: 0, count: shape.maskBytes)
    for slot in names.indices { mask[slot >> 3] |= 1 << UInt8(slot & 7) }
    writer.bytes += mask
    for end in ends {
      if isWide {
        writer.append(UInt32(truncatingIfNeeded: start + end))
      } else {
        writer.append(UInt16(truncatingIfNeeded: start + end))
      }
    }
    return writer.bytes + heap.bytes
  }

  /// A record of shape 0 of values that are bytes already, and refer to no shape.
  static func map(raw fields: [[UInt8]: RawField]) throws -> [UInt8] {
    var writer = FieldValueWriter()
    writer.append(UInt16(0))
    writer.bytes.append(FieldKind.map.rawValue)
    try writer.appendCounted(0) { writer in
      writer.bytes.append(fields.isEmpty ? 0 : FieldKind.tagged.rawValue)
      writer.append(varint: fields.count)
      for (name, field) in fields.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        writer.append(counted: name)
        writer.appendTagged(field)
      }
    }
    return writer.bytes
  }

  /// A record of shape 0 of one value.
  static func tagged(_ value: RawField) -> [UInt8] {
    var writer = FieldValueWriter()
    writer.append(UInt16(0))
    writer.appendTagged(value)
    return writer.bytes
  }

  /// The slot form of a field of the kind `tagged`.
  static func taggedSlot(_ value: RawField) -> [UInt8] {
    var writer = FieldValueWriter()
    writer.appendTagged(value)
    return writer.bytes
  }

  /// The slot form of a map with these entries, whose keys rise.
  static func mapSlot(_ entries: [(key: [UInt8], value: RawField)]) -> [UInt8] {
    var writer = FieldValueWriter()
    let kind = commonKind(entries.map(\.value))
    writer.bytes.append(entries.isEmpty ? 0 : kind.rawValue)
    writer.append(varint: entries.count)
    for (key, value) in entries {
      writer.append(counted: key)
      writer.append(value, of: kind)
    }
    return writer.bytes
  }

  /// The slot form of a list of these elements.
  static func listSlot(_ elements: [RawField]) -> [UInt8] {
    var writer = FieldValueWriter()
    let kind = commonKind(elements)
    writer.bytes.append(elements.isEmpty ? 0 : kind.rawValue)
    writer.append(varint: elements.count)
    for element in elements { writer.append(element, of: kind) }
    return writer.bytes
  }

  /// The kind of all these values, `tagged` when there are several or a nil.
  private static func commonKind(_ values: [RawField]) -> FieldKind {
    guard case .value(let first, _) = values.first else { return .tagged }
    let isCommon = values.allSatisfy {
      if case .value(first, _) = $0 { true } else { false }
    }
    return isCommon ? first : .tagged
  }

  private mutating func appendTagged(_ field: RawField) {
    guard case .value(let kind, _) = field else { return bytes.append(0) }
    bytes.append(kind.rawValue)
    append(field, of: kind)
  }

  private mutating func append(_ field: RawField, of kind: FieldKind) {
    guard kind != .tagged, case .value(_, let value) = field else { return appendTagged(field) }
    if kind.hasShortLength { append(varint: value.count) }
    if kind.hasLongLength { append(UInt32(truncatingIfNeeded: value.count)) }
    bytes.append(contentsOf: value)
  }

  private mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func append(varint value: Int) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private mutating func append(counted content: some Collection<UInt8>) {
    append(varint: content.count)
    bytes.append(contentsOf: content)
  }

  private mutating func appendTagged(_ value: FieldValue, depth: Int) throws {
    guard let kind = value.kind else { return bytes.append(0) }
    bytes.append(kind.rawValue)
    try appendElement(value, kind, depth: depth)
  }

  private mutating func appendElement(
    _ value: FieldValue, _ kind: FieldKind, depth: Int
  ) throws {
    switch value {
    case .null: break
    case .bool(let value): bytes.append(value ? 1 : 0)
    case .int(let value): append(value)
    case .bigInt(let value):
      if kind == .uint64 { append(UInt64(truncatingIfNeeded: value)) } else { append(value) }
    case .bigUInt(let value): append(value)
    case .float(let value): append(value.bitPattern)
    case .double(let value): append(value.bitPattern)
    case .date(let value): append(value.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    case .decimal(let value):
      withUnsafeBytes(of: Leaf.decimal(value)) { bytes.append(contentsOf: $0) }
    case .string(let value), .url(let value): append(counted: value.utf8)
    case .data(let value): append(counted: value)
    case .list(let elements):
      try appendCounted(depth) { writer in
        let kind = FieldValue.commonKind(elements)
        writer.bytes.append(elements.isEmpty ? 0 : kind.rawValue)
        writer.append(varint: elements.count)
        for element in elements { try writer.append(element, of: kind, depth: depth + 1) }
      }
    case .record(let fields):
      try appendCounted(depth) { writer in
        let kind = FieldValue.commonKind(fields.values)
        writer.bytes.append(fields.isEmpty ? 0 : kind.rawValue)
        writer.append(varint: fields.count)
        let names = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names {
          writer.append(counted: name.utf8)
          try writer.append(fields[name] ?? .null, of: kind, depth: depth + 1)
        }
      }
    }
  }

  private mutating func append(_ value: FieldValue, of kind: FieldKind, depth: Int) throws {
    if kind == .tagged {
      try appendTagged(value, depth: depth)
    } else {
      try appendElement(value, kind, depth: depth)
    }
  }

  /// A list or a map behind its length.
  private mutating func appendCounted(
    _ depth: Int, _ body: (inout FieldValueWriter) throws -> Void
  ) throws {
    guard depth < RecordFormat.depthLimit - 1 else {
      throw LarchError(
        .encodingFailed, "Values lie deeper in each other than a record may hold; make them flat.")
    }
    let start = bytes.count
    append(UInt32(0))
    try body(&self)
    let length = bytes.count - start - 4
    guard length <= RecordFormat.lengthLimit else {
      throw LarchError(.recordTooLarge, "The record is longer than 2 GiB; split it.")
    }
    for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (place * 8)) }
  }
}

extension FieldValue {
  /// What it is written as; nil for a nil.
  fileprivate var kind: FieldKind? {
    switch self {
    case .null: nil
    case .bool: .bool
    case .int: .int64
    case .bigInt(let value): UInt64(exactly: value) == nil ? .int128 : .uint64
    case .bigUInt: .uint128
    case .float: .float
    case .double: .double
    case .string: .string
    case .date: .date
    case .uuid: .uuid
    case .decimal: .decimal
    case .data: .data
    case .url: .url
    case .list: .list
    case .record: .map
    }
  }

  /// The kind of all these values, `tagged` when there are several or a nil.
  fileprivate static func commonKind(_ values: some Collection<FieldValue>) -> FieldKind {
    guard let first = values.first?.kind else { return .tagged }
    return values.allSatisfy { $0.kind == first } ? first : .tagged
  }
}
