/// Notes what an `encode(to:)` writes: the keys in order, and whether it does anything that the
/// compiler's code does not do.
final class EncodeProbe: Encoder {
  struct Answer {
    let name: String
    let type: any Any.Type
    let mayBeNil: Bool
  }

  private(set) var answers: [Answer] = []
  private(set) var keyType: (any CodingKey.Type)?
  /// Whether it is one keyed container with one call for each key, and nothing else.
  private(set) var isPlain = true

  var codingPath: [any CodingKey] {
    isPlain = false
    return []
  }
  var userInfo: [CodingUserInfoKey: Any] {
    isPlain = false
    return [:]
  }

  /// How the type names its fields.
  let strategy: KeyStrategy

  /// Nil if it throws.
  init?<Value: Encodable>(_ value: Value) {
    strategy = KeyStrategy.of(Value.self)
    guard (try? value.encode(to: self)) != nil, keyType != nil else { return nil }
  }

  func note<Value>(_ type: Value.Type, _ name: String, mayBeNil: Bool) {
    if answers.contains(where: { $0.name == name }) { isPlain = false }
    answers.append(Answer(name: name, type: type, mayBeNil: mayBeNil))
  }

  func isUnclear() { isPlain = false }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if keyType != nil { isPlain = false }
    keyType = type
    return KeyedEncodingContainer(EncodeProbeContainer<Key>(probe: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    isPlain = false
    return RefusingEncoder<NoKey>()
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    isPlain = false
    return RefusingEncoder<NoKey>()
  }
}

private struct EncodeProbeContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let probe: EncodeProbe

  var codingPath: [any CodingKey] { probe.codingPath }

  func encodeNil(forKey key: Key) throws { probe.isUnclear() }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    probe.note(T.self, probe.strategy.fieldName(of: key), mayBeNil: false)
  }
  // The default implementations of these throw.
  func encode(_ value: Int128, forKey key: Key) throws { some(value, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { some(value, key) }

  private func some<T>(_: T, _ key: Key) {
    probe.note(T.self, probe.strategy.fieldName(of: key), mayBeNil: false)
  }
  private func maybe<T>(_: T?, _ key: Key) {
    probe.note(T.self, probe.strategy.fieldName(of: key), mayBeNil: true)
  }

  // The default implementations of these would call `encode` for a value only.
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { maybe(value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { maybe(value, key) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    probe.isUnclear()
    return KeyedEncodingContainer(RefusingEncoder<Nested>())
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    probe.unkeyedContainer()
  }
  func superEncoder() -> any Encoder { probe.superEncoder() }
  func superEncoder(forKey key: Key) -> any Encoder { probe.superEncoder() }
}

extension EncodeProbe {
  fileprivate func superEncoder() -> any Encoder {
    isUnclear()
    return RefusingEncoder<NoKey>()
  }
}
