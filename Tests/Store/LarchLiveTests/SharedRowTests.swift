import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observers of equal requests share their rows")
struct SharedRowTests {
  private func store(_ seed: Int = 1) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    options.checksQueries = seed % 2 == 0
    return try Store.temporary(for: Card.self, options: options)
  }

  private func core(_ observer: Observer<[Card]>) throws -> RowCore<Query<Card>> {
    try #require(observer.patcher as? RowPatcher<Query<Card>>).core
  }

  private func observers(
    _ store: Store, _ count: Int, _ query: @autoclosure () -> Query<Card> = Card.all,
    delivery: ObservationDelivery = .newest
  ) throws -> [Observer<[Card]>] {
    let observers = (0..<count).map { _ in
      store.observe(query(), delivery: delivery).makeAsyncIterator().polled
    }
    for observer in observers { _ = try observer.poll() }
    return observers
  }

  // MARK: What is shared

  @Test("a hundred of them read once, patch once for each change, and keep one array")
  func once() throws {
    let store = try store()
    try store.write { tx in
      for number in 0..<500 { try tx.put(Card(id: "\(number)", pile: number % 3, rank: number)) }
    }
    let all = try observers(store, 100, Card.where { $0.pile == 1 }.sorted(by: \.rank))
    let core = try core(all[0])
    #expect(core.reads == 1 && store.shared.count == 1)
    for round in 0..<20 {
      try store.put(Card(id: "new \(round)", pile: 1, rank: round * 7))
      var arrays: Set<UnsafeRawPointer> = []
      for observer in all {
        let rows = try #require(try observer.poll()).rows
        #expect(rows.count == 168 + round)
        rows.withUnsafeBytes { bytes in
          if let start = bytes.baseAddress { arrays.insert(start) }
        }
      }
      #expect(arrays.count == 1)
      #expect(core.patches == round + 1)
    }
    #expect(core.reads == 1)
    #expect(all.allSatisfy { $0.reads == 1 && $0.patches == 20 })
  }

  @Test("one that begins inside a transaction has rows of its own, and waits for nobody")
  func insideTransaction() throws {
    let store = try store()
    try store.put(Card(id: "a", pile: 1, rank: 1))
    let outside = try observers(store, 1)[0]
    try core(outside).exclusively {
      try store.read { _ in
        let inside = try observers(store, 1)[0]
        #expect(try core(inside) !== core(outside))
        try store.put(Card(id: "b", pile: 1, rank: 1))
        #expect(try inside.poll()?.rows.count == 2)
      }
    }
    #expect(try outside.poll()?.rows.count == 2)
    #expect(store.shared.count == 1)
  }

  @Test("but one that wants whole commits takes no rows of the middle of a commit")
  func middle() async throws {
    let store = try store(2)
    let (before, between) = (Card(id: "a", pile: 1, rank: 1), Card(id: "a", pile: 1, rank: 2))
    try store.put(before)
    let each = try observers(store, 1, delivery: .each)[0]
    let newest = try observers(store, 2)
    let core = try core(each)
    #expect(try newest.allSatisfy { try self.core($0) === core })
    // Another record, so that the whole commit is a change and yet not one of the first record.
    let other = Card(id: "b", pile: 2, rank: 3)
    let cards = [between, before, other]
    await store.writeTogether(cards.map { CardWrite(nil, [.put($0)]) })
    #expect(try each.poll()?.rows == [between])
    #expect(try newest[0].poll()?.rows == [before, other])
    #expect(try each.poll()?.rows == [before])
    #expect(try newest[1].poll()?.rows == [before, other])
    #expect(try each.poll()?.rows == [before, other])
    try await store.write { _ = try $0.delete(Card.self, "a") }
    for observer in newest + [each] { #expect(try observer.poll()?.rows == [other]) }
  }

  /// Several commits that change nothing together moved the rows of all on, as if they had been the
  /// same all the time.
  @Test("one that wants each write gets those that another one saw as nothing")
  func nothingTogether() async throws {
    for seed in 1...2 {
      let store = try store(seed)
      let (first, second) = (Card(id: "a", pile: 1, rank: 1), Card(id: "a", pile: 1, rank: 2))
      let newest = try observers(store, 2)
      let each = try observers(store, 1, delivery: .each)[0]
      try store.put(first)
      try await store.write { _ = try $0.delete(Card.self, "a") }
      for observer in newest { #expect(try observer.poll() == nil) }
      #expect(try each.poll()?.rows == [first])
      #expect(try each.poll()?.rows.isEmpty == true)
      #expect(try each.poll() == nil)
      // The same in one commit.
      await store.writeTogether(
        [first, second, first].map { CardWrite(nil, [.put($0)]) })
      #expect(try each.poll()?.rows == [first])
      for observer in newest { #expect(try observer.poll()?.rows == [first]) }
      await store.writeTogether([second, first].map { CardWrite(nil, [.put($0)]) })
      for observer in newest { #expect(try observer.poll() == nil) }
      for rank in [2, 1, 2, 1] { #expect(try each.poll()?.rows.first?.rank == rank) }
      #expect(try each.poll() == nil)
      try store.put(second)
      for observer in newest + [each] { #expect(try observer.poll()?.rows == [second]) }
    }
  }

  @Test("also if too much has changed, so that they must read again")
  func readAgain() throws {
    let store = try store()
    let all = try observers(store, 20)
    let core = try core(all[0])
    try store.write { tx in
      for number in 0..<200 { try tx.put(Card(id: "\(number)", pile: 0, rank: 0)) }
    }
    for observer in all { #expect(try observer.poll()?.rows.count == 200) }
    #expect(core.reads == 2 && core.patches == 0)
    for observer in all { #expect(try observer.poll() == nil) }
  }

  @Test("one that begins later has the rows of those that are there, also after other commits")
  func later() throws {
    let store = try store()
    for number in 0..<9 { try store.put(Card(id: "\(number)", pile: number % 3, rank: 0)) }
    let first = try observers(store, 1, Card.where { $0.pile == 1 })
    // The rows are the same, and the state is another one.
    try store.put(Card(id: "other", pile: 2, rank: 0))
    let second = try observers(store, 1, Card.where { $0.pile == 1 })
    #expect(try core(first[0]) === core(second[0]))
    try store.put(Card(id: "new", pile: 1, rank: 0))
    for observer in first + second { #expect(try observer.poll()?.rows.count == 4) }
    #expect(try core(first[0]).patches == 1)
  }

  @Test(
    "only equal requests: not those with another constant, limit, order, kind or rule for authors")
  func different() throws {
    let store = try store()
    let many = (0..<50).flatMap { number in
      [
        Card.where { $0.rank == number }, Card.where { $0.rank > number },
        Card.all.limit(number + 1), Card.where { $0.text == "\(number)" },
      ]
    }
    let queries = many.map { store.observe($0).makeAsyncIterator().polled }
    for observer in queries { _ = try observer.poll() }
    #expect(store.shared.count == queries.count)
    let piles = store.observe(Card.all.select(\.pile)).makeAsyncIterator().polled
    let ranks = store.observe(Card.all.select(\.rank)).makeAsyncIterator().polled
    let both = store.observe(Card.all.select(\.pile, \.rank)).makeAsyncIterator().polled
    let turned = store.observe(Card.all.select(\.rank, \.pile)).makeAsyncIterator().polled
    let again = store.observe(Card.all.select(\.pile)).makeAsyncIterator().polled
    for poll in [piles.poll, ranks.poll, again.poll] { _ = try poll() }
    _ = try (both.poll(), turned.poll())
    #expect(store.shared.count == queries.count + 4)
    // Two closures may do the same, and nobody knows.
    for _ in 0..<2 {
      let closure = store.observe(Card.all.filter { $0.rank > 3 }).makeAsyncIterator().polled
      _ = try closure.poll()
      #expect(store.shared.count == queries.count + 4)
    }
    // The rule of delivery belongs to the observer, and the rows are the same.
    let each = store.observe(Card.all.select(\.pile), delivery: .each).makeAsyncIterator().polled
    _ = try each.poll()
    #expect(store.shared.count == queries.count + 4)
    try store.put(Card(id: "a", pile: 1, rank: 2))
    #expect(try piles.poll()?.rows == [1])
    #expect(try ranks.poll()?.rows == [2])
    #expect(try both.poll()?.rows.first.map { $0 == (1, 2) } == true)
    #expect(try turned.poll()?.rows.first.map { $0 == (2, 1) } == true)
    withExtendedLifetime(queries) {}
  }

  @Test("what they share ends with the last of them, or when they are cancelled")
  func dropped() async throws {
    let store = try store()
    try store.put(Card(id: "a", pile: 0, rank: 0))
    weak var kept: RowCore<Query<Card>>?
    do {
      var all = try observers(store, 10)
      kept = try core(all[0])
      all.removeFirst(9)
      #expect(store.shared.count == 1 && kept != nil)
      try store.put(Card(id: "b", pile: 0, rank: 0))
      #expect(try all[0].poll()?.rows.count == 2)
    }
    #expect(store.shared.count == 0 && kept == nil)
    let tokens = (0..<10).map { _ in store.observe(Card.all) { _ in } }
    for token in tokens { await token.settled() }
    #expect(store.shared.count == 1)
    for token in tokens { token.cancel() }
    for token in tokens { await token.settled() }
    #expect(store.shared.count == 0)
    withExtendedLifetime(tokens) {}
  }

  @Test("one that is slow keeps its own state, and the others go on")
  func slow() throws {
    let store = try store()
    let quick = try observers(store, 3)
    let slow = try observers(store, 3, delivery: .each)
    for rank in 0..<20 {
      try store.put(Card(id: "a", pile: 0, rank: rank))
      for observer in quick { #expect(try observer.poll()?.rows.map(\.rank) == [rank]) }
    }
    for observer in slow {
      for rank in 0..<20 {
        let value = try #require(try observer.poll())
        #expect(value.rows.map(\.rank) == [rank] && value.writeCount == 1)
      }
      #expect(try observer.poll() == nil && observer.reads == 1)
    }
    // All are in the same state again.
    let patches = try core(quick[0]).patches
    try store.put(Card(id: "b", pile: 0, rank: 0))
    for observer in quick + slow { #expect(try observer.poll()?.rows.count == 2) }
    #expect(try core(quick[0]).patches == patches + 1)
  }

  @Test("rows that changed and changed back are not new for one that missed both")
  func undone() throws {
    let store = try store()
    try store.put(Card(id: "a", pile: 0, rank: 0))
    let all = try observers(store, 3)
    let fields = (0..<3).map { _ in
      store.observe(Card.all.select(\.rank)).makeAsyncIterator().polled
    }
    for observer in fields { _ = try observer.poll() }
    for rank in [1, 0] {
      try store.put(Card(id: "a", pile: 0, rank: rank))
      #expect(try all[0].poll() != nil && fields[0].poll() != nil)
    }
    for place in 1..<3 {
      #expect(try all[place].poll() == nil && fields[place].poll() == nil)
    }
  }

  @Test("a row that is pushed out of a window and read again is read once for all")
  func window() throws {
    let store = try store()
    for number in 0..<200 { try store.put(Card(id: "c\(1_000 + number)", pile: 0, rank: 0)) }
    let all = try observers(store, 10, Card.all.limit(20))
    let core = try core(all[0])
    for number in 0..<60 {
      try store.write { try $0.delete(Card.self, "c\(1_000 + number)") }
      let expected = try store.fetch(Card.all.limit(20))
      for observer in all { #expect(try observer.poll()?.rows == expected) }
    }
    #expect(core.reads <= 4)
  }
}
