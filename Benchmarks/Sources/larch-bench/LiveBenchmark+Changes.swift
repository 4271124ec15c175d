import Foundation
import Larch

/// What a change costs an observer, beside the same read after each write.
extension LiveBenchmark {
  static func changes(
    _ name: String, people count: Int, _ query: Query<Person>, steps: Int = 400, every: Int = 1
  ) async throws {
    var (store, people) = try store(count)
    defer { store.close() }
    var written = Double.infinity
    var fetched = Double.infinity
    var observed = Double.infinity
    var inARow = Double.infinity
    var ofThread = Double.infinity
    for round in 0..<rounds {
      let start = round * 6 * steps
      written = min(
        written,
        try await nanoseconds {
          for number in 0..<steps { try await change(start + number, &people, store, every: every) }
        })
      fetched = min(
        fetched,
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + steps + number, &people, store, every: every)
            _ = try store.fetch(query)
          }
        })
      let token = store.observe(query) { _ in }
      await token.settled()
      observed = min(
        observed,
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + 2 * steps + number, &people, store, every: every)
            await token.settled()
          }
        })
      inARow = min(
        inARow,
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + 3 * steps + number, &people, store, every: every)
          }
          await token.settled()
        })
      let next = start + 4 * steps
      let beside = try medianOfThread(steps, from: next, &people, store, every: every)
      token.cancel()
      let alone = try medianOfThread(steps, from: next + steps, &people, store, every: every)
      ofThread = min(ofThread, beside - alone)
    }
    let each = Double(steps)
    show(name, (observed - written) / each, "fetch again", (fetched - written) / each)
    show("    writes in a row, waiting for the last one", (inARow - written) / each)
    show("    a thread writes, median", ofThread)
    try showGRDB(name)
  }

  static func count() async throws {
    var (store, people) = try store(50_000)
    defer { store.close() }
    let query = Person.where { $0.score < 0.5 }
    var least = [Double](repeating: .infinity, count: 6)
    // Of what is short, many at once, since threads wait for each other; of what is long, some.
    let (steps, scans) = (1_000, 50)
    for round in 0..<rounds {
      let start = round * (5 * steps + scans)
      func write(_ count: Int, after done: Int, _ body: () async throws -> Void) async throws
        -> Double
      {
        try await nanoseconds {
          for number in 0..<count {
            try await change(start + done + number, &people, store)
            try await body()
          }
        } / Double(count)
      }
      least[0] = min(least[0], try await write(steps, after: 0) {})
      least[1] = min(least[1], try await write(scans, after: steps) { _ = try store.count(query) })
      let token = store.observe({ tx in try tx.count(query) }) { _ in }
      await token.settled()
      least[2] = min(
        least[2], try await write(steps, after: steps + scans) { await token.settled() })
      let inARow = try await write(steps, after: 2 * steps + scans) {}
      await token.settled()
      least[3] = min(least[3], inARow)
      let end = start + 3 * steps + scans
      least[4] = min(least[4], try medianOfThread(steps, from: end, &people, store))
      token.cancel()
      least[5] = min(least[5], try medianOfThread(steps, from: end + steps, &people, store))
    }
    show(
      "O8  count of 50,000 without an index, one changes", least[2] - least[0], "count again",
      least[1] - least[0])
    show("    writes in a row, waiting for the last one", least[3] - least[0])
    // When such a write returns, the observer has looked.
    show("    a thread writes, median", least[4] - least[5])
    try showGRDB("O8")
  }

  /// The median time of a write that waits on its own thread.
  private static func medianOfThread(
    _ steps: Int, from start: Int, _ people: inout [Person], _ store: Store, every: Int = 1
  ) throws -> Double {
    var times: [UInt64] = []
    for number in start..<start + steps {
      let person = changed(number, &people, every: every)
      let begin = DispatchTime.now().uptimeNanoseconds
      try store.write(durability: .relaxed) { tx in try tx.update(person) }
      times.append(DispatchTime.now().uptimeNanoseconds - begin)
    }
    return Double(times.sorted()[steps / 2])
  }

  static func chunks() async throws {
    var least = [Double](repeating: .infinity, count: 2)
    for _ in 0..<2 {
      for isObserved in [false, true] {
        let store = try Store.temporary(for: Person.self)
        defer { store.close() }
        var tokens: [ObservationToken] = []
        if isObserved {
          for number in 0..<20 {
            tokens.append(store.observe(Person.where { $0.city == "city \(number)" }) { _ in })
          }
        }
        let time = try await nanoseconds {
          for chunk in 0..<500 {
            try await store.write(durability: .relaxed) { tx in
              for number in chunk * 100..<chunk * 100 + 100 {
                var person = Person(
                  name: "name \(number)", city: "city \(number % 100)", age: number % 90)
                try tx.insert(&person)
              }
            }
          }
          for token in tokens { await token.settled() }
        }
        least[isObserved ? 1 : 0] = min(least[isObserved ? 1 : 0], time)
      }
    }
    show("O5  50,000 rows in chunks of 100, 20 observed queries", least[1], "without", least[0])
  }

  static func first() async throws {
    let (store, people) = try store(20_000)
    defer { store.close() }
    let query = Person.where { $0.city == "city 7" }
    var least = [Double](repeating: .infinity, count: 3)
    // The first observer of a store also starts the watch for commits of other processes.
    let other = store.observe(Person.self, people[0].id) { _ in }
    defer { other.cancel() }
    await other.settled()
    for _ in 0..<rounds * 20 {
      least[0] = min(least[0], try await nanoseconds { _ = try store.fetch(query) })
      least[1] = min(
        least[1],
        try await nanoseconds {
          let values = store.observe(query).makeAsyncIterator()
          _ = try await values.next()
        })
      least[2] = min(
        least[2],
        await nanoseconds { store.observe(query, first: .now) { _ in }.cancel() })
    }
    show("O6  first value of 200 rows, in a loop", least[1], "fetch", least[0])
    show("    first value of a closure, at once", least[2], "fetch", least[0])
  }

  private static func showGRDB(_ row: String) throws {
    #if BENCH_GRDB
      if let time = try GRDBLive.nanosecondsOfChange(row: String(row.prefix(2))) {
        show("    the same with GRDB's ValueObservation", time)
      }
    #endif
  }
}
