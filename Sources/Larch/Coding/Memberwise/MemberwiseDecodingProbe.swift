internal import Foundation

/// Runs `init(from:)` once on made-up values and notes what it asks for: the proof that reading
/// fills every stored property from a field, which a `let x = 3` is not.
///
/// Only for types that promise synthesised coding, so no code of the user's judges the values.
final class MemberwiseDecodingProbe: Decoder {
  struct Question {
    let type: any Decodable.Type
    let mayBeMissing: Bool
  }

  /// The fields that reading the type asks for by name, or nil when it does anything else.
  static func questions(of type: any MemberwiseCoded.Type) -> [String: Question]? {
    let probe = MemberwiseDecodingProbe(depth: 0)
    func run<Value: Decodable>(_ type: Value.Type) -> Bool {
      (try? type.init(from: probe)) != nil
    }
    guard _openExistential(type, do: run), !probe.isUnclear else { return nil }
    return probe.questions
  }

  struct Unclear: Error {}

  fileprivate var questions: [String: Question] = [:]
  fileprivate var isUnclear = false
  fileprivate let depth: Int
  private var hasContainer = false

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  private init(depth: Int) { self.depth = depth }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if hasContainer { isUnclear = true }
    hasContainer = true
    return KeyedDecodingContainer(ProbeContainer<Key>(probe: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw stop() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw stop() }

  fileprivate func stop() -> Unclear {
    isUnclear = true
    return Unclear()
  }

  fileprivate func ask(_ name: String, _ type: any Decodable.Type, mayBeMissing: Bool) {
    if questions.updateValue(Question(type: type, mayBeMissing: mayBeMissing), forKey: name) != nil
    {
      isUnclear = true
    }
  }

  fileprivate func sample<Value: Decodable>(of type: Value.Type) throws -> Value {
    if let element = type as? any MemberwiseElement.Type, let value = element.sample as? Value {
      return value
    }
    if let leaf = type as? any MemberwiseLeaf.Type, let value = leaf.sample as? Value {
      return value
    }
    if type == String.self, let value = "" as? Value { return value }
    if type == Decimal.self, let value = Decimal(0) as? Value { return value }
    if type == Bool.self, let value = false as? Value { return value }
    if Reflection.caseCount(of: type) != nil, let value = Reflection.value(of: type, byte: 0) {
      return value
    }
    if type is any SingleFieldCoded.Type {
      return try type.init(from: SingleFieldSampleDecoder())
    }
    guard type is any MemberwiseCoded.Type, depth < 32 else { throw stop() }
    let inner = MemberwiseDecodingProbe(depth: depth + 1)
    let value = try type.init(from: inner)
    if inner.isUnclear { isUnclear = true }
    return value
  }
}

/// Answers a type of one field with zero.
private struct SingleFieldSampleDecoder: Decoder {
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw MemberwiseDecodingProbe.Unclear()
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw MemberwiseDecodingProbe.Unclear()
  }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { Zero() }

  private struct Zero: SingleValueDecodingContainer {
    var codingPath: [any CodingKey] { [] }
    func decodeNil() -> Bool { false }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      guard let element = type as? any MemberwiseElement.Type, let zero = element.sample as? Value
      else { throw MemberwiseDecodingProbe.Unclear() }
      return zero
    }
    func decode(_ type: Bool.Type) throws -> Bool { false }
    func decode(_ type: String.Type) throws -> String { "" }
  }
}

private struct ProbeContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let probe: MemberwiseDecodingProbe
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] {
    probe.isUnclear = true
    return []
  }

  func contains(_ key: Key) -> Bool {
    probe.isUnclear = true
    return true
  }

  func decodeNil(forKey key: Key) throws -> Bool { throw probe.stop() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    probe.ask(key.stringValue, type, mayBeMissing: false)
    return try probe.sample(of: type)
  }

  // The defaults of these would ask `contains` and `decodeNil`.
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    probe.ask(key.stringValue, type, mayBeMissing: true)
    return nil
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { missing(type, key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    missing(type, key)
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    missing(type, key)
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { missing(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { missing(type, key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { missing(type, key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { missing(type, key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { missing(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { missing(type, key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { missing(type, key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { missing(type, key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    missing(type, key)
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    missing(type, key)
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    missing(type, key)
  }

  private func missing<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
    probe.ask(key.stringValue, type, mayBeMissing: true)
    return nil
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw probe.stop() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw probe.stop()
  }
  func superDecoder() throws -> any Decoder { throw probe.stop() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw probe.stop() }
}
