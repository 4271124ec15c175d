/// The one primitive value that a single-value container was given, in slot form.
struct SingleValue: Hashable {
  let kind: FieldKind
  let bytes: [UInt8]

  init<Number: FixedWidthInteger>(_ kind: FieldKind, _ number: Number) {
    self.kind = kind
    bytes = withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  init(_ text: String) {
    kind = .string
    bytes = Array(text.utf8)
  }

  /// What a value writes when it writes one primitive value and nothing else.
  init?(encodedBy value: some Encodable) {
    let encoder = SingleValueEncoder()
    guard (try? value.encode(to: encoder)) != nil, !encoder.isUnclear, let found = encoder.found
    else { return nil }
    self = found
  }

  /// The value that a type makes of it, or nil when it refuses.
  func decoded<Value: Decodable>(as type: Value.Type) -> Value? { try? decode(as: type) }

  /// The value that a type makes of it.
  func decode<Value: Decodable>(as type: Value.Type) throws -> Value {
    try type.init(from: SingleValueDecoder(value: self))
  }

  fileprivate func number<Number: FixedWidthInteger>(
    _ kind: FieldKind, as type: Number.Type
  ) throws -> Number {
    guard self.kind == kind, bytes.count == MemoryLayout<Number>.size else { throw NotSingle() }
    return bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
  }
}

private struct NotSingle: Error {}

/// Takes one integer, Boolean or string; everything else makes it unclear.
private final class SingleValueEncoder: Encoder, SingleValueEncodingContainer {
  var found: SingleValue?
  var isUnclear = false
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    isUnclear = true
    return KeyedEncodingContainer(RefusingContainer<Key>())
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    isUnclear = true
    return RefusingContainer<RefusedKey>()
  }

  private func take(_ value: SingleValue) {
    if found != nil { isUnclear = true }
    found = value
  }

  func encodeNil() throws { isUnclear = true }
  func encode(_ value: Bool) throws { isUnclear = true }
  func encode(_ value: Double) throws { isUnclear = true }
  func encode(_ value: Float) throws { isUnclear = true }
  func encode(_ value: String) throws { take(SingleValue(value)) }
  func encode(_ value: Int) throws { take(SingleValue(.int64, Int64(value))) }
  func encode(_ value: Int8) throws { take(SingleValue(.int8, value)) }
  func encode(_ value: Int16) throws { take(SingleValue(.int16, value)) }
  func encode(_ value: Int32) throws { take(SingleValue(.int32, value)) }
  func encode(_ value: Int64) throws { take(SingleValue(.int64, value)) }
  func encode(_ value: UInt) throws { take(SingleValue(.uint64, UInt64(value))) }
  func encode(_ value: UInt8) throws { take(SingleValue(.uint8, value)) }
  func encode(_ value: UInt16) throws { take(SingleValue(.uint16, value)) }
  func encode(_ value: UInt32) throws { take(SingleValue(.uint32, value)) }
  func encode(_ value: UInt64) throws { take(SingleValue(.uint64, value)) }
  func encode<Value: Encodable>(_ value: Value) throws { isUnclear = true }
}

/// Gives one value, to whoever asks for exactly its kind.
private struct SingleValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: SingleValue
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw NotSingle()
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NotSingle() }

  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) throws -> Bool { throw NotSingle() }
  func decode(_ type: Double.Type) throws -> Double { throw NotSingle() }
  func decode(_ type: Float.Type) throws -> Float { throw NotSingle() }
  func decode(_ type: String.Type) throws -> String {
    guard value.kind == .string else { throw NotSingle() }
    return String(decoding: value.bytes, as: UTF8.self)
  }
  func decode(_ type: Int.Type) throws -> Int { try value.number(.int64, as: type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try value.number(.int8, as: type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try value.number(.int16, as: type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try value.number(.int32, as: type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try value.number(.int64, as: type) }
  func decode(_ type: UInt.Type) throws -> UInt { try value.number(.uint64, as: type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try value.number(.uint8, as: type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try value.number(.uint16, as: type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try value.number(.uint32, as: type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try value.number(.uint64, as: type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw NotSingle() }
}

struct RefusedKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// Containers that were asked for by a value which is not a single one: they take nothing.
struct RefusingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol,
  UnkeyedEncodingContainer
{
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  func encodeNil(forKey key: Key) throws { throw NotSingle() }
  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { throw NotSingle() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(RefusingContainer<Nested>())
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    RefusingContainer<RefusedKey>()
  }
  func superEncoder() -> any Encoder { SingleValueEncoder() }
  func superEncoder(forKey key: Key) -> any Encoder { SingleValueEncoder() }

  func encodeNil() throws { throw NotSingle() }
  func encode<Value: Encodable>(_ value: Value) throws { throw NotSingle() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(RefusingContainer<Nested>())
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    RefusingContainer<RefusedKey>()
  }
}
