import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observers that ignore an author")
struct AuthorTests {
  private func card(_ id: String, _ rank: Int = 0) -> Card { Card(id: id, pile: 0, rank: rank) }

  private func write(_ store: Store, _ author: String?, _ cards: Card...) throws {
    try store.write(author: author) { tx in for card in cards { try tx.put(card) } }
  }

  /// What must come, may come and must not come for writes that wait together.
  private enum Due { case value, either, nothing }

  /// Neighbours of one kind count as one change, as far as they change the rows.
  ///
  /// - Parameter isPatched: whether the rows are not read again. Otherwise only filters tell whose
  ///   writes have changed them.
  private func due(
    _ writes: [CardWrite], ignoring author: String, from cards: Cards, isPatched: Bool,
    _ rows: (Cards) -> [Card]
  ) -> Due {
    var now = cards
    var (othersChange, ignoredChange) = (false, false)
    /// The writes that change the rows: by whom, and the rows after them.
    var steps: [(isIgnored: Bool, rows: [Card])] = []
    for write in writes {
      let (before, isIgnored) = (now, write.author == author)
      write.apply(to: &now)
      if before == now { continue }
      if isIgnored { ignoredChange = true } else { othersChange = true }
      if rows(before) != rows(now) { steps.append((isIgnored, rows(now))) }
    }
    var (isDue, start) = (false, rows(cards))
    for (place, step) in steps.enumerated() {
      if place + 1 < steps.count, steps[place + 1].isIgnored == step.isIgnored { continue }
      if !step.isIgnored, step.rows != start { isDue = true }
      start = step.rows
    }
    let isSame = rows(now) == rows(cards)
    if isPatched {
      return isDue ? .value : steps.contains { !$0.isIgnored } ? .either : .nothing
    }
    if isDue, !isSame || steps.contains(where: \.isIgnored) { return .value }
    return othersChange && (ignoredChange || !isSame) ? .either : .nothing
  }

  @Test("get a value exactly if another author changed the rows", arguments: 1...6)
  func differential(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(64_000 + seed))
    let store =
      try seed % 2 == 0 ? Store.checked(for: Card.self) : Store.temporary(for: Card.self)
    defer { store.close() }
    let queries = CardQuery.patched + CardQuery.windows
    var kinds: [(query: CardQuery, isPatched: Bool, observer: Observer<[Card]>)] = []
    for query in queries {
      let isPatched = kinds.count < CardQuery.patched.count
      let rows = store.observe(query.query, ignoring: "ui")
      kinds.append((query, isPatched, rows.makeAsyncIterator().polled))
    }
    for query in queries {
      let read = store.observe(ignoring: "ui") { try $0.fetch(query.query) }
      kinds.append((query, false, read.makeAsyncIterator().polled))
    }
    let record = CardQuery(name: "record", query: Card.all) { $0["c3"].map { [$0] } ?? [] }
    let one = store.observe(Card.self, "c3", ignoring: "ui").makeAsyncIterator().polled
    for kind in kinds { #expect(try kind.observer.poll()?.rows == []) }
    _ = try one.poll()
    var cards: Cards = [:]
    var waiting = [[CardWrite]](repeating: [], count: kinds.count + 1)
    var start = [Cards](repeating: [:], count: kinds.count + 1)
    var counts: [String: Int] = [:]
    for round in 0..<150 {
      let writes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        CardWrite.random(&random)
      }
      if Bool.random(using: &random) {
        await store.writeTogether(writes)
      } else {
        for write in writes { store.run(write) }
      }
      for write in writes { write.apply(to: &cards) }
      for place in waiting.indices {
        waiting[place] += writes
        // Some get the changes of several rounds at once.
        if round % (1 + place % 3) != 0 { continue }
        let query = place < kinds.count ? kinds[place].query : record
        let comment = "seed \(seed), round \(round), \(query.name) \(place)" as Comment
        let due = due(
          waiting[place], ignoring: "ui", from: start[place],
          isPatched: place < kinds.count && kinds[place].isPatched, query.rows)
        (waiting[place], start[place]) = ([], cards)
        let found =
          try place < kinds.count
          ? kinds[place].observer.poll()?.value : one.poll().map { $0.value.map { [$0] } ?? [] }
        if let found { #expect(found == query.rows(cards), comment) }
        switch due {
        case .value: #expect(found != nil, comment)
        case .nothing: #expect(found == nil, comment)
        case .either: break
        }
        counts["\(due) \(found != nil)", default: 0] += 1
      }
    }
    #expect(counts["value true", default: 0] > 300)
    #expect(counts["nothing false", default: 0] > 300)
  }

  @Test("hear of somebody else who undoes what they ignored")
  func undone() async throws {
    let store = try Store.temporary(for: Card.self)
    try write(store, nil, card("a"))
    let rows = store.observe(Card.all, ignoring: "ui").makeAsyncIterator().polled
    let read = store.observe(ignoring: "ui") { try $0.fetch(Card.all) }.makeAsyncIterator().polled
    let polls = [rows.poll, read.poll]
    for poll in polls { #expect(try poll()?.rows == [card("a")]) }
    // At once, and each by itself.
    for isTogether in [true, false] {
      try write(store, "ui", card("a", 1))
      if !isTogether { for poll in polls { #expect(try poll() == nil) } }
      try write(store, "sync", card("a", 0))
      for poll in polls {
        let value = try poll()
        #expect(value?.rows == [card("a")])
        #expect(value?.authors == ["ui", "sync"])
        #expect(value?.writeCount == 2)
        #expect(try poll() == nil)
      }
    }
    // An ignored write that sets what is there already.
    try write(store, "ui", card("a", 2))
    try write(store, "sync", card("a", 2))
    #expect(try rows.poll() == nil)
    // What is read again may come once too often, and never too seldom.
    _ = try read.poll()
    try write(store, "sync", card("a", 3))
    for poll in polls { #expect(try poll()?.rows == [card("a", 3)]) }
  }

  /// The view that made the ignored change shows it, and must hear that it was undone.
  @Test(
    "hear of it beside an equal observer that saw nothing, and of a number that is the same again")
  func undoneBesideOthers() throws {
    let store = try Store.temporary(for: Card.self)
    try write(store, nil, card("a"))
    let plain = store.observe(Card.all).makeAsyncIterator().polled
    let rows = store.observe(Card.all, ignoring: "ui").makeAsyncIterator().polled
    let count = store.observe(ignoring: "ui") { try $0.count(Card.where { $0.rank == 1 }) }
      .makeAsyncIterator().polled
    _ = try (plain.poll(), rows.poll(), count.poll())
    try write(store, "ui", card("a", 1))
    try write(store, "sync", card("a", 0))
    #expect(try plain.poll() == nil)
    #expect(try rows.poll()?.rows == [card("a")])
    #expect(try count.poll()?.value == 0)
    for observer in [plain.poll, rows.poll] { #expect(try observer() == nil) }
    #expect(try count.poll() == nil)
    // All of it ignored, or none of it, is nothing.
    for author in ["ui", "sync"] {
      try write(store, author, card("a", 1))
      try write(store, author, card("a", 0))
      #expect(try rows.poll() == nil)
      #expect(try count.poll() == nil)
    }
  }

  @Test("lose no other write that shares the commit of an ignored one")
  func shared() async throws {
    let store = try Store.temporary(for: Card.self)
    let observer = store.observe(Card.all, ignoring: "ui").makeAsyncIterator().polled
    _ = try observer.poll()
    await store.writeTogether([
      CardWrite("ui", [.put(card("a"))]), CardWrite("sync", [.put(card("b"))]),
      CardWrite("ui", [.put(card("c"))]),
    ])
    let both = try #require(try observer.poll())
    #expect(both.rows.map(\.id) == ["a", "b", "c"])
    #expect(both.authors == ["ui", "sync"] && both.writeCount == 3)
    await store.writeTogether([
      CardWrite("ui", [.put(card("d"))]), CardWrite("ui", [.put(card("e"))]),
    ])
    #expect(try observer.poll() == nil)
    try write(store, nil, card("f"))
    let last = try #require(try observer.poll())
    #expect(last.rows.count == 6 && last.authors == ["ui", nil] && last.writeCount == 3)
  }

  @Test("stay silent after any number of ignored writes")
  func many() async throws {
    let store = try Store.temporary(for: Card.self)
    let observer = store.observe(Card.all, ignoring: "ui").makeAsyncIterator().polled
    _ = try observer.poll()
    for rank in 0..<300 { try write(store, "ui", card("a", rank)) }
    #expect(try observer.poll() == nil)
    // More than the memory for them: the records are not known any more, but the authors are.
    let text = String(repeating: "x", count: 100_000)
    for rank in 0..<100 {
      try write(store, "ui", Card(id: "a", pile: 0, rank: rank, text: text))
    }
    #expect(try observer.poll() == nil)
    for rank in 0..<100 {
      try write(store, rank == 7 ? nil : "ui", Card(id: "a", pile: 0, rank: rank, text: text))
    }
    let value = try #require(try observer.poll())
    #expect(value.rows.first?.rank == 99)
    #expect(value.authors == ["ui", nil] && value.writeCount == 500)
  }

  @Test("of all forms hear only of others")
  @MainActor
  func forms() async throws {
    let store = try Store.temporary(for: Card.self)
    try write(store, nil, card("a"))
    let (a, queried) = (card("a").id, Card.all)
    let found = Locked<[String]>([])
    @Sendable func note(_ name: String) { found.withLock { $0.append(name) } }
    let tokens = [
      store.observe(queried, ignoring: "ui") { _ in note("query") },
      store.observe(Card.self, a, ignoring: "ui") { _ in note("record") },
      store.observe(ignoring: "ui", { try $0.count(queried) }, onChange: { _ in note("count") }),
      store.observe(ignoring: "ui", { try $0.fetch(queried) }, onChange: { _ in note("read") }),
      store.observe(queried.select(\.rank), ignoring: "ui") { _ in note("fields") },
      try queried.observe(in: store, ignoring: "ui") { _ in note("request") },
      try Card.observe(a, in: store, ignoring: "ui") { _ in note("type") },
    ]
    let rows = LiveResults(queried, in: store, ignoring: "ui")
    let one = LiveRecord(Card.self, a, in: store, ignoring: "ui")
    let count = LiveValue(in: store, ignoring: "ui") { try $0.count(queried) }
    func state() async -> String {
      for token in tokens { await token.settled() }
      await rows.settled()
      await one.settled()
      await count.settled()
      defer { found.withLock { $0 = [] } }
      return found.withLock { $0.sorted().joined(separator: " ") }
        + " \(rows.rows.count) \(one.record?.rank ?? -1) \(count.value ?? -1)"
    }
    let all = "count fields query read record request type"
    #expect(await state() == all + " 1 0 1")
    try await store.write(author: "ui") { try $0.put(Card(id: "a", pile: 0, rank: 1)) }
    try await Store.with(store) {
      _ = try await Store.transaction(author: "ui") {
        var new = Card(id: "b", pile: 0, rank: 1)
        try new.save()
      }
    }
    #expect(await state() == " 1 0 1")
    try await store.write { try $0.put(Card(id: "a", pile: 0, rank: 2)) }
    // The number that is counted has changed before, by the ignored author.
    #expect(await state() == "fields query read record request type 2 2 1")
    rows.follow(queried)
    try await store.write(author: "sync") { try $0.put(Card(id: "c", pile: 0, rank: 2)) }
    #expect(await state() == "count fields query read request 3 2 3")
    try await store.write(author: "ui") { try $0.put(Card(id: "d", pile: 0, rank: 2)) }
    #expect(await state() == " 3 2 3")
  }

  @Test("hear of other processes, and of a restored file")
  func others() async throws {
    let writers = try ForeignWriters()
    let store = try writers.open()
    defer { store.close() }
    try writers.start(1, .items)
    let iterator = store.observe(WatchedItem.all, ignoring: "ui", delivery: .each)
      .makeAsyncIterator()
    _ = try await next(iterator)
    for _ in 0..<5 {
      try await writers.step(1)
      let value = try #require(try await next(iterator))
      #expect(value.authors == [nil] && value.writeCount == 1)
    }
    let backup = ScratchFile.freshPath()
    defer { ScratchFile.remove(backup) }
    try await store.backup(to: backup)
    try await store.write(author: "ui") { try $0.put(WatchedItem(group: 1, number: 1)) }
    let ignored = try store.fetch(WatchedItem.all)
    try writers.kill(1)
    try await Store.restore(from: backup, to: writers.path, replacing: true)
    let restored = try #require(try await next(iterator))
    #expect(restored.rows != ignored && restored.authors.contains(nil))
  }

  /// It is then in what an observer reads, and nobody knows yet whose it is.
  @Test("miss no write that is committed and not published yet")
  func unpublished() throws {
    let store = try Store.temporary(for: Card.self)
    try write(store, nil, card("ui"), card("sync"), card("other"))
    let publication = HeldPublication(store)
    let read = store.observe(ignoring: "ui") { tx in
      [try tx.find(Card.self, "ui")?.rank, try tx.find(Card.self, "sync")?.rank]
    }.makeAsyncIterator().polled
    let rows = store.observe(Card.all, ignoring: "ui").makeAsyncIterator().polled
    _ = (try read.poll(), try rows.poll())
    for rank in 1...20 {
      try write(store, "ui", card("ui", rank))
      publication.hold()
      if rank % 3 == 0 { try write(store, "ui", card("other", -rank)) }
      try write(store, "sync", card(rank % 4 == 0 ? "other" : "sync", rank))
      if rank % 5 == 0 { try write(store, "ui", card("ui", -rank)) }
      let comment = "rank \(rank)" as Comment
      #expect(try read.poll() == nil, comment)
      #expect(try rows.poll() == nil, comment)
      publication.release()
      if rank % 4 == 0 {
        #expect(try read.poll() == nil, comment)
      } else {
        let value = try read.poll()
        #expect(value?.value == [rank % 5 == 0 ? -rank : rank, rank], comment)
        #expect(value?.authors == ["ui", "sync"], comment)
      }
      #expect(try rows.poll() != nil, comment)
      #expect(try read.poll() == nil && rows.poll() == nil, comment)
    }
  }

  /// The author of a write that is committed while an observer reads is not known yet.
  @Test("miss no write that is committed while they read", arguments: 1...3)
  func concurrent(round: Int) async throws {
    let store = try Store.temporary(for: Card.self)
    try write(store, nil, card("sync"), card("ui"))
    let values = Locked<[Int]>([])
    let token = store.observe(
      ignoring: "ui", { tx in [try tx.find(Card.self, "ui"), try tx.find(Card.self, "sync")] },
      onChange: { value in values.withLock { $0.append(value.value[1]?.rank ?? -1) } })
    await token.settled()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for author in ["ui", "sync"] {
        group.addTask {
          for rank in 1...(author == "ui" ? 2_000 : 400) {
            try await store.write(author: author) {
              try $0.put(Card(id: author, pile: 0, rank: rank))
            }
            if author == "sync" { await Task.yield() }
          }
        }
      }
      try await group.waitForAll()
    }
    await token.settled()
    let found = values.withLock { $0 }
    #expect(found.last == 400)
    // None for the ignored author alone.
    #expect(zip(found, found.dropFirst()).allSatisfy { $0 < $1 })
  }
}
