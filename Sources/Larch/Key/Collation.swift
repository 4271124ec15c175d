public import Foundation

/// The order of texts in a language, as a dictionary of the language has them.
///
/// ```swift
/// Person.all.sorted(by: \.name, options: .localized("nb"))
/// Index(\.name, options: .localized("nb"))  // in the schema: the order comes from the index
/// names.sorted { norwegian.compare($0, $1) == .orderedAscending }
/// ```
///
/// It is the Unicode Collation Algorithm with the data of CLDR, in tables of Larch's own. So it is a
/// function of the texts and of ``version`` alone: the same on every system, and none of the operating
/// system's libraries is loaded. Letters decide first, then accents, then case: `cote`, `Cote`, `coté`. Spaces
/// and signs come before digits, and digits before letters.
///
/// Two texts may be equal in a collation without being equal in Swift, such as two that differ in a control
/// character. Records with such texts come by their ids.
public struct Collation: Hashable, Sendable {
  /// Zero for root; else the place in the tables, from 1.
  let number: UInt8

  init(number: UInt8) { self.number = number }

  /// The order for texts of any language, and of the many languages that have no rules of their own:
  /// English, French, German, Italian, Dutch and Portuguese among them.
  public static let root = Collation(number: 0)

  /// The order of a language.
  ///
  /// The language is a tag of BCP 47, such as `nb`, `fr-CA` or `de-u-co-phonebk`; `nb_NO`, as in names of
  /// locales, is the same as `nb-NO`. Where there are no rules for all parts of a tag, the last parts are
  /// left out, as BCP 47 says: `nb-NO` sorts as `nb`, and a language without rules as root. ``name``
  /// tells what was found.
  ///
  /// - Throws: `.invalidQuery` if the text is no tag, or asks for an order that Larch does not have for the
  ///   language: another `co` than those in ``names``, or another key of sorting, such as `kn`.
  /// - Complexity: O(*n*) in the number of ``names``. The tables are unpacked, in some three
  ///   milliseconds for each collation, when its first text is compared.
  public init(_ language: String) throws {
    let tag = try CollationTag(language)
    for name in tag.names {
      if let number = Collation.numbers[name] {
        self.init(number: number)
        return
      }
    }
    try tag.checkOrder()
    self.init(number: 0)
  }

  /// The language with whose rules it sorts, such as `nb`, or `root`. Languages with equal rules have one
  /// name.
  public var name: String { Collation.allNames[Int(number)][0] }

  /// The version of the tables. Texts may sort otherwise with another one, so an index of another
  /// version is built again.
  public static let version = 1

  /// The version of Unicode that the tables are from.
  public static let unicodeVersion = CollationTables.unicodeVersion

  /// The languages with rules of their own, sorted; any other one sorts as root.
  public static var names: [String] { allNames.dropFirst().joined().sorted() }

  /// The name in catalogs and page tokens.
  var versionedName: String { "\(name)@\(Collation.version)" }

  /// Nil if it is no collation of this Larch.
  init?(versionedName text: Substring) {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1] == "\(Collation.version)",
      let number = Collation.numbers[parts[0].lowercased()],
      Collation.allNames[Int(number)][0] == parts[0]
    else { return nil }
    self.init(number: number)
  }

  /// The names of each collation; those of root are first.
  private static let allNames: [[String]] =
    [["root"]]
    + CollationTables.languages.map { "\($0.names)".split(separator: " ").map(String.init) }

  /// The number of each name in lower case.
  private static let numbers: [String: UInt8] = {
    var numbers: [String: UInt8] = [:]
    for (number, names) in allNames.enumerated() {
      for name in names { numbers[name.lowercased()] = UInt8(number) }
    }
    for name in "\(CollationTables.sortedAsRoot)".split(whereSeparator: \.isWhitespace) {
      numbers[name.lowercased()] = 0
    }
    numbers["und"] = 0
    return numbers
  }()
}

extension Collation {
  /// Compares two texts.
  ///
  /// An array sorted by it, and by id where texts are equal, has the order of a query.
  ///
  /// - Complexity: O(*n*) in the length of the texts.
  public func compare(_ first: String, _ second: String) -> ComparisonResult {
    let a = CollationKeys().bytes(of: first, self)
    let b = CollationKeys().bytes(of: second, self)
    let order = a.withUnsafeBytes { a in b.withUnsafeBytes { b in compareBytes(a, b) } }
    return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
  }

  /// Bytes that sort, one by one, as the texts do: to sort many texts, make the key of each once.
  ///
  /// - Complexity: O(*n*) in the length of the text. A text of *n* ASCII letters has about *n* bytes.
  public func sortKey(of text: String) -> Data {
    Data(CollationKeys().bytes(of: text, self))
  }
}

extension Collation: CustomStringConvertible {
  /// The name.
  public var description: String { name }
}

/// A language tag of BCP 47, as far as it concerns the order of texts.
private struct CollationTag {
  private let text: String
  private let language: String
  /// The script and the region, as far as they are there.
  private let parts: [String]
  /// The value of the key `co`.
  private let order: String?

  init(_ text: String) throws {
    self.text = text
    // The identifier of a `Locale` may have keywords: `de_DE@calendar=buddhist;collation=phonebook`.
    let halves = text.lowercased().split(
      separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let subtags = halves[0].replacing("_", with: "-").split(
      separator: "-", omittingEmptySubsequences: false)
    guard let first = subtags.first, CollationTag.isLanguage(first),
      subtags.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isTagByte) })
    else {
      throw CollationTag.error(
        text,
        "The order of a language needs a language tag, such as `nb`, `fr-CA` or `de-u-co-phonebk`.")
    }
    language = CollationTag.older[String(first)] ?? String(first)
    let extensions = subtags.firstIndex { $0.utf8.count == 1 } ?? subtags.endIndex
    parts = subtags[1..<extensions].map(String.init)
    var order: String?
    // After `x` everything is private.
    var rest = subtags[extensions...].prefix { $0 != "x" }.drop { $0 != "u" }.dropFirst()
    while let key = rest.popFirst(), key.utf8.count != 1 {
      // A key has two characters; what follows, up to the next one, is its value.
      guard key.utf8.count == 2 else { continue }
      try CollationTag.take(key, rest.first, in: text, &order)
    }
    for keyword in halves.dropFirst().first?.split(separator: ";") ?? [] {
      let pair = keyword.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      try CollationTag.take(pair[0], pair.dropFirst().first, in: text, &order)
    }
    self.order = order == "standard" ? nil : order
  }

  /// Takes a key that concerns the order of texts.
  private static func take(
    _ key: Substring, _ value: Substring?, in text: String, _ order: inout String?
  ) throws {
    if key == "co" || key == "collation" {
      order = value.map { olderOrders[String($0)] ?? String($0) }
    } else if orderKeys.contains(String(key)) || key.hasPrefix("col") {
      throw error(
        text,
        "Larch sorts by the order of a language alone; of the keys of a tag that change an order, use only `co`.",
        String(key))
    }
  }

  /// The names to look for, the best first.
  var names: [String] {
    let suffix = order.map { "-u-co-" + $0 } ?? ""
    let script = parts.first { $0.utf8.count == 4 && $0.utf8.allSatisfy { $0 >= 0x61 } }
    let region = parts.first {
      $0.utf8.count == 2 || ($0.utf8.count == 3 && $0.utf8.allSatisfy { $0 < 0x61 })
    }
    let tails = [[script, region], [script], [region], []]
    return tails.filter { !$0.contains(nil) }.map {
      ([language] + $0.compactMap(\.self)).joined(separator: "-") + suffix
    }
  }

  /// Refuses an order beside the standard one that the language does not have.
  func checkOrder() throws {
    guard order != nil else { return }
    let own = Collation.names.filter { $0.hasPrefix(language + "-") && $0.contains("-u-co-") }
    throw CollationTag.error(
      text,
      "The language has no order of this name; use one of those in the detail, or leave the key `co` out.",
      (own.isEmpty ? [language] : own).joined(separator: ", "))
  }

  private static func isLanguage(_ subtag: Substring) -> Bool {
    subtag == "root"
      || ((2...3).contains(subtag.utf8.count) && subtag.utf8.allSatisfy { $0 >= 0x61 })
  }

  /// Tags that systems still use, and their names today.
  private static let older = ["iw": "he", "in": "id", "mo": "ro", "tl": "fil", "sh": "sr-latn"]

  /// The names of orders in the keywords of a `Locale`, and in tags.
  private static let olderOrders = [
    "phonebook": "phonebk", "traditional": "trad", "dictionary": "dict", "gb2312han": "gb2312",
  ]

  /// The keys of BCP 47 that change an order.
  private static let orderKeys: Set<String> = [
    "ka", "kb", "kc", "kf", "kh", "kk", "kn", "kr", "ks", "kv", "vt",
  ]

  private static func error(
    _ tag: String, _ message: StaticString, _ detail: String? = nil
  ) -> LarchError {
    LarchError(.invalidQuery, message) { $0.detail = tag + (detail.map { ": " + $0 } ?? "") }
  }
}

extension UInt8 {
  /// Of the digits and the small letters.
  fileprivate var isTagByte: Bool { (0x30...0x39).contains(self) || (0x61...0x7A).contains(self) }
}
