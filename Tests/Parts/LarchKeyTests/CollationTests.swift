import Foundation
import LarchTestSupport
@_spi(_Unicode) import Swift
import Testing

@testable import Larch

@Suite("Orders of languages")
struct CollationTests {
  /// Words in the order of a dictionary of the language.
  static let words: [(language: String, words: [String])] = [
    (
      "root",
      [
        "", " a", "-a", "1", "10", "2", "a", "A", "á", "Á", "aa", "ab", "e", "é", "ø", "z", "α",
        "я",
        "א", "あ", "一", "丁",
      ]
    ),
    ("en", ["co-op", "CO-OP", "coop", "cote", "coté", "côte", "côté"]),
    ("nb", ["Zorro", "ærlig", "Ærlig", "ødeland", "øl", "ål", "Ås", "Aas"]),
    ("da", ["A", "a", "B", "b", "Z", "z", "Æ", "æ", "Ø", "ø", "Å", "å"]),
    ("sv", ["o", "z", "å", "Å", "ä", "ö", "øl"]),
    ("fi", ["v", "w", "z", "å", "ä", "ö"]),
    ("de", ["Adler", "Ärger", "Arzt", "Zebra"]),
    ("de-u-co-phonebk", ["Ad", "ae", "ä", "Af"]),
    ("es", ["n", "nz", "ñ", "o"]),
    ("es-u-co-trad", ["cz", "ch", "d", "lz", "ll", "m"]),
    ("fr", ["cote", "coté", "côte", "côté"]),
    ("fr-CA", ["cote", "côte", "coté", "côté"]),
    ("pl", ["l", "lz", "ł", "m", "z", "ź", "ż"]),
    ("cs", ["c", "cz", "č", "d", "h", "hz", "ch", "i"]),
    ("sk", ["a", "ä", "b", "h", "ch", "i", "o", "ô", "p"]),
    ("hu", ["c", "cz", "cs", "d", "o", "ö", "p", "s", "sz", "t"]),
    ("tr", ["c", "ç", "d", "g", "ğ", "h", "ı", "i", "o", "ö", "p"]),
    ("lt", ["i", "y", "j", "s", "š", "t"]),
    ("lv", ["c", "č", "d", "k", "ķ", "l", "ļ", "m"]),
    ("et", ["s", "š", "z", "ž", "t", "õ", "ä", "ö", "ü", "x"]),
    ("hr", ["c", "č", "ć", "d", "dz", "dž", "đ", "l", "lz", "lj", "m"]),
    ("cy", ["c", "cz", "ch", "d", "dd", "e"]),
    ("ru", ["1", "а", "я", "a", "z"]),
    ("uk", ["г", "ґ", "д", "a"]),
    ("el", ["α", "ω", "a", "я"]),
    ("ja", ["a", "あ", "か", "亜", "一", "α"]),
    // Small kana have a lesser weight than others.
    ("root", ["ぁ", "あ", "ぁあ", "あぁ", "ああ"]),
    // In Serbian й is no letter, so no mark makes it one over another mark.
    ("sr", ["и\u{306}\u{332}и\u{306}", "и\u{306}и\u{306}\u{332}"]),
    ("th", ["ก", "เก", "ข"]),
  ]

  @Test func `words have the order of the dictionaries of their language`() throws {
    for (language, words) in CollationTests.words {
      let collation = try Collation(language)
      for (a, b) in zip(words, words.dropFirst()) {
        #expect(
          collation.compare(a, b) == .orderedAscending, "\(language): \(a) before \(b)")
        #expect(collation.compare(b, a) == .orderedDescending, "\(language): \(b) after \(a)")
      }
    }
  }

  @Test func `a language is found by its tag, and its last parts are left out`() throws {
    let found = [
      ("nb", "nb"), ("nb-NO", "nb"), ("nb_NO", "nb"), ("NB-no", "nb"), ("no", "nb"), ("en", "root"),
      ("en-GB", "root"), ("und", "root"), ("root", "root"), ("xx", "root"), ("fr-CA", "fr-CA"),
      ("fr-BE", "root"), ("de", "root"), ("de-AT", "root"),
      ("de-DE-u-co-phonebk", "de-u-co-phonebk"),
      ("de-u-co-standard", "root"), ("sr-Latn-RS", "bs"), ("sv-SE-u-nu-latn", "sv"), ("iw", "he"),
      ("zh-Hant-TW", "root"), ("ko", "root"), ("es-MX", "es"), ("es-419", "es"),
      ("en_US@rg=gbzzzz", "root"), ("nb@", "nb"), ("nb@=;;a", "nb"),
      ("nb_NO@calendar=buddhist;currency=NOK", "nb"),
      ("de_DE@collation=phonebook", "de-u-co-phonebk"),
      ("es@collation=traditional", "es-u-co-trad"),
      ("de-t-fr-u-co-phonebk", "de-u-co-phonebk"), ("sv-x-u-kn", "sv"),
    ]
    for (tag, name) in found {
      #expect(try Collation(tag).name == Collation(name).name, "\(tag)")
    }
    #expect(try Collation("nb").name == "nb")
    #expect(Collation.root.name == "root")
    #expect(Collation.names.contains("sv"))
    for name in Collation.names { #expect(try Collation(name) != .root, "\(name)") }
  }

  @Test(arguments: [
    "", "n", "norwegian", "nb--NO", "nb NO", "b@collation=phonebook", "sv-u-kn-true",
    "en_US@colStrength=primary", "en-t-fr-u-kn", "nb@collation=phonebook",
    "en-u-ks-level1",
    "de-u-co-foo", "nb-u-co-phonebk", "日本", "12",
  ])
  func `a text that is no tag, or asks for what there is not, is an error with the text`(
    tag: String
  ) {
    let error = caught { _ = try Collation(tag) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.context.detail?.hasPrefix(tag) == true)
  }

  @Test func `an order that the language does not have is answered with those that it has`() {
    #expect(
      caught { _ = try Collation("de-u-co-foo") }?.context.detail?.contains("de-u-co-phonebk")
        == true)
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `texts that are equal in Swift have one key, and comparing is comparing keys`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    for name in ["root"] + Collation.names {
      let collation = try Collation(name)
      for _ in 0..<30 {
        let a = CollationSamples.text(&random)
        let b = CollationSamples.text(&random)
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: a._nfd)
        #expect(
          collation.sortKey(of: a) == collation.sortKey(of: String(scalars)),
          "\(name) \(a.debugDescription)")
        let keys = (collation.sortKey(of: a), collation.sortKey(of: b))
        let order: ComparisonResult =
          keys.0.lexicographicallyPrecedes(keys.1)
          ? .orderedAscending : keys.0 == keys.1 ? .orderedSame : .orderedDescending
        #expect(collation.compare(a, b) == order)
      }
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `the start of a key is made without the rest of a long text`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for name in ["root", "da", "fr-CA", "th", "ja", "hu"] {
      let collation = try Collation(name)
      for _ in 0..<40 {
        var text = (0..<40).map { _ in CollationSamples.text(&random) }.joined()
        let whole = [UInt8](collation.sortKey(of: text))
        let keys = CollationKeys()
        for limit in [1, 2, 16, 128] {
          let start = text.withUTF8 {
            [UInt8](keys.key(of: UnsafeRawBufferPointer($0), collation, limit: limit).prefix(limit))
          }
          #expect(start == Array(whole.prefix(limit)), "\(name) \(text.debugDescription)")
        }
      }
    }
  }

  @Test func `a key of small letters is as long as its letters, and has no byte 0`() throws {
    #expect(Collation.root.sortKey(of: "anna karenina").count == 13)
    #expect(Collation.root.sortKey(of: "").isEmpty)
    var random = SeededGenerator(seed: 9)
    for name in ["root"] + Collation.names {
      let collation = try Collation(name)
      for _ in 0..<10 {
        let text = CollationSamples.text(&random)
        #expect(!collation.sortKey(of: text).contains(0), "\(name) \(text.debugDescription)")
      }
    }
  }

  /// The only mark that begins sequences itself: each one looked at all that follow it.
  @Test func `a text of thousands of such marks has a key like any other`() throws {
    let marks = String(repeating: "\u{0F71}", count: 30_000)
    #expect(Collation.root.compare(marks, "a") == .orderedDescending)
    #expect(Collation.root.compare(marks + "\u{0F72}", marks) == .orderedDescending)
  }

  @Test func `long runs of plain letters before an accent or a capital keep their order`() throws {
    for name in ["root", "da", "fr-CA"] {
      let collation = try Collation(name)
      // Of texts that differ in one accent, or capital, the order is that of its place alone.
      for mark in ["é", "E"] {
        var texts: [String] = []
        for place in 0..<100 {
          texts.append(
            String(repeating: "e", count: place) + mark + String(repeating: "e", count: 99 - place))
        }
        let sorted = texts.indices.sorted {
          collation.sortKey(of: texts[$0]).lexicographicallyPrecedes(
            collation.sortKey(of: texts[$1]))
        }
        let isLateFirst = mark == "é" ? name != "fr-CA" : name != "da"
        #expect(
          sorted == (isLateFirst ? texts.indices.reversed() : Array(texts.indices)),
          "\(name) \(mark)")
      }
    }
  }

  @Test func `a mark joins its letter over a mark of another class, and not over one of its own`()
    throws
  {
    let swedish = try Collation("sv")
    // a, dot below, diaeresis: still the letter ä.
    #expect(swedish.compare("a\u{323}\u{308}", "z") == .orderedDescending)
    #expect(swedish.compare("a\u{308}\u{323}", "z") == .orderedDescending)
    // a, acute, diaeresis: an a with two accents.
    #expect(swedish.compare("a\u{301}\u{308}", "b") == .orderedAscending)
  }

  @Test func `ideographs and what is not assigned come last, by their code points`() {
    let texts = [
      "z", "ת", "한", "\u{4E00}", "\u{9FA5}", "\u{3400}", "\u{20000}", "\u{E000}", "\u{10FFFD}",
    ]
    for (a, b) in zip(texts, texts.dropFirst()) {
      #expect(Collation.root.compare(a, b) == .orderedAscending, "\(a) \(b)")
    }
  }
}

/// Texts of many scripts, with marks in any order.
enum CollationSamples {
  private static let ranges: [ClosedRange<UInt32>] = [
    0x20...0x7E, 0x61...0x7A, 0x61...0x7A, 0xA0...0x24F, 0x300...0x345, 0x386...0x3CE,
    0x400...0x45F,
    0x5D0...0x5EA, 0x621...0x652, 0x905...0x94D, 0xE01...0xE4D, 0x1100...0x11FF, 0x1E00...0x1EFF,
    0x2010...0x2030, 0x3041...0x30FE, 0x4E00...0x4E80, 0xAC00...0xAC80, 0xF900...0xF980,
    0x1F600...0x1F640, 0x20000...0x20010,
  ]

  static func text(_ random: inout SeededGenerator) -> String {
    var text = String.UnicodeScalarView()
    for _ in 0..<random.next() % 9 {
      let range = ranges[Int(random.next() % UInt64(ranges.count))]
      let scalar = range.lowerBound + UInt32(random.next() % UInt64(range.count))
      if let scalar = Unicode.Scalar(scalar) { text.append(scalar) }
    }
    return String(text)
  }
}
