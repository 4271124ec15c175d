import LarchTestSupport
@_spi(_Unicode) import Swift

@testable import Larch

/// Words by Unicode's properties as Swift has them, scalar by scalar: slow, and without Larch's tables.
struct WordReference {
  enum Role { case separator, letter, single, mark, ignored }

  static let shared = WordReference()

  private let withMarks: Set<UInt32>
  private let common: Set<UInt32>
  private let singles: Set<UInt32>

  /// Every scalar that is not one of thousands alike: of Chinese, Hangul and the private areas a part.
  static let scalars: [Unicode.Scalar] = (UInt32(0)...0x10FFFF).compactMap { value in
    guard let scalar = Unicode.Scalar(value) else { return nil }
    switch scalar.properties.generalCategory {
    case .unassigned, .privateUse: return value % 4099 == 0 ? scalar : nil
    case .otherLetter where scalar.properties.isIdeographic || (0xAC00...0xD7A3).contains(value):
      return value % 37 == 0 || scalar.properties.changesWhenNFKCCaseFolded ? scalar : nil
    default: return scalar
    }
  }

  init() {
    func found(_ pattern: String) -> Set<UInt32> {
      guard let regex = try? Regex(pattern).matchingSemantics(.unicodeScalar) else { return [] }
      var found: Set<UInt32> = []
      for value in UInt32(0)...0x10FFFF {
        guard let scalar = Unicode.Scalar(value) else { continue }
        switch scalar.properties.generalCategory {
        case .unassigned, .privateUse: continue
        default: break
        }
        if let match = try? regex.wholeMatch(in: String(scalar)), match.range.isEmpty == false {
          found.insert(value)
        }
      }
      return found
    }
    withMarks = found(#"[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]"#)
    common = found(#"\p{sc=Common}"#)
    singles = found(
      #"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]"#
    )
  }

  func role(_ scalar: Unicode.Scalar) -> Role {
    if scalar == "\u{200B}" { return .separator }
    let properties = scalar.properties
    if properties.isDefaultIgnorableCodePoint { return .ignored }
    switch properties.generalCategory {
    case .format: return .ignored
    case .nonspacingMark, .spacingMark, .enclosingMark: return .mark
    case .decimalNumber: return .letter
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .letterNumber, .otherNumber:
      return singles.contains(scalar.value) ? .single : .letter
    default: return .separator
    }
  }

  func words(of text: String, keepingMarks: Bool) -> [String] {
    var words: [[Unicode.Scalar]] = []
    var isOpen = false
    var isSingle = false
    for scalar in text._nfc {
      switch role(scalar) {
      case .separator: isOpen = false
      case .ignored: break
      case .mark: if isOpen { words[words.count - 1].append(scalar) }
      case .letter:
        if !isOpen || isSingle { words.append([]) }
        words[words.count - 1].append(scalar)
        (isOpen, isSingle) = (true, false)
      case .single:
        words.append([scalar])
        (isOpen, isSingle) = (true, true)
      }
    }
    return words.map { folded($0, keepingMarks: keepingMarks) }
  }

  private func folded(_ word: [Unicode.Scalar], keepingMarks: Bool) -> String {
    var text = ""
    var loses = false
    for scalar in word {
      if role(scalar) == .mark {
        if !loses { text.unicodeScalars += fold(scalar) }
        continue
      }
      let isDigit = scalar.properties.generalCategory == .decimalNumber
      loses =
        !keepingMarks && !singles.contains(scalar.value)
        && (isDigit ? common.contains(scalar.value) : withMarks.contains(scalar.value))
      let parts = Array(String(scalar)._nfd)
      for part in loses ? Array(parts.prefix(1)) : parts { text.unicodeScalars += fold(part) }
    }
    var bytes = 0
    var cut = ""
    for scalar in text._nfc {
      bytes += String(scalar).utf8.count
      if bytes > 128 { break }
      cut.unicodeScalars.append(scalar)
    }
    return cut
  }

  private func fold(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    if !scalar.properties.changesWhenCaseFolded { return [scalar] }
    if (0x13F8...0x13FD).contains(scalar.value) || (0xAB70...0xABBF).contains(scalar.value) {
      return Array(scalar.properties.uppercaseMapping.unicodeScalars)
    }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    let upper = lower.flatMap { Array($0.properties.uppercaseMapping.unicodeScalars) }
    return upper.flatMap { Array($0.properties.lowercaseMapping.unicodeScalars) }
  }
}

/// Texts in many scripts, for searching.
struct RandomTexts {
  static let words = [
    "larch", "Larch", "LARCH", "larches", "tree", "Tree", "trees", "treetop", "hope", "Hoping",
    "hopped", "don't", "20.04", "@nasa",
    "café",
    "cafe\u{301}", "CAFÉ", "caffè", "Straße", "STRASSE", "ﬁne", "naïve", "Ångström",
    "A\u{30A}ngström",
    "Ἀθῆναι", "αθηναι", "ΣΊΣΥΦΟΣ", "σίσυφος", "Москва", "МОСКВА", "ёлка", "елка", "İstanbul", "ısı",
    "设备", "設備", "東京都", "データ", "テ\u{3099}ータ", "ひらがな", "ภาษาไทย", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာ",
    "한국어", "\u{1112}\u{1161}\u{11AB}국어", "हिन्दी", "हि\u{200D}न्दी", "العربية", "الْعَرَبِيَّة", "עברית", "עִבְרִית",
    "😀", "👩‍💻", "1️⃣", "🇳🇴", "so\u{AD}ft", "\u{202E}rtl", "\u{301}mark", "x\u{327}\u{301}",
    "x\u{301}\u{327}", "²", "½",
    "①", "Ⅳ", "ⅳ", "9", "٣", "C++", "a_b", "i18n", "-", "\"", "*", "OR", "…", "≠", "\u{FFFD}",
    String(repeating: "long", count: 250), String(repeating: "é", count: 1_000),
    String(repeating: "e\u{301}", count: 100), String(repeating: "क्", count: 60), "ꮳꮃꭹ", "ᏣᎳᎩ", "ǰ",
    "J\u{30C}",
    "ᾳ", "ΑΙ", "α\u{345}\u{301}", "e\u{34F}\u{301}", "か\u{34F}\u{3099}", "ŉ",
  ]
  private static let separators = [" ", " ", " ", "  ", ", ", "-", "\n", "", "\u{200B}", "."]

  static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
    var text = ""
    for _ in 0..<count {
      if Int.random(in: 0..<12, using: &random) == 0 {
        text.unicodeScalars.append(WordReference.scalars.randomElement(using: &random) ?? "a")
      } else {
        text += words.randomElement(using: &random) ?? ""
      }
      text += separators.randomElement(using: &random) ?? " "
    }
    return text
  }

  /// An equal text in other bytes.
  static func decomposed(_ text: String) -> String {
    var result = ""
    for scalar in text._nfd { result.unicodeScalars.append(scalar) }
    return result
  }

  /// A query of a few words of the list.
  static func query(_ depth: Int, _ random: inout SeededGenerator) -> TextQuery {
    let word = words.randomElement(using: &random) ?? ""
    let rules: WordRules =
      Int.random(in: 0..<4, using: &random) == 0 ? .keepingDiacritics : .standard
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
    case 0: return .word(word, rules: rules)
    case 1: return .prefix(String(word.prefix(3)), rules: rules)
    case 2: return .phrase(text(2, &random), rules: rules)
    case 3: return .phrase(word, completesLast: true, rules: rules)
    case 4:
      return Bool.random(using: &random)
        ? .word(word, stemming: .english, rules: rules)
        : TextQuery(word, completesLast: true, stemming: .english, rules: rules)
    case 5: return query(depth - 1, &random) && query(depth - 1, &random)
    case 6: return query(depth - 1, &random) || query(depth - 1, &random)
    default: return !query(depth - 1, &random)
    }
  }
}

extension WantedWord {
  /// The meaning of one word of a query.
  func standsPlainly(for word: [UInt8]) -> Bool {
    switch ending {
    case .none: return word == beginning
    case .any: return word.starts(with: beginning)
    case .form(let form):
      // The bytes: two rare characters are folded to letters that a text of the word alone is cut at, such as the `ŉ`
      // of `hopeŉ`, so that `stem(of:)` with that text would take its first word.
      func stem(_ word: [UInt8]) -> [UInt8] { word.withUnsafeBytes { form.stemming.stem(of: $0) } }
      return stem(word) == stem(form.word)
        || (form.isBeginning && word.starts(with: form.word))
    }
  }
}

extension TextQuery {
  /// The meaning of the query over lists of words, word by word.
  func matchesPlainly(_ texts: [String]) -> Bool {
    var cut: [WordRules: [[[UInt8]]]] = [:]
    for rules in [WordRules.standard, .keepingDiacritics] {
      cut[rules] = texts.map { TextWords(of: $0, rules: rules).map { Array($0.utf8) } }
    }
    func holds(_ node: Node) -> Bool {
      switch node {
      case .all(let nodes): return nodes.allSatisfy(holds)
      case .any(let nodes): return nodes.contains(where: holds)
      case .not(let node): return !holds(node)
      case .phrase(let phrase):
        return (cut[phrase.rules] ?? []).contains { words in
          guard words.count >= phrase.words.count else { return false }
          return (0...(words.count - phrase.words.count)).contains { start in
            phrase.words.indices.allSatisfy { place in
              phrase.words[place].standsPlainly(for: words[start + place])
            }
          }
        }
      }
    }
    return holds(node)
  }
}
