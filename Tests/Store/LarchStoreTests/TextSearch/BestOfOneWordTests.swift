import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Of many records with one word, the best ones are found without reading how long the others are.
@Suite struct BestOfOneWordTests {
  private typealias Note<Key: SearchID> = SearchNote<Key, WithSearches>

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func theBestAreThoseOfTheFormula(_ seed: UInt64) throws { try run(Int.self, seed: seed) }

  @Test(arguments: [UInt64(5), 6])
  func theBestOfOtherIDsAreThoseOfTheFormula(_ seed: UInt64) throws {
    try run(String.self, seed: seed)
  }

  private func run<Key: SearchID>(_ type: Key.Type, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var options = Store.Options.quick
    options.searchLimits = SearchLimits(records: 128, bytes: 1 << 20)
    let store = try Store.temporary(for: Note<Key>.self, options: options)
    let (counts, lengths) =
      seed % 2 == 0
      ? ([0, 1, 1, 1, 2, 3, 4, 9], [0, 1, 5, 20, 200]) : ([0, 1, 1, 2], [0, 1, 2, 9])
    /// A text that has the word often, seldom, or not at all, among others.
    func text() -> String {
      let count = counts.randomElement(using: &random) ?? 0
      let others = lengths.randomElement(using: &random) ?? 0
      let words = Array(repeating: "larch", count: count) + Array(repeating: "pine", count: others)
      return words.shuffled(using: &random).joined(separator: " ")
    }
    func note(_ number: Int) -> Note<Key> {
      var note = Note<Key>.random(number, &random)
      (note.title, note.body, note.tags) = (
        text(), Bool.random(using: &random) ? text() : nil, [text(), text()]
      )
      return note
    }
    try store.saveAll((0..<1500).map(note))
    // Changes that wait beside the blocks.
    try store.saveAll((0..<40).map { _ in note(Int.random(in: 0..<1600, using: &random)) })
    for record in try store.fetch(Note<Key>.all.offset(700).limit(20)) { try store.delete(record) }
    let notes = try store.everything(Note<Key>.self)
    let reference = RelevanceReference(
      notes.map { [[$0.title], $0.body.map { [$0] } ?? [], $0.tags] })
    let larch = TextQuery("larch")
    for weights in [[1.0, 1, 1], [5, 1, 0.5], [0, 1, 0], [0, 0, 3]] {
      let scores = reference.scores(larch, weights)
      let expected = notes.indices
        .filter { larch.matches(notes[$0].title, notes[$0].body, notes[$0].tags) }
        .sorted { (scores[$0], $1) > (scores[$1], $0) }.map { notes[$0].id }
      #expect(expected.count > 900)
      let query = Note<Key>.where { larch.matches($0.title, $0.body, $0.tags) }
        .sortedByRelevance(weights: weights[0], weights[1], weights[2])
      for limit in [0, 1, 7, 20, 62, 63, 64, 65, 300] {
        #expect(try store.ids(query.limit(limit)) == Array(expected.prefix(limit)), "\(limit)")
        #expect(
          try store.ids(query.offset(limit).limit(limit))
            == Array(expected.dropFirst(limit).prefix(limit)), "\(limit)")
      }
      #expect(try store.ids(query.reversed().limit(20)) == expected.suffix(20).reversed())
      // The token of a page has the score of its last row.
      let page = try store.page(query.limit(20))
      let next = try store.page(query.limit(20).after(try #require(page.next)))
      #expect((page.records + next.records).map(\.id) == Array(expected.prefix(40)))
    }
  }

  @Test func recordsThatCannotBeAmongTheBestArePassedOver() {
    let fields = [0, 1]
    let totals = SearchTotals(records: 1000, words: [6000, 30000])
    let word = SearchScores.OneWord(weights: [1, 1], fields, totals, having: 300)
    // In the shortest body that there can be.
    let once = SearchScores.score(
      1 / SearchScores.Norm(fields, totals)(1, 1), SearchScores.rarity(1000, 300))
    let codes = (0..<16).filter { word.mayReach(once * 1.001)[$0] == false }
    #expect(codes == [0b00_00, 0b00_01, 0b01_00])
    #expect(word.mayReach(once).enumerated().filter { !$1 }.map(\.offset) == [0b00_00, 0b00_01])
    #expect(word.mayReach(0).allSatisfy { $0 })
    // Where it stands three times or more, the record tells.
    #expect(word.mayReach(.infinity).enumerated().filter { $1 }.map(\.offset).count == 7)
  }
}
