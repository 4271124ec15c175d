import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Texts in many scripts, so many that words have many blocks: each answer is that of the query over an array, and
/// each order that of the formula. By hand with more of them: `LARCH_SEARCH_TEXTS=100000`.
@Suite struct SearchAtLengthTests {
  private static let texts =
    ProcessInfo.processInfo.environment["LARCH_SEARCH_TEXTS"].flatMap(Int.init) ?? 2_500
  private static let rounds = 3
  private static let queries = 20

  @Test func integerIDs() throws { try run(Int.self, seed: 41) }

  @Test func textIDs() throws { try run(String.self, seed: 42) }

  /// Twenty records in a row have the common word, and the next twenty do not. Where a block of the word ends before
  /// such a gap, a record in the gap lies between two blocks.
  @Test func rareWordsAreLookedForInTheBlocksOfACommonOne() throws {
    typealias Paper = SearchPaper<Int>
    var random = SeededGenerator(seed: 43)
    let store = try Store.temporary(for: Paper.self, options: .quick)
    var papers = (0..<12_000).map { number in
      let body = number % 40 < 20 ? "tree larch" : number % 40 < 30 ? "tree" : "pine"
      return Paper(id: number, title: "a", body: body, year: 2000)
    }
    // The last record of a row that has the common word, and one in the gap after it, get a rare word each time.
    for number in 0..<100 {
      for _ in 0..<1 + number % 5 {
        let run = Int.random(in: 0..<papers.count / 40, using: &random) * 40
        for place in [run + 19, run + 25] {
          papers[place].body = (papers[place].body ?? "") + " rare\(number)"
        }
      }
    }
    try store.saveAll(papers)
    for number in 0..<100 {
      for text in ["larch rare\(number)", "\"larch rare\(number)\""] {
        let query = TextQuery(text)
        let expected = papers.filter { query.matches($0.title, $0.body) }.map(\.id)
        let all = Paper.where { query.matches($0.title, $0.body) }
        #expect(try store.ids(all) == expected, "\(text)")
        #expect(try store.count(all) == expected.count, "\(text)")
        #expect(try store.ids(all.limit(3)) == Array(expected.prefix(3)), "\(text)")
        let ranked = try store.ids(all.sortedByRelevance())
        #expect(ranked.count == expected.count && Set(ranked) == Set(expected), "\(text)")
      }
    }
  }

  struct Tally {
    var found = 0
    var searched = 0
  }

  private func run<Key: PaperID>(_ type: Key.Type, seed: UInt64) throws {
    typealias Paper = SearchPaper<Key>
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: Paper.self, options: .quick)
    try store.saveAll((0..<Self.texts).map { Paper.random($0, &random) })
    var tally = Tally()
    for _ in 0..<Self.rounds {
      let papers = try store.everything(Paper.self)
      let reference = RelevanceReference(papers.map { [[$0.title], $0.body.map { [$0] } ?? []] })
      for _ in 0..<Self.queries {
        try ask(store, papers, Skewed.query(2, &random), reference, &tally, &random)
      }
      try change(store, papers, &random)
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
    }
    let asked = Self.rounds * Self.queries
    #expect(tally.found > asked * 40 && tally.searched * 3 > asked, "\(tally)")
  }

  func ask<Key: PaperID>(
    _ store: Store, _ papers: [SearchPaper<Key>], _ query: TextQuery,
    _ reference: RelevanceReference, _ tally: inout Tally, _ random: inout SeededGenerator
  ) throws {
    typealias Paper = SearchPaper<Key>
    let places = papers.indices.filter { query.matches(papers[$0].title, papers[$0].body) }
    let ids = places.map { papers[$0].id }
    let all = Paper.where { query.matches($0.title, $0.body) }
    #expect(try store.ids(all) == ids, "\(query)")
    #expect(try store.count(all) == ids.count, "\(query)")
    let offset = Int.random(in: 0...30, using: &random)
    #expect(try store.exists(all.offset(offset)) == (ids.count > offset), "\(query) \(offset)")
    let limited = try store.count(all.offset(offset).limit(50))
    #expect(limited == min(50, max(0, ids.count - offset)), "\(query) \(offset)")
    let first = try store.ids(all.offset(offset).limit(20))
    #expect(first == Array(ids.dropFirst(offset).prefix(20)), "\(query) \(offset)")
    let last = try store.ids(all.reversed().limit(20))
    #expect(last == Array(ids.reversed().prefix(20)), "\(query)")

    let titles = try store.ids(Paper.where { query.matches($0.title) })
    #expect(titles == papers.filter { query.matches($0.title) }.map(\.id), "\(query)")
    let year = Int.random(in: 1990...2030, using: &random)
    let ofYear = try store.ids(Paper.where { query.matches($0.title, $0.body) && $0.year == year })
    #expect(ofYear == places.filter { papers[$0].year == year }.map { papers[$0].id }, "\(query)")

    tally.found += ids.count
    // An order by relevance needs the index, and so a query that names a word.
    guard try store.explain(all).description.contains("search ") else { return }
    tally.searched += 1
    let scores = reference.scores(query, [1, 1])
    let ranked = places.sorted { (scores[$0], $1) > (scores[$1], $0) }.map { papers[$0].id }
    let best = try store.ids(all.sortedByRelevance())
    #expect(best == ranked, "\(query)")
    let some = try store.ids(all.sortedByRelevance().offset(offset).limit(20))
    #expect(some == Array(ranked.dropFirst(offset).prefix(20)), "\(query) \(offset)")
    let byTitle = reference.scores(query, [2, nil])
    let inTitles = papers.indices.filter { query.matches(papers[$0].title) }
      .sorted { (byTitle[$0], $1) > (byTitle[$1], $0) }.map { papers[$0].id }
    let titlesFirst = Paper.where { query.matches($0.title) }.sortedByRelevance(weights: 2)
    #expect(try store.ids(titlesFirst) == inTitles, "\(query)")
  }

  /// Deletes, changes and adds a part of the texts, in several writes.
  private func change<Key: PaperID>(
    _ store: Store, _ papers: [SearchPaper<Key>], _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<4 {
      var state = random
      try store.write { tx in
        state = random
        let start = Int.random(in: 0..<papers.count, using: &state)
        for paper in papers[start..<min(papers.count, start + papers.count / 40)] {
          try tx.delete(paper)
        }
        for _ in 0..<papers.count / 50 {
          let number = Int.random(in: 0..<papers.count + papers.count / 10, using: &state)
          var paper = SearchPaper<Key>.random(number, &state)
          try tx.save(&paper)
        }
      }
      random = state
    }
  }
}
