import LarchTestSupport

@testable import Larch

/// Statistics that do not match the data: the stores of tests are small, and most plans would be
/// full scans. The answer must be the same for any plan.
struct OracleStatistics: PlanStatistics {
  let seed: UInt64

  func recordCount() -> Int { 10_000_000 }

  func estimate(ids ranges: [KeyRange]) -> Int { estimate(index: 99, ranges: ranges) }

  func estimate(_ lists: Plan.ListScan) -> Int { lists.ids.count }

  func estimate(index: Int, ranges: [KeyRange]) -> Int {
    var random = SeededGenerator(
      seed: seed &+ UInt64(index) &* 977 &+ UInt64(ranges.count) &* 7919)
    return random.pick([0, 1, 30, 1_000, 50_000, 9_000_000])
  }
}

/// What one plan answers.
struct OracleAnswer: Equatable {
  var rows: [[UInt8]] = []
  var fingerprints: [Fingerprint] = []
  var texts: [[UInt8]] = []
  var count = 0
  var exists = false
  /// The kind of each plan: how the source begins.
  var plans: [String] = []

  static func == (a: Self, b: Self) -> Bool {
    a.rows == b.rows && a.fingerprints == b.fingerprints && a.texts == b.texts
      && a.count == b.count && a.exists == b.exists
  }
}

extension ReadTransaction {
  /// Answers a query by plans of other statistics.
  func answer<K: OracleIndexes>(
    _ query: Query<OracleThing<K>>, seed: UInt64
  ) throws -> OracleAnswer {
    if let write = self as? WriteTransaction { try write.writer.maintainer.flush() }
    var answer = OracleAnswer()
    let field = TypedField.of(\OracleThing<K>.text)
    answer.plans.append(
      try follow(query, .ids, seed) { run, _ in
        while let row = try run.next() { answer.rows.append([UInt8](row.id)) }
      })
    answer.plans.append(
      try follow(query, .records, seed) { run, access in
        while let row = try run.next() {
          answer.fingerprints.append(try access.decode(row, of: run).fingerprint)
        }
      })
    answer.plans.append(
      try follow(query, .fields([field]), seed, selecting: [field]) { run, access in
        while let row = try run.next() {
          guard case .string(let text)? = try run.values(of: 0)?.first else {
            answer.texts.append(Array(try access.decode(row, of: run).text.utf8))
            continue
          }
          answer.texts.append(Array(text.utf8))
        }
      })
    answer.plans.append(
      try follow(query, .count, seed) { run, _ in answer.count = try run.count() })
    answer.plans.append(
      try follow(query, .exists, seed) { run, _ in answer.exists = try run.exists() })
    return answer
  }

  /// Runs the plan and gives its text.
  private func follow<K: OracleIndexes>(
    _ query: Query<OracleThing<K>>, _ need: QueryNeed, _ seed: UInt64,
    selecting: [FieldReference] = [],
    _ body: (PlanRun, RecordAccess<OracleThing<K>>) throws -> Void
  ) throws -> String {
    let collection = try context.collection(of: OracleThing<K>.self)
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let plan = try planner.plan(
      query.details, for: need, statistics: OracleStatistics(seed: seed))
    let prepared = PreparedQuery(
      collection: collection, query: query.details, need: need, plan: plan, selecting: selecting)
    try run(prepared, RecordAccess<OracleThing<K>>(context, collection), body)
    return plan.text(in: collection.schema)
  }
}

extension OracleAnswer {
  /// What an array answers.
  init<K: OracleIndexes>(_ things: [OracleThing<K>]) {
    rows = things.map { thing in
      var writer = KeyWriter()
      writer.append(int64: thing.id.rawValue)
      return Array(writer.bytes)
    }
    fingerprints = things.map(\.fingerprint)
    texts = things.map { Array($0.text.utf8) }
    count = things.count
    exists = !things.isEmpty
  }
}
