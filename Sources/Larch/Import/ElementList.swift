internal import Foundation

/// A list of an element.
struct ElementList: UnkeyedDecodingContainer {
  private var base: any UnkeyedDecodingContainer
  private let reader: ElementReader

  init(base: any UnkeyedDecodingContainer, reader: ElementReader) {
    self.base = base
    self.reader = reader
  }

  var codingPath: [any CodingKey] { base.codingPath }
  var count: Int? { base.count }
  var isAtEnd: Bool { base.isAtEnd }
  var currentIndex: Int { base.currentIndex }

  mutating func decodeNil() throws -> Bool { try base.decodeNil() }

  private struct Index: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }
    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }

  /// The error of an element that was not decoded.
  private func located<T>(_ error: any Error, _ type: T.Type) -> any Error {
    DecodingError.located(error, type, codingPath + [Index(intValue: currentIndex)]) {
      var copy = base
      return try? copy.decode(Decimal.self)
    }
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int8.Type) throws -> Int8 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int16.Type) throws -> Int16 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int32.Type) throws -> Int32 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int64.Type) throws -> Int64 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: Int128.Type) throws -> Int128 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt.Type) throws -> UInt {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    do { return try base.decode(ElementPart<T>.self).value } catch { throw located(error, type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let start = base
    do { return try reader.child(base.superDecoder()).container(keyedBy: type) } catch {
      base = start
      throw error
    }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let start = base
    do { return try reader.child(base.superDecoder()).unkeyedContainer() } catch {
      base = start
      throw error
    }
  }

  mutating func superDecoder() throws -> any Decoder { reader.child(try base.superDecoder()) }
}

/// One value of an element, without a key.
struct ElementSingle: SingleValueDecodingContainer {
  let base: any SingleValueDecodingContainer
  let reader: ElementReader

  var codingPath: [any CodingKey] { base.codingPath }

  func decodeNil() -> Bool { base.decodeNil() }

  private func located<T>(_ error: any Error, _ type: T.Type) -> any Error {
    DecodingError.located(error, type, codingPath) { try? base.decode(Decimal.self) }
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: String.Type) throws -> String {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Double.Type) throws -> Double {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Float.Type) throws -> Float {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int.Type) throws -> Int {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int8.Type) throws -> Int8 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int16.Type) throws -> Int16 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int32.Type) throws -> Int32 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int64.Type) throws -> Int64 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: Int128.Type) throws -> Int128 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt.Type) throws -> UInt {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt8.Type) throws -> UInt8 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt16.Type) throws -> UInt16 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt32.Type) throws -> UInt32 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt64.Type) throws -> UInt64 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode(_ type: UInt128.Type) throws -> UInt128 {
    do { return try base.decode(type) } catch { throw located(error, type) }
  }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    do {
      if ElementPart<T>.isPlain { return try base.decode(ElementPart<T>.self).value }
      // The same object: both share one record of the keys that were used.
      return try T(from: reader)
    } catch {
      throw located(error, type)
    }
  }
}
