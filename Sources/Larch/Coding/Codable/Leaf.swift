internal import Foundation

/// The Foundation types and arrays that have their own kind or are written in one piece.
package enum Leaf {
  /// The value itself; the caller knows from its metatype that `T` is `V`.
  @inline(__always)
  static func bits<T, V>(_ value: T, as type: V.Type) -> V { unsafeBitCast(value, to: type) }

  @inline(__always)
  static func seconds<T>(_ value: T) -> Double {
    bits(value, as: Date.self).timeIntervalSinceReferenceDate
  }

  static func strategy(of type: any Any.Type) -> EncodePlan.Strategy? {
    if type == Date.self { return .date }
    if type == UUID.self { return .uuid }
    if type == Data.self { return .data }
    if type == URL.self { return .url }
    if type == Decimal.self { return .decimal }
    if type == String.self { return .string }
    if type == [String].self { return .strings }
    // Copied directly from memory.
    if type == [Int].self, Int.bitWidth == 64 { return .ints }
    if type == [Double].self { return .doubles }
    if type is any Int64Coded.Type { return .int64 }
    return nil
  }

  @inline(__always)
  static func withUTF8<R>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows
    -> R
  {
    if let result = try text.utf8.withContiguousStorageIfAvailable({
      try body(UnsafeRawBufferPointer($0))
    }) {
      return result
    }
    return try Array(text.utf8).withUnsafeBytes(body)
  }

  static func withBytes<T>(ofData value: T, _ body: (UnsafeRawBufferPointer) -> Void) {
    bits(value, as: Data.self).withUnsafeBytes(body)
  }

  /// The text of a URL without a base; a URL with a base encodes itself.
  static func text<T>(ofURL value: T) -> String? {
    let url = bits(value, as: URL.self)
    return url.baseURL == nil ? url.relativeString : nil
  }

  static func date(_ bytes: UnsafeRawPointer) -> Date {
    Date(timeIntervalSinceReferenceDate: bytes.loadUnaligned(as: Double.self))
  }

  static func uuid(_ bytes: UnsafeRawPointer) -> UUID {
    UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  // MARK: Decimal

  /// The 18 bytes of a decimal: exponent and flags, then the mantissa from its lowest 16 bits.
  struct DecimalBytes: BitwiseCopyable {
    var head: UInt16 = 0
    var m0: UInt16 = 0
    var m1: UInt16 = 0
    var m2: UInt16 = 0
    var m3: UInt16 = 0
    var m4: UInt16 = 0
    var m5: UInt16 = 0
    var m6: UInt16 = 0
    var m7: UInt16 = 0
  }

  static func decimal<T>(_ value: T) -> DecimalBytes {
    decimal(DecimalDigits(bits(value, as: Decimal.self)))
  }

  static func decimal(_ digits: DecimalDigits) -> DecimalBytes {
    var result = DecimalBytes()
    if digits.isNaN {
      result.head = 2 << 8
      return result
    }
    result.head =
      UInt16(UInt8(bitPattern: Int8(clamping: digits.exponent))) | (digits.isNegative ? 1 << 8 : 0)
    withUnsafeMutableBytes(of: &result) {
      $0.storeBytes(of: digits.mantissa.littleEndian, toByteOffset: 2, as: UInt128.self)
    }
    return result
  }

  static func decimal(_ bytes: UnsafeRawPointer) throws -> Decimal {
    let stored = UnsafeRawBufferPointer(start: bytes, count: DecimalDigits.storedSize)
    guard let value = DecimalDigits(stored: stored)?.decimal else {
      throw ByteReader.damaged("decimal")
    }
    return value
  }
}
