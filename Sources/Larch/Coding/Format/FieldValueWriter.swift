internal import Foundation

/// Writes values without a Swift type as the bytes of a record, which any type can read.
struct FieldValueWriter: RecordFormWriter {
  var output = RecordOutput()

  /// A record of shape 0: a tagged map, which needs no shape.
  static func map(_ fields: [String: FieldValue]) throws -> [UInt8] {
    var writer = FieldValueWriter()
    return try writer.bytes {
      $0.output.append(fixed: UInt16(0))
      try $0.appendTagged(.record(fields), depth: 0)
    }
  }

  /// A record of a shape with these fields, each of them tagged, so that a coder applies its
  /// defaults and older names.
  static func record(_ fields: [String: FieldValue], shapes: ShapeTable) throws -> [UInt8] {
    let names = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    guard names.count <= RecordFormat.fieldLimit else { return try map(fields) }
    let shape = try shapes.intern(
      typeName: "", fields: names.map { ShapeField(name: $0, kind: .tagged) })
    var writer = FieldValueWriter()
    return try writer.bytes {
      var record = RecordBuilder(shape, in: &$0.output)
      for (slot, name) in names.enumerated() {
        try $0.appendTagged(fields[name] ?? .null, depth: 1)
        record.end(slot, isPresent: true, in: &$0.output)
      }
    }
  }

  /// A record of shape 0 from encoded values, which refer to no shape.
  static func map(raw fields: [[UInt8]: RawField]) throws -> [UInt8] {
    var writer = RawFieldWriter()
    return try writer.bytes {
      $0.output.append(fixed: UInt16(0))
      $0.output.append(FieldKind.map.rawValue)
      let start = $0.output.count
      try $0.appendMap(fields.map { (key: $0.key, value: $0.value) }, of: .tagged, depth: 1)
      $0.output.insertLength(.map, at: start)
    }
  }

  /// A record of shape 0 from one encoded value.
  static func tagged(_ value: RawField) throws -> [UInt8] {
    var writer = RawFieldWriter()
    return try writer.bytes {
      $0.output.append(fixed: UInt16(0))
      try $0.appendTagged(value, depth: 0)
    }
  }

  /// The slot form of a field of the kind `tagged`.
  static func taggedSlot(_ value: RawField) throws -> [UInt8] {
    var writer = RawFieldWriter()
    return try writer.bytes { try $0.appendTagged(value, depth: 0) }
  }

  /// The slot form of a map with these entries.
  static func mapSlot(_ entries: [(key: [UInt8], value: RawField)]) throws -> [UInt8] {
    var writer = RawFieldWriter()
    return try writer.bytes { try $0.appendMap(entries, depth: 0) }
  }

  /// The slot form of a list of these elements.
  static func listSlot(_ elements: [RawField]) throws -> [UInt8] {
    var writer = RawFieldWriter()
    return try writer.bytes { try $0.appendList(elements, depth: 0) }
  }

  func kind(of value: FieldValue) -> FieldKind? { value.kind }

  mutating func appendScalar(_ value: FieldValue, _ kind: FieldKind) {
    switch value {
    case .bool(let value): output.append(value ? 1 : 0)
    case .int(let value): output.append(fixed: value)
    case .bigInt(let value):
      if kind == .uint64 {
        output.append(fixed: UInt64(truncatingIfNeeded: value))
      } else {
        output.append(fixed: value)
      }
    case .bigUInt(let value): output.append(fixed: value)
    case .float(let value): output.append(fixed: value)
    case .double(let value): output.append(fixed: value)
    case .date(let value): output.append(fixed: value.timeIntervalSinceReferenceDate)
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { output.append($0) }
    case .decimal(let value): output.append(fixed: Leaf.decimal(value))
    case .string(let value), .url(let value): output.append(value)
    case .data(let value): value.withUnsafeBytes { output.append($0) }
    case .null, .list, .record: break
    }
  }

  mutating func appendContainer(_ value: FieldValue, _ kind: FieldKind, depth: Int) throws {
    switch value {
    case .list(let elements): try appendList(elements, depth: depth)
    case .record(let fields):
      try appendMap(fields.map { (key: Array($0.key.utf8), value: $0.value) }, depth: depth)
    default: break
    }
  }
}

/// Writes values that are already in slot form.
private struct RawFieldWriter: RecordFormWriter {
  var output = RecordOutput()

  func kind(of field: RawField) -> FieldKind? {
    if case .value(let kind, _) = field { kind } else { nil }
  }

  mutating func appendScalar(_ field: RawField, _ kind: FieldKind) {
    if case .value(_, let bytes) = field { output.append(bytes) }
  }

  mutating func appendContainer(_ field: RawField, _ kind: FieldKind, depth: Int) {
    appendScalar(field, kind)
  }
}

extension FieldValue {
  /// The kind for writing; nil for a nil.
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
}
