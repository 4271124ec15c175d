/// The only primitive value in a single-value container, in slot form.
struct SingleValue: Hashable {
  let kind: FieldKind
  let bytes: [UInt8]

  fileprivate init(kind: FieldKind, bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
  }

  init<Number: FixedWidthInteger>(_ kind: FieldKind, _ number: Number) {
    self.kind = kind
    bytes = withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  init(_ text: String) {
    kind = .string
    bytes = Array(text.utf8)
  }

  /// Nil unless the value encodes exactly one primitive value.
  init?(encodedBy value: some Encodable) {
    let encoder = SingleValueEncoder()
    guard (try? value.encode(to: encoder)) != nil, !encoder.isUnclear, let found = encoder.found
    else { return nil }
    self = found
  }

  /// The value that a type decodes from it, or nil if it throws.
  func decoded<Value: Decodable>(as type: Value.Type) -> Value? { try? decode(as: type) }

  /// The value that a type decodes from it.
  func decode<Value: Decodable>(as type: Value.Type) throws -> Value {
    try type.init(from: SingleValueDecoder(value: self))
  }

  /// The kind of a type that may be the value: an integer of at most 64 bits, or a string.
  fileprivate static func kind(of type: any Any.Type) -> FieldKind? {
    switch StandardType.primitiveKind(type) {
    case .bool, .float, .double, nil: nil
    case .some(let kind): kind
    }
  }
}

private struct NotSingle: Error {}

/// Accepts one integer, Boolean or string; everything else makes the result nil.
private final class SingleValueEncoder: Encoder, SingleValueEncodingContainer {
  var found: SingleValue?
  var isUnclear = false
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    isUnclear = true
    return KeyedEncodingContainer(RefusingEncoder<Key>())
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    isUnclear = true
    return RefusingEncoder<NoKey>()
  }

  func encodeNil() throws { isUnclear = true }
  func encode<Value: Encodable>(_ value: Value) throws {
    guard found == nil, let kind = SingleValue.kind(of: Value.self) else { return isUnclear = true }
    found =
      kind == .string
      ? SingleValue(Leaf.bits(value, as: String.self))
      : SingleValue(kind: kind, bytes: withUnsafeBytes(of: value) { Array($0) })
  }
}

/// Returns one value, only for its exact kind.
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
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard SingleValue.kind(of: type) == value.kind else { throw NotSingle() }
    if value.kind == .string {
      return Leaf.bits(String(decoding: value.bytes, as: UTF8.self), as: type)
    }
    guard value.bytes.count == MemoryLayout<Value>.size else { throw NotSingle() }
    // An integer, according to the kind: any bytes of its width are valid.
    return value.bytes.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
        UnsafeMutableRawBufferPointer(memory).copyMemory(from: bytes)
        return memory[0]
      }
    }
  }
}
