internal import Foundation

/// The types that a record stores as one value, with the kind of each and a harmless sample value.
struct StandardType: @unchecked Sendable {
  let kind: FieldKind
  /// For a standard type whose values are plain data.
  let sample: Any
  /// Whether it is one of the types that Codable's containers name; all but `String` are stored as
  /// their memory.
  let isPrimitive: Bool

  static func of(_ type: any Any.Type) -> StandardType? { known[ObjectIdentifier(type)] }

  /// The kind of a type that Codable's containers name.
  static func primitiveKind(_ type: any Any.Type) -> FieldKind? {
    of(type).flatMap { $0.isPrimitive ? $0.kind : nil }
  }

  private static let known: [ObjectIdentifier: StandardType] = {
    let primitives: [(any Any.Type, FieldKind, Any)] = [
      (Bool.self, .bool, false), (Int.self, .int64, 1), (Int8.self, .int8, Int8(1)),
      (Int16.self, .int16, Int16(1)), (Int32.self, .int32, Int32(1)),
      (Int64.self, .int64, Int64(1)), (UInt.self, .uint64, UInt(1)),
      (UInt8.self, .uint8, UInt8(1)), (UInt16.self, .uint16, UInt16(1)),
      (UInt32.self, .uint32, UInt32(1)), (UInt64.self, .uint64, UInt64(1)),
      (Float.self, .float, Float(1)), (Double.self, .double, 1.0), (String.self, .string, "a"),
    ]
    let others: [(any Any.Type, FieldKind, Any)] = [
      (Int128.self, .int128, Int128(1)), (UInt128.self, .uint128, UInt128(1)),
      (Date.self, .date, Date(timeIntervalSinceReferenceDate: 0)), (UUID.self, .uuid, UUID()),
      (Decimal.self, .decimal, Decimal(1)), (Data.self, .data, Data([0])),
      (URL.self, .url, URL(filePath: "/")),
    ]
    var known: [ObjectIdentifier: StandardType] = [:]
    for (list, isPrimitive) in [(primitives, true), (others, false)] {
      for (type, kind, sample) in list {
        known[ObjectIdentifier(type)] = StandardType(
          kind: kind, sample: sample, isPrimitive: isPrimitive)
      }
    }
    return known
  }()
}
