import CEngines
import Workload

/// LMDB through its C API with nothing on top: the physical limit that all ratios refer to.
final class RawLMDBEngine: Engine {
  static let peer = "lmdb"

  private let store: OpaquePointer

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

  private func result(_ body: (inout bench_result) -> Int32) throws -> QueryResult {
    var result = bench_result()
    try RawLMDBEngine.check(body(&result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }

  private static func check(_ code: Int32) throws {
    guard code != 0 else { return }
    throw BenchmarkError("lmdb: \(String(cString: bench_lmdb_message(code)))")
  }
}
