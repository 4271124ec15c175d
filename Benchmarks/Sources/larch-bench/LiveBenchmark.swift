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

  static let rounds = 5

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

  static func store(_ people: Int) throws -> (Store, [Person]) {
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
  static func change(
    _ number: Int, _ people: inout [Person], _ store: Store, every: Int = 1
  ) async throws {
    let person = changed(number, &people, every: every)
    try await store.write(durability: .relaxed) { tx in try tx.update(person) }
  }

  static func changed(_ number: Int, _ people: inout [Person], every: Int = 1) -> Person {
    let place = place(of: number, among: people.count, every: every)
    people[place].age = (people[place].age + 1 + number % 5) % 90
    return people[place]
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
    // What the figures below contain without any observer: a task that waits for another thread, and
    // the commit itself.
    var hops: [Double] = []
    let queue = DispatchQueue(label: "larch.bench.hop")
    for _ in 0..<2_000 {
      hops.append(
        await nanoseconds {
          await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        })
    }
    show("O2  a task that waits for another thread, median", hops.sorted()[hops.count / 2])
    do {
      var (store, people) = try store(2_000)
      defer { store.close() }
      var times: [Double] = []
      for _ in 0..<2_000 {
        people[0].age += 1
        let changed = people[0]
        let start = try await store.write(durability: .relaxed) { tx in
          try tx.update(changed)
          return DispatchTime.now().uptimeNanoseconds
        }
        times.append(Double(DispatchTime.now().uptimeNanoseconds - start))
      }
      show("O2  commit to the task that wrote, no observer, median", times.sorted()[1_000])
    }
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

  static func nanoseconds(_ work: () async throws -> Void) async rethrows -> Double {
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
