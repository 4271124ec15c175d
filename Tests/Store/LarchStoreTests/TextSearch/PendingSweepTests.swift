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

  /// Only a damaged entry has words that are not in order. A save must end with an error then, and not hang.
  @Test(.timeLimit(.minutes(15))) func aPieceOfWordsInAnyOrderIsCutOrAnError() throws {
    var random = SeededGenerator(seed: 7)
    var failures = 0
    for _ in 0..<2_000 {
      let letters = (0..<160).map { _ in UInt8.random(in: 0x61...0x7A, using: &random) }
      let sweep = Bool.random(using: &random) ? [] : Array(letters.prefix(3))
      try letters.withUnsafeBytes { letters in
        let changes = (0..<40).map { place in
          SearchChange(
            word: UnsafeRawBufferPointer(rebasing: letters[place * 4..<place * 4 + 4]), number: 1,
            was: true, posting: nil)
        }
        var bytes = ByteBuffer(capacity: 512)
        _ = PendingEntry.write(changes, sweep: sweep, to: &bytes)
        let entry = try PendingEntry(1, bytes.bytes, sweep: sweep)
        let error = caught { _ = try PendingPiece(of: [entry, entry], size: 50) }
        #expect(error == nil || error?.code == .corrupted)
        if error != nil { failures += 1 }
      }
    }
    #expect(failures > 100)
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
