/// Dates in ISO 8601: the form that `RawRecord` writes, and shorter ones.
enum DateText {
  /// Seconds since the reference date; nil for other texts.
  ///
  /// A day, `2024-05-01`. After a `T` it may have the time in hours and minutes, optionally with
  /// seconds and their fraction, and `Z` or an offset such as `+02:00`; without one the time is
  /// UTC.
  static func seconds(_ text: String) -> Double? {
    var rest = Array(text.utf8)[...]
    guard let year = number(&rest, 4), skip("-", &rest), let month = number(&rest, 2),
      skip("-", &rest), let day = number(&rest, 2), (1...12).contains(month),
      day >= 1, day <= days(in: month, of: year)
    else { return nil }
    var whole = (daysSince1970(year, month, day) * 86_400) - 978_307_200
    if rest.isEmpty { return Double(whole) }
    guard skip("T", &rest) || skip("t", &rest) || skip(" ", &rest), let hour = number(&rest, 2),
      skip(":", &rest), let minute = number(&rest, 2), hour < 24, minute < 60
    else { return nil }
    var second = 0
    var fraction = 0.0
    if skip(":", &rest) {
      guard let number = number(&rest, 2), number < 60 else { return nil }
      second = number
      if skip(".", &rest) {
        guard let part = self.fraction(&rest) else { return nil }
        fraction = part
      }
    }
    guard let offset = offset(&rest), rest.isEmpty else { return nil }
    whole += hour * 3600 + minute * 60 + second - offset
    return Double(whole) + fraction
  }

  private static func skip(_ character: Unicode.Scalar, _ text: inout ArraySlice<UInt8>) -> Bool {
    guard text.first == UInt8(ascii: character) else { return false }
    text.removeFirst()
    return true
  }

  private static func number(_ text: inout ArraySlice<UInt8>, _ digits: Int) -> Int? {
    guard text.count >= digits else { return nil }
    var number = 0
    for _ in 0..<digits {
      guard let digit = digit(&text) else { return nil }
      number = number * 10 + digit
    }
    return number
  }

  private static func digit(_ text: inout ArraySlice<UInt8>) -> Int? {
    guard let first = text.first, first >= 0x30, first <= 0x39 else { return nil }
    text.removeFirst()
    return Int(first - 0x30)
  }

  /// The same calculation as in `RawRecord`: an integer divided by a power of ten.
  private static func fraction(_ text: inout ArraySlice<UInt8>) -> Double? {
    var number: Int64 = 0
    var power: Int64 = 1
    var count = 0
    while let digit = digit(&text) {
      count += 1
      // No double has more digits.
      guard count <= 18 else { continue }
      number = number * 10 + Int64(digit)
      power *= 10
    }
    return count == 0 ? nil : Double(number) / Double(power)
  }

  /// In seconds; 0 without one.
  private static func offset(_ text: inout ArraySlice<UInt8>) -> Int? {
    if text.isEmpty || skip("Z", &text) || skip("z", &text) { return 0 }
    let sign = skip("+", &text) ? 1 : skip("-", &text) ? -1 : 0
    guard sign != 0, let hours = number(&text, 2), hours < 24 else { return nil }
    var minutes = 0
    if !text.isEmpty {
      _ = skip(":", &text)
      guard let number = number(&text, 2), number < 60 else { return nil }
      minutes = number
    }
    return sign * (hours * 3600 + minutes * 60)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// In the Gregorian calendar, with years that begin in March, so that the leap day is the last
  /// one.
  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
