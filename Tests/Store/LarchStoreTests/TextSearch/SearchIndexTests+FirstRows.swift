import LarchTestSupport
import Testing

@testable import Larch

extension SearchIndexTests {
  @Test func theFirstRowsOfACommonWordAreFoundWithoutTheOthers() throws {
    let store = try Store.temporary(for: Page.self, options: .quick)
    let pages = Self.pages(-500..<4_000).filter { $0.id % 7 != 3 && !(900..<1_700).contains($0.id) }
    try store.saveAll(pages)
    var random = SeededGenerator(seed: 12)
    for text in [
      "tree", "tree larch", "\"the tree\"", "word7 OR only3", "tree -word8", "only1999 OR only-44",
      "\"tree of\" word3", "word1 word2", "\"of larch\" -the", "wor* tree",
    ] {
      let q = TextQuery(text)
      let all = Page.where { q.matches($0.title, $0.body) }
      let found = pages.filter { q.matches($0.title, $0.body) }
      for limit in [1, 3, 20, 700, .max] {
        #expect(try store.fetch(all.limit(limit)) == Array(found.prefix(limit)), "\(text) \(limit)")
        let last = Array(found.reversed().prefix(limit))
        #expect(try store.fetch(all.reversed().limit(limit)) == last, "\(text) \(limit)")
      }
      for limit in [1, 2, 900] {
        #expect(try store.count(all.limit(limit)) == min(limit, found.count), "\(text) \(limit)")
        #expect(try store.exists(all.offset(limit)) == (found.count > limit), "\(text) \(limit)")
      }
      let year = 2000 + Int.random(in: 0..<10, using: &random)
      let few = Page.where { q.matches($0.title, $0.body) && $0.year == year && $0.id > 100 }
      let ofYear = found.filter { $0.year == year && $0.id > 100 }.map(\.id)
      #expect(try store.ids(few.offset(2).limit(5)) == Array(ofYear.dropFirst(2).prefix(5)))
      for query in [all, all.reversed()] {
        let size = Int.random(in: 50...400, using: &random)
        var ids: [Int] = []
        var page = try store.page(query.limit(size))
        ids += page.records.map(\.id)
        while let next = page.next {
          page = try store.page(query.limit(size).after(next))
          ids += page.records.map(\.id)
        }
        #expect(try ids == store.ids(query), "\(text) \(size)")
      }
    }
    let tree: TextQuery = "tree"
    for query in [
      Page.where { tree.matches($0.title, $0.body) },
      Page.where { tree.matches($0.title, $0.body) }.reversed(),
    ] {
      let text = try store.explain(query.limit(5), running: true).description
      // Of some thirty blocks of the word.
      #expect(text.contains(/examined [1-4] index entr/), "\(text)")
    }
    let pair: TextQuery = "\"the tree\" word3"
    let none: TextQuery = "nosuchword"
    for (words, most) in [(tree, 4), (pair, 8), (none, 0)] {
      let query = Page.where { words.matches($0.title, $0.body) }
      let examined = try store.read { tx in
        try tx.run(query.details, of: Page.self, for: .exists) { run, _ in
          let isThere = try run.exists()
          #expect(isThere == (most > 0))
          return run.counters.entriesExamined
        }
      }
      #expect(examined <= most, "\(words) \(examined)")
    }
  }
}
