public import Foundation

/// A type that stands for itself as a key. Met by Larch; never by you.
@_documentation(visibility: private)
public protocol _StandardKey: IndexKey where IndexValue == Self {}

extension _StandardKey {
  /// The value itself.
  public var indexValue: Self { self }

  /// Its own bytes.
  @_documentation(visibility: private)
  public static var _key: _Witness { StandardKeys.witness(of: Self.self) }
}

/// The witnesses of the standard types, one for each.
private enum StandardKeys {
  private static let all: [ObjectIdentifier: _Witness] = [
    of(Int8.self), of(Int16.self), of(Int32.self), of(Int64.self), of(Int.self),
    of(UInt8.self), of(UInt16.self), of(UInt32.self), of(UInt64.self), of(UInt.self),
    of(Bool.self), of(Float.self), of(Double.self), of(String.self), of(Data.self),
    of(Date.self), of(UUID.self), of(URL.self),
  ].reduce(into: [:]) { $0[$1.type] = $1.witness }

  private static func of<Value: StandardValue>(
    _ type: Value.Type
  ) -> (type: ObjectIdentifier, witness: _Witness) {
    (ObjectIdentifier(type), StandardKey<Value>())
  }

  static func witness(of type: Any.Type) -> _Witness {
    guard let witness = all[ObjectIdentifier(type)] else {
      preconditionFailure("\(type) is no standard type; give it an indexValue of another type.")
    }
    return witness
  }
}

/// A type whose keys have bytes of their own.
protocol StandardValue: _StandardKey {
  /// What its bytes are called.
  static var primitive: KeyForm.Primitive { get }

  /// Writes the bytes; see ``KeyWriter``.
  static func write(_ value: Self, to writer: inout KeyWriter, isLast: Bool)

  /// What filters and orders compare by.
  var keyValue: KeyValue { get }

  /// The value that this one stands for; nil if it is of another type, or does not fit.
  init?(keyValue: KeyValue)
}

extension StandardValue where Self: SignedInteger & FixedWidthInteger {
  var keyValue: KeyValue { .signed(Int64(self)) }

  init?(keyValue: KeyValue) {
    guard case .signed(let value) = keyValue else { return nil }
    self.init(exactly: value)
  }
}

extension StandardValue where Self: UnsignedInteger & FixedWidthInteger {
  var keyValue: KeyValue { .unsigned(UInt64(self)) }

  init?(keyValue: KeyValue) {
    guard case .unsigned(let value) = keyValue else { return nil }
    self.init(exactly: value)
  }
}

extension Int8: StandardValue {
  static var primitive: KeyForm.Primitive { .int8 }

  static func write(_ value: Int8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int8: value)
  }
}

extension Int16: StandardValue {
  static var primitive: KeyForm.Primitive { .int16 }

  static func write(_ value: Int16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int16: value)
  }
}

extension Int32: StandardValue {
  static var primitive: KeyForm.Primitive { .int32 }

  static func write(_ value: Int32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int32: value)
  }
}

extension Int64: StandardValue {
  static var primitive: KeyForm.Primitive { .int64 }

  static func write(_ value: Int64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: value)
  }
}

extension UInt8: StandardValue {
  static var primitive: KeyForm.Primitive { .uint8 }

  static func write(_ value: UInt8, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint8: value)
  }
}

extension UInt16: StandardValue {
  static var primitive: KeyForm.Primitive { .uint16 }

  static func write(_ value: UInt16, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint16: value)
  }
}

extension UInt32: StandardValue {
  static var primitive: KeyForm.Primitive { .uint32 }

  static func write(_ value: UInt32, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint32: value)
  }
}

extension UInt64: StandardValue {
  static var primitive: KeyForm.Primitive { .uint64 }

  static func write(_ value: UInt64, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: value)
  }
}

extension Int: StandardValue {
  static var primitive: KeyForm.Primitive { .int64 }

  static func write(_ value: Int, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(int64: Int64(value))
  }
}

extension UInt: StandardValue {
  static var primitive: KeyForm.Primitive { .uint64 }

  static func write(_ value: UInt, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(uint64: UInt64(value))
  }
}

extension Bool: StandardValue {
  static var primitive: KeyForm.Primitive { .bool }

  static func write(_ value: Bool, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(bool: value)
  }

  var keyValue: KeyValue { .bool(self) }

  init?(keyValue: KeyValue) {
    guard case .bool(let value) = keyValue else { return nil }
    self = value
  }
}

extension Float: StandardValue {
  static var primitive: KeyForm.Primitive { .float }

  static func write(_ value: Float, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(float: value)
  }

  var keyValue: KeyValue { .float(self) }

  init?(keyValue: KeyValue) {
    guard case .float(let value) = keyValue else { return nil }
    self = value
  }
}

extension Double: StandardValue {
  static var primitive: KeyForm.Primitive { .double }

  static func write(_ value: Double, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(double: value)
  }

  var keyValue: KeyValue { .double(self) }

  init?(keyValue: KeyValue) {
    guard case .double(let value) = keyValue else { return nil }
    self = value
  }
}

extension String: StandardValue {
  static var primitive: KeyForm.Primitive { .string }

  static func write(_ value: String, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(string: value, isLast: isLast)
  }

  var keyValue: KeyValue { .string(self) }

  init?(keyValue: KeyValue) {
    guard case .string(let value) = keyValue else { return nil }
    self = value
  }
}

extension Data: StandardValue {
  static var primitive: KeyForm.Primitive { .data }

  static func write(_ value: Data, to writer: inout KeyWriter, isLast: Bool) {
    value.withUnsafeBytes { writer.append(data: $0, isLast: isLast) }
  }

  var keyValue: KeyValue { .data([UInt8](self)) }

  init?(keyValue: KeyValue) {
    guard case .data(let value) = keyValue else { return nil }
    self.init(value)
  }
}

extension Date: StandardValue {
  static var primitive: KeyForm.Primitive { .date }

  static func write(_ value: Date, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(date: value.timeIntervalSinceReferenceDate)
  }

  var keyValue: KeyValue { .date(timeIntervalSinceReferenceDate) }

  init?(keyValue: KeyValue) {
    guard case .date(let value) = keyValue else { return nil }
    self.init(timeIntervalSinceReferenceDate: value)
  }
}

extension UUID: StandardValue {
  static var primitive: KeyForm.Primitive { .uuid }

  static func write(_ value: UUID, to writer: inout KeyWriter, isLast: Bool) {
    withUnsafeBytes(of: value.uuid) { writer.append(uuid: $0) }
  }

  var keyValue: KeyValue { .uuid(withUnsafeBytes(of: uuid) { [UInt8]($0) }) }

  init?(keyValue: KeyValue) {
    guard case .uuid(let value) = keyValue, value.count == 16 else { return nil }
    self.init(uuid: value.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}

extension URL: StandardValue {
  static var primitive: KeyForm.Primitive { .url }

  static func write(_ value: URL, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(exactString: value.absoluteString, isLast: isLast)
  }

  var keyValue: KeyValue { .url(absoluteString) }

  init?(keyValue: KeyValue) {
    guard case .url(let value) = keyValue else { return nil }
    self.init(string: value)
  }
}

extension Character: IndexKey {
  /// The string of this character alone.
  public var indexValue: String { String(self) }

  /// As the string.
  public static let _key: _Witness = CharacterKey()
}

extension Optional: IndexKey, _StandardKey where Wrapped: IndexKey {
  /// `00` for nil; `01`, then the value.
  public static var _key: _Witness { OptionalKey<Wrapped>() }
}

@available(
  *, unavailable,
  message: "Decimal cannot be an index key; index an integer instead, such as the cents as Int64."
)
extension Decimal: IndexKey {
  /// Not available.
  public var indexValue: String { description }
}
