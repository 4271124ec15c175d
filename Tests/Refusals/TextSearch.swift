import Larch

// What someone writes who looks for words for the first time: one error each, which says what to write.

struct Match: Codable, Sendable {
  // Properties keep their names.
  var matches: String
  var search: Int
}

struct Note: Record {
  var id = RecordID<Note>()
  var title: String
  var body: String?
  var tags: [String]
  var year: Int
  var match: Match
  var matches: [String]

  // The right way is open.
  static let schema = Schema<Note> {
    Search(\.title, \.body, \.tags)
    Search(\.title, rules: .keepingDiacritics, name: "kept")
    Index(\.title, options: .caseAndDiacriticInsensitive)
  }
}

func asItShouldBe(_ typed: String, _ weights: [Double]) {
  let query = TextQuery(typed, completesLast: true)
  _ = Note.where { query.matches($0.title, $0.tags) && $0.year > 2000 }
  _ = Note.where { query.matches($0.matches, $0.match.matches) && $0.match.search > 3 }
  _ = Note.where { $0.match.matches == "a" && $0.matches.contains("b") }
  _ = Note.where { query.matches($0.title) }.sortedByRelevance(weights: 4, 1)
  _ = Note.where { query.matches($0.title) }.sortedByRelevance(weights: weights)
  _ = Note.all.sorted(by: \.year).thenByRelevance().select(\.title).sortedByRelevance()
}

func theQueryComesFirst(_ typed: String, _ query: TextQuery) {
  _ = Note.where { $0.title.matches("larch") }  // error: `TextQuery(typed).matches($0.title
  _ = Note.where { $0.title.matches(typed) }  // error: `TextQuery(typed).matches($0.title
  _ = Note.where { $0.body.matches(query) && $0.year > 3 }  // error: `TextQuery(typed).matches(
  _ = Note.where { $0.tags.matches(query) }  // error: `TextQuery(typed).matches($0.title
  _ = Note.where { query.matches($0.year) }  // error: requires that 'Int' conform to 'SearchedText
}

func marks(_ store: Store) {
  _ = Note.where { $0.title.equals("a", options: .diacriticInsensitive) }  // error: use `.caseAndD
  _ = Note.where { $0.title.hasPrefix("a", options: .diacriticInsensitive) }  // error: use `.case
}

extension Note {
  static let others = Schema<Note> {
    Search()  // error: a search is of fields with words
    Search(\.year)  // error: a search is of fields with words
    Search(\.title, \.year)  // error: a search is of fields with words
    Index(\.title, options: .diacriticInsensitive)  // error: use `.caseAndDiacriticInsensitive`
  }
}
