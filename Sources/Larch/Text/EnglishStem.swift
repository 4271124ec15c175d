/// The stem of an English word without the endings of nouns and verbs.
///
/// These are steps 1 and 5 of the algorithm that the Snowball project publishes as "English", without adverbs, and
/// without the steps between them, which make one word of many that are only related. Words with other letters than
/// `a` to `z` are their own stems.
struct EnglishStem: ~Copyable {
  private let letters: UnsafeMutablePointer<UInt8>
  private var count: Int
  /// Bit n: whether letter n is a vowel. A `y` is none at the beginning or after a vowel.
  private var vowels: UInt64 = 0
  /// Where the regions begin in which longer endings are taken off.
  private var first = 0
  private var second = 0

  private static let longest = 40

  /// Stems that the rules do not give, each after its word.
  private static let irregular: [(word: StaticString, stem: StaticString)] = [
    ("skis", "ski"), ("skies", "sky"), ("sky", "sky"), ("news", "news"), ("howe", "howe"),
    ("atlas", "atlas"), ("cosmos", "cosmos"), ("bias", "bias"), ("andes", "andes"),
    ("bus", "bus"), ("buses", "bus"), ("gas", "gas"), ("gases", "gas"), ("lens", "lens"),
    ("lenses", "lens"), ("canvas", "canvas"), ("canvases", "canvas"), ("quizzes", "quiz"),
  ]
  /// Words that end like a form of a verb, and are none.
  private static let whole: [StaticString] = [
    "inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed",
  ]

  /// The letters with which all words with a stem begin.
  ///
  /// A stem of three letters or more can end in an `e` or an `i` that a word does not have: `hoping` has the stem `hope`,
  /// and `city` has `citi`.
  static func beginning(ofWordsWith stem: [UInt8]) -> [UInt8] {
    let isTurned = stem.last == UInt8(ascii: "e") || stem.last == UInt8(ascii: "i")
    var letters = stem.count > 2 && isTurned ? [UInt8](stem.dropLast()) : stem
    for (word, other) in irregular where stem.withUnsafeBytes({ other.equals($0) }) {
      let common = word.withUTF8Buffer { word in zip(letters, word).prefix { $0 == $1 }.count }
      letters.removeLast(letters.count - common)
    }
    return letters
  }

  /// Whether a word may have other forms. Those of one letter have none.
  static func hasForms(_ word: UnsafeRawBufferPointer) -> Bool {
    word.count > 1 && word.count <= longest && word.allSatisfy { $0 >= 0x61 && $0 <= 0x7A }
  }

  /// Calls with the stem of a word, which is in lower case.
  static func withStem<T>(
    of word: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> T
  ) -> T {
    guard word.count > 2, hasForms(word) else { return body(word) }
    for (irregular, stem) in irregular where irregular.equals(word) {
      return stem.withUTF8Buffer { body(UnsafeRawBufferPointer($0)) }
    }
    // One more letter for a restored `e`.
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longest + 1) { letters in
      guard let start = letters.baseAddress else { return body(word) }
      for place in 0..<word.count { start[place] = word[place] }
      var stem = EnglishStem(start, word.count)
      stem.takeOffPlural()
      let singular = UnsafeRawBufferPointer(start: start, count: stem.count)
      if whole.contains(where: { $0.equals(singular) }) { return body(singular) }
      stem.takeOffVerbEnding()
      stem.turnY()
      stem.takeOffLast()
      if stem.count < 2 { return body(word) }
      return body(UnsafeRawBufferPointer(start: start, count: stem.count))
    }
  }

  private init(_ letters: UnsafeMutablePointer<UInt8>, _ count: Int) {
    self.letters = letters
    self.count = count
    for place in 0..<count {
      switch letters[place] {
      case UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "i"), UInt8(ascii: "o"),
        UInt8(ascii: "u"):
        vowels |= 1 << UInt64(place)
      case UInt8(ascii: "y") where place > 0 && !isVowel(place - 1):
        vowels |= 1 << UInt64(place)
      default: break
      }
    }
    first = begins("gener") || begins("arsen") ? 5 : begins("commun") ? 6 : region(after: 0)
    second = region(after: first)
  }

  /// What follows the first consonant after a vowel.
  private func region(after start: Int) -> Int {
    var place = start
    while place < count, !isVowel(place) { place += 1 }
    while place < count, isVowel(place) { place += 1 }
    return min(place + 1, count)
  }

  // MARK: Steps

  private mutating func takeOffPlural() {
    if ends("sses") {
      count -= 2
    } else if ends("ies") || ends("ied") {
      count -= count > 4 ? 2 : 1
    } else if ends("s"), !ends("us"), !ends("ss"), hasVowel(before: count - 2) {
      count -= 1
    }
  }

  private mutating func takeOffVerbEnding() {
    if ends("eed") {
      if count - 3 >= first { count -= 1 }
      return
    }
    let length = ends("ed") ? 2 : ends("ing") ? 3 : 0
    guard length > 0, hasVowel(before: count - length) else { return }
    count -= length
    if ends("at") || ends("bl") || ends("iz") {
      appendE()
    } else if endsInDouble {
      count -= 1
    } else if first >= count, isShortSyllable(endingAt: count) {
      appendE()
    }
  }

  private mutating func appendE() {
    letters[count] = UInt8(ascii: "e")
    vowels |= 1 << UInt64(count)
    count += 1
  }

  private func turnY() {
    if count > 2, ends("y"), !isVowel(count - 2) { letters[count - 1] = UInt8(ascii: "i") }
  }

  private mutating func takeOffLast() {
    let place = count - 1
    if ends("e") {
      if place >= second || (place >= first && !isShortSyllable(endingAt: place)) { count -= 1 }
    } else if ends("ll"), place >= second {
      count -= 1
    }
  }

  // MARK: Letters

  private func isVowel(_ place: Int) -> Bool { vowels >> UInt64(place) & 1 != 0 }

  private func hasVowel(before end: Int) -> Bool {
    end > 0 && vowels & (1 << UInt64(end) &- 1) != 0
  }

  /// Whether the letters before `end` are a vowel between two consonants, of which the last is not w, x or y, or a
  /// vowel and a consonant as the whole word.
  private func isShortSyllable(endingAt end: Int) -> Bool {
    guard end >= 2, isVowel(end - 2), !isVowel(end - 1) else { return false }
    if end == 2 { return true }
    switch letters[end - 1] {
    case UInt8(ascii: "w"), UInt8(ascii: "x"), UInt8(ascii: "y"): return false
    default: return !isVowel(end - 3)
    }
  }

  /// Whether it ends in a letter that is doubled before an ending, as in `running`; not in `adding`.
  private var endsInDouble: Bool {
    guard count >= 2, letters[count - 1] == letters[count - 2] else { return false }
    if count == 3, begins("a") || begins("e") || begins("o") { return false }
    switch letters[count - 1] {
    case UInt8(ascii: "b"), UInt8(ascii: "d"), UInt8(ascii: "f"), UInt8(ascii: "g"),
      UInt8(ascii: "m"), UInt8(ascii: "n"), UInt8(ascii: "p"), UInt8(ascii: "r"),
      UInt8(ascii: "t"):
      return true
    default: return false
    }
  }

  private func ends(_ ending: StaticString) -> Bool {
    let length = ending.utf8CodeUnitCount
    return count >= length
      && ending.equals(UnsafeRawBufferPointer(start: letters + count - length, count: length))
  }

  private func begins(_ beginning: StaticString) -> Bool {
    let length = beginning.utf8CodeUnitCount
    return count >= length
      && beginning.equals(UnsafeRawBufferPointer(start: letters, count: length))
  }
}

extension StaticString {
  fileprivate func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
    withUTF8Buffer { UnsafeRawBufferPointer($0).equals(bytes) }
  }
}
