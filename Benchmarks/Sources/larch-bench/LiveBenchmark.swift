import CEngines
import Dispatch
import Foundation
import Larch

/// What observers cost a write, and what a change costs them, beside the same read after each write.
///
/// The rows have the numbers of docs/live.md. Interleaved rounds in one process, the least time of
/// each: the rest is what else the machine does. Commits are relaxed, so that no disk is measured.
enum LiveBenchmark {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var city: String
    var age: Int
    var score = 0.0

    static let schema = Schema<Person> { Index(\.city, \.age) }
  }

  private static let rounds = 5

  /// The rows, by name.
  static let names = ["O1", "O1b", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "memory"]

  /// Runs the rows, and waits for them.
  static func run(_ only: Set<String>?) throws {
    let done = DispatchSemaphore(value: 0)
    let result = Outcome()
    Task.detached {
      do { try await rows { only?.contains($0) ?? true } } catch { result.error = error }
      done.signal()
    }
    done.wait()
    if let error = result.error { throw error }
  }

  /// Set before the signal, and read after it.
  private final class Outcome: @unchecked Sendable { var error: (any Error)? }

  private static func rows(_ wants: (String) -> Bool) async throws {
    if wants("O1") { try await singles() }
    if wants("O1b") { try await bulk() }
    if wants("O2") { try await latency() }
    if wants("O3") {
      try await changes("O3  list of 1,000 rows, one changes", people: 1_000, Person.all)
    }
    if wants("O4") {
      try await changes(
        "O4  list of 100,000 rows, one changes", people: 100_000, Person.all, steps: 50)
    }
    if wants("O5") { try await chunks() }
    if wants("O6") { try await first() }
    if wants("O7") {
      try await changes(
        "O7  page of 20 by an index, rows leave and come", people: 20_000,
        Person.where { $0.city == "city 7" }.sorted(by: \.age).limit(20), every: 100)
    }
    if wants("O8") {
      try await count()
    }
    if wants("memory") { try await memory() }
  }

  private static func store(_ people: Int) throws -> (Store, [Person]) {
    let store = try Store.temporary(for: Person.self)
    var all: [Person] = []
    try store.write { tx in
      for number in 0..<people {
        var person = Person(
          name: "name \(number * 7919 % 10_007)", city: "city \(number % 100)", age: number % 90)
        try tx.insert(&person)
        all.append(person)
      }
    }
    return (store, all)
  }

  /// Which of the people changes next.
  static func place(of number: Int, among count: Int, every: Int) -> Int {
    (number &* 7919 % count) / every * every + (every == 1 ? 0 : 7)
  }

  /// Changes the age of one of the people, in a write of its own.
  ///
  /// - Parameter every: how far apart those are that change; all are of one city with 100.
  private static func change(
    _ number: Int, _ people: inout [Person], _ store: Store, every: Int = 1
  ) async throws {
    let place = place(of: number, among: people.count, every: every)
    people[place].age = (people[place].age + 1 + number % 5) % 90
    let person = people[place]
    try await store.write(durability: .relaxed) { tx in try tx.update(person) }
  }

  // MARK: What observers cost a write

  /// Measures a write beside observers of rows that it does not change, and without them.
  ///
  /// - Parameters:
  ///   - body: runs the writes of a round, and returns their number. It gets the number of the round.
  private static func unconcerned(
    _ name: String, _ body: (Int, Store, inout [Person]) async throws -> Int
  ) async throws {
    for observers in [1, 100, 10_000] {
      var (store, people) = try store(5_000)
      defer { store.close() }
      var least = [Double](repeating: .infinity, count: 2)
      for round in 0..<2 * rounds {
        let isObserved = round % 2 == 1
        var tokens: [ObservationToken] = []
        if isObserved {
          for number in 0..<observers {
            tokens.append(
              store.observe(Person.where { $0.city == "elsewhere \(number)" }) { _ in })
          }
          for token in tokens { await token.settled() }
        }
        var count = 0
        let time = try await nanoseconds { count = try await body(round, store, &people) }
        withExtendedLifetime(tokens) {}
        least[round % 2] = min(least[round % 2], time / Double(count))
      }
      show("\(name), \(observers) observers of others", least[1], "without", least[0])
    }
  }

  /// As W3 and W4 of the other benchmarks, one record in each write. Without a flush, what an observer
  /// costs is a larger part.
  private static func singles() async throws {
    try await unconcerned("O1  durable insert") { round, store, _ in
      for number in 0..<100 {
        let new = Person(name: "name \(number)", city: "city \(number)", age: round)
        try await store.write(durability: .durable) { tx in
          var person = new
          try tx.insert(&person)
        }
      }
      return 100
    }
    try await unconcerned("O1  update, not flushed") { round, store, people in
      for number in 0..<500 { try await change(round * 500 + number, &people, store) }
      return 500
    }
  }

  /// As W1 and W4 of the other benchmarks, 5,000 records in one write.
  private static func bulk() async throws {
    try await unconcerned("O1b bulk insert") { round, store, _ in
      try await store.write(durability: .relaxed) { tx in
        for number in 0..<5_000 {
          var person = Person(
            name: "name \(number)", city: "city \(number % 100)", age: round)
          try tx.insert(&person)
        }
      }
      return 5_000
    }
    try await unconcerned("O1b bulk update") { round, store, people in
      for place in people.indices {
        people[place].age = (people[place].age + 1) % 90
        people[place].score += 1
      }
      let people = people
      try await store.write(durability: .relaxed) { tx in
        for person in people { try tx.update(person) }
      }
      return 5_000
    }
  }

  // MARK: From a commit to a handler

  /// The times at which a handler was called, by the age that the record had.
  private final class Calls: @unchecked Sendable {
    private let lock = NSLock()
    private var times: [Int: UInt64] = [:]

    func note(_ number: Int) {
      let now = DispatchTime.now().uptimeNanoseconds
      lock.withLock { times[number] = now }
    }

    subscript(number: Int) -> UInt64? { lock.withLock { times[number] } }
  }

  private static func latency() async throws {
    for others in [0, 1_000] {
      let (store, people) = try store(2_000)
      defer { store.close() }
      let calls = Calls()
      var tokens: [ObservationToken] = []
      for number in 0..<others {
        tokens.append(store.observe(Person.where { $0.city == "elsewhere \(number)" }) { _ in })
      }
      let id = people[0].id
      tokens.append(
        store.observe(Person.self, id) { person in
          if let age = person.value?.age { calls.note(age) }
        })
      for token in tokens { await token.settled() }
      var person = people[0]
      var times: [Double] = []
      for number in 1_000..<3_000 {
        person.age = number
        let changed = person
        let start = try await store.write(durability: .relaxed) { tx in
          try tx.update(changed)
          return DispatchTime.now().uptimeNanoseconds
        }
        await tokens[others].settled()
        if let called = calls[number] { times.append(Double(called) - Double(start)) }
      }
      times.sort()
      show("O2  commit to handler, \(others) other observers, median", times[times.count / 2])
      show("    p99", times[times.count * 99 / 100])
    }
  }

  // MARK: What a change costs an observer

  private static func changes(
    _ name: String, people count: Int, _ query: Query<Person>, steps: Int = 400, every: Int = 1
  ) async throws {
    var (store, people) = try store(count)
    defer { store.close() }
    var written = Double.infinity
    var fetched = Double.infinity
    var observed = Double.infinity
    var inARow = Double.infinity
    for round in 0..<rounds {
      let start = round * 4 * steps
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
      token.cancel()
    }
    let each = Double(steps)
    show(name, (observed - written) / each, "fetch again", (fetched - written) / each)
    show("    writes in a row, waiting for the last one", (inARow - written) / each)
    try showGRDB(name)
  }

  private static func count() async throws {
    var (store, people) = try store(50_000)
    defer { store.close() }
    let query = Person.where { $0.score < 0.5 }
    var least = [Double](repeating: .infinity, count: 4)
    let steps = 100
    for round in 0..<rounds {
      let start = round * 4 * steps
      least[0] = min(
        least[0],
        try await nanoseconds {
          for number in 0..<steps { try await change(start + number, &people, store) }
        })
      least[1] = min(
        least[1],
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + steps + number, &people, store)
            _ = try store.count(query)
          }
        })
      let token = store.observe({ tx in try tx.count(query) }) { _ in }
      await token.settled()
      least[2] = min(
        least[2],
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + 2 * steps + number, &people, store)
            await token.settled()
          }
        })
      least[3] = min(
        least[3],
        try await nanoseconds {
          for number in 0..<steps {
            try await change(start + 3 * steps + number, &people, store)
          }
          await token.settled()
        })
      token.cancel()
    }
    show(
      "O8  count of 50,000 without an index, one changes", (least[2] - least[0]) / Double(steps),
      "count again", (least[1] - least[0]) / Double(steps))
    show("    writes in a row, waiting for the last one", (least[3] - least[0]) / Double(steps))
    try showGRDB("O8")
  }

  private static func chunks() async throws {
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

  private static func first() async throws {
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

  // MARK: Memory

  private static func memory() async throws {
    let (store, people) = try store(10_000)
    defer { store.close() }
    // Kept until the end: what ends is freed a little later.
    var all: [ObservationToken] = []
    func observers(_ name: String, _ make: (Int) -> ObservationToken) async {
      let before = bench_allocated_bytes()
      let tokens = (0..<10_000).map(make)
      for token in tokens { await token.settled() }
      let bytes = (Double(bench_allocated_bytes()) - Double(before)) / 10_000
      print(
        name.padding(toLength: 56, withPad: " ", startingAt: 0), String(format: "%9.0f B", bytes))
      all += tokens
    }
    await observers("memory of an observer of one record") { number in
      store.observe(Person.self, people[number].id) { _ in }
    }
    await observers("memory of an observer of a count") { number in
      store.observe({ tx in try tx.count(Person.where { $0.city == "x \(number)" }) }) { _ in }
    }
    await observers("memory of an observer of a query without rows") { number in
      store.observe(Person.where { $0.city == "x \(number)" }) { _ in }
    }
    withExtendedLifetime(all) {}
  }

  // MARK: Times

  private static func nanoseconds(_ work: () async throws -> Void) async rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try await work()
    return Double(DispatchTime.now().uptimeNanoseconds - start)
  }

  static func show(
    _ name: String, _ time: Double, _ otherName: String = "", _ other: Double? = nil
  ) {
    var line = name.padding(toLength: 56, withPad: " ", startingAt: 0)
    line += String(format: "%9.1f us", time / 1000)
    if let other {
      line += String(format: ", %@ %.1f us, ratio %.2f", otherName, other / 1000, time / other)
    }
    print(line)
  }
}
