public import Foundation

/// The value of a stored field without its Swift type.
///
/// Migrations read and write records as such values, and changes of a record contain them. Integers
/// of all widths are ``int(_:)`` if they fit, so that a widened field has the same value.
public enum FieldValue: Hashable, Sendable {
  /// Nil, written explicitly or absent.
  case null
  /// A boolean.
  case bool(Bool)
  /// An integer of any type that fits `Int64`.
  case int(Int64)
  /// An integer that does not fit `Int64`, in decimal.
  indirect case bigInt(Int128)
  /// An integer that fits `UInt128` only.
  indirect case bigUInt(UInt128)
  /// A `Float`.
  case float(Float)
  /// A `Double`.
  case double(Double)
  /// A text, including raw-value enums of strings.
  case string(String)
  /// A point in time.
  case date(Date)
  /// A UUID.
  case uuid(UUID)
  /// A decimal number.
  case decimal(Decimal)
  /// Bytes.
  case data(Data)
  /// A URL, as its text.
  case url(String)
  /// An array or a set.
  case list([FieldValue])
  /// A nested value with fields, or a dictionary.
  case record([String: FieldValue])
}

extension FieldValue {
  /// Whether it is nil. A comparison with the literal `nil` would ask whether there is a `FieldValue`.
  public var isNil: Bool { self == .null }

  /// A value as it is in the file.
  ///
  /// - Throws: `.corrupted` for bytes that are not a value.
  package init(_ field: RawField, shapes: ShapeTable) throws {
    switch field {
    case .missing, .absent: self = .null
    case .value(let kind, let bytes):
      self = try FieldValue.value(kind, bytes, shapes, depth: 0)
    }
  }

  private static func value(
    _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer, _ shapes: ShapeTable, depth: Int
  ) throws -> FieldValue {
    guard depth < RecordFormat.depthLimit * 2 else {
      throw ByteReader.damaged("nesting depth of values")
    }
    func nested(_ field: RawField) throws -> FieldValue {
      guard case .value(let kind, let bytes) = field else { return .null }
      return try value(kind, bytes, shapes, depth: depth + 1)
    }
    switch kind {
    case .record:
      var fields: [String: FieldValue] = [:]
      for (name, value) in try RawRecord(bytes, shapes: shapes).slots() {
        fields[name] = try nested(value)
      }
      return .record(fields)
    case .map:
      var list = try RawList(.map, bytes)
      var fields: [String: FieldValue] = [:]
      while let element = try list.next() {
        fields[try Leaf.string(list.key)] = try nested(element)
      }
      return .record(fields)
    case .list:
      var list = try RawList(.list, bytes)
      var elements: [FieldValue] = []
      while let element = try list.next() { elements.append(try nested(element)) }
      return .list(elements)
    default: return try scalar(kind, bytes)
    }
  }

  private static func scalar(
    _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer
  ) throws -> FieldValue {
    guard !kind.isFixed || bytes.count == kind.width else { throw ByteReader.damaged("length") }
    func load<T: BitwiseCopyable>(_ type: T.Type) -> T { bytes.loadUnaligned(as: type) }
    switch kind {
    case .bool: return .bool(try DecodeFramePointer.bool(bytes[0]))
    case .int8: return .int(Int64(load(Int8.self)))
    case .int16: return .int(Int64(load(Int16.self)))
    case .int32: return .int(Int64(load(Int32.self)))
    case .int64: return .int(load(Int64.self))
    case .uint8: return .int(Int64(load(UInt8.self)))
    case .uint16: return .int(Int64(load(UInt16.self)))
    case .uint32: return .int(Int64(load(UInt32.self)))
    case .uint64: return FieldValue(integer: load(UInt64.self))
    case .int128: return FieldValue(integer: load(Int128.self))
    case .uint128: return FieldValue(integer: load(UInt128.self))
    case .float: return .float(load(Float.self))
    case .double: return .double(load(Double.self))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: load(Double.self)))
    case .uuid: return .uuid(UUID(uuid: load(uuid_t.self)))
    case .decimal:
      guard let base = bytes.baseAddress else { throw ByteReader.damaged("decimal") }
      return .decimal(try Leaf.decimal(base))
    case .string: return .string(try Leaf.string(bytes))
    case .url: return .url(try Leaf.string(bytes))
    case .data: return .data(Data(bytes))
    case .record, .list, .map, .tagged: throw ByteReader.damaged("kind of a value")
    }
  }

  /// An integer of any width, in the smallest case that holds it.
  public init(integer: some BinaryInteger) {
    if let small = Int64(exactly: integer) {
      self = .int(small)
    } else if let large = Int128(exactly: integer) {
      self = .bigInt(large)
    } else {
      self = .bigUInt(UInt128(truncatingIfNeeded: integer))
    }
  }
}
