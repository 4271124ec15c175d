internal import Foundation

/// Encodes a value of a record as an element, through the encoder of the export. It changes only a
/// `URL` with a base, of which Foundation keeps one address and no base.
struct ElementWriter: Encoder {
  let base: any Encoder
  /// How the type names its fields; the keys of a container in it stay as they are.
  var keyStrategy = KeyStrategy.asWritten

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(
      Keyed<Key>(base: base.container(keyedBy: ElementKey.self), keyStrategy: keyStrategy))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    Unkeyed(base: base.unkeyedContainer())
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    Single(base: base.singleValueContainer())
  }
}

/// A value that is encoded through an `ElementWriter`.
private struct Outgoing<Value: Encodable>: Encodable {
  let value: Value

  init(_ value: Value) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    if let url = value as? URL {
      // A URL with a base writes both; its base may have a base too.
      if url.baseURL != nil { return try url.encode(to: ElementWriter(base: encoder)) }
    } else if let number = value as? Decimal, number.isNaN {
      throw EncodingError.invalidValue(
        number,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription: "JSON has no Decimal that is not a number"))
    } else if !PlainTypes.all.contains(ObjectIdentifier(Value.self)) {
      if let table = value as? any TextKeyedValue { return try table.write(to: encoder) }
      return try value.encode(
        to: ElementWriter(base: encoder, keyStrategy: KeyStrategy.of(Value.self)))
    }
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

/// Dictionaries that keep their keys, whatever the key strategy is.
private protocol TextKeyedValue {
  func write(to encoder: any Encoder) throws
}

extension Dictionary: TextKeyedValue where Key == String, Value: Encodable {
  func write(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(mapValues { Outgoing($0) })
  }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
  var base: KeyedEncodingContainer<ElementKey>
  /// How the type names its fields.
  let keyStrategy: KeyStrategy
  var codingPath: [any CodingKey] { base.codingPath }

  private func name(_ key: Key) -> ElementKey {
    keyStrategy == .asWritten
      ? ElementKey(key) : ElementKey(stringValue: keyStrategy.fieldName(of: key))
  }

  mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: name(key)) }

  mutating func encode(_ value: Bool, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: String, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Double, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Float, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int8, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int16, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int32, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int64, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: Int128, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt8, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt16, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt32, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt64, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode(_ value: UInt128, forKey key: Key) throws {
    try base.encode(value, forKey: name(key))
  }
  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try base.encode(Outgoing(value), forKey: name(key))
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(
      Keyed<Nested>(
        base: base.nestedContainer(keyedBy: ElementKey.self, forKey: name(key)),
        keyStrategy: .asWritten))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    Unkeyed(base: base.nestedUnkeyedContainer(forKey: name(key)))
  }

  mutating func superEncoder() -> any Encoder { ElementWriter(base: base.superEncoder()) }

  mutating func superEncoder(forKey key: Key) -> any Encoder {
    ElementWriter(base: base.superEncoder(forKey: name(key)))
  }
}

private struct Unkeyed: UnkeyedEncodingContainer {
  var base: any UnkeyedEncodingContainer
  var codingPath: [any CodingKey] { base.codingPath }
  var count: Int { base.count }

  mutating func encodeNil() throws { try base.encodeNil() }

  mutating func encode(_ value: Bool) throws { try base.encode(value) }
  mutating func encode(_ value: String) throws { try base.encode(value) }
  mutating func encode(_ value: Double) throws { try base.encode(value) }
  mutating func encode(_ value: Float) throws { try base.encode(value) }
  mutating func encode(_ value: Int) throws { try base.encode(value) }
  mutating func encode(_ value: Int8) throws { try base.encode(value) }
  mutating func encode(_ value: Int16) throws { try base.encode(value) }
  mutating func encode(_ value: Int32) throws { try base.encode(value) }
  mutating func encode(_ value: Int64) throws { try base.encode(value) }
  mutating func encode(_ value: Int128) throws { try base.encode(value) }
  mutating func encode(_ value: UInt) throws { try base.encode(value) }
  mutating func encode(_ value: UInt8) throws { try base.encode(value) }
  mutating func encode(_ value: UInt16) throws { try base.encode(value) }
  mutating func encode(_ value: UInt32) throws { try base.encode(value) }
  mutating func encode(_ value: UInt64) throws { try base.encode(value) }
  mutating func encode(_ value: UInt128) throws { try base.encode(value) }
  mutating func encode<T: Encodable>(_ value: T) throws { try base.encode(Outgoing(value)) }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(
      Keyed<Nested>(
        base: base.nestedContainer(keyedBy: ElementKey.self), keyStrategy: .asWritten))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    Unkeyed(base: base.nestedUnkeyedContainer())
  }

  mutating func superEncoder() -> any Encoder { ElementWriter(base: base.superEncoder()) }
}

private struct Single: SingleValueEncodingContainer {
  var base: any SingleValueEncodingContainer
  var codingPath: [any CodingKey] { base.codingPath }

  mutating func encodeNil() throws { try base.encodeNil() }

  mutating func encode(_ value: Bool) throws { try base.encode(value) }
  mutating func encode(_ value: String) throws { try base.encode(value) }
  mutating func encode(_ value: Double) throws { try base.encode(value) }
  mutating func encode(_ value: Float) throws { try base.encode(value) }
  mutating func encode(_ value: Int) throws { try base.encode(value) }
  mutating func encode(_ value: Int8) throws { try base.encode(value) }
  mutating func encode(_ value: Int16) throws { try base.encode(value) }
  mutating func encode(_ value: Int32) throws { try base.encode(value) }
  mutating func encode(_ value: Int64) throws { try base.encode(value) }
  mutating func encode(_ value: Int128) throws { try base.encode(value) }
  mutating func encode(_ value: UInt) throws { try base.encode(value) }
  mutating func encode(_ value: UInt8) throws { try base.encode(value) }
  mutating func encode(_ value: UInt16) throws { try base.encode(value) }
  mutating func encode(_ value: UInt32) throws { try base.encode(value) }
  mutating func encode(_ value: UInt64) throws { try base.encode(value) }
  mutating func encode(_ value: UInt128) throws { try base.encode(value) }
  mutating func encode<T: Encodable>(_ value: T) throws { try base.encode(Outgoing(value)) }
}
