import CEngines
import Workload

/// A library of the family of RocksDB, as this program was built with or without it.
protocol SortedFilesLibrary: Sendable {
  static var name: String { get }
  static var functions: UnsafePointer<bench_lsm_functions>? { get }
}

enum RocksDB: SortedFilesLibrary {
  static let name = "rocksdb"
  static var functions: UnsafePointer<bench_lsm_functions>? { bench_rocksdb() }
}

enum LevelDB: SortedFilesLibrary {
  static let name = "leveldb"
  static var functions: UnsafePointer<bench_lsm_functions>? { bench_leveldb() }
}

/// Those of the optional peers that are there.
var sortedFilesPeers: [any Engine.Type] {
  var peers: [any Engine.Type] = []
  if RocksDB.functions != nil { peers.append(SortedFilesEngine<RocksDB>.self) }
  if LevelDB.functions != nil { peers.append(SortedFilesEngine<LevelDB>.self) }
  return peers
}

/// A store of keys and values in sorted files, with indexes kept by hand, one batch a transaction.
final class SortedFilesEngine<Library: SortedFilesLibrary>: Engine {
  static var peer: String { Library.name }

  private let functions: bench_lsm_functions
  private let store: OpaquePointer

  init(path: String) throws {
    guard let functions = Library.functions?.pointee else {
      throw BenchmarkError("this program was built without \(Library.name)")
    }
    self.functions = functions
    var opened: OpaquePointer?
    try SortedFilesEngine.check(functions.open(path, &opened), functions)
    guard let opened else { throw BenchmarkError("\(Library.name): open gave no store") }
    store = opened
  }

  func close() {
    functions.close(store)
  }

  func settle() throws {
    try check(functions.settle(store))
  }

  func prepare(_ records: [WorkloadPerson]) -> NativePeople {
    NativePeople(records)
  }

  func insert(_ batch: inout NativePeople) throws -> Int64 {
    var last: Int64 = 0
    try check(functions.insert(store, batch.people, batch.people.count, &last))
    return last
  }

  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    // The library takes batches of many threads and flushes them together; one belongs to a thread.
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
    try check(functions.age(store, ids, ids.count, &done))
    return done
  }

  func delete(_ ids: [Int64]) throws -> UInt64 {
    var done: UInt64 = 0
    try check(functions.delete_people(store, ids, ids.count, &done))
    return done
  }

  func find(_ ids: [Int64]) throws -> QueryResult {
    try result { functions.get(store, ids, ids.count, true, &$0) }
  }

  /// A single get is a consistent read by itself.
  func findEach(_ ids: [Int64]) throws -> QueryResult {
    try result { functions.get(store, ids, ids.count, false, &$0) }
  }

  func scan() throws -> QueryResult {
    try result { functions.scan(store, &$0) }
  }

  func fingerprint() throws -> QueryResult {
    try result { functions.fingerprint(store, &$0) }
  }

  private func result(_ body: (inout bench_result) -> Int32) throws -> QueryResult {
    var result = bench_result()
    try check(body(&result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }

  private func check(_ code: Int32) throws {
    try SortedFilesEngine.check(code, functions)
  }

  private static func check(_ code: Int32, _ functions: bench_lsm_functions) throws {
    guard code != 0 else { return }
    throw BenchmarkError(
      "\(Library.name): \(functions.message().map { String(cString: $0) } ?? "it says not why")")
  }

  // MARK: Queries

  func prepare(_ texts: [String]) -> NativeTexts {
    NativeTexts(texts)
  }

  func find(emails: NativeTexts) throws -> QueryResult {
    try result { functions.find_emails(store, emails.texts, emails.texts.count, &$0) }
  }

  func find(ages: ClosedRange<Int>) throws -> QueryResult {
    try result {
      functions.find_ages(store, Int64(ages.lowerBound), Int64(ages.upperBound), &$0)
    }
  }

  func find(cities: NativeTexts, limit: Int) throws -> QueryResult {
    try result {
      functions.find_cities(store, cities.texts, cities.texts.count, limit, &$0)
    }
  }

  func find(companies: [Int64]) throws -> QueryResult {
    try result { functions.find_companies(store, companies, companies.count, &$0) }
  }

  func find(emailPrefix: String) throws -> QueryResult {
    try NativeTexts.with(emailPrefix) { prefix in
      try result { functions.find_email_prefix(store, prefix, &$0) }
    }
  }

  func find(cityPrefix: String) throws -> QueryResult {
    try NativeTexts.with(cityPrefix) { prefix in
      try result { functions.find_city_prefix(store, prefix, &$0) }
    }
  }

  func count(from age: Int) throws -> QueryResult {
    try result { functions.count_ages(store, Int64(age), &$0) }
  }

  func find(scoreAbove: Double) throws -> QueryResult {
    try result { functions.find_scores(store, scoreAbove, &$0) }
  }

  func top(scores limit: Int) throws -> QueryResult {
    try result { functions.top_scores(store, limit, &$0) }
  }
}
