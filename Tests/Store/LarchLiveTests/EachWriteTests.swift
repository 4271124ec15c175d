import LarchTestSupport
import Testing

@testable import Larch

@Suite("Each write by itself")
struct EachWriteTests {
  /// What comes for a write: the rows after it, and the authors since the value before.
  private struct Expected: Equatable {
    var rows: [Card]
    var authors: Set<String?>
  }

  private func store(_ seed: Int) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    options.checksQueries = seed % 3 == 0
    // The map must grow inside of groups.
    if seed % 2 == 0 { options.initialMapSize = 128 << 10 }
    return try Store.temporary(for: Card.self, options: options)
  }

  /// The values that writes must give, one by one.
  private func values(
    of query: CardQuery, _ writes: [CardWrite], ignoring author: String? = nil
  ) -> [Expected] {
    var cards: Cards = [:]
    var last = query.rows(cards)
    var authors: Set<String?> = []
    var values: [Expected] = []
    for write in writes {
      write.apply(to: &cards)
      let rows = query.rows(cards)
      if rows == last { continue }
      last = rows
      authors.insert(write.author)
      if author != nil, write.author == author { continue }
      values.append(Expected(rows: rows, authors: authors))
      authors = []
    }
    return values
  }

  @Test(
    "comes if it changed the rows, in order, also if writes share a commit", arguments: 1...6)
  func each(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(61_000 + seed))
    let store = try store(seed)
    defer { store.close() }
    let found = Locked<[String: [Observed<[Card]>]]>([:])
    var tokens: [ObservationToken] = []
    for query in CardQuery.patched {
      for ignored in [nil, "ui"] as [String?] {
        let key = query.name + (ignored ?? "")
        tokens.append(
          store.observe(query.query, ignoring: ignored, delivery: .each) { value in
            found.withLock { $0[key, default: []].append(value) }
          })
      }
      let key = query.name + "newest"
      tokens.append(
        store.observe(query.query) { value in
          found.withLock { $0[key, default: []].append(value) }
        })
    }
    for token in tokens { await token.settled() }
    let proof = try ChangeProof(store)
    let runs = Locked(0)
    var all: [CardWrite] = []
    for round in 0..<12 {
      let writes = (0..<Int.random(in: 1...30, using: &random)).map { _ in
        CardWrite.random(&random, largest: seed % 2 == 0 ? 6_000 : 0)
      }
      all += writes
      await store.writeTogether(writes) { number, tx in
        runs.withLock { $0 += 1 }
        try writes[number].run(tx)
      }
      for token in tokens { await token.settled() }
      // Whoever wants the whole commit gets what he got before.
      try proof.check("seed \(seed), round \(round)")
    }
    if seed % 2 == 0 { #expect(runs.withLock { $0 } > all.count) }
    for query in CardQuery.patched {
      let comment = "seed \(seed), \(query.name)" as Comment
      for ignored in [nil, "ui"] as [String?] {
        let observed = try #require(found.withLock { $0[query.name + (ignored ?? "")] })
        let expected = values(of: query, all, ignoring: ignored)
        #expect(observed[0].rows.isEmpty && observed[0].writeCount == 0, comment)
        #expect(observed[0].authors.isEmpty, comment)
        #expect(
          observed.dropFirst().map { Expected(rows: $0.rows, authors: $0.authors) } == expected,
          comment)
        #expect(zip(observed, observed.dropFirst()).allSatisfy { $0.version <= $1.version })
        if ignored == nil {
          #expect(observed.dropFirst().allSatisfy { $0.writeCount == 1 }, comment)
          if query.name == "all" {
            #expect(Set(observed.map(\.version)).count < observed.count / 2, comment)
          }
        }
      }
      let newest = try #require(found.withLock { $0[query.name + "newest"] })
      #expect(newest.last?.rows == values(of: query, all).last?.rows, comment)
      #expect(zip(newest, newest.dropFirst()).allSatisfy { $0.version < $1.version })
    }
  }

  @Test("when more than 64 wait, neighbours are merged and none is lost", arguments: 1...4)
  func merged(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(62_000 + seed))
    let store = try store(seed)
    defer { store.close() }
    let observers = CardQuery.patched.map {
      store.observe($0.query, delivery: .each).makeAsyncIterator().polled
    }
    for observer in observers { _ = try observer.poll() }
    var all: [CardWrite] = []
    for count in [20, 64, 65, 200, 600] {
      let before = all.count
      let writes = (0..<count).map { _ in CardWrite.random(&random) }
      if Bool.random(using: &random) {
        await store.writeTogether(writes)
      } else {
        for write in writes { store.run(write) }
      }
      all += writes
      for (query, observer) in zip(CardQuery.patched, observers) {
        let comment = "seed \(seed), \(query.name), \(count) writes" as Comment
        let known = values(of: query, all)
        var place = values(of: query, Array(all.prefix(before))).count
        let waiting = known.count - place
        var values: [Observed<[Card]>] = []
        while let value = try observer.poll() {
          values.append(value)
          place += value.writeCount
          try #require(place <= known.count, comment)
          #expect(value.rows == known[place - 1].rows, comment)
        }
        #expect(place == known.count, comment)
        #expect(values.count <= WaitingWrites.limit, comment)
        if count <= 64 { #expect(values.count == waiting, comment) }
        #expect(observer.reads == 1, comment)
      }
    }
  }

  @Test(
    "windows, and what a closure reads, come merged, and the last state comes", arguments: 1...3)
  func reread(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(63_000 + seed))
    let store = try store(seed)
    defer { store.close() }
    let windows = CardQuery.windows
    let observers = windows.map {
      store.observe($0.query, delivery: .each).makeAsyncIterator().polled
    }
    let closures = windows.map { window in
      store.observe(delivery: .each) { try $0.fetch(window.query) }.makeAsyncIterator().polled
    }
    var states: [Cards] = [[:]]
    var last = [[Card]](repeating: [], count: observers.count * 2)
    for (place, observer) in (observers + closures).enumerated() {
      last[place] = try #require(try observer.poll()).rows
    }
    for round in 0..<40 {
      let writes = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        CardWrite.random(&random)
      }
      await store.writeTogether(writes)
      let start = states.count - 1
      for write in writes {
        states.append(states[states.count - 1])
        write.apply(to: &states[states.count - 1])
      }
      for (place, observer) in (observers + closures).enumerated() {
        let window = windows[place % windows.count]
        let comment = "seed \(seed), round \(round), \(window.name) \(place)" as Comment
        var state = start
        while let value = try observer.poll() {
          // Each is a later state than the one before.
          let next = states.indices.first {
            $0 > state && window.rows(states[$0]) == value.rows
          }
          state = try #require(next, comment)
          last[place] = value.rows
        }
        #expect(last[place] == window.rows(states[states.count - 1]), comment)
      }
    }
  }

  @Test("a loop gets the writes that came while it was busy")
  func loop() async throws {
    let store = try Store.temporary(for: Card.self)
    let iterator = store.observe(Card.all, delivery: .each).makeAsyncIterator()
    #expect(try await iterator.next()?.rows.isEmpty == true)
    for rank in 0..<5 { try store.put(Card(id: "a", pile: 0, rank: rank)) }
    for rank in 0..<5 { #expect(try await iterator.next()?.rows.map(\.rank) == [rank]) }
    store.close()
    #expect(try await iterator.next() == nil)
  }

  @Test("with an interval, writes are merged")
  func paced() async throws {
    let store = try Store.temporary(for: Card.self)
    let clock = ManualClock()
    let observer = Observer(
      store, Card.all.observedRead(), ObservationPace(.seconds(1), clock),
      ObservationRules(delivery: .each))
    _ = try observer.poll()
    for rank in 0..<5 { try store.put(Card(id: "a", pile: 0, rank: rank)) }
    let value = try #require(try observer.poll())
    #expect(value.rows.map(\.rank) == [4] && value.writeCount == 5)
    #expect(try observer.poll() == nil)
  }

  @Test("an observer of the newest state knows how many writes are in it, and whose")
  func newest() async throws {
    let store = try Store.temporary(for: Card.self)
    let observer = store.observe(Card.all).makeAsyncIterator().polled
    let first = try #require(try observer.poll())
    #expect(first.writeCount == 0 && first.authors.isEmpty)
    try store.put(Card(id: "a", pile: 0, rank: 0), by: "ui")
    let second = try #require(try observer.poll())
    #expect(second.writeCount == 1 && second.authors == ["ui"])
    for rank in 1...100 {
      try store.put(Card(id: "a", pile: 0, rank: rank), by: rank % 2 == 0 ? "ui" : "sync")
    }
    let third = try #require(try observer.poll())
    #expect(third.writeCount == 100 && third.authors == ["ui", "sync"])
    await store.writeTogether([
      CardWrite("ui", [.put(Card(id: "b", pile: 0, rank: 0))]),
      CardWrite(nil, [.put(Card(id: "c", pile: 0, rank: 0))]),
    ])
    let fourth = try #require(try observer.poll())
    #expect(fourth.writeCount == 2 && fourth.authors == ["ui", nil])
    #expect(fourth != third && fourth == fourth)
  }
}
