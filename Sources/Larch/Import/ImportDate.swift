public import Foundation

/// The form of a date in an element, for ``Mapped``.
public struct ImportDate: Sendable {
  enum Kind: Sendable {
    case pattern(String, Locale, TimeZone)
    case iso8601
    case seconds
    case milliseconds
  }

  let kind: Kind

  /// A text in a format of Unicode, such as `yyyy-MM-dd`.
  ///
  /// The whole text must have the format. Without a locale the names of months and days are English,
  /// and without a time zone the time is UTC, wherever the program runs.
  public static func format(
    _ pattern: String, locale: Locale = Locale(identifier: "en_US_POSIX"),
    timeZone: TimeZone = .gmt
  ) -> ImportDate {
    ImportDate(kind: .pattern(pattern, locale, timeZone))
  }

  /// A text in the form of ISO 8601: `2026-11-26T08:30:00Z`, also with fractions of a second or
  /// another offset, or a day alone, `2026-11-26`, which begins at midnight UTC.
  public static let iso8601 = ImportDate(kind: .iso8601)
  /// The number of seconds since 1970.
  public static let secondsSince1970 = ImportDate(kind: .seconds)
  /// The number of milliseconds since 1970.
  public static let millisecondsSince1970 = ImportDate(kind: .milliseconds)
}

/// Reads dates of one form.
struct DateReader {
  private let kind: ImportDate.Kind
  private let formatter: DateFormatter?
  /// The characters of several scalars that dates of the form may have. Any other is refused: on
  /// Linux the formatter stops the program if a date ends inside of a character, as before an accent.
  private let composed: Set<Character>

  init(_ date: ImportDate) {
    kind = date.kind
    guard case .pattern(let pattern, let locale, let zone) = kind else {
      formatter = nil
      composed = []
      return
    }
    let formatter = DateFormatter()
    formatter.locale = locale
    formatter.timeZone = zone
    formatter.calendar = Calendar(identifier: .gregorian)
    formatter.isLenient = false
    formatter.dateFormat = pattern
    self.formatter = formatter
    // A year of dates, at all hours, has all names.
    let texts = (0..<100).map {
      formatter.string(from: Date(timeIntervalSince1970: 1_735_700_000 + 320_000 * Double($0)))
    }
    composed = Set(texts.joined().filter(Self.isComposed))
  }

  private static func isComposed(_ character: Character) -> Bool {
    character.unicodeScalars.count > 1
  }

  /// Whether dates that are written in the form can be read back, and differ.
  var canReadWhatItWrites: Bool {
    guard let formatter else { return true }
    // 3 February 2001, 14:05:06 and 21 November 2024, 09:47:38, UTC.
    let texts = [981_209_106.0, 1_732_182_458].map {
      formatter.string(from: Date(timeIntervalSince1970: $0))
    }
    return texts[0] != texts[1]
      && texts.allSatisfy { text in date(text).map(formatter.string) == text }
  }

  /// Whether the form is a number in JSON.
  var isNumber: Bool {
    switch kind {
    case .seconds, .milliseconds: true
    case .pattern, .iso8601: false
    }
  }

  /// What the form looks like, for errors.
  var text: String {
    switch kind {
    case .pattern(let pattern, _, _): "a date in the format \(pattern)"
    case .iso8601: "a date of ISO 8601"
    case .seconds: "a number of seconds since 1970"
    case .milliseconds: "a number of milliseconds since 1970"
    }
  }

  func date(_ text: String) -> Date? {
    switch kind {
    case .pattern:
      guard let formatter,
        text.allSatisfy({ !Self.isComposed($0) || composed.contains($0) })
      else { return nil }
      return formatter.date(from: text)
    case .iso8601:
      // Foundation would make March 2 of February 30.
      let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
      let head = String(text.prefix(10))
      guard let day = try? Date(head, strategy: style), day.formatted(style) == head else {
        return nil
      }
      return head.utf8.count == text.utf8.count ? day : ImportOptions.date(iso8601: text)
    case .seconds, .milliseconds:
      guard let number = Double(text), number.isFinite else { return nil }
      return Date(timeIntervalSince1970: isMilliseconds ? number / 1000 : number)
    }
  }

  private var isMilliseconds: Bool {
    if case .milliseconds = kind { return true }
    return false
  }
}
