import LarchTestSupport
import Testing

@testable import Larch

/// The sweep that merges the pending words of an index piece by piece.
@Suite struct PendingSweepTests {
  typealias Page = SearchIndexTests.Page

  /// Records are saved again, deleted and read at every place of the sweep, by stores that are opened again.
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func anySaveCanComeWithinASweep(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var pages: [Int: Page] = [:]
    var places: Set<String> = []
    let words = (0..<60).map { "w\($0 * 37 % 60)" }
    try withScratchPath { path in
      for _ in 0..<12 {
        let options = Store.Options.quick.with {
          $0.searchLimits = SearchLimits(
            records: 50, bytes: Int.random(in: 200...900, using: &random))
          $0.searchLimits.pieces = Int.random(in: 2...12, using: &random)
        }
        let store = try Store(path: path, types: [Page.self], options: options, isTemporary: false)
        defer { store.close() }
        for _ in 0..<25 {
          let id = Int.random(in: 0..<30, using: &random)
          if Int.random(in: 0..<5, using: &random) == 0 {
            pages[id] = nil
            try store.write { tx in _ = try tx.delete(Page.self, id) }
          } else {
            let count = Int.random(in: 0...20, using: &random)
            let some = words.shuffled(using: &random).prefix(count)
            let page = Page(id: id, title: some.joined(separator: " "), body: nil)
            pages[id] = page
            try store.saveAll([page])
          }
          places.insert(try sweep(store))
          let report = try store.verify()
          #expect(report.isClean, "\(report)")
          let word = TextQuery(words.randomElement(using: &random) ?? "")
          let found = pages.values.filter { word.matches($0.title) }.map(\.id).sorted()
          let query = Page.where { word.matches($0.title, $0.body) }
          #expect(try store.ids(query) == found, "\(word)")
          #expect(try store.count(query) == found.count, "\(word)")
          let all = TextQuery.prefix("w")
          let any = pages.values.filter { all.matches($0.title) }.count
          #expect(try store.count(Page.where { all.matches($0.title, $0.body) }) == any)
        }
      }
    }
    #expect(places.count > 20)
  }

  private func sweep(_ store: Store) throws -> String {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: Page.self)
      let tree = try SearchTree(
        collection.searches[0], collection.stored.idKind, in: try tx.context.transaction())
      return String(decoding: try tree.sweep(), as: UTF8.self)
    }
  }
}
