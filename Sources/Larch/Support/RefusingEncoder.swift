/// An encoder and all its containers, which refuse every value.
struct RefusingEncoder<Key: CodingKey>: Encoder, KeyedEncodingContainerProtocol,
  UnkeyedEncodingContainer, SingleValueEncodingContainer
{
  private struct Refused: Error {}

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var count: Int { 0 }

  func container<Other: CodingKey>(keyedBy type: Other.Type) -> KeyedEncodingContainer<Other> {
    KeyedEncodingContainer(RefusingEncoder<Other>())
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { throw Refused() }
  func encode<Value: Encodable>(_ value: Value) throws { throw Refused() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { container(keyedBy: type) }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { self }

  func encodeNil(forKey key: Key) throws { throw Refused() }
  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { throw Refused() }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { self }
  func superEncoder(forKey key: Key) -> any Encoder { self }
}

/// The keys of a container in which no key is used.
struct NoKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
