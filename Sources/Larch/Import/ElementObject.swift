internal import Foundation

/// An object of an element, by the keys of a type.
struct ElementObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let object: KeyedDecodingContainer<ElementKey>
  let reader: ElementReader

  var codingPath: [any CodingKey] { object.codingPath }

  var allKeys: [Key] {
    object.allKeys.compactMap { name in
      let key = reader.keyStrategy.key(of: Key.self, forField: name.stringValue)
      if key != nil { reader.ask(name.stringValue) }
      return key
    }
  }

  func contains(_ key: Key) -> Bool {
    reader.ask(reader.key(of: key).stringValue)
    return isThere(key) || reader.filling?.has(reader.key(of: key).stringValue) == true
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    reader.ask(reader.key(of: key).stringValue)
    let name = reader.key(of: key).stringValue
    if let filling = reader.filling,
      filling.given[name] != nil || !isThere(key) && filling.has(name)
    {
      return false
    }
    return try object.decodeNil(forKey: reader.key(of: key))
  }

  private func isThere(_ key: Key) -> Bool { object.contains(reader.key(of: key)) }

  private func isNull(_ key: Key) -> Bool {
    (try? object.decodeNil(forKey: reader.key(of: key))) == true
  }

  // MARK: Values

  /// The value of the element, or its replacement if it has none.
  private func value<T>(
    _ type: T.Type, _ key: Key, _ decode: (ElementKey) throws -> T
  ) throws -> T {
    let name = reader.key(of: key)
    reader.ask(name.stringValue)
    if let given = given(type, name) { return given }
    // Nearly every key exists, and then nothing else is checked.
    do { return try decode(name) } catch {
      if let filling = reader.filling, let value = filling.value(type, for: name.stringValue),
        // An id that is null counts as absent.
        !isThere(key) || name.stringValue == filling.idKey && isNull(key)
      {
        return value
      }
      if let empty = emptyList(type, key) { return empty }
      throw located(error, type, name)
    }
  }

  private func optional<T>(
    _ type: T.Type, _ key: Key, _ decode: (ElementKey) throws -> T?
  ) throws -> T? {
    let name = reader.key(of: key)
    reader.ask(name.stringValue)
    if let given = given(type, name) { return given }
    if let filling = reader.filling, !object.contains(name) {
      return filling.optional(type, for: name.stringValue)
    }
    do { return try decode(name) } catch { throw located(error, type, name) }
  }

  /// What a map gives comes before the element's own value: a linked record refers to its owner.
  private func given<T>(_ type: T.Type, _ name: ElementKey) -> T? {
    guard let given = reader.filling?.given, !given.isEmpty else { return nil }
    return given[name.stringValue] as? T
  }

  private func located<T>(_ error: any Error, _ type: T.Type, _ key: ElementKey) -> any Error {
    DecodingError.located(error, type, codingPath + [key]) {
      try? object.decode(Decimal.self, forKey: key)
    }
  }

  /// Null for a list of ids means an empty list.
  private func emptyList<T>(_ type: T.Type, _ key: Key) -> T? {
    guard !reader.findings.lists.isEmpty, isNull(key),
      let list = type as? any ExpressibleByArrayLiteral.Type,
      reader.findings.lists.contains(
        codingPath.map(\.stringValue) + [reader.key(of: key).stringValue])
    else { return nil }
    return ElementFilling.empty(list) as? T
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try value(type, key) { try object.decode(type, forKey: $0) }
  }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try value(type, key) { try object.decode(ElementPart<T>.self, forKey: $0).value }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try optional(type, key) { try object.decodeIfPresent(type, forKey: $0) }
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try optional(type, key) { try object.decodeIfPresent(ElementPart<T>.self, forKey: $0)?.value }
  }

  // MARK: Containers

  /// - Throws: for an absent key, which `superDecoder` treats as null.
  private func child(_ key: Key) throws -> ElementReader {
    reader.ask(reader.key(of: key).stringValue)
    guard isThere(key) else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: codingPath, debugDescription: "The key is absent."))
    }
    return reader.child(try object.superDecoder(forKey: reader.key(of: key)))
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try child(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    reader.ask("super")
    return reader.child(try object.superDecoder())
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    reader.ask(reader.key(of: key).stringValue)
    return reader.child(try object.superDecoder(forKey: reader.key(of: key)))
  }
}
