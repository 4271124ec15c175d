package import Foundation

/// Numbers, sizes and times in readable form.
package enum Amount {
  /// Bytes in a suitable unit: `812 B`, `1.9 MiB`.
  package static func bytes(_ bytes: Int) -> String {
    var (value, unit) = (Double(bytes), 0)
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while abs(value) >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : "\(oneDecimal(value)) \(units[unit])"
  }

  /// With commas between thousands: `10,003`.
  package static func count(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (place, digit) in digits.enumerated() {
      if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return number < 0 ? "-" + text : text
  }

  /// A number of things: `1 record`, `2 records`.
  package static func counted(_ number: Int, _ one: String, _ many: String? = nil) -> String {
    "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
  }

  /// A part of a whole: `83 %`.
  package static func percent(_ part: Double) -> String {
    part.isFinite ? "\(Int((part * 100).rounded())) %" : ""
  }

  /// A number with one digit after the point.
  package static func oneDecimal(_ value: Double) -> String {
    "\((value * 10).rounded() / 10)"
  }

  /// A point in time in UTC, the same on every machine: `2026-11-22 06:47:15`.
  package static func time(_ date: Date) -> String {
    date.formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(
        includingFractionalSeconds: false)
    )
  }
}
