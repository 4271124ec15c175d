import LarchTestSupport
import Testing

@testable import Larch

/// Many observers of few requests, that begin and end at random, against a model.
@Suite("Many observers of equal requests", .serialized)
struct SharedRowModelTests {
  /// An observer and what it has delivered last.
  private struct Follower {
    let query: CardQuery
    let kind: Kind
    let poll: () throws -> Observed<[Card]>?
    var last: [Card] = []
    /// The number of writes whose state it has.
    var seen = 0
    var version = StoreVersion(0)

    enum Kind: CaseIterable { case newest, each, ignoring }

    init(_ store: Store, _ query: CardQuery, _ kind: Kind) throws {
      let observer = store.observe(
        query.query, ignoring: kind == .ignoring ? "ui" : nil,
        delivery: kind == .each ? .each : .newest
      ).makeAsyncIterator().polled
      self.query = query
      self.kind = kind
      poll = observer.poll
    }
  }

  /// Without the one with a closure, whose rows nobody shares.
  private static var queries: [CardQuery] {
    CardQuery.patched.filter { $0.name != "closure" }
      + CardQuery.windows.filter { $0.name != "page" }
  }

  private static func isPatched(_ query: CardQuery) -> Bool {
    CardQuery.patched.contains { $0.name == query.name }
  }

  @Test("each value is that of the model, and changes lead from one to the next", arguments: 1...8)
  func differential(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(71_000 + seed))
    var options = Store.Options()
    options.durability = .none
    options.checksQueries = seed % 2 == 0
    let store = try Store.temporary(for: Card.self, options: options)
    defer { store.close() }
    // Those of a run concern few requests, so that many are equal.
    let queries = Array(Self.queries.shuffled(using: &random).prefix(3))
    var states: [Cards] = [[:]]
    var followers: [Follower] = []
    var values = 0
    for round in 0..<150 {
      while followers.count < 30, Int.random(in: 0..<3, using: &random) > 0 {
        var follower = try Follower(
          store, queries.randomElement(using: &random)!,
          Follower.Kind.allCases.randomElement(using: &random)!)
        let first = try #require(try follower.poll())
        #expect(first.rows == follower.query.rows(states[states.count - 1]))
        #expect(first.version == (try store.version))
        (follower.last, follower.seen) = (first.rows, states.count - 1)
        follower.version = first.version
        followers.insert(follower, at: Int.random(in: 0...followers.count, using: &random))
      }
      let writes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        CardWrite.random(&random)
      }
      if Bool.random(using: &random) {
        await store.writeTogether(writes)
      } else {
        for write in writes { store.run(write) }
      }
      for write in writes {
        var cards = states[states.count - 1]
        write.apply(to: &cards)
        states.append(cards)
      }
      for place in followers.indices where Int.random(in: 0..<3, using: &random) > 0 {
        let follower = followers[place]
        let comment =
          "seed \(seed), round \(round), \(follower.query.name) \(follower.kind)" as Comment
        values += try check(&followers[place], states, try store.version, comment)
      }
      if round % 10 == 9 {
        followers.removeAll { _ in Int.random(in: 0..<3, using: &random) == 0 }
        #expect(store.shared.count == Set(followers.map(\.query.name)).count)
      }
    }
    #expect(values > 500)
    followers = []
    #expect(store.shared.count == 0)
  }

  /// Takes what waits for an observer. Returns how many values it had.
  private func check(
    _ follower: inout Follower, _ states: [Cards], _ version: StoreVersion, _ comment: Comment
  ) throws -> Int {
    let now = follower.query.rows(states[states.count - 1])
    var values: [Observed<[Card]>] = []
    while let value = try follower.poll() {
      let changes = value.changes(from: follower.last)
      let difference = changes.difference(from: follower.last, to: value.rows)
      #expect(follower.last.applying(difference) == value.rows, comment)
      #expect(value.version >= follower.version && value.version <= version, comment)
      (follower.last, follower.version) = (value.rows, value.version)
      values.append(value)
    }
    switch follower.kind {
    case .newest:
      #expect(values.count <= 1, comment)
      #expect(follower.last == now, comment)
    case .each where Self.isPatched(follower.query):
      var expected: [[Card]] = []
      var last = follower.query.rows(states[follower.seen])
      for state in states[(follower.seen + 1)...] {
        let rows = follower.query.rows(state)
        if rows != last { expected.append(rows) }
        last = rows
      }
      // More are merged.
      if expected.count < 40 { #expect(values.map(\.rows) == expected, comment) }
    case .each: #expect(follower.last == now, comment)
    case .ignoring: if let last = values.last { #expect(last.rows == now, comment) }
    }
    follower.seen = states.count - 1
    return values.count
  }

  @Test(
    "closures beside a writer get states of the store, in order, and the last one", arguments: 1...3
  )
  func concurrent(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(72_000 + seed))
    var options = Store.Options()
    options.durability = .none
    let store = try Store.temporary(for: Card.self, options: options)
    defer { store.close() }
    let found = Locked<[Int: [Observed<[Card]>]]>([:])
    var tokens: [(number: Int, query: CardQuery, token: ObservationToken)] = []
    var all: [(number: Int, query: CardQuery)] = []
    var states: [StoreVersion: Cards] = [try store.version: [:]]
    var cards: Cards = [:]
    for round in 0..<200 {
      if tokens.count < 30 {
        let (number, query) = (all.count, Self.queries.randomElement(using: &random)!)
        all.append((number, query))
        tokens.append(
          (
            number, query,
            store.observe(query.query, first: round % 2 == 0 ? .now : .later) { value in
              found.withLock { $0[number, default: []].append(value) }
            }
          ))
      }
      let write = CardWrite.random(&random)
      store.run(write)
      write.apply(to: &cards)
      states[try store.version] = cards
      if round % 7 == 0, !tokens.isEmpty {
        let place = Int.random(in: 0..<tokens.count, using: &random)
        tokens.remove(at: place).token.cancel()
      }
      if round % 5 == 0 { await Task.yield() }
    }
    for token in tokens { await token.token.settled() }
    for (number, query) in all {
      let values = found.withLock { $0[number] ?? [] }
      #expect(zip(values, values.dropFirst()).allSatisfy { $0.version < $1.version })
      #expect(zip(values, values.dropFirst()).allSatisfy { $0.rows != $1.rows })
      for value in values {
        let state = try #require(states[value.version])
        #expect(value.rows == query.rows(state), "seed \(seed), \(query.name)")
      }
    }
    for (number, query, _) in tokens {
      #expect(found.withLock { $0[number]?.last?.rows } == query.rows(cards))
    }
  }
}
