package import Foundation

/// A `Decimal` as a sign, an integer and a power of ten, so that no bytes depend on the layout of
/// `Decimal`, which differs between systems.
///
/// The bytes of a key sort as the values do, and a value has only one key:
///
/// - NaN is `00 00`: in Swift it is less than every other number, and equals itself. Zero is
///   `80 00`; it has no sign.
/// - Any other number is 0.P₁P₂… · 100ⁿ with pairs of digits P, of which the first and the last are
///   not 00. A positive one is `80 00` + n + 64 as a big-endian number of two bytes, then 2P + 1 for
///   each pair, but 2P for the last.
/// - A negative one is `80 00` − n − 64, then the pairs as for its magnitude, all bits turned.
///
/// So the lowest bit of a pair tells whether it is the last, and no key begins with another one.
package struct DecimalDigits: Equatable, Sendable {
  package var isNaN = false
  package var isNegative = false
  package var exponent = 0
  /// Zero if the number is zero or not a number.
  package var mantissa: UInt128 = 0

  /// The bytes of a stored decimal.
  package static let storedSize = 18
  /// No key has more bytes: the power, then 20 pairs.
  package static let keyLimit = 22

  private static let zero: UInt16 = 0x8000
  private static let powerShift = 64
  private static let exponents = -128...127
}

// MARK: - Decimal

extension DecimalDigits {
  package init(_ value: Decimal) {
    if value.isNaN {
      isNaN = true
      return
    }
    for digit in value.significand.description.utf8 where digit >= 0x30 && digit <= 0x39 {
      mantissa = mantissa &* 10 &+ UInt128(digit &- 0x30)
    }
    if mantissa == 0 { return }
    exponent = value.exponent
    isNegative = value.isSignMinus
    while exponent < Self.exponents.upperBound, mantissa % 10 == 0 {
      mantissa /= 10
      exponent += 1
    }
  }

  /// Nil if no `Decimal` has these digits.
  package var decimal: Decimal? {
    if isNaN { return .nan }
    if mantissa == 0 { return 0 }
    guard Self.exponents.contains(exponent) else { return nil }
    // Usual numbers need no text. `Decimal` may move zeros of the mantissa to the exponent, which
    // then must not overflow.
    if exponent <= 100, let small = UInt64(exactly: mantissa) {
      return Decimal(
        sign: isNegative ? .minus : .plus, exponent: exponent, significand: Decimal(small))
    }
    return Decimal(string: description)
  }
}

extension DecimalDigits: CustomStringConvertible {
  /// `-1250E-2`, or `nan`.
  package var description: String {
    isNaN ? "nan" : (isNegative ? "-" : "") + "\(mantissa)E\(exponent)"
  }
}

// MARK: - Stored bytes

extension DecimalDigits {
  /// Nil if a record cannot have these bytes.
  package init?(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.storedSize else { return nil }
    let flags = bytes[1]
    if flags == 2 {
      isNaN = true
      return
    }
    guard flags <= 1 else { return nil }
    mantissa = UInt128(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt128.self))
    if mantissa == 0 { return }
    isNegative = flags == 1
    exponent = Int(Int8(bitPattern: bytes[0]))
  }
}

// MARK: - Keys

extension DecimalDigits {
  /// Writes the key; the room has `keyLimit` bytes.
  ///
  /// - Returns: the number of bytes.
  func write(keyTo target: UnsafeMutableRawBufferPointer) -> Int {
    if isNaN || mantissa == 0 {
      target.storeBytes(of: isNaN ? 0 : Self.zero.bigEndian, as: UInt16.self)
      return 2
    }
    // The lowest pair is last: pairs are written from the end of the room.
    let end = Self.keyLimit
    var start = end
    var rest = mantissa
    func push(_ pair: UInt8) {
      start -= 1
      target[start] = pair << 1 | 1
    }
    // Below zero, the shift rounds down too.
    let lowest = exponent >> 1
    if exponent & 1 != 0 {
      let (next, digit) = rest.quotientAndRemainder(dividingBy: 10)
      push(UInt8(truncatingIfNeeded: digit) * 10)
      rest = next
    }
    while rest > UInt128(UInt64.max) {
      let (next, pair) = rest.quotientAndRemainder(dividingBy: 100)
      push(UInt8(truncatingIfNeeded: pair))
      rest = next
    }
    var short = UInt64(truncatingIfNeeded: rest)
    while short != 0 {
      push(UInt8(truncatingIfNeeded: short % 100))
      short /= 100
    }
    let power = lowest + (end - start) + Self.powerShift
    var last = end - 1
    while target[last] == 1 { last -= 1 }
    target[last] &= ~1
    let count = last - start + 1
    // The parts may overlap.
    if let base = target.baseAddress { (base + 2).copyMemory(from: base + start, byteCount: count) }
    var head = Self.zero &+ UInt16(truncatingIfNeeded: power)
    if isNegative {
      head = Self.zero &- UInt16(truncatingIfNeeded: power)
      for place in 2..<count + 2 { target[place] = ~target[place] }
    }
    target.storeBytes(of: head.bigEndian, as: UInt16.self)
    return count + 2
  }

  /// Calls with the key, which is valid only in the closure.
  func withKey<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try withUnsafeTemporaryAllocation(byteCount: Self.keyLimit, alignment: 2) { room in
      let count = write(keyTo: room)
      return try body(UnsafeRawBufferPointer(rebasing: room[..<count]))
    }
  }

  /// The number with exactly this key; nil if it is none.
  package init?(key: UnsafeRawBufferPointer) {
    guard key.count >= 2 else { return nil }
    let head = UInt16(bigEndian: key.loadUnaligned(as: UInt16.self))
    if head == 0 || head == Self.zero {
      guard key.count == 2 else { return nil }
      isNaN = head == 0
      return
    }
    isNegative = head < Self.zero
    let turn: UInt8 = isNegative ? 0xFF : 0
    let count = key.count - 2
    guard count > 0, count <= Self.keyLimit - 2 else { return nil }
    for place in 2..<key.count {
      let byte = key[place] ^ turn
      let isLast = place == key.count - 1
      let pair = byte >> 1
      guard (byte & 1 == 0) == isLast, pair < 100, pair != 0 || (place > 2 && !isLast) else {
        return nil
      }
      // A last pair such as 50 is one digit: 40 digits do not fit.
      let isDigit = isLast && pair % 10 == 0
      guard append(isDigit ? pair / 10 : pair, base: isDigit ? 10 : 100) else { return nil }
      if isDigit { exponent = 1 }
    }
    let power = abs(Int(head) - Int(Self.zero)) - Self.powerShift
    exponent += 2 * (power - count)
    // The greatest numbers have zeros at the end.
    while exponent > Self.exponents.upperBound {
      guard append(0, base: 10) else { return nil }
      exponent -= 1
    }
    guard exponent >= Self.exponents.lowerBound else { return nil }
  }

  /// Appends digits; false if the mantissa overflows.
  private mutating func append(_ digits: UInt8, base: UInt128) -> Bool {
    let (product, isTooGreat) = mantissa.multipliedReportingOverflow(by: base)
    let (sum, isStillTooGreat) = product.addingReportingOverflow(UInt128(digits))
    mantissa = sum
    return !isTooGreat && !isStillTooGreat
  }

  /// The end of a key that begins at an offset.
  enum KeyEnd {
    case at(Int)
    /// The bytes end before it.
    case missing
    /// More bytes than any key has.
    case none
  }

  static func end(ofKey bytes: UnsafeRawBufferPointer, from start: Int) -> KeyEnd {
    guard bytes.count - start >= 2 else { return .missing }
    let head = UInt16(
      bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt16.self))
    if head == 0 || head == zero { return .at(start + 2) }
    let last: UInt8 = head < zero ? 1 : 0
    var place = start + 2
    while place < bytes.count {
      if place - start >= keyLimit { return .none }
      if bytes[place] & 1 == last { return .at(place + 1) }
      place += 1
    }
    return .missing
  }
}

/// The key of a decimal number: equal, and in order, exactly as the numbers are.
package struct DecimalKey: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(_ digits: DecimalDigits) { bytes = digits.withKey { [UInt8]($0) } }

  /// Bytes of a file, which may be no key.
  init(unverified bytes: UnsafeRawBufferPointer) {
    self.bytes = [UInt8](bytes.prefix(DecimalDigits.keyLimit))
  }

  /// Nil for bytes that are no key.
  package var digits: DecimalDigits? { bytes.withUnsafeBytes { DecimalDigits(key: $0) } }

  /// The number; nil for bytes that are no key.
  package var decimal: Decimal? { digits?.decimal }
}

extension DecimalKey: CustomStringConvertible {
  /// As Swift prints the number.
  package var description: String { decimal?.description ?? "?" }
}
