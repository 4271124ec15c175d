import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Random notes, edits and queries: an order by relevance is that of the formula over an array, with equal records in
/// the order of their ids, on every path.
@Suite struct RelevancePropertyTests {
  private typealias Note<Key: SearchID> = SearchNote<Key, WithSearches>

  @Test(arguments: [UInt64(1), 2, 3])
  func signedIDs(_ seed: UInt64) throws { try run(Int.self, seed: seed) }

  @Test(arguments: [UInt64(4), 5])
  func unsignedIDs(_ seed: UInt64) throws { try run(UInt64.self, seed: seed) }

  @Test(arguments: [UInt64(6), 7])
  func uuids(_ seed: UInt64) throws { try run(UUID.self, seed: seed) }

  @Test(arguments: [UInt64(8), 9])
  func textIDs(_ seed: UInt64) throws { try run(String.self, seed: seed) }

  private func run<Key: SearchID>(_ type: Key.Type, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var options = Store.Options.quick
    options.checksQueries = true
    // Changes of this many records wait before they are merged into blocks, or of so many bytes before a piece is.
    options.searchLimits = SearchLimits(
      records: [0, 1, 3, 128][Int(seed % 4)], bytes: seed % 8 == 7 ? 400 : 1 << 20)
    let store = try Store.temporary(for: Note<Key>.self, options: options)
    var ranked = 0
    for round in 0..<10 {
      try store.write { tx in
        for _ in 0..<12 {
          var note = Note<Key>.random(Int.random(in: 0..<60, using: &random), &random)
          // Some records are equal but for their ids.
          if Bool.random(using: &random) {
            (note.title, note.body, note.tags) = Self.plain(&random)
          }
          try tx.save(&note)
        }
        let year = Int.random(in: 1990...2100, using: &random)
        try tx.delete(Note<Key>.where { $0.year == year })
      }
      if round == 5 { try store.rebuild() }
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
      let notes = try store.everything(Note<Key>.self)
      for _ in 0..<3 { ranked += try ask(store, notes, &random) }
      // A write sees the scores of what it has changed.
      try store.write { tx in
        for note in try tx.fetch(Note<Key>.all.limit(3)) { try tx.delete(note) }
        let left = try tx.fetch(Note<Key>.all)
        let query = Self.query(&random)
        let expected = Self.ranked(left, query, [1, 1, 1]).map(\.id)
        let found = try tx.ids(
          Note<Key>.where { query.matches($0.title, $0.body, $0.tags) }.sortedByRelevance())
        #expect(found == expected, "\(query)")
      }
    }
    #expect(ranked > 400, "\(ranked)")
  }

  private static func plain(_ random: inout SeededGenerator) -> (String, String?, [String]) {
    let words = ["larch", "tree", "larch tree", "larches", "pine"]
    func text() -> String {
      (0..<Int.random(in: 0...3, using: &random)).map { _ in
        words.randomElement(using: &random) ?? ""
      }.joined(separator: " ")
    }
    return (text(), Bool.random(using: &random) ? text() : nil, [text()])
  }

  private static func query(_ random: inout SeededGenerator) -> TextQuery {
    let plain: [TextQuery] = [
      "larch", "tree OR pine", "larch tree", "\"larch tree\"", "lar*", "\"larch tre*\" OR pine",
      "larch -pine", "tree tree", "",
    ]
    if Bool.random(using: &random), let query = plain.randomElement(using: &random) { return query }
    // The search of other rules has one field only.
    while true {
      let query = RandomTexts.query(2, &random)
      if query.node.hasOnly(.standard) { return query }
    }
  }

  /// What is found, in its order.
  ///
  /// - Parameter weights: for title, body and tags; nil if the test does not have it.
  private static func ranked<Key: SearchID>(
    _ notes: [Note<Key>], _ query: TextQuery, _ weights: [Double?],
    _ isMatch: (Note<Key>) -> Bool = { _ in true }
  ) -> [Note<Key>] {
    let reference = RelevanceReference(
      notes.map { [[$0.title], $0.body.map { [$0] } ?? [], $0.tags] })
    let scores = reference.scores(query, weights)
    let found = notes.indices.filter { place in
      let note = notes[place]
      return isMatch(note)
        && query.matches(
          weights[0] == nil ? nil : note.title, weights[1] == nil ? nil : note.body,
          weights[2] == nil ? nil : note.tags)
    }
    return found.sorted { (scores[$0], $1) > (scores[$1], $0) }.map { notes[$0] }
  }

  private func ask<Key: SearchID>(
    _ store: Store, _ notes: [Note<Key>], _ random: inout SeededGenerator
  ) throws -> Int {
    let q = Self.query(&random)
    let year = Int.random(in: 1990...2030, using: &random)
    let weights: [Double] = [0, 0.5, 3, 1_000_000]
    let weight = weights.randomElement(using: &random) ?? 1
    var count = 0
    func check(_ query: Query<Note<Key>>, _ expected: [Note<Key>]) throws {
      count += expected.count
      #expect(try store.fetch(query) == expected, "\(q)")
      #expect(try store.ids(query.limit(3)) == Array(expected.prefix(3).map(\.id)), "\(q)")
      #expect(
        try store.fetch(query.offset(2).limit(4)) == Array(expected.dropFirst(2).prefix(4)), "\(q)")
      #expect(try store.first(query) == expected.first && store.count(query) == expected.count)
      #expect(try store.fetch(query.select(\.title)) == expected.map(\.title))
      var pages: [Note<Key>] = []
      var page = try store.page(query.limit(4))
      pages += page.records
      while let next = page.next {
        page = try store.page(query.limit(4).after(try PageToken(next.text)))
        pages += page.records
      }
      #expect(pages == expected, "\(q)")
    }
    let all = Note<Key>.where { q.matches($0.title, $0.body, $0.tags) }
    try check(all.sortedByRelevance(), Self.ranked(notes, q, [1, 1, 1]))
    try check(
      all.sortedByRelevance(weights: 2, weight, 1), Self.ranked(notes, q, [2, weight, 1]))
    // The fields of the test are in another order than those of the index.
    try check(
      Note<Key>.where { q.matches($0.tags, $0.title) }.sortedByRelevance(weights: weight, 2),
      Self.ranked(notes, q, [2, nil, weight]))
    try check(
      Note<Key>.where { q.matches($0.body) && $0.year > year }.sortedByRelevance(),
      Self.ranked(notes, q, [nil, 1, nil]) { $0.year > year })
    try check(
      Note<Key>.where { q.matches($0.title, $0.body, $0.tags) && $0.year == year }
        .sortedByRelevance(),
      Self.ranked(notes, q, [1, 1, 1]) { $0.year == year })
    let ranked = Self.ranked(notes, q, [1, 1, 1])
    // Ids descend too.
    try check(all.sortedByRelevance().reversed(), ranked.reversed())
    let isEarlier = { (a: Note<Key>, b: Note<Key>) in a.year < b.year }
    try check(all.sorted(by: \.year).thenByRelevance(), ranked.stablySorted(isEarlier))
    return count
  }
}

extension Array {
  /// Swift's sort is stable, but does not promise it.
  fileprivate func stablySorted(_ isLess: (Element, Element) -> Bool) -> [Element] {
    enumerated().sorted { a, b in
      isLess(a.element, b.element) || (!isLess(b.element, a.element) && a.offset < b.offset)
    }.map(\.element)
  }
}
