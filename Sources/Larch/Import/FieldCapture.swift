/// Captures the fields of a record by key. They are used for the fields that an element does not
/// have when it is merged into the record.
final class FieldCapture: Encoder {
  private(set) var fields: [String: Any] = [:]
  private var isUnclear = false
  /// How the type names its fields.
  private let keyStrategy: KeyStrategy

  private init(names keyStrategy: KeyStrategy = .asWritten) { self.keyStrategy = keyStrategy }

  /// - Throws: `.unsuitableMatch` for a type that does not encode values under keys.
  static func fields<R: Record>(of record: R) throws -> [String: Any] {
    let capture = FieldCapture(names: KeyStrategy.of(R.self))
    do { try record.encode(to: capture) } catch is Unsuitable { capture.isUnclear = true }
    if capture.isUnclear {
      throw LarchError(
        .unsuitableMatch,
        "The type encodes its fields with code of its own, so elements cannot be merged into its records; replace the records instead."
      ) { $0.collection = R.collectionName }
    }
    return capture.fields
  }

  private struct Unsuitable: Error {}

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Fields<Key>(capture: self))
  }

  // Values that are written there have no key.
  func unkeyedContainer() -> any UnkeyedEncodingContainer { Refusal(capture: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer { Refusal(capture: self) }

  private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let capture: FieldCapture
    let codingPath: [any CodingKey] = []

    mutating func encodeNil(forKey key: Key) {}

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) {
      capture.fields[capture.keyStrategy.fieldName(of: key)] = value
    }

    // The standard library refuses these if a container does not implement them.
    mutating func encode(_ value: Int128, forKey key: Key) {
      capture.fields[capture.keyStrategy.fieldName(of: key)] = value
    }

    mutating func encode(_ value: UInt128, forKey key: Key) {
      capture.fields[capture.keyStrategy.fieldName(of: key)] = value
    }

    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) {
      if let value { encode(value, forKey: key) }
    }

    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) {
      if let value { encode(value, forKey: key) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy keyType: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      capture.isUnclear = true
      return KeyedEncodingContainer(Fields<Nested>(capture: FieldCapture()))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      Refusal(capture: capture)
    }

    mutating func superEncoder() -> any Encoder {
      capture.isUnclear = true
      return FieldCapture()
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
  }

  private struct Refusal: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let capture: FieldCapture
    let codingPath: [any CodingKey] = []
    let count = 0

    mutating func encodeNil() throws { throw Unsuitable() }
    mutating func encode<T: Encodable>(_ value: T) throws { throw Unsuitable() }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy keyType: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
      capture.isUnclear = true
      return KeyedEncodingContainer(Fields<Nested>(capture: FieldCapture()))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }

    mutating func superEncoder() -> any Encoder {
      capture.isUnclear = true
      return FieldCapture()
    }
  }
}
