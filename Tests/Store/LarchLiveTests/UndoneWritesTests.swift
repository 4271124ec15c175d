import LarchTestSupport
import Testing

@testable import Larch

/// More changes than are applied at once wait for an observer, and are applied in several parts.
@Suite("Many writes that wait and undo each other")
struct UndoneWritesTests {
  private static func cards(_ numbers: ClosedRange<Int>, rank: Int = 0) -> [Card] {
    numbers.map { Card(id: "c\($0)", pile: $0 % 3, rank: rank) }
  }

  /// Writes that begin with cards 1 to 100 and end with them.
  private static let undone:
    [(what: String, writes: [@Sendable (WriteTransaction) throws -> Void])] =
      [
        (
          "all of them are applied",
          [
            { tx throws in for var card in cards(101...110) { try tx.insert(&card) } },
            { tx throws in for var card in cards(111...120) { try tx.insert(&card) } },
            { tx throws in for card in cards(101...110) { try tx.delete(card) } },
            { tx throws in for card in cards(111...120) { try tx.delete(card) } },
          ]
        ),
        (
          "one of them changes so many that the rows are read again",
          [
            { tx throws in for var card in cards(1...10, rank: 5) { try tx.save(&card) } },
            { tx throws in
              for var card in cards(1...10) + cards(11...60, rank: 5) { try tx.save(&card) }
            },
            { tx throws in for var card in cards(11...60) { try tx.save(&card) } },
          ]
        ),
      ]

  @Test("give no value", arguments: undone.indices)
  func nothing(place: Int) throws {
    let (what, writes) = Self.undone[place]
    var options = Store.Options()
    options.checksQueries = true
    let store = try Store.temporary(for: Card.self, options: options)
    defer { store.close() }
    try store.write { tx throws in
      for var card in Self.cards(1...100) { try tx.insert(&card) }
    }
    let rows = store.observe(Card.all).makeAsyncIterator().polled
    let values = store.observe(Card.select(\.rank)).makeAsyncIterator().polled
    let sections = store.observe(Card.all.sectioned(by: \.pile)).makeAsyncIterator().polled
    #expect(try rows.poll()?.value.count == 100)
    #expect(try values.poll()?.value.count == 100)
    #expect(try sections.poll()?.value.count == 3)
    for _ in 0..<2 {
      for write in writes { try store.write { tx in try write(tx) } }
      #expect(try rows.poll() == nil, "\(what)")
      #expect(try values.poll() == nil, "\(what)")
      #expect(try sections.poll() == nil, "\(what)")
    }
    // The next value does not count them.
    var card = Card(id: "new", pile: 1, rank: 1)
    try store.save(&card)
    let next = try #require(try rows.poll())
    #expect(next.rows.count == 101 && next.writeCount == 1)
    #expect(try values.poll()?.value.count == 101)
  }

  @Test("give a value if the rows are others at the end, and only then", arguments: 1...6)
  func model(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(75_000 + seed))
    var options = Store.Options()
    options.durability = .none
    options.checksQueries = seed % 2 == 0
    let store = try Store.temporary(for: Card.self, options: options)
    defer { store.close() }
    var followers = (CardQuery.patched + CardQuery.windows).map { query in
      (
        query: query, last: [Card](),
        observer: store.observe(query.query).makeAsyncIterator().polled
      )
    }
    for place in followers.indices { _ = try followers[place].observer.poll() }
    var cards: Cards = [:]
    for round in 0..<60 {
      for _ in 0..<Int.random(in: 1...60, using: &random) {
        let write = CardWrite.random(&random)
        store.run(write)
        write.apply(to: &cards)
      }
      for place in followers.indices where Bool.random(using: &random) {
        let query = followers[place].query
        let now = query.rows(cards)
        let value = try followers[place].observer.poll()
        let isRight =
          value.map { $0.rows == now && now != followers[place].last }
          ?? (now == followers[place].last)
        #expect(isRight, "seed \(seed), round \(round), \(query.name)")
        followers[place].last = now
      }
    }
  }
}
