import Workload

/// A store that the workload can be run on.
///
/// The harness times the calls; whatever turns workload values into a peer's own form happens in
/// `prepare`, outside the timed region.
protocol Engine: StoreEngine, QueryEngine {
  associatedtype Batch

  /// The same peer on a store with associations.
  static var associations: (any AssociationEngine.Type)? { get }

  func prepare(_ records: [WorkloadPerson]) -> Batch
  /// Inserts in one durable transaction under ids that the store assigns; returns the last one.
  func insert(_ batch: inout Batch) throws -> Int64
  /// Lists of records, one for each of several writers that work at the same time; every record in
  /// a durable transaction of its own. Hands back the largest id.
  func timeConcurrentInserts(
    _ writers: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64)
  /// In one transaction: fetch, make one year older modulo 100, save.
  func incrementAges(_ ids: [Int64]) throws -> UInt64
  func delete(_ ids: [Int64]) throws -> UInt64
  /// In one snapshot.
  func find(_ ids: [Int64]) throws -> QueryResult
  /// Each in a read of its own.
  func findEach(_ ids: [Int64]) throws -> QueryResult
}

extension Engine {
  static var associations: (any AssociationEngine.Type)? { nil }

  /// Inserts group after group, each in a transaction; only the inserts are timed.
  func timeInserts(
    _ groups: [[WorkloadPerson]], _ stopwatch: Stopwatch
  ) throws -> (nanoseconds: Double, last: Int64) {
    var batches = groups.map(prepare)
    var last: Int64 = 0
    let nanoseconds = try stopwatch.time {
      for index in batches.indices { last = try insert(&batches[index]) }
    }
    return (nanoseconds, last)
  }
}
