public import Foundation

/// A type that represents itself as a key. You never need to conform to this protocol.
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
    of(Int8Key()), of(Int16Key()), of(Int32Key()), of(Int64Key()), of(IntKey()),
    of(UInt8Key()), of(UInt16Key()), of(UInt32Key()), of(UInt64Key()), of(UIntKey()),
    of(BoolKey()), of(FloatKey()), of(DoubleKey()), of(StringKey()), of(DataKey()),
    of(DateKey()), of(UUIDKey()), of(URLKey()), of(DecimalKeyCoding()),
  ].reduce(into: [:]) { $0[$1.type] = $1.witness }

  private static func of<Value>(
    _ key: StandardKey<Value>
  ) -> (type: ObjectIdentifier, witness: _Witness) {
    (ObjectIdentifier(Value.self), key)
  }

  static func witness(of type: Any.Type) -> _Witness {
    guard let witness = all[ObjectIdentifier(type)] else {
      // A declaration of the program decides it; no data comes here.
      preconditionFailure("\(type) is no standard type; give it an indexValue of another type.")
    }
    return witness
  }
}

/// A type whose keys have bytes of their own.
protocol StandardValue: _StandardKey {
  /// The name of its bytes.
  static var primitive: KeyForm.Primitive { get }

  /// The value that filters and orders compare.
  var keyValue: KeyValue { get }

  /// The value of this one; nil if it is of another type, or does not fit.
  init?(keyValue: KeyValue)

  /// Makes the same value at an address; false if it is none of this type.
  static func make(_ known: KeyValue, at target: UnsafeMutablePointer<Self>) -> Bool
}

extension StandardValue {
  // Compiled for each type, so that the optional is not looked up.
  static func make(_ known: KeyValue, at target: UnsafeMutablePointer<Self>) -> Bool {
    guard let value = Self(keyValue: known) else { return false }
    target.initialize(to: value)
    return true
  }
}

/// For a standard type; a subclass for each writes its bytes, see ``KeyWriter``.
class StandardKey<Value: StandardValue>: KeyCoding<Value>, @unchecked Sendable {
  init() { super.init(.primitive(Value.primitive), isStandard: true) }

  override final func append(_ value: Value, to values: inout KeyValues) {
    values.append(value.keyValue)
  }

  override final func make(_ known: KeyValue, at target: UnsafeMutablePointer<Value>) -> Bool {
    Value.make(known, at: target)
  }

  override final var idKind: RecordIDKind? {
    switch Value.primitive {
    case .int8, .int16, .int32, .int64: .integer
    case .uint8, .uint16, .uint32, .uint64: .unsigned
    case .uuid: .uuid
    case .string: .string
    case .bool, .float, .double, .data, .date, .url, .decimal: nil
    }
  }
}

extension Bool: StandardValue {
  static var primitive: KeyForm.Primitive { .bool }

  var keyValue: KeyValue { .bool(self) }

  init?(keyValue: KeyValue) {
    guard case .bool(let value) = keyValue else { return nil }
    self = value
  }
}

private final class BoolKey: StandardKey<Bool>, @unchecked Sendable {
  override func write(_ value: Bool, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(bool: value)
  }
}

extension Float: StandardValue {
  static var primitive: KeyForm.Primitive { .float }

  var keyValue: KeyValue { .float(self) }

  init?(keyValue: KeyValue) {
    guard case .float(let value) = keyValue else { return nil }
    self = value
  }
}

private final class FloatKey: StandardKey<Float>, @unchecked Sendable {
  override func write(_ value: Float, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(float: value)
  }
}

extension Double: StandardValue {
  static var primitive: KeyForm.Primitive { .double }

  var keyValue: KeyValue { .double(self) }

  init?(keyValue: KeyValue) {
    guard case .double(let value) = keyValue else { return nil }
    self = value
  }
}

private final class DoubleKey: StandardKey<Double>, @unchecked Sendable {
  override func write(_ value: Double, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(double: value)
  }
}

extension String: StandardValue {
  static var primitive: KeyForm.Primitive { .string }

  var keyValue: KeyValue { .string(self) }

  init?(keyValue: KeyValue) {
    guard case .string(let value) = keyValue else { return nil }
    self = value
  }
}

private final class StringKey: StandardKey<String>, @unchecked Sendable {
  override func write(_ value: String, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(string: value, isLast: isLast)
  }

  override func make(
    component: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<String>
  ) -> Bool {
    // Other text may have been written in another normal form than it is stored under.
    guard let text = SmallString.ascii(component) else { return false }
    target.initialize(to: text)
    return true
  }

  override var readsComponents: Bool { true }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<String>
  ) -> Bool {
    guard key.count > 0 else { return false }
    return make(component: UnsafeRawBufferPointer(rebasing: key[1...]), at: target)
  }
}

extension Data: StandardValue {
  static var primitive: KeyForm.Primitive { .data }

  var keyValue: KeyValue { .data([UInt8](self)) }

  init?(keyValue: KeyValue) {
    guard case .data(let value) = keyValue else { return nil }
    self.init(value)
  }
}

private final class DataKey: StandardKey<Data>, @unchecked Sendable {
  override func write(_ value: Data, to writer: inout KeyWriter, isLast: Bool) {
    value.withUnsafeBytes { writer.append(data: $0, isLast: isLast) }
  }
}

extension Date: StandardValue {
  static var primitive: KeyForm.Primitive { .date }

  var keyValue: KeyValue { .date(timeIntervalSinceReferenceDate) }

  init?(keyValue: KeyValue) {
    guard case .date(let value) = keyValue else { return nil }
    self.init(timeIntervalSinceReferenceDate: value)
  }
}

private final class DateKey: StandardKey<Date>, @unchecked Sendable {
  override func write(_ value: Date, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(date: value.timeIntervalSinceReferenceDate)
  }
}

extension UUID: StandardValue {
  static var primitive: KeyForm.Primitive { .uuid }

  var keyValue: KeyValue { .uuid(withUnsafeBytes(of: uuid) { [UInt8]($0) }) }

  init?(keyValue: KeyValue) {
    guard case .uuid(let value) = keyValue, value.count == 16 else { return nil }
    self.init(uuid: value.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}

private final class UUIDKey: StandardKey<UUID>, @unchecked Sendable {
  override func write(_ value: UUID, to writer: inout KeyWriter, isLast: Bool) {
    withUnsafeBytes(of: value.uuid) { writer.append(uuid: $0) }
  }

  override func makeID(
    _ key: UnsafeRawBufferPointer, at target: UnsafeMutablePointer<UUID>
  ) -> Bool {
    guard key.count == 16 else { return false }
    target.initialize(to: UUID(uuid: key.loadUnaligned(as: uuid_t.self)))
    return true
  }
}

extension URL: StandardValue {
  static var primitive: KeyForm.Primitive { .url }

  var keyValue: KeyValue { .url(absoluteString) }

  init?(keyValue: KeyValue) {
    guard case .url(let value) = keyValue else { return nil }
    self.init(string: value)
  }
}

private final class URLKey: StandardKey<URL>, @unchecked Sendable {
  override func write(_ value: URL, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(exactString: value.absoluteString, isLast: isLast)
  }
}

extension Decimal: StandardValue {
  static var primitive: KeyForm.Primitive { .decimal }

  var keyValue: KeyValue { .decimal(DecimalKey(DecimalDigits(self))) }

  init?(keyValue: KeyValue) {
    guard case .decimal(let key) = keyValue, let value = key.decimal else { return nil }
    self = value
  }
}

private final class DecimalKeyCoding: StandardKey<Decimal>, @unchecked Sendable {
  override func write(_ value: Decimal, to writer: inout KeyWriter, isLast: Bool) {
    writer.append(decimal: DecimalDigits(value))
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
  public static var _key: _Witness { Wrapped.keyCoding.optional() }
}
