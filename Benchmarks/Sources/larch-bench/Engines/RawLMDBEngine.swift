import CEngines
import Workload

/// LMDB through its C API with nothing on top: the physical limit that all ratios refer to.
final class RawLMDBEngine: Engine {
  static let peer = "lmdb"
  static var associations: (any AssociationEngine.Type)? { RawLMDBAssociations.self }

  fileprivate let store: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    try RawLMDBEngine.check(bench_lmdb_open(path, &opened))
    guard let opened else { throw BenchmarkError("lmdb: open gave no store") }
    store = opened
  }

  func close() {
    bench_lmdb_close(store)
  }

  func prepare(_ records: [WorkloadPerson]) -> NativePeople {
    NativePeople(records)
  }

  func insert(_ batch: inout NativePeople) throws -> Int64 {
    var last: Int64 = 0
    try RawLMDBEngine.check(bench_lmdb_insert(store, batch.people, batch.people.count, &last))
    return last
  }

  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    // LMDB lets one write transaction of an environment run at a time; a batch belongs to a thread.
    let shared = Shared((self, writers.map { $0.map { prepare([$0]) } }))
    return try ConcurrentWriters.onThreads(writers.count, stopwatch) { number in
      let (engine, batches) = shared.value
      var last: Int64 = 0
      for var batch in batches[number] { last = max(last, try engine.insert(&batch)) }
      return last
    }
  }

  func incrementAges(_ ids: [Int64]) throws -> UInt64 {
    var done: UInt64 = 0
    try RawLMDBEngine.check(bench_lmdb_age(store, ids, ids.count, &done))
    return done
  }

  func delete(_ ids: [Int64]) throws -> UInt64 {
    var done: UInt64 = 0
    try RawLMDBEngine.check(bench_lmdb_delete(store, ids, ids.count, &done))
    return done
  }

  func find(_ ids: [Int64]) throws -> QueryResult {
    try result { bench_lmdb_get(store, ids, ids.count, &$0) }
  }

  func findEach(_ ids: [Int64]) throws -> QueryResult {
    try result { bench_lmdb_get_each(store, ids, ids.count, false, &$0) }
  }

  /// The same with a transaction begun and aborted for each get, as a less careful program would.
  func findEachFresh(_ ids: [Int64]) throws -> QueryResult {
    try result { bench_lmdb_get_each(store, ids, ids.count, true, &$0) }
  }

  func scan() throws -> QueryResult {
    try result { bench_lmdb_scan(store, &$0) }
  }

  func fingerprint() throws -> QueryResult {
    try result { bench_lmdb_fingerprint(store, &$0) }
  }

  fileprivate func result(_ body: (inout bench_result) -> Int32) throws -> QueryResult {
    var result = bench_result()
    try RawLMDBEngine.check(body(&result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }

  static func check(_ code: Int32) throws {
    guard code != 0 else { return }
    throw BenchmarkError("lmdb: \(String(cString: bench_lmdb_message(code)))")
  }
}

extension RawLMDBEngine {
  func prepare(_ texts: [String]) -> NativeTexts {
    NativeTexts(texts)
  }

  func find(emails: NativeTexts) throws -> QueryResult {
    try result { bench_lmdb_find_emails(store, emails.texts, emails.texts.count, &$0) }
  }

  func find(ages: ClosedRange<Int>) throws -> QueryResult {
    try result {
      bench_lmdb_find_ages(store, Int64(ages.lowerBound), Int64(ages.upperBound), &$0)
    }
  }

  func find(cities: NativeTexts, limit: Int) throws -> QueryResult {
    try result {
      bench_lmdb_find_cities(store, cities.texts, cities.texts.count, limit, &$0)
    }
  }

  func find(companies: [Int64]) throws -> QueryResult {
    try result { bench_lmdb_find_companies(store, companies, companies.count, &$0) }
  }

  func find(emailPrefix: String) throws -> QueryResult {
    try NativeTexts.with(emailPrefix) { prefix in
      try result { bench_lmdb_find_email_prefix(store, prefix, &$0) }
    }
  }

  func find(cityPrefix: String) throws -> QueryResult {
    try NativeTexts.with(cityPrefix) { prefix in
      try result { bench_lmdb_find_city_prefix(store, prefix, &$0) }
    }
  }

  func count(from age: Int) throws -> QueryResult {
    try result { bench_lmdb_count_ages(store, Int64(age), &$0) }
  }

  func find(scoreAbove: Double) throws -> QueryResult {
    try result { bench_lmdb_find_scores(store, scoreAbove, &$0) }
  }

  func top(scores limit: Int) throws -> QueryResult {
    try result { bench_lmdb_top_scores(store, limit, &$0) }
  }
}
