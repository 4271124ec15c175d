/// A number as exact digits, so that nothing is lost if a type cannot represent it.
struct ExactNumber {
  private let isNegative: Bool
  /// Without zeros at either end; empty for zero.
  private let digits: [UInt8]
  /// The number of digits before the point; negative if zeros follow the point.
  private let wholeCount: Int

  /// Larger exponents make no difference for any number type.
  private static let exponentLimit = 100_000

  /// - Parameter text: the text from the lexer; nil if it is not a number.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    isNegative = rest.first == UInt8(ascii: "-")
    if isNegative { rest.removeFirst() }
    var digits: [UInt8] = []
    var wholeCount: Int?
    while let byte = rest.first, byte != UInt8(ascii: "e"), byte != UInt8(ascii: "E") {
      rest.removeFirst()
      if byte == UInt8(ascii: ".") {
        guard wholeCount == nil else { return nil }
        wholeCount = digits.count
      } else {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        digits.append(byte - 0x30)
      }
    }
    guard !digits.isEmpty else { return nil }
    var whole = wholeCount ?? digits.count
    if !rest.isEmpty {
      let exponent = String(decoding: rest.dropFirst(), as: UTF8.self)
      let isNegative = exponent.hasPrefix("-")
      let magnitude = exponent.drop { $0 == "+" || $0 == "-" }
      guard !magnitude.isEmpty, magnitude.allSatisfy({ $0.isASCII && $0.isNumber }) else {
        return nil
      }
      let size = min(Int(magnitude) ?? Self.exponentLimit, Self.exponentLimit)
      whole += isNegative ? -size : size
    }
    let leading = digits.prefix { $0 == 0 }.count
    digits.removeFirst(leading)
    while digits.last == 0 { digits.removeLast() }
    self.digits = digits
    self.wholeCount = digits.isEmpty ? 0 : whole - leading
  }

  init?(hexadecimal digits: String) {
    guard let number = UInt64(digits, radix: 16) else { return nil }
    self.init(String(number))
  }

  /// The greatest integer that is not greater than the number, and whether they are equal. A number
  /// beyond all 64-bit integers is limited to a value beyond these.
  var floor: (value: Int128, isExact: Bool) {
    let limit: Int128 = 1 << 100
    if wholeCount > 30 { return (isNegative ? -limit : limit, false) }
    var value: Int128 = 0
    for place in 0..<max(0, wholeCount) {
      value = value * 10 + (place < digits.count ? Int128(digits[place]) : 0)
    }
    let isExact = digits.count <= max(0, wholeCount)
    if isNegative { return (isExact ? -value : -value - 1, isExact) }
    return (value, isExact)
  }

  /// Negative, zero or positive.
  static func compare(_ a: ExactNumber, _ b: ExactNumber) -> Int {
    let signA = a.digits.isEmpty ? 0 : a.isNegative ? -1 : 1
    let signB = b.digits.isEmpty ? 0 : b.isNegative ? -1 : 1
    if signA != signB || signA == 0 { return signA - signB }
    if a.wholeCount != b.wholeCount { return a.wholeCount < b.wholeCount ? -signA : signA }
    if a.digits == b.digits { return 0 }
    return a.digits.lexicographicallyPrecedes(b.digits) ? -signA : signA
  }
}
