import LarchTestSupport
import Testing

@testable import Larch

@Suite struct TextWordsTests {
  private func words(_ text: String, _ rules: WordRules = .standard) -> [String] {
    Array(TextWords(of: text, rules: rules))
  }

  @Test func wordsAreRunsOfLettersMarksAndDigitsInLowerCase() {
    #expect(words("Don't miss Café №5!") == ["don", "t", "miss", "cafe", "5"])
    #expect(words("20.04 i18n_test @nasa") == ["20", "04", "i18n", "test", "nasa"])
    #expect(words("Straße STRASSE ﬁ") == ["strasse", "strasse", "fi"])
    #expect(words("Ἀθῆναι ΣΊΣΥΦΟΣ ᾳ") == ["αθηναι", "σισυφοσ", "α"])
    #expect(words("ёлка Й") == ["елка", "и"])
    #expect(words("m² ½ Ⅳ") == ["m²", "½", "ⅳ"])
    #expect(words("") == [])
    #expect(words("… 😀 👩‍💻 -") == [])
  }

  @Test func eachCharacterOfScriptsWithoutSpacesIsAWord() {
    #expect(words("设备") == ["设", "备"])
    #expect(words("テ\u{3099}ータ") == ["デ", "ー", "タ"])
    #expect(words("ที่abc") == ["ที่", "abc"])
    #expect(words("한국어") == ["한국어"])
  }

  @Test func marksAreKeptWhereTheRulesOrTheScriptSaySo() {
    #expect(words("Café É e\u{301}", .keepingDiacritics) == ["café", "é", "é"])
    #expect(words("עִבְרִית")[0].unicodeScalars.count == 8)
    #expect(words("हिन्दी") == ["हिन्दी"])
    #expect(words("\u{301}a \u{301}") == ["a"])
    #expect(words("1\u{FE0F}\u{20E3}") == ["1"])
  }

  @Test func formatCharactersAreAsIfNotThere() {
    #expect(words("so\u{AD}ft z\u{200D}w") == ["soft", "zw"])
    #expect(words("a\u{200B}b") == ["a", "b"])
  }

  @Test func aLongWordIsCutBetweenScalars() {
    #expect(words(String(repeating: "a", count: 1_000)) == [String(repeating: "a", count: 128)])
    let long = words("x" + String(repeating: "я", count: 1_000))[0]
    #expect(long.utf8.count == 127)
    let accents = "x" + String(repeating: "é", count: 500)
    #expect(words(accents, .keepingDiacritics)[0].utf8.count == 127)
  }

  @Test func rulesHaveNamesAndVersions() {
    #expect(WordRules.standard.description == "words-1")
    #expect(WordRules.keepingDiacritics.description == "words-with-diacritics-1")
    #expect(WordRules.unicodeVersion == "17.0.0")
  }

  @Test func placesOfWordsAreThoseOfTheText() {
    let text = "«Café», 设备 so\u{AD}ft"
    let shown = TextWords(of: text).ranges.map { String(text[$0]) }
    #expect(shown == ["Café", "设", "备", "so\u{AD}ft"])
  }

  @Test(arguments: [WordRules.standard, .keepingDiacritics])
  func allScalarsAreCutAsTheirPropertiesSay(_ rules: WordRules) {
    let reference = WordReference.shared
    var block = ""
    var count = 0
    func check() {
      let expected = reference.words(of: block, keepingMarks: rules == .keepingDiacritics)
      let found = words(block, rules)
      if found.map({ Array($0.utf8) }) != expected.map({ Array($0.utf8) }) {
        let differing = zip(found, expected).first { Array($0.utf8) != Array($1.utf8) }
        Issue.record("\(rules): \(String(describing: differing)) in \(block.debugDescription)")
      }
      block = ""
    }
    for scalar in WordReference.scalars {
      block.unicodeScalars.append(scalar)
      block += " E"
      block.unicodeScalars.append(scalar)
      block += "\u{301}b Б"
      block.unicodeScalars.append(scalar)
      block += "\u{327}\u{301} "
      count += 1
      if count % 32 == 0 { check() }
    }
    check()
    #expect(count > 20_000)
  }

  @Test func randomTextsAndEqualTextsAreCutAsTheReferenceSays() {
    var random = SeededGenerator(seed: 20)
    for _ in 0..<1_500 {
      let text = RandomTexts.text(Int.random(in: 0...12, using: &random), &random)
      for rules in [WordRules.standard, .keepingDiacritics] {
        let found = words(text, rules).map { Array($0.utf8) }
        let expected = WordReference.shared.words(
          of: text, keepingMarks: rules == .keepingDiacritics)
        #expect(found == expected.map { Array($0.utf8) }, "\(text.debugDescription)")
        let other = RandomTexts.decomposed(text)
        #expect(words(other, rules).map { Array($0.utf8) } == found, "\(text.debugDescription)")
        #expect(TextWords(of: text, rules: rules).ranges.count == found.count)
      }
    }
  }

  @Test func bytesThatAreNotUTF8SeparateWordsAndAreTold() {
    var random = SeededGenerator(seed: 21)
    for _ in 0..<3_000 {
      var bytes = Array(RandomTexts.text(2, &random).utf8)
      for _ in 0..<3 where !bytes.isEmpty {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { bytes.removeLast(min(bytes.count, 1)) }
      var cutter = WordCutter(.standard)
      var words: [String] = []
      bytes.withUnsafeBytes { bytes in
        while cutter.next(in: bytes) {
          words.append(String(decoding: cutter.bytes, as: UTF8.self))
        }
      }
      let text = String(validating: bytes, as: UTF8.self)
      #expect(cutter.isValid == (text != nil))
      if text == nil { #expect(words == self.words(String(decoding: bytes, as: UTF8.self))) }
    }
  }
}
