import BenchmarkFigures
import Workload

/// A row of the table: what is run, when, and how good Larch must be.
struct Operation: Sendable {
  /// Stages follow one another on one store, so that each operation meets the state it expects;
  /// those on associations make a store each. After `write` every store is the same in the order of
  /// its ids; which of the concurrent writers gets which id is up to the store.
  enum Stage: Int, CaseIterable {
    case load, read, open, write, concurrent, associations
  }

  typealias Limit = RunSummary.Limit

  var name: String
  /// What it does, in words for a table.
  var what: String
  var unit: String
  var stage: Stage
  var limit: Limit?
  /// The operation of raw LMDB that ratios refer to, where it is not the same one.
  var base: String?
  /// The peer that Larch must not be slower than, whatever the limit.
  var slowest: String?
  /// The same operation under this name and limit for the peer that codes memberwise.
  var memberwise: (name: String, limit: Limit)?
  /// Run only when named.
  var isExtra = false
  /// Run always: without its records no other operation has anything to work on.
  var isNeeded = false
  /// A second run on the same store would find nothing left to do.
  var runsOnce = false
  /// No measurement where a peer has nothing to run.
  var run: @Sendable (Session) throws -> Measurement?

  /// All of the workload of people; a later issue adds a row here and a method to `Engine`.
  static var people: [Operation] {
    writes + concurrent + reads + queries + associations + [
      Operation(
        name: "open", what: "open and find one", unit: "open+find", stage: .open,
        limit: .nanoseconds(must: 800_000, aim: 300_000), run: runOpen),
      Operation(
        name: "DISK", what: "size after W1", unit: "bytes", stage: .load,
        limit: .ratio(must: 1.1, aim: 0.8)
      ) { try size("DISK", $0) },
    ]
  }

  private static let writes = [
    Operation(
      name: "W1", what: "insert all in one transaction", unit: "record", stage: .load,
      limit: .ratio(must: 1.3, aim: 0.7), isNeeded: true
    ) { try inserts("W1", [$0.size], unitIsCommit: false, $0) },
    Operation(
      name: "W2", what: "insert in batches of 1,000", unit: "record", stage: .write,
      limit: .ratio(must: 1.1, aim: 0.8)
    ) {
      try inserts("W2", Array(repeating: 1_000, count: 20), unitIsCommit: false, $0)
    },
    Operation(
      name: "W3", what: "insert one, durable commit", unit: "commit", stage: .write,
      limit: .ratio(must: 1.2, aim: 1.05)
    ) {
      try inserts("W3", Array(repeating: 1, count: 200), unitIsCommit: true, $0)
    },
    // What a commit costs that 8 or 64 records share, in one thread that has them all at hand: nobody who
    // waits for such commits can be faster.
    Operation(
      name: "W3g8", what: "8 inserts sharing a commit, at hand", unit: "record", stage: .write,
      base: "W3", isExtra: true
    ) {
      try inserts("W3g8", Array(repeating: 8, count: 250), unitIsCommit: false, $0)
    },
    Operation(
      name: "W3g64", what: "64 inserts sharing a commit, at hand", unit: "record", stage: .write,
      base: "W3", isExtra: true
    ) {
      try inserts("W3g64", Array(repeating: 64, count: 100), unitIsCommit: false, $0)
    },
    Operation(
      name: "W4", what: "change an indexed field", unit: "record", stage: .write,
      limit: .ratio(must: 1.5, aim: 1.1)
    ) { session in
      var stream = RandomStream(operation: 204)
      let ids = stream.distinct(min(10_000, session.size), upTo: session.size)
      return try changes("W4", ids, session) { try session.people.incrementAges($0) }
    },
    Operation(
      name: "W5", what: "delete by id", unit: "record", stage: .write,
      limit: .ratio(must: 1.3, aim: 1.0), runsOnce: true
    ) { session in
      var stream = RandomStream(operation: 205)
      let ids = stream.distinct(min(10_000, session.size / 2), upTo: session.size)
      return try changes("W5", ids, session) { try session.people.delete($0) }
    },
  ]

  private static let reads = [
    Operation(
      name: "R1", what: "find by id", unit: "get", stage: .read, limit: .ratio(must: 1.8, aim: 1.3),
      memberwise: ("R1m", .ratio(must: 1.8, aim: 1.3))
    ) { session in
      let ids = lookUps(session)
      return try query("R1", operations: ids.count, session) { try session.people.find(ids) }
    },
    Operation(
      name: "R1t", what: "find by id, each its own read", unit: "get", stage: .read,
      limit: .ratio(must: 2.0, aim: 1.4), memberwise: ("R1tm", .ratio(must: 2.0, aim: 1.4))
    ) { session in
      let ids = Array(lookUps(session).prefix(20_000))
      return try query("R1t", operations: ids.count, session) { try session.people.findEach(ids) }
    },
    // What renewing one transaction saves the baseline.
    Operation(
      name: "R1t.fresh", what: "the same, transactions not renewed", unit: "get", stage: .read,
      isExtra: true
    ) { session in
      guard let engine = session.engine as? RawLMDBEngine else { return nil }
      let ids = Array(lookUps(session).prefix(20_000))
      return try query("R1t.fresh", operations: ids.count, session) {
        try engine.findEachFresh(ids)
      }
    },
    Operation(
      name: "R8", what: "decode every record", unit: "query", stage: .read,
      limit: .ratio(must: 8, aim: 5),
      memberwise: ("R8m", .ratio(must: 3.0, aim: 1.9))
    ) { session in
      try repeatedQuery("R8", session) { try session.people.scan() }
    },
  ]

  // MARK: How each kind is measured

  static func size(_ name: String, _ session: Session) throws -> Measurement {
    var measurement = Measurement(operation: name)
    measurement.bytes = try session.sizeOnDisk()
    return measurement
  }

  private static func lookUps(_ session: Session) -> [Int64] {
    var stream = RandomStream(operation: 101)
    return (0..<100_000).map { _ in 1 + Int64(stream.below(session.size)) }
  }

  static func repeatedQuery(
    _ name: String, _ session: Session, _ body: () throws -> QueryResult
  ) throws -> Measurement {
    let times = scanRepetitions(session)
    // Once untimed, for every peer: in a run of microseconds the first one is mostly the loading
    // of code, and a mean of five would say little else.
    _ = try body()
    return try query(name, operations: times, session) {
      var sum = QueryResult(rows: 0, checksum: 0)
      for _ in 0..<times {
        let result = try body()
        sum.rows += result.rows
        sum.checksum &+= result.checksum
      }
      return sum
    }
  }

  static func scanRepetitions(_ session: Session) -> Int {
    session.size <= 10_000 ? 20 : session.size <= 100_000 ? 5 : 2
  }

  private static func inserts(
    _ name: String, _ counts: [Int], unitIsCommit: Bool, _ session: Session
  ) throws -> Measurement {
    let (nanoseconds, last) = try session.people.timeInserts(
      counts.map(session.take), session.stopwatch)
    guard last == Int64(session.nextIndex - 1) else {
      throw BenchmarkError("\(session.peer) \(name): last id is \(last), not the record's index")
    }
    return Measurement(
      operation: name, nanoseconds: nanoseconds,
      operations: unitIsCommit ? counts.count : counts.reduce(0, +), rows: 1,
      checksum: UInt64(bitPattern: last))
  }

  private static func changes(
    _ name: String, _ ids: [Int64], _ session: Session, _ body: ([Int64]) throws -> UInt64
  ) throws -> Measurement {
    var done: UInt64 = 0
    let nanoseconds = try session.stopwatch.time { done = try body(ids) }
    return Measurement(
      operation: name, nanoseconds: nanoseconds, operations: ids.count, rows: 1, checksum: done)
  }

  static func query(
    _ name: String, operations: Int, _ session: Session, _ body: () throws -> QueryResult
  ) throws -> Measurement {
    var result = QueryResult(rows: 0, checksum: 0)
    let nanoseconds = try session.stopwatch.time { result = try body() }
    return Measurement(
      operation: name, nanoseconds: nanoseconds, operations: operations,
      rows: result.rows / UInt64(operations), checksum: result.checksum)
  }

  private static func runOpen(_ session: Session) throws -> Measurement {
    // The median, since one slow system call would be a large part of a mean.
    let times = 9
    var measurement = Measurement(operation: "open", operations: times)
    var opens: [Double] = []
    for _ in 0..<times {
      let (nanoseconds, result) = try session.timeOpen(find: Int64(max(1, session.size / 2)))
      opens.append(nanoseconds)
      measurement.rows = result.rows
      measurement.checksum &+= result.checksum
    }
    measurement.nanoseconds = median(opens) * Double(times)
    return measurement
  }
}
