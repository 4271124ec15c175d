package import Foundation
package import Larch
package import LarchTestSupport

// Records with an index of words, for everything that kills programs or sends commits elsewhere.

/// Whether the texts have a search: an old version of a program has none.
package protocol TextPlan: Sendable { static var isSearched: Bool { get } }
package enum WithSearch: TextPlan { package static var isSearched: Bool { true } }
package enum WithoutSearch: TextPlan { package static var isSearched: Bool { false } }

/// What an essay and a letter have beside their ids.
package struct Writing: Equatable, Sendable {
  package var title: String
  package var body: String?
  /// Not in the search.
  package var year: Int

  package var content: String { "\(year) \(title) | \(body ?? "-")" }
}

/// A record with a text, of an owner who knows it by a number.
package protocol Written: Record, Equatable {
  init(owner: Int, number: Int, _ writing: Writing)
  var owner: Int { get }
  var number: Int { get }
  var writing: Writing { get set }

  static func found(_ query: TextQuery) -> Query<Self>
  static func found(_ query: TextQuery, owner: Int) -> Query<Self>
  static func foundInBody(_ query: TextQuery, after year: Int) -> Query<Self>
  /// The ids of these numbers, as far as they are stored.
  static func ids(_ numbers: [Int], owner: Int, in tx: ReadTransaction) throws -> [ID]
  static func saveAll(_ records: [Self], in tx: WriteTransaction) throws
}

/// A text whose id the store assigns: an id of eight bytes is its own number in a search.
package struct WrittenEssay<Plan: TextPlan>: Written {
  package var id = RecordID<Self>()
  package var key: String
  package var owner: Int
  package var number: Int
  package var title: String
  package var body: String?
  package var year: Int

  package static var collectionName: String { "Essay" }
  package static var schema: Schema<Self> {
    if !Plan.isSearched { return Schema { Unique(\.key) } }
    return Schema {
      Unique(\.key)
      Search(\.title, \.body)
    }
  }

  package init(owner: Int, number: Int, _ writing: Writing) {
    key = Self.key(number, owner)
    self.owner = owner
    self.number = number
    (title, body, year) = (writing.title, writing.body, writing.year)
  }

  private static func key(_ number: Int, _ owner: Int) -> String { "\(owner)-\(number)" }

  package static func ids(
    _ numbers: [Int], owner: Int, in tx: ReadTransaction
  ) throws -> [ID] {
    try numbers.compactMap { try tx.find(Self.self, by: \.key, equals: key($0, owner))?.id }
  }

  package static func saveAll(_ records: [Self], in tx: WriteTransaction) throws {
    try tx.save(contentsOf: records, matching: \.key)
  }

  package static func found(_ query: TextQuery) -> Query<Self> {
    Self.where { query.matches($0.title, $0.body) }
  }
  package static func found(_ query: TextQuery, owner: Int) -> Query<Self> {
    Self.where { query.matches($0.title, $0.body) && $0.owner == owner }
  }
  package static func foundInBody(_ query: TextQuery, after year: Int) -> Query<Self> {
    Self.where { query.matches($0.body) && $0.year > year }
  }
}

/// A text with a UUID: a search gives such a record a number of its own.
package struct WrittenLetter<Plan: TextPlan>: Written {
  package var id: UUID
  package var owner: Int
  package var number: Int
  package var title: String
  package var body: String?
  package var year: Int

  package static var collectionName: String { "Letter" }
  package static var schema: Schema<Self> {
    Plan.isSearched ? Schema { Search(\.title, \.body) } : Schema {}
  }

  package init(owner: Int, number: Int, _ writing: Writing) {
    id = Self.id(number, owner)
    self.owner = owner
    self.number = number
    (title, body, year) = (writing.title, writing.body, writing.year)
  }

  /// In no order of owners and numbers.
  private static func id(_ number: Int, _ owner: Int) -> UUID {
    var random = SeededGenerator(seed: UInt64(owner) << 32 | UInt64(number))
    var id = (random.next(), random.next())
    return withUnsafeBytes(of: &id) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  package static func ids(
    _ numbers: [Int], owner: Int, in tx: ReadTransaction
  ) throws -> [ID] {
    try numbers.map { id($0, owner) }.filter { try tx.exists(Self.self, $0) }
  }

  package static func saveAll(_ records: [Self], in tx: WriteTransaction) throws {
    try tx.save(contentsOf: records)
  }

  package static func found(_ query: TextQuery) -> Query<Self> {
    Self.where { query.matches($0.title, $0.body) }
  }
  package static func found(_ query: TextQuery, owner: Int) -> Query<Self> {
    Self.where { query.matches($0.title, $0.body) && $0.owner == owner }
  }
  package static func foundInBody(_ query: TextQuery, after year: Int) -> Query<Self> {
    Self.where { query.matches($0.body) && $0.year > year }
  }
}

extension WrittenEssay {
  package var writing: Writing {
    get { Writing(title: title, body: body, year: year) }
    set { (title, body, year) = (newValue.title, newValue.body, newValue.year) }
  }
}

extension WrittenLetter {
  package var writing: Writing {
    get { Writing(title: title, body: body, year: year) }
    set { (title, body, year) = (newValue.title, newValue.body, newValue.year) }
  }
}

package typealias Essay = WrittenEssay<WithSearch>
package typealias PlainEssay = WrittenEssay<WithoutSearch>
package typealias Letter = WrittenLetter<WithSearch>
package typealias PlainLetter = WrittenLetter<WithoutSearch>

/// The number of writes of one owner. Each of them changes it.
package struct TextProgress: Record {
  package var id: Int
  package var writes = 0
}

package enum Texts {
  package static let types: [any Record.Type] = [Essay.self, Letter.self, TextProgress.self]

  package static func open(at path: String, options: Store.Options = Store.Options()) throws
    -> Store
  {
    try Store(at: path, for: Essay.self, Letter.self, TextProgress.self, options: options)
  }

  /// The store as a program opens it that knows no search.
  package static func openPlain(at path: String, options: Store.Options = Store.Options()) throws
    -> Store
  {
    try Store(
      at: path, for: PlainEssay.self, PlainLetter.self, TextProgress.self, options: options)
  }

  /// A store of an old version with `count` essays and as many letters.
  package static func make(at path: String, count: Int, seed: UInt64) throws {
    let store = try openPlain(at: path)
    defer { store.close() }
    var random = SeededGenerator(seed: seed)
    try store.write { tx throws in
      for number in 0..<count {
        var essay = PlainEssay(owner: 0, number: number, writing(&random))
        try tx.save(&essay)
        var letter = PlainLetter(owner: 0, number: number, writing(&random))
        try tx.save(&letter)
      }
    }
  }

  // MARK: Random texts and queries

  /// Words that are the same in other bytes, that are cut in several, that are long, and plain ones.
  private static let words = [
    "larch", "Larch", "larches", "tree", "treetop", "pine", "oak", "birch", "café", "cafe\u{301}",
    "Straße", "STRASSE", "don't", "20.04", "設備", "东京", "Москва", "ёлка", "ภาษา", "한국어", "of",
    "the", "and", "a", "store", "object", "i18n_test", "naïve",
    String(repeating: "long", count: 60),
    "word1", "word2", "word3", "word10", "word11", "word12", "word20", "word21", "rare1", "rare2",
  ]

  private static func word(_ random: inout SeededGenerator) -> String {
    // Some are in most texts, and some in few.
    let place = min(random.below(words.count + 8), random.below(words.count + 8))
    return place < words.count ? words[place] : "only\(random.below(400))"
  }

  private static func text(_ count: Int, _ random: inout SeededGenerator) -> String {
    (0..<count).map { _ in word(&random) }.joined(separator: random.below(8) == 0 ? ", " : " ")
  }

  package static func writing(_ random: inout SeededGenerator) -> Writing {
    var body: String?
    switch random.below(30) {
    case 0..<6: break
    case 6: body = ""
    case 7: body = Array(repeating: text(7, &random), count: 40).joined(separator: " ")
    default: body = text(random.below(16), &random)
    }
    return Writing(title: text(random.below(5), &random), body: body, year: 1990 + random.below(40))
  }

  package static func query(_ depth: Int, _ random: inout SeededGenerator) -> TextQuery {
    switch random.below(depth > 0 ? 8 : 4) {
    case 0, 1: .word(word(&random))
    case 2: .prefix(String(word(&random).prefix(3)))
    case 3: .phrase(text(2, &random), completesLast: random.below(3) == 0)
    case 4, 5: query(depth - 1, &random) && query(depth - 1, &random)
    case 6: query(depth - 1, &random) || query(depth - 1, &random)
    default: query(depth - 1, &random) && !query(depth - 1, &random)
    }
  }
}
