import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Texts that resemble queries: each is answered or refused.
@Suite struct RandomTextTests {
  private static let pieces = [
    "and", "or", "not", "(", ")", "in", "between", "like", "is", "nil", "'", "\"", "`", "\\",
    "\\u{",
    "ignoring case", "order by", "limit", "offset", "desc", ",", ".", "=", "<", ">=", "!", "-",
    "0x",
    "2024-02-29", "2024-", "T10:00", "1e9", "99999999999999999999999", "inf", "nan", "has",
    "contains",
    "?", ":x", ":",
    "text", "number", "tags", "place.city", "price", "extra", "holes", "id", "\u{0}", "\u{301}",
    "\u{1F468}\u{200D}\u{1F469}", "\r\n", "%", "_", "true",
  ]

  @Test func changedQueriesAreAnsweredOrRefused() throws {
    var random = SeededGenerator(seed: 77)
    let store = try Store.temporary(for: Thing<SecondIndexes>.self)
    defer { store.close() }
    try store.write { tx in
      for _ in 0..<20 {
        var thing = random.thing(SecondIndexes.self)
        try tx.save(&thing)
      }
    }
    var answered = 0
    var refused = 0
    try store.inspect { inspector in
      let collection = try #require(inspector.collections.first)
      for _ in 0..<3_000 {
        let filter = RandomFilter<SecondIndexes>.random(&random, depth: 3)
        let text = changed(
          filter.text + RandomOrder<SecondIndexes>.random(&random).text, &random)
        do {
          let query = try inspector.query(text, in: collection)
          #expect(
            try store.count(Thing<SecondIndexes>.query(text: text)) == query.count(), "\(text)")
          var rows = 0
          try query.forEach { _ in
            rows += 1
            return true
          }
          #expect(try query.count() == rows, "\(text)")
          #expect(try !query.explain().isEmpty)
          answered += 1
        } catch let error as QueryTextError {
          #expect(error.column >= 1 && error.column <= text.count + 1, "\(text)")
          #expect(!error.description.contains("\n"), "\(text)")
          #expect(error.description.count < 1_000, "\(text)")
          refused += 1
          if text.contains("?") || text.contains(":x") {
            let number = random.below(4)
            let query = try? Thing<SecondIndexes>.query(text: text, number, named: ["x": "a"])
            if let query { _ = try store.count(query) }
          } else {
            let error = caught { _ = try Thing<SecondIndexes>.query(text: text) }
            #expect(error?.code == .invalidQuery, "\(text)")
            #expect(error?.context.detail?.contains("\n") == false, "\(text)")
          }
        }
      }
    }
    #expect(answered > 200)
    #expect(refused > 1_000)
  }

  /// The text with a few characters removed, doubled, swapped or inserted.
  private func changed(_ text: String, _ random: inout SeededGenerator) -> String {
    var characters = Array(text)
    for _ in 0..<1 + random.below(3) {
      let place = random.below(characters.count + 1)
      let end = min(characters.count, place + 1 + random.below(4))
      switch random.below(5) {
      case 0: characters.removeSubrange(place..<max(place, end))
      case 1: characters.insert(contentsOf: characters[place..<max(place, end)], at: place)
      case 2:
        if place < characters.count {
          characters.swapAt(place, random.below(characters.count))
        }
      case 3: characters.insert(contentsOf: " \(random.pick(Self.pieces)) ", at: place)
      default: characters.insert(contentsOf: random.pick(Self.pieces), at: place)
      }
    }
    return String(characters)
  }
}
