internal import Foundation

/// What stands in for keys that an element lacks.
struct ElementFilling {
  /// The key of the id, and a new one for elements without.
  var idKey = "id"
  var newID: (() -> Any)?
  /// Declared defaults, by key.
  var defaults: [String: any Sendable] = [:]
  /// The fields of the record that an element is merged into, by key; nil for another element.
  var stored: [String: Any]?

  init<R: Record>(for type: R.Type) {
    idKey = CodingKeysProbe.keys(of: R.self)?.codingName(ofProperty: "id") ?? "id"
    if R.ID._idKind == .assigned, let unassigned = R.ID._assigned(0) {
      newID = { unassigned }
    } else if R.ID.self == UUID.self {
      newID = { UUID() }
    }
    for declaration in R.schema.defaults {
      guard case .stored(let names, _) = declaration.resolve(), names.count == 1 else { continue }
      defaults[names[0]] = declaration.value
    }
  }

  func value<T>(_ type: T.Type, for key: String) -> T? {
    if let stored, let value = stored[key] as? T { return value }
    if key == idKey, let value = newID?() as? T { return value }
    return defaults[key] as? T
  }
}

/// Decodes a value from a decoder of JSON in which some keys may lack.
struct FilledElement<R: Record>: DecodableWithConfiguration {
  let record: R

  init(from decoder: any Decoder, configuration: ElementFilling) throws {
    record = try R(from: FilledDecoder(base: decoder, filling: configuration))
  }
}

private struct FilledDecoder: Decoder {
  let base: any Decoder
  let filling: ElementFilling

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(
      FilledContainer(base: try base.container(keyedBy: type), filling: filling))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try base.unkeyedContainer() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try base.singleValueContainer()
  }
}

private struct FilledContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let base: KeyedDecodingContainer<Key>
  let filling: ElementFilling

  var codingPath: [any CodingKey] { base.codingPath }
  var allKeys: [Key] { base.allKeys }

  func contains(_ key: Key) -> Bool {
    base.contains(key) || filling.stored?[key.stringValue] != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    if filling.stored?[key.stringValue] != nil, !base.contains(key) { return false }
    return try base.decodeNil(forKey: key)
  }

  /// The value of the element; where it lacks, what stands in for it.
  private func value<T>(
    _ type: T.Type, _ key: Key, _ decode: () throws -> T
  ) throws -> T {
    // Nearly every key is there, and then nothing more is asked.
    do { return try decode() } catch {
      guard !isThere(key), let value = filling.value(type, for: key.stringValue) else {
        throw error
      }
      return value
    }
  }

  /// Whether the element has the key; an id that is null is none.
  private func isThere(_ key: Key) -> Bool {
    guard base.contains(key) else { return false }
    return key.stringValue != filling.idKey || (try? base.decodeNil(forKey: key)) != true
  }

  private func optional<T>(
    _ type: T.Type, _ key: Key, _ decode: () throws -> T?
  ) throws -> T? {
    guard let stored = filling.stored, !base.contains(key) else { return try decode() }
    return stored[key.stringValue] as? T
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try value(type, key) { try base.decode(type, forKey: key) }
  }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try value(type, key) { try base.decode(type, forKey: key) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try optional(type, key) { try base.decodeIfPresent(type, forKey: key) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try base.nestedContainer(keyedBy: type, forKey: key)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try base.nestedUnkeyedContainer(forKey: key)
  }

  func superDecoder() throws -> any Decoder { try base.superDecoder() }

  func superDecoder(forKey key: Key) throws -> any Decoder { try base.superDecoder(forKey: key) }
}
