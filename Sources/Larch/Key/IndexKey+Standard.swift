public import Foundation

// A standard type stands for itself and writes its own bytes.

extension Int8: IndexKey {
  /// The value itself.
  public var indexValue: Int8 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Int8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int8: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.int8) }
}

extension Int16: IndexKey {
  /// The value itself.
  public var indexValue: Int16 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Int16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int16: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.int16) }
}

extension Int32: IndexKey {
  /// The value itself.
  public var indexValue: Int32 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Int32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int32: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.int32) }
}

extension Int64: IndexKey {
  /// The value itself.
  public var indexValue: Int64 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Int64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.int64) }
}

extension UInt8: IndexKey {
  /// The value itself.
  public var indexValue: UInt8 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UInt8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint8: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uint8) }
}

extension UInt16: IndexKey {
  /// The value itself.
  public var indexValue: UInt16 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UInt16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint16: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uint16) }
}

extension UInt32: IndexKey {
  /// The value itself.
  public var indexValue: UInt32 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UInt32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint32: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uint32) }
}

extension UInt64: IndexKey {
  /// The value itself.
  public var indexValue: UInt64 { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UInt64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uint64) }
}

extension Bool: IndexKey {
  /// The value itself.
  public var indexValue: Bool { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Bool, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(bool: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.bool) }
}

extension Float: IndexKey {
  /// The value itself.
  public var indexValue: Float { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Float, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(float: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.float) }
}

extension Double: IndexKey {
  /// The value itself.
  public var indexValue: Double { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Double, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(double: value)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.double) }
}

extension Int: IndexKey {
  /// The value itself.
  public var indexValue: Int { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Int, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: Int64(value))
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.int64) }
}

extension UInt: IndexKey {
  /// The value itself.
  public var indexValue: UInt { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UInt, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: UInt64(value))
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uint64) }
}

extension String: IndexKey {
  /// The value itself.
  public var indexValue: String { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: String, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(string: value, isLast: isLast)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.string) }
}

extension Data: IndexKey {
  /// The value itself.
  public var indexValue: Data { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Data, to writer: inout KeyWriter, isLast: Bool) {
    value.withUnsafeBytes { writer.append(data: $0, isLast: isLast) }
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.data) }
}

extension Date: IndexKey {
  /// The value itself.
  public var indexValue: Date { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: Date, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(date: value.timeIntervalSinceReferenceDate)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.date) }
}

extension UUID: IndexKey {
  /// The value itself.
  public var indexValue: UUID { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: UUID, to writer: inout KeyWriter, isLast: Bool) {
    withUnsafeBytes(of: value.uuid) { writer.append(uuid: $0) }
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.uuid) }
}

extension URL: IndexKey {
  /// The value itself.
  public var indexValue: URL { self }

  /// Its bytes; see ``KeyWriter``.
  public static func _writeKey(_ value: URL, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(exactString: value.absoluteString, isLast: isLast)
  }

  /// A standard type.
  public static var _keyForm: KeyForm { .primitive(.url) }
}

extension Character: IndexKey {
  /// The string of this character alone.
  public var indexValue: String { String(self) }
}

extension Optional: IndexKey where Wrapped: IndexKey {
  /// The value itself.
  public var indexValue: Self { self }

  /// `00` for nil; `01`, then the value.
  public static func _writeKey(_ value: Self, to writer: inout KeyWriter, isLast: Bool) {
    if let value {
      writer.appendPresent()
      Wrapped._writeKey(value, to: &writer, isLast: isLast)
    } else {
      writer.appendNil()
    }
  }

  /// The form of the value, optional.
  public static var _keyForm: KeyForm { .optional(Wrapped._keyForm) }

  /// As the value in it.
  public static var _isStandardKey: Bool { Wrapped._isStandardKey }
}

@available(
  *, unavailable,
  message: "Decimal cannot be an index key; index an integer instead, such as the cents as Int64."
)
extension Decimal: IndexKey {
  /// Not available.
  public var indexValue: String { description }
}
