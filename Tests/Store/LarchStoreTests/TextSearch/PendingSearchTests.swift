import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Texts that are saved one by one, so that their words wait beside the blocks of an index: every answer is that of
/// the query over an array, whether few or many of them wait.
@Suite struct PendingSearchTests {
  static let limits =
    [1, 3, 128].map { SearchLimits(records: $0) } + [SearchLimits(records: 128, bytes: 3_000)]

  private struct Undone: Error {}

  private static func options(_ limits: SearchLimits) -> Store.Options {
    .quick.with { $0.searchLimits = limits }
  }

  // MARK: Random changes

  @Test(arguments: limits)
  func integerIDs(_ limits: SearchLimits) throws { try run(Int.self, seed: 51, limits) }

  @Test(arguments: limits)
  func textIDs(_ limits: SearchLimits) throws { try run(String.self, seed: 52, limits) }

  private func run<Key: PaperID>(_ type: Key.Type, seed: UInt64, _ limits: SearchLimits) throws {
    typealias Paper = SearchPaper<Key>
    var random = SeededGenerator(seed: seed)
    var tally = SearchAtLengthTests.Tally()
    var most = 0
    try withScratchPath { path in
      var store = try Store(
        path: path, types: [Paper.self], options: Self.options(limits), isTemporary: false)
      defer { store.close() }
      try store.saveAll((0..<400).map { Paper.random($0, &random) })
      var model = Dictionary(
        uniqueKeysWithValues: try store.everything(Paper.self).map { ($0.id, $0) })
      for round in 0..<6 {
        for _ in 0..<12 { try change(store, &model, &random) }
        if round % 4 == 2 {
          store.close()
          store = try Store(
            path: path, types: [Paper.self], options: Self.options(limits), isTemporary: false)
        }
        let report = try store.verify()
        #expect(report.isClean, "\(report)")
        most = max(most, try PendingWordsOfStore(store, Paper.self).entries.count)
        let papers = try store.everything(Paper.self)
        #expect(papers.count == model.count && papers.allSatisfy { model[$0.id] == $0 })
        let reference = RelevanceReference(papers.map { [[$0.title], $0.body.map { [$0] } ?? []] })
        for _ in 0..<3 {
          try SearchAtLengthTests().ask(
            store, papers, Skewed.query(2, &random), reference, &tally, &random)
        }
      }
      #expect(most <= limits.records && (limits.records < 10 || most > 20), "\(most)")
      #expect(tally.found > 300 && tally.searched > 4, "\(tally)")
      let dump = try store.dump()
      try store.rebuild()
      #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
      #expect(try PendingWordsOfStore(store, Paper.self).entries.isEmpty)
    }
  }

  /// One write of one record or of a few, some of them in savepoints that are undone; some writes are undone too.
  private func change<Key: PaperID>(
    _ store: Store, _ model: inout [Key: SearchPaper<Key>], _ random: inout SeededGenerator
  ) throws {
    typealias Paper = SearchPaper<Key>
    typealias State = (model: [Key: Paper], random: SeededGenerator)
    let word: TextQuery = "passing"
    let passing = Paper.where { word.matches($0.title, $0.body) }
    func step(_ tx: WriteTransaction, _ state: inout State) throws {
      let number = Int.random(in: 0..<460, using: &state.random)
      let id = Key.make(paper: number)
      switch Int.random(in: 0..<6, using: &state.random) {
      case 0:
        guard let paper = state.model[id] else { return }
        try tx.delete(paper)
        state.model[id] = nil
      case 1:
        // A word more, and gone again: also in the same write.
        guard var paper = state.model[id] else { return }
        let title = paper.title
        paper.title += " passing"
        try tx.save(&paper)
        if Bool.random(using: &state.random) { #expect(try tx.exists(passing)) }
        paper.title = title
        try tx.save(&paper)
        state.model[id] = paper
      case 2:
        guard let paper = state.model[id] else { return }
        try tx.delete(paper)
        var again = paper
        again.title += " larch"
        try tx.save(&again)
        state.model[id] = again
      default:
        var paper = Paper.random(number, &state.random)
        try tx.save(&paper)
        state.model[id] = paper
      }
    }
    var state: State = (model, random)
    let isUndone = Int.random(in: 0..<6, using: &state.random) == 0
    do {
      try store.write { tx in
        state = (model, random)
        _ = Int.random(in: 0..<6, using: &state.random)
        for _ in 0..<(Bool.random(using: &state.random) ? 1 : 4) {
          guard Int.random(in: 0..<3, using: &state.random) == 0 else {
            try step(tx, &state)
            continue
          }
          let before = state.model
          let throwsOut = Bool.random(using: &state.random)
          do {
            try tx.savepoint {
              for _ in 0..<2 { try step(tx, &state) }
              if throwsOut { throw Undone() }
            }
          } catch is Undone {
            state.model = before
          }
        }
        let query = Skewed.query(1, &state.random)
        let ids = try tx.ids(Paper.where { query.matches($0.title, $0.body) })
        let expected = state.model.values.filter { query.matches($0.title, $0.body) }.map(\.id)
        #expect(Set(ids) == Set(expected) && ids.count == expected.count, "\(query)")
        if isUndone { throw Undone() }
      }
      model = state.model
    } catch is Undone {}
    random = state.random
  }

  // MARK: Parts of lists

  /// Only some blocks of a common word are read: those of a window of records, or those that may have a rare word.
  @Test func partsOfLongListsHaveWhatIsPending() throws {
    typealias Page = SearchIndexTests.Page
    var random = SeededGenerator(seed: 53)
    let store = try Store.temporary(for: Page.self, options: Self.options(SearchLimits()))
    var pages = (0..<5_000).map { Page(id: $0 * 2, title: "tree", body: nil) }
    for place in [40, 300, 2_500, 4_999] { pages[place].body = "rare" }
    for place in [1_000, 1_001] { pages[place].body = "scarce" }
    try store.saveAll(pages)
    for number in 0..<60 {
      let isNew = number % 2 == 0
      let id = isNew ? Int.random(in: 0..<10_600, using: &random) | 1 : number * 160
      let body = number % 3 == 0 ? nil : number % 20 < 4 ? "rare" : "unusual"
      let page = Page(id: id, title: isNew ? "tree \(number)" : "other", body: body)
      try store.saveAll([page])
      pages.removeAll { $0.id == id }
      pages.append(page)
    }
    try store.saveAll([Page(id: -7, title: "tree", body: "scarce")])
    pages.append(Page(id: -7, title: "tree", body: "scarce"))
    pages.sort { $0.id < $1.id }
    #expect(try PendingWordsOfStore(store, Page.self).entries.count > 55)
    for text in [
      "tree rare", "tree scarce", "tree unusual", "\"tree rare\"", "tree OR unusual",
      "tree OR other", "tree -rare", "unusual", "tree", "other OR unusual",
    ] {
      let query = TextQuery(text)
      let all = Page.where { query.matches($0.title, $0.body) }
      let ids = pages.filter { query.matches($0.title, $0.body) }.map(\.id)
      #expect(try store.ids(all) == ids && store.count(all) == ids.count, "\(text)")
      for offset in [0, 7, 40, 2_000] {
        let first = try store.ids(all.offset(offset).limit(5))
        #expect(first == Array(ids.dropFirst(offset).prefix(5)), "\(text) \(offset)")
        let last = try store.ids(all.reversed().offset(offset).limit(5))
        #expect(last == Array(ids.reversed().dropFirst(offset).prefix(5)), "\(text) \(offset)")
      }
      let best = try store.ids(all.sortedByRelevance())
      #expect(best.count == ids.count && Set(best) == Set(ids), "\(text)")
    }
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }

  // MARK: Cascades

  typealias Shelf = SearchIndexDamageTests.Shelf
  typealias Book = SearchIndexDamageTests.Book

  @Test(arguments: limits)
  func whatADeletionDeletesHasNoWords(_ limits: SearchLimits) throws {
    let store = try Store.temporary(for: Shelf.self, Book.self, options: Self.options(limits))
    for shelf in 1...4 {
      try store.saveAll([Shelf(id: shelf, name: "larch shelf\(shelf)")])
      for book in 1...3 {
        try store.saveAll([
          Book(id: shelf * 10 + book, shelfID: shelf, title: "larch book\(book)")
        ])
      }
    }
    try store.write { tx in
      try tx.delete(Shelf.self, 1)
      do {
        try tx.savepoint {
          try tx.delete(Shelf.self, 2)
          throw Undone()
        }
      } catch is Undone {}
      try tx.delete(Shelf.self, 4)
    }
    let larch: TextQuery = "larch"
    let books: TextQuery = "boo*"
    #expect(try store.ids(Book.where { larch.matches($0.title) }) == [21, 22, 23, 31, 32, 33])
    #expect(try store.count(Book.where { books.matches($0.title) }) == 6)
    #expect(try store.ids(Shelf.where { larch.matches($0.name) }) == [2, 3])
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
  }
}

/// The pending entries of the first search of a type, as text: `17 +new -gone ~changed`.
struct PendingWordsOfStore {
  var entries: [String] = []
  var bytes = 0

  init<R: Record>(_ store: Store, _ type: R.Type) throws {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: R.self)
      let tree = try SearchTree(
        collection.searches[0], collection.stored.idKind, in: try tx.context.transaction())
      for entry in try tree.pending.entries(tree) {
        var text = try tree.withIDIfThere(of: entry.number) {
          collection.stored.idKind.text(of: $0)
        }
        bytes += try entry.waitingSize()
        for place in 0..<entry.count where entry.waits(place) {
          let change = try entry.change(place, tree.search)
          text += change.posting == nil ? " -" : change.was ? " ~" : " +"
          text += String(decoding: change.word, as: UTF8.self)
        }
        entries.append(text)
      }
    }
  }
}

extension SearchTree {
  fileprivate func withIDIfThere(
    of number: UInt64, _ body: (UnsafeRawBufferPointer) throws -> String
  ) throws -> String {
    do { return try withID(of: number, body) } catch { return "?" }
  }
}
