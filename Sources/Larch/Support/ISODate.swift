/// Dates as ISO 8601.
package enum ISODate {
  /// A number of seconds since 2001 as a point in time, in UTC; nil if that is not exact.
  package static func text(_ seconds: Double) -> String? {
    // 0001-01-01 and 10000-01-01: years of four digits.
    guard seconds >= -63_113_904_000, seconds < 252_423_993_600 else { return nil }
    let whole = seconds.rounded(.down)
    let fraction = seconds - whole
    var power: Int64 = 1
    for digits in 0...9 {
      let number = (fraction * Double(power)).rounded()
      if number < Double(power) || digits == 0, whole + number / Double(power) == seconds,
        digits > 0 || number == 0
      {
        return text(Int64(whole), Int64(number), digits)
      }
      power *= 10
    }
    return nil
  }

  private static func text(_ seconds: Int64, _ fraction: Int64, _ digits: Int) -> String {
    // Days since 0000-03-01, whose years end with the leap day.
    let sinceEpoch = seconds + 978_307_200
    let day = (sinceEpoch >= 0 ? sinceEpoch : sinceEpoch - 86_399) / 86_400
    let rest = sinceEpoch - day * 86_400
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
    let calendarMonth = month < 10 ? month + 3 : month - 9
    let year = yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0)
    func padded(_ number: Int64, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let date = "\(padded(year, 4))-\(padded(calendarMonth, 2))-\(padded(dayOfMonth, 2))"
    let time =
      "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
    return "\(date)T\(time)\(digits > 0 ? "." + padded(fraction, digits) : "")Z"
  }
}
