import Workload

/// What a query or a run of look-ups gave back.
struct QueryResult: Equatable {
  var rows: UInt64
  var checksum: UInt64
}

/// A store that the workload can be run on.
///
/// The harness times the calls; whatever turns workload values into a peer's own form happens in
/// `prepare`, outside the timed region.
protocol Engine: QueryEngine {
  associatedtype Batch

  static var peer: String { get }
  /// The same peer on a store with associations.
  static var associations: (any AssociationEngine.Type)? { get }

  /// Opens the store at the path, creating it with its indexes where there is none.
  init(path: String) throws
  func close()

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
  /// Every record, materialised one after the other.
  func scan() throws -> QueryResult
  /// The fingerprint of all records in the order of their ids, as checksum.
  func fingerprint() throws -> QueryResult
  /// Brings the files to their resting size, before it is measured.
  func settle() throws
}

extension Engine {
  static var associations: (any AssociationEngine.Type)? { nil }

  func settle() throws {}

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

/// Something that makes the run's figures worthless.
struct BenchmarkError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
