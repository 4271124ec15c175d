import LarchTestSupport
import Testing

@testable import Larch

@Suite struct StemmingTests {
  private static let families = [
    ["tree", "trees", "Trees", "TREE"], ["city", "cities"], ["run", "runs", "running"],
    ["hope", "hopes", "hoped", "hoping"], ["hop", "hops", "hopped", "hopping"],
    ["believe", "believes", "believed", "believing"], ["box", "boxes", "boxed", "boxing"],
    ["class", "classes"], ["die", "dies", "died"], ["bus", "buses"],
    ["add", "adds", "added", "adding"],
    ["control", "controls", "controlled", "controlling"], ["travel", "travelled", "traveled"],
    ["evening", "evenings"], ["quiz", "quizzes"], ["lens", "lenses"],
    ["agree", "agreed", "agreeing"],
    ["try", "tries", "tried", "trying"], ["fall", "falls", "falling"], ["hero", "heroes"],
    ["use", "uses", "used", "using"], ["house", "houses", "housing"], ["sky", "skies"],
    ["say", "says", "saying"], ["enable", "enabled", "enabling"], ["size", "sizes", "sized"],
    ["café", "cafes", "cafés"], ["need", "needs", "needed"], ["proceed", "proceeds"],
    ["go", "going"], ["earring", "earrings"],
  ]

  @Test func regularFormsOfAnEnglishWordHaveOneStem() {
    for family in Self.families {
      let stems = Set(family.map { Stemming.english.stem(of: $0) })
      #expect(stems.count == 1, "\(family): \(stems)")
      for typed in family {
        let query = TextQuery.word(typed, stemming: .english)
        for word in family { #expect(query.matches("one \(word), two"), "\(typed): \(word)") }
      }
    }
    #expect(Stemming.english.stem(of: "Running shoes") == "run")
    #expect(Stemming.english.stem(of: "…") == "")
    #expect("\(Stemming.english)" == "english-1")
  }

  @Test func otherWordsAreNotForms() {
    for (typed, word) in [
      ("organ", "organization"), ("universe", "university"), ("new", "news"), ("us", "use"),
      ("hope", "hopping"), ("hop", "hoping"), ("run", "ran"), ("mouse", "mice"), ("sing", "s"),
      ("bus", "bu"), ("gas", "ga"), ("the", "thee"), ("in", "inning"), ("tree", "treetop"),
      ("i18ns", "i18n"), ("u", "uing"), ("a", "aed"), ("ear", "earrings"),
      ("even", "evening"), ("ad", "adding"), ("len", "lens"), ("деревья", "дерево"),
    ] {
      #expect(!TextQuery.word(typed, stemming: .english).matches(word), "\(typed): \(word)")
    }
  }

  @Test func onlyWordsThatAreNotInQuotesHaveForms() {
    func text(_ typed: String, completesLast: Bool = false) -> String {
      TextQuery(typed, completesLast: completesLast, stemming: .english).description
    }
    #expect(text("running shoes") == "forms(running) && forms(shoes)")
    #expect(text("\"running\" \"running shoes\" tree*") == "running && \"running shoes\" && tree*")
    #expect(text("-trees don't 设 OR it") == "!forms(trees) && \"don t\" && (设 || forms(it))")
    #expect(text("trees", completesLast: true) == "(forms(trees) || trees*)")
    let typed = TextQuery("trees", completesLast: true, stemming: .english)
    #expect(["a tree", "treetop", "treesome"].map { typed.matches($0) } == [true, false, true])
    #expect(
      (try? TextQuery(validating: "trees", stemming: .english))
        == TextQuery.word("trees", stemming: .english))
  }

  @Test func aFormIsHighlightedAsItIsWritten() {
    let text = "Running in the rain; he runs, it ran."
    let typed = TextQuery("run", stemming: .english)
    #expect(typed.ranges(in: text).map { String(text[$0]) } == ["Running", "runs"])
    #expect(typed.snippet(of: text, words: 3).parts.first?.text == "Running")
  }

  /// An index looks only at the words that begin with some letters of the stem.
  @Test func everyWordWithTheSameStemIsFoundByItsFirstLetters() {
    var random = SeededGenerator(seed: 71)
    let starts = ["", "b", "tr", "sk", "d", "l", "gener", "commun", "th"]
    let middles = ["a", "e", "i", "o", "u", "y", "ie", "oa", "ay"]
    let ends = ["", "t", "tt", "ll", "ss", "x", "ck", "bl", "at", "iz", "w"]
    let endings = [
      "", "s", "es", "ed", "ing", "e", "y", "ies", "ied", "eed", "eds", "ings", "sses", "'s", "us",
    ]
    var words: [String: Set<String>] = [:]
    for _ in 0..<20_000 {
      var word = starts.randomElement(using: &random) ?? ""
      for _ in 0...Int.random(in: 0...1, using: &random) {
        word += middles.randomElement(using: &random) ?? ""
        word += ends.randomElement(using: &random) ?? ""
      }
      for ending in endings.shuffled(using: &random).prefix(4) {
        guard let cut = TextWords(of: word + ending).first(where: { _ in true }) else { continue }
        words[Stemming.english.stem(of: cut), default: []].insert(cut)
      }
    }
    #expect(words.values.count { $0.count > 1 } > 1_000)
    for (stem, forms) in words {
      for typed in forms {
        let query = TextQuery.word(typed, stemming: .english)
        for form in forms where !query.matches(form) {
          Issue.record("\(typed) does not find \(form), with the stem \(stem)")
        }
      }
    }
  }

  struct Page: Record, Equatable {
    var id: Int
    var text: String
    static let schema = Schema<Page> { Search(\.text) }
  }

  @Test func anIndexOfWordsAnswersForms() throws {
    try Store.scratch(Page.self) { store throws in
      let few = Self.families.flatMap { family in family.map { "the \($0) of \(family[0])" } }
      let texts = few + (0..<1_000).map { "oak number\($0)" }
      let pages = texts.enumerated().map { Page(id: $0, text: $1) }
      try store.saveAll(pages)
      for typed in Self.families.flatMap(\.self) + ["running \"trees\"", "-hoping the", "hopp"] {
        for completes in [false, true] {
          let q = TextQuery(typed, completesLast: completes, stemming: .english)
          let query = Page.where { q.matches($0.text) }
          let found = pages.filter { q.matches($0.text) }.map(\.id)
          #expect(try store.ids(query) == found, "\(q)")
          #expect(try store.count(query) == found.count, "\(q)")
          let best = try store.fetch(query.sortedByRelevance())
          #expect(best.map(\.id).sorted() == found, "\(q)")
        }
      }
      let forms = TextQuery("hoping", stemming: .english)
      let plan = try store.explain(Page.where { forms.matches($0.text) }).description
      #expect(plan.hasPrefix("search text (forms(hoping))"), "\(plan)")
    }
  }
}
