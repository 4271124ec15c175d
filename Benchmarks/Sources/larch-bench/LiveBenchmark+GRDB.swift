#if BENCH_GRDB
  import Dispatch
  import Foundation
  import GRDB

  /// The same changes observed with GRDB's `ValueObservation`, on a pool whose commits are not flushed.
  enum GRDBLive {
    struct Person: Codable, FetchableRecord, PersistableRecord, Sendable {
      static let databaseTableName = "person"
      var id: Int64
      var name: String
      var city: String
      var age: Int
      var score = 0.0
    }

    private static let schema = """
      CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL,
        age INTEGER NOT NULL, score REAL NOT NULL);
      CREATE INDEX person_city_age ON person(city, age);
      """

    /// Counts the values that an observation has delivered. Unchecked, since a mutex guards it.
    private final class Deliveries: @unchecked Sendable {
      private let lock = NSLock()
      private var count = 0
      private let arrived = DispatchSemaphore(value: 0)

      func add() {
        lock.withLock { count += 1 }
        arrived.signal()
      }

      func wait() { arrived.wait() }
    }

    /// The time of a change in a row of the benchmark; nil for a row that is not compared.
    static func nanosecondsOfChange(row: String) throws -> Double? {
      switch row {
      case "O3":
        try nanosecondsOfChange(people: 1_000, steps: 100) { try Person.fetchAll($0) }
      case "O4":
        try nanosecondsOfChange(people: 100_000, steps: 5) { try Person.fetchAll($0) }
      case "O7":
        try nanosecondsOfChange(people: 20_000, steps: 400, every: 100) {
          try Person.filter(Column("city") == "city 7").order(Column("age")).limit(20).fetchAll($0)
        }
      case "O8":
        try nanosecondsOfChange(people: 50_000, steps: 100) {
          try Person.filter(Column("score") < 0.5).fetchCount($0)
        }
      default: nil
      }
    }

    /// The time of a change with an observation, beyond that of the write alone, in nanoseconds.
    private static func nanosecondsOfChange<Value: Sendable>(
      people count: Int, steps: Int, rounds: Int = 3, every: Int = 1,
      _ fetch: @escaping @Sendable (Database) throws -> Value
    ) throws -> Double {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      var configuration = Configuration()
      configuration.prepareDatabase { db in
        try db.execute(sql: "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
      }
      let pool = try DatabasePool(
        path: folder.appendingPathComponent("people.sqlite").path, configuration: configuration)
      var people = (0..<count).map { number in
        Person(
          id: Int64(number + 1), name: "name \(number * 7919 % 10_007)",
          city: "city \(number % 100)", age: number % 90)
      }
      try pool.write { db in
        try db.execute(sql: schema)
        for person in people { try person.insert(db) }
      }
      func change(_ number: Int) throws {
        let place = LiveBenchmark.place(of: number, among: count, every: every)
        people[place].age = (people[place].age + 1 + number % 5) % 90
        let person = people[place]
        try pool.write { try person.update($0) }
      }
      var (written, observed) = (Double.infinity, Double.infinity)
      let queue = DispatchQueue(label: "observation")
      for round in 0..<rounds {
        let start = round * 2 * steps
        written = min(
          written,
          try nanoseconds { for number in 0..<steps { try change(start + number) } })
        let deliveries = Deliveries()
        let token = ValueObservation.tracking(fetch).start(
          in: pool, scheduling: .async(onQueue: queue), onError: { _ in },
          onChange: { _ in deliveries.add() })
        deliveries.wait()
        observed = min(
          observed,
          try nanoseconds {
            for number in 0..<steps {
              try change(start + steps + number)
              deliveries.wait()
            }
          })
        token.cancel()
      }
      try pool.close()
      return (observed - written) / Double(steps)
    }

    private static func nanoseconds(_ work: () throws -> Void) rethrows -> Double {
      let start = DispatchTime.now().uptimeNanoseconds
      try work()
      return Double(DispatchTime.now().uptimeNanoseconds - start)
    }
  }
#endif
