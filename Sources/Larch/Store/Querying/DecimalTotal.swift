internal import Foundation

/// The sum of decimals, exactly as `+` of `Decimal` gives it when it adds them one after the other.
///
/// As long as nothing is rounded, the sum is an integer and a power of ten; then `Decimal` adds.
struct DecimalTotal {
  private var mantissa: Int128 = 0
  private var exponent = 0
  /// The sum, once the integer is not enough.
  private var rounded: Decimal?

  mutating func add(_ key: DecimalKey) {
    guard let digits = key.digits else {
      rounded = .nan
      return
    }
    if rounded == nil, add(exactly: digits) { return }
    rounded = value + (digits.decimal ?? .nan)
  }

  /// Changes nothing and returns false if the result could be rounded.
  private mutating func add(exactly digits: DecimalDigits) -> Bool {
    if digits.isNaN { return false }
    if digits.mantissa == 0 { return true }
    guard var other = Int128(exactly: digits.mantissa) else { return false }
    if digits.isNegative { other.negate() }
    let common = mantissa == 0 ? digits.exponent : min(exponent, digits.exponent)
    guard let own = DecimalTotal.scaled(mantissa, by: exponent - common),
      let added = DecimalTotal.scaled(other, by: digits.exponent - common)
    else { return false }
    let (sum, isTooGreat) = own.addingReportingOverflow(added)
    if isTooGreat { return false }
    mantissa = sum
    exponent = common
    return true
  }

  private static func scaled(_ value: Int128, by power: Int) -> Int128? {
    if value == 0 { return 0 }
    // More powers would overflow.
    guard power <= 38 else { return nil }
    var result = value
    for _ in 0..<power {
      let (product, isTooGreat) = result.multipliedReportingOverflow(by: 10)
      if isTooGreat { return nil }
      result = product
    }
    return result
  }

  var value: Decimal {
    if let rounded { return rounded }
    return DecimalDigits(
      isNegative: mantissa < 0, exponent: mantissa == 0 ? 0 : exponent, mantissa: mantissa.magnitude
    ).decimal ?? .nan
  }

  /// The nearest `Double`.
  var nearest: Double {
    // Foundation's own conversion rounds more than once.
    Double(DecimalDigits(value).description) ?? .nan
  }
}
