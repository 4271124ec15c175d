import LarchTestSupport
import Testing

@testable import Larch

@Suite struct TextQueryReadingTests {
  @Test(arguments: [
    ("larch tree", "larch && tree"),
    ("larch, tree!", "larch && tree"),
    ("\"object store\" -sql sto*", "\"object store\" && !sql && sto*"),
    ("“object store” «a b»", "\"object store\" && \"a b\""),
    ("don't 20.04 @nasa", "\"don t\" && \"20 04\" && nasa"),
    ("设备", "\"设 备\""),
    ("caffè CAFÉ", "caffe && cafe"),
    ("larch OR pine needles", "(larch || pine) && needles"),
    ("a OR b OR -c", "a || b || !c"),
    ("OR gate OR", "or && gate && or"),
    ("a OR OR b", "(a || or) && b"),
    ("a OR … b", "a && or && b"),
    ("-\"a b\" c", "!\"a b\" && c"),
    ("well-known - x --y", "\"well known\" && x && !y"),
    ("\"not closed", "\"not closed\""),
    ("5\"x7\"", "5 && x7"),
    ("\"two wo*\"", "\"two wo*\""),
    ("tr*ee *", "\"tr ee\""),
    ("a -… \"\" \"…\"", "a"),
    ("-a b -a c -\"a\" -d", "!a && b && c && !d"),
    ("-b a -b OR c", "!b && a && (!b || c)"),
    ("", "true"),
    ("…😀", "true"),
  ])
  func whatIsTypedIsRead(_ typed: String, _ expected: String) {
    #expect(TextQuery(typed, completesLast: false).description == expected)
  }

  @Test(arguments: [
    ("larch tre", "larch && tre*"),
    ("larch tre ", "larch && tre"),
    ("larch.", "larch"),
    ("\"object sto", "\"object sto*\""),
    ("\"object sto\"", "\"object sto\""),
    ("a -b", "a && !b"),
    ("don't", "\"don t*\""),
    ("larch OR", "larch"),
    ("larch OR ", "larch"),
    ("larch OR -", "larch"),
    ("larch OR \"", "larch"),
    ("larch OR p", "larch || p*"),
    ("a OR larch OR", "a || larch"),
    ("OR", "or*"),
    ("OR ", "or"),
    ("-larch OR", "!larch"),
    ("larch \"OR", "larch && or*"),
    ("设", "设*"),
    ("", "true"),
  ])
  func theLastWordIsCompletedUnlessSomethingEndsIt(_ typed: String, _ expected: String) {
    #expect(TextQuery(typed, completesLast: true).description == expected)
  }

  @Test func queriesAreBuiltOfWords() {
    let query = TextQuery.word("Don't") && !.prefix("sq") || .phrase("a b", completesLast: true)
    #expect(query.description == "(\"don t\" && !sq*) || \"a b*\"")
    #expect((TextQuery.word("…") && .word("a")).description == "a")
    #expect((TextQuery.word("…") || .word("a")).hasNoWords)
    #expect((!TextQuery.word("…")).matches("a") == false)
    let twice = !(!TextQuery.word("a"))
    #expect(twice == TextQuery.word("A"))
    let literal: TextQuery = "larch tre*"
    let built = TextQuery.word("larch") && .prefix("tre")
    #expect(literal == built)
  }

  @Test(arguments: [
    ("", "character 1: there is no word to search for"),
    ("a \"b", "character 3: the quote is not closed"),
    ("a -", "character 3: there is no word in this part of the text"),
    ("a \"…\"", "character 3: there is no word in this part of the text"),
    ("a OR", "character 3: OR stands between two words; in quotes it is a word"),
    ("tr*ee", "character 3: * stands only at the end of a word"),
    ("a * b", "character 3: there is no word in this part of the text"),
    ("a 😀", "character 3: there is no word in this part of the text"),
  ])
  func theStrictReadingSaysWhatIsWrongAndWhere(_ text: String, _ detail: String) {
    let error = caught { _ = try TextQuery(validating: text) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.context.detail == detail)
  }

  @Test func theStrictReadingAcceptsWhatMeansWhatItSays() throws {
    for text in ["larch tree*", "don't -20.04 OR x \"a b*\"", "设备", "\"OR\""] {
      #expect(try TextQuery(validating: text) == TextQuery(text))
    }
  }

  @Test func noTextIsAnError() {
    var random = SeededGenerator(seed: 22)
    let signs = [
      "\"", "-", "*", "OR", " ", "(", ")", "“", "\\", "\0", "AND", "NEAR/2", ":", "^", "'",
    ]
    for _ in 0..<2_000 {
      var typed = ""
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        typed +=
          Bool.random(using: &random)
          ? signs.randomElement(using: &random) ?? "" : RandomTexts.text(1, &random)
      }
      for completesLast in [false, true] {
        let query = TextQuery(typed, completesLast: completesLast)
        // A word is found as long as it is not excluded; a `-` with a mark is another character.
        if !typed.unicodeScalars.contains("-") {
          #expect(query.matches(typed), "\(typed.debugDescription) \(query)")
        }
        _ = query.snippet(of: typed, words: 2)
      }
      if let strict = try? TextQuery(validating: typed) { #expect(strict == TextQuery(typed)) }
    }
  }

  @Test func randomQueriesMeanWhatTheyMeanOverListsOfWords() {
    var random = SeededGenerator(seed: 23)
    var found = 0
    for _ in 0..<4_000 {
      let query = RandomTexts.query(3, &random)
      let texts = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        RandomTexts.text(Int.random(in: 0...8, using: &random), &random)
      }
      let expected = query.matchesPlainly(texts)
      found += expected ? 1 : 0
      #expect(query.matches(texts) == expected, "\(query) \(texts)")
    }
    #expect((500...3_500).contains(found))
  }

  /// A phrase with repeated words: where it breaks off, a part may be the beginning of the right place.
  @Test func phrasesOfRepeatedWordsAreFound() {
    var random = SeededGenerator(seed: 24)
    for _ in 0..<3_000 {
      func letters(_ count: ClosedRange<Int>) -> String {
        (0..<Int.random(in: count, using: &random)).map { _ in
          ["a", "b", "ab"].randomElement(using: &random) ?? "a"
        }.joined(separator: " ")
      }
      let text = letters(0...14)
      let query = TextQuery.phrase(letters(1...5), completesLast: Bool.random(using: &random))
      #expect(query.matches(text) == query.matchesPlainly([text]), "\(query) in \(text)")
      let isShown = !query.ranges(in: text).isEmpty
      #expect(isShown == query.matchesPlainly([text]), "\(query) in \(text)")
    }
  }

  // MARK: Showing

  private func marked(_ text: String, _ query: TextQuery) -> String {
    let snippet = query.snippet(of: text, words: 1_000)
    return snippet.parts.map { $0.isMatch ? "[\($0.text)]" : String($0.text) }.joined()
  }

  @Test func whatWasFoundIsMarked() {
    #expect(marked("The Larch, larches", "larch") == "The [Larch], larches")
    #expect(marked("The Larch, larches", "larch*") == "The [Larch], [larches]")
    #expect(marked("Don't panic", "don't -panic") == "[Don't] panic")
    #expect(marked("新设备设备", "设备") == "新[设备设备]")
    #expect(marked("caffe\u{300} é 1️⃣", "caffè 1") == "[caffe\u{300}] é [1️⃣]")
    #expect(marked("a b a b a", "\"a b a\"") == "[a b a b a]")
    #expect(marked("nothing", "larch") == "nothing")
    #expect(marked("", "larch") == "")
  }

  @Test func aSnippetHasAsManyWordsOfTheQueryAsPossible() {
    let text = "one two larch three four five six larch tree seven eight nine ten"
    let snippet = TextQuery("larch tree").snippet(of: text, words: 4)
    #expect(snippet.text == "six larch tree seven")
    #expect(snippet.matches.map { text[$0] } == ["larch", "tree"])
    #expect(snippet.isCutAtStart && snippet.isCutAtEnd)
    let start = TextQuery("one").snippet(of: text, words: 3)
    #expect(start.text == "one two larch")
    #expect(!start.isCutAtStart && start.isCutAtEnd)
    #expect(TextQuery("none").snippet(of: text, words: 2).text == "one two")
    #expect(TextQuery("ten").snippet(of: text, words: 2).text == "nine ten")
    #expect(TextQuery("ten").snippet(of: text, words: -1).text == "ten")
  }

  @Test func aSnippetEndsWithACharacter() {
    let text = "ﾃﾞｰﾀ larch デー\u{FF9E} end"
    for (typed, words) in [("nothing", 1), ("larch", 1), ("larch", 2), ("larch", 4), ("end", 2)] {
      let snippet = TextQuery(typed).snippet(of: text, words: words)
      let characters = Set(text.indices + [text.endIndex])
      #expect(characters.contains(snippet.text.startIndex), "\(snippet)")
      #expect(characters.contains(snippet.text.endIndex), "\(snippet)")
    }
    #expect(TextQuery("nothing").snippet(of: text, words: 1).text == "ﾃﾞ")
  }

  /// Each word of the query was found in the text, and all of the query was looked at each time.
  @Test(.timeLimit(.minutes(10))) func aQueryOfManyWordsReadsAShortTextAtOnce() {
    let query = TextQuery(String(repeating: "larch ", count: 400_000))
    #expect(query.matches("a larch tree"))
    #expect(!query.matches("a tree"))
    let either = TextQuery(String(repeating: "larch OR ", count: 200_000) + "pine")
    #expect(either.matches("a pine tree"))
    #expect(!either.matches("a tree"))
  }

  @Test func snippetsOfRandomTextsAreParts() {
    var random = SeededGenerator(seed: 25)
    for _ in 0..<1_000 {
      let text = RandomTexts.text(Int.random(in: 0...10, using: &random), &random)
      let query = RandomTexts.query(2, &random)
      let count = Int.random(in: 1...6, using: &random)
      let snippet = query.snippet(of: text, words: count)
      #expect(snippet.parts.map { String($0.text) }.joined() == String(snippet.text))
      #expect(snippet.isCutAtStart == (snippet.text.startIndex > text.startIndex))
      #expect(snippet.isCutAtEnd == (snippet.text.endIndex < text.endIndex))
      let ranges = query.ranges(in: text)
      for (range, next) in zip(ranges, ranges.dropFirst()) {
        #expect(range.upperBound < next.lowerBound)
      }
    }
  }
}
