import LarchTestSupport
import Testing

@testable import Larch

/// A count of a range went from key to key; the count of ids with a prefix read each record.
@Suite("Counts of ranges come from the headers of pages")
struct CountedRangeTests {
  struct Page: Record, Equatable {
    var id: String
    var size: Int
    var rank: Double
    var words: [Int]
    var text = ""
    static let schema = Schema<Page> {
      Index(\.size)
      Unique(\.rank)
      Index(\.words)
      Index(\.text, \.size)
    }
  }

  /// Some of few values, so that many records share a key, and some of many.
  private static func page(_ number: Int, _ random: inout SeededGenerator) -> Page {
    let letters = ["a", "b", "ab", "ä", "á", "z"]
    let size = Bool.random(using: &random) ? number : Int.random(in: 0..<5, using: &random)
    return Page(
      id: letters.randomElement(using: &random)! + "/\(number)", size: size,
      rank: Double(number) / 7, words: [number % 3, number % 50],
      text: letters.randomElement(using: &random)! + String(repeating: "x", count: number % 60))
  }

  private static func query(_ count: Int, _ random: inout SeededGenerator) -> (
    query: Query<Page>, matches: (Page) -> Bool
  ) {
    let low = Int.random(in: -10..<count, using: &random)
    let high = low + Int.random(in: 0..<count, using: &random)
    let prefix = ["", "a", "b", "a/", "a/1", "b/12", "ä", "zz", "á/3"].randomElement(
      using: &random)!
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      return (Page.where { $0.size >= low && $0.size < high }, { $0.size >= low && $0.size < high })
    case 1: return (Page.where { $0.size > low }, { $0.size > low })
    case 2: return (Page.where { $0.size < high }, { $0.size < high })
    case 3:
      let (a, b) = (Double(low) / 7, Double(high) / 7)
      return (Page.where { $0.rank >= a && $0.rank <= b }, { $0.rank >= a && $0.rank <= b })
    case 4: return (Page.where { $0.id.hasPrefix(prefix) }, { $0.id.hasPrefix(prefix) })
    case 5: return (Page.where { $0.id >= prefix }, { $0.id >= prefix })
    case 6: return (Page.where { $0.text.hasPrefix(prefix) }, { $0.text.hasPrefix(prefix) })
    default:
      return (
        Page.where { $0.words.contains { $0 >= 10 } && $0.size > low },
        { $0.words.contains { $0 >= 10 } && $0.size > low }
      )
    }
  }

  @Test("They equal the closure over an array, in reads and in writes", arguments: 0..<4)
  func oracle(seed: UInt64) throws {
    var random = SeededGenerator(seed: 7_300 + seed)
    let count = [1, 40, 900, 4_000][Int(seed)]
    let store = try Store.checked(for: Page.self)
    var pages: [Page] = []
    try store.write { tx in
      for number in (0..<count).shuffled(using: &random) {
        var page = Self.page(number, &random)
        try tx.insert(&page)
        pages.append(page)
      }
    }
    func check(_ reader: some RecordReading, _ place: String) throws {
      for _ in 0..<12 {
        let (query, matches) = Self.query(count, &random)
        let known = pages.count(where: matches)
        let found = try reader.count(query)
        let plan = try reader.explain(query)
        #expect(found == known, "\(place): \(plan)")
        #expect(try reader.count(query.limit(1_500)) == min(known, 1_500), "\(place)")
        #expect(try reader.count(query.offset(3)) == max(0, known - 3), "\(place)")
        #expect(try reader.exists(query) == (known > 0), "\(place)")
      }
    }
    try check(store, "all")
    for round in 0..<3 {
      try store.write { tx in
        for _ in 0..<(count / 5) {
          guard let place = pages.indices.randomElement(using: &random) else { break }
          if Bool.random(using: &random) {
            try tx.delete(pages.remove(at: place))
          } else {
            pages[place].size = Int.random(in: 0..<count, using: &random)
            try tx.update(pages[place])
          }
        }
        try check(tx, "write \(round)")
      }
      try check(store, "after \(round)")
      try store.read { try check($0, "read \(round)") }
    }
    #expect(try store.verify().isClean)
  }

  @Test("They read no record, and no entry by itself")
  func work() throws {
    var random = SeededGenerator(seed: 7_310)
    let store = try Store.temporary(for: Page.self)
    try store.write { tx in
      for number in 0..<3_000 {
        var page = Self.page(number, &random)
        try tx.insert(&page)
      }
    }
    func counters(_ query: Query<Page>) throws -> ExecutionCounters {
      try store.read { tx in
        try tx.run(query.details, of: Page.self, for: .count) { run, _ in
          let count = try run.count()
          #expect(count > 100)
          return run.counters
        }
      }
    }
    #expect(try counters(Page.where { $0.id >= "b" }).recordsExamined == 0)
    #expect(try counters(Page.where { $0.id.hasPrefix("b/") }).recordsExamined == 0)
    #expect(try counters(Page.where { $0.size > 3 }).recordsExamined == 0)
  }
}
