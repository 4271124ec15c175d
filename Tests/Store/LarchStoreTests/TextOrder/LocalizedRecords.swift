import Foundation
import Larch
import LarchTestSupport

/// The records of the tests of orders by language: the same fields with indexes, and without.
protocol NamedThing: Record, Equatable where ID == Int {
  var name: String { get set }
  var nick: String? { get set }
  var place: Localized.Place { get set }
  var group: Int { get set }
  init(_ id: Int, _ random: inout SeededGenerator)
  init(id: Int, name: String, nick: String?, place: Localized.Place, group: Int)
}

extension NamedThing {
  init(_ id: Int, _ random: inout SeededGenerator) {
    let nick: String? = random.next() % 4 == 0 ? nil : Localized.text(&random)
    self.init(
      id: id, name: Localized.text(&random), nick: nick,
      place: Localized.Place(city: Localized.text(&random)), group: Int(random.next() % 4))
  }
}

enum Localized {
  struct Place: Codable, Equatable, Sendable {
    var city: String
  }

  struct Plain: NamedThing {
    var id: Int
    var name: String
    var nick: String?
    var place: Place
    var group: Int
  }

  struct Indexed: NamedThing {
    static let schema = Schema<Indexed> {
      Index(\.name)
      Index(\.name, options: .localized("nb"))
      Index(\.name, options: .localized("da"))
      Index(\.nick, options: .localized("fr-CA"))
      Index(\.place.city, options: .localized("root"))
      Index(\.group, then: \.name, options: .localized("nb"))
      Index(\.name, options: .caseAndDiacriticInsensitive)
      Index(\.nick, options: .caseInsensitive)
      Index(\.group, then: \.nick, options: .caseAndDiacriticInsensitive)
    }
    var id: Int
    var name: String
    var nick: String?
    var place: Place
    var group: Int
  }

  private static let parts = [
    "a", "a", "A", "á", "a\u{301}", "Å", "aa", "AA", "ä", "b", "B", "c", "ch", "e", "é", "è",
    "E\u{300}", "i",
    "ı", "I", "ñ", "n", "o", "ø", "Ö", "oe", "œ", "s", "ß", "SS", "z", "Z", "ž", " ", "-", "1",
    "10",
    "а", "Я", "й", "и", "ё", "α", "ά", "Σ", "ς", "א", "ع", "ก", "เก", "か", "ガ", "한", "一", "丁", "😀",
    "\u{AD}", "\u{200D}", "\u{0}", "\u{301}", "\u{323}", "ﬁ", "Ａ",
  ]

  /// Mostly short texts that are nearly alike, and some that no key has room for.
  static func text(_ random: inout SeededGenerator) -> String {
    let isLong = random.next() % 16 == 0
    var text = isLong ? String(repeating: "aé", count: 70) : ""
    for _ in 0..<random.next() % 4 { text += parts[Int(random.next() % UInt64(parts.count))] }
    return text
  }
}
