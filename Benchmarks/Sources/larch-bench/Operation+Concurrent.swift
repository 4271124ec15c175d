import BenchmarkFigures
import Workload

extension Operation {
  /// Writers at once, each with a durable commit for each record. Ratios are to what one commit
  /// costs raw LMDB when it writes alone: how many writers wait is no excuse.
  static let concurrent = [
    Operation(
      name: "W3a", what: "insert one, asynchronously", unit: "commit", stage: .concurrent,
      limit: .ratio(must: 1.2, aim: 1.05),
      base: "W3"
    ) { try concurrentInserts("W3a", writers: 1, each: 200, $0) },
    Operation(
      name: "W3x8", what: "insert one, 8 writers at once", unit: "commit", stage: .concurrent,
      limit: .ratio(must: 0.35, aim: 0.22),
      base: "W3", slowest: "sqlite"
    ) { try concurrentInserts("W3x8", writers: 8, each: 250, $0) },
    Operation(
      name: "W3x64", what: "insert one, 64 writers at once", unit: "commit", stage: .concurrent,
      limit: .ratio(must: 0.12, aim: 0.08),
      base: "W3", slowest: "sqlite"
    ) { try concurrentInserts("W3x64", writers: 64, each: 100, $0) },
  ]

  private static func concurrentInserts(
    _ name: String, writers: Int, each: Int, _ session: Session
  ) throws -> Measurement {
    let records = (0..<writers).map { _ in session.take(each) }
    let (nanoseconds, last) = try session.people.timeConcurrentInserts(records, session.stopwatch)
    guard last == Int64(session.nextIndex - 1) else {
      throw BenchmarkError("\(session.peer) \(name): last id is \(last), not the last index")
    }
    return Measurement(
      operation: name, nanoseconds: nanoseconds, operations: writers * each, rows: 1,
      checksum: UInt64(bitPattern: last))
  }
}
