/// The keyed container of a sample record.
struct ProbeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let run: ProbeRun
  var codingPath: [any CodingKey] { run.codingPath }

  var allKeys: [Key] { run.keys(Key.self) }

  func contains(_ key: Key) -> Bool {
    run.noteExistenceCheck(run.name(of: key))
    return true
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    run.noteExistenceCheck(run.name(of: key))
    return false
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try run.answer(type, key)
  }

  // The default implementations of these throw.
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try run.answer(type, key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try run.answer(type, key)
  }

  // The default implementations of these would call `contains` and `decodeNil`.
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? { try lack(key) }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try lack(key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try lack(key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try lack(key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try lack(key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try lack(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try lack(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try lack(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try lack(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try lack(key) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try lack(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try lack(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try lack(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try lack(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try lack(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try lack(key) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try lack(key) }

  private func lack<Value>(_ key: Key) throws -> Value? {
    try run.offer(Value.self, run.name(of: key))
    return nil
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    if let payload = run.payload(type) { return payload }
    throw run.nested(run.name(of: key))
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw run.nested(run.name(of: key))
  }
  func superDecoder() throws -> any Decoder { throw run.nested("super") }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw run.nested(run.name(of: key)) }
}

/// The unkeyed container of a sample list: endless values, of which one is enough.
struct ProbeUnkeyedContainer: UnkeyedDecodingContainer {
  let run: ProbeRun
  var codingPath: [any CodingKey] { [] }
  var count: Int? { nil }
  var isAtEnd: Bool { currentIndex > 0 }
  private(set) var currentIndex = 0

  init(run: ProbeRun) { self.run = run }

  mutating func decodeNil() throws -> Bool { false }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next(type) }

  private mutating func next<T>(_ type: T.Type) throws -> T {
    try run.begin()
    currentIndex += 1
    return try run.sample(type, isTrusted: currentIndex <= 64)
  }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { throw run.stop() }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw run.stop()
  }
  mutating func superDecoder() throws -> any Decoder { throw run.stop() }
}

/// The single-value container of a sample.
struct ProbeSingleContainer: SingleValueDecodingContainer {
  let run: ProbeRun
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool {
    run.singleMayBeNil()
    return false
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try value(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try value(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try value(type) }

  private func value<T>(_ type: T.Type) throws -> T {
    try run.single(type)
    return try run.sample(type, isTrusted: run.isWrapper(of: type))
  }
}
