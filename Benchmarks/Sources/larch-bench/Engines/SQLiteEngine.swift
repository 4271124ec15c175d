import CEngines
import Foundation
import Workload

/// SQLite through prepared statements, WAL, synchronous=FULL.
final class SQLiteEngine: Engine {
  static let peer = "sqlite"
  static var associations: (any AssociationEngine.Type)? { SQLiteAssociations.self }

  fileprivate let store: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    try SQLiteEngine.check(bench_sqlite_open(path, &opened))
    guard let opened else { throw BenchmarkError("sqlite: open gave no store") }
    store = opened
  }

  func close() {
    bench_sqlite_close(store)
  }

  func prepare(_ records: [WorkloadPerson]) -> NativePeople {
    NativePeople(records)
  }

  func insert(_ batch: inout NativePeople) throws -> Int64 {
    var last: Int64 = 0
    try SQLiteEngine.check(bench_sqlite_insert(store, batch.people, batch.people.count, &last))
    return last
  }

  /// One connection with a lock before it, as programs that write from many threads do: several
  /// would sleep and try again until the one that writes is done.
  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    let lock = NSLock()
    // The connection is used with the lock held; a batch belongs to a thread.
    let shared = Shared((self, writers.map { $0.map { prepare([$0]) } }))
    return try ConcurrentWriters.onThreads(writers.count, stopwatch) { number in
      let (engine, batches) = shared.value
      var last: Int64 = 0
      for var batch in batches[number] {
        last = max(last, try lock.withLock { try engine.insert(&batch) })
      }
      return last
    }
  }

  func incrementAges(_ ids: [Int64]) throws -> UInt64 {
    var done: UInt64 = 0
    try SQLiteEngine.check(bench_sqlite_age(store, ids, ids.count, &done))
    return done
  }

  func delete(_ ids: [Int64]) throws -> UInt64 {
    var done: UInt64 = 0
    try SQLiteEngine.check(bench_sqlite_delete(store, ids, ids.count, &done))
    return done
  }

  func find(_ ids: [Int64]) throws -> QueryResult {
    try result { bench_sqlite_get(store, ids, ids.count, &$0) }
  }

  func findEach(_ ids: [Int64]) throws -> QueryResult {
    try result { bench_sqlite_get_each(store, ids, ids.count, &$0) }
  }

  func settle() throws {
    try SQLiteEngine.check(bench_sqlite_checkpoint(store))
  }

  func scan() throws -> QueryResult {
    try result { bench_sqlite_scan(store, &$0) }
  }

  func fingerprint() throws -> QueryResult {
    try result { bench_sqlite_fingerprint(store, &$0) }
  }

  fileprivate func result(_ body: (inout bench_result) -> Int32) throws -> QueryResult {
    var result = bench_result()
    try SQLiteEngine.check(body(&result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }

  static func check(_ code: Int32) throws {
    guard code != 0 else { return }
    throw BenchmarkError("sqlite: \(String(cString: bench_sqlite_message(code)))")
  }
}

extension SQLiteEngine {
  func prepare(_ texts: [String]) -> NativeTexts {
    NativeTexts(texts)
  }

  func find(emails: NativeTexts) throws -> QueryResult {
    try result { bench_sqlite_find_emails(store, emails.texts, emails.texts.count, &$0) }
  }

  func find(ages: ClosedRange<Int>) throws -> QueryResult {
    try result {
      bench_sqlite_find_ages(store, Int64(ages.lowerBound), Int64(ages.upperBound), &$0)
    }
  }

  func find(cities: NativeTexts, limit: Int) throws -> QueryResult {
    try result {
      bench_sqlite_find_cities(store, cities.texts, cities.texts.count, limit, &$0)
    }
  }

  func find(companies: [Int64]) throws -> QueryResult {
    try result { bench_sqlite_find_companies(store, companies, companies.count, &$0) }
  }

  func find(emailPrefix: String) throws -> QueryResult {
    try NativeTexts.with(emailPrefix) { prefix in
      try result { bench_sqlite_find_email_prefix(store, prefix, &$0) }
    }
  }

  func find(cityPrefix: String) throws -> QueryResult {
    try NativeTexts.with(cityPrefix) { prefix in
      try result { bench_sqlite_find_city_prefix(store, prefix, &$0) }
    }
  }

  func count(from age: Int) throws -> QueryResult {
    try result { bench_sqlite_count_ages(store, Int64(age), &$0) }
  }

  func find(scoreAbove: Double) throws -> QueryResult {
    try result { bench_sqlite_find_scores(store, scoreAbove, &$0) }
  }

  func top(scores limit: Int) throws -> QueryResult {
    try result { bench_sqlite_top_scores(store, limit, &$0) }
  }
}
