import BenchmarkFigures
import Workload

extension Operation {
  /// The operations that ask for more than an id.
  static let queries = [
    texts(
      "R2", "find by unique e-mail", "look-up", .emails, must: 1.6, aim: 1.3
    ) { size in
      var stream = RandomStream(operation: 102)
      return (0..<20_000).map { _ in
        WorkloadPerson(index: 1 + stream.below(size), size: size).email
      }
    },
    repeated("R3", "range of ages, fetch all", must: 1.9, aim: 1.4) { try $0.find(ages: 30...31) },
    texts(
      "R4", "one city by age, first 20", "query", .cities(limit: 20), must: 1.9, aim: 1.4
    ) { _ in
      var stream = RandomStream(operation: 104)
      return (0..<1_000).map { _ in WorkloadPerson.cities[stream.below(1_000)] }
    },
    repeated("R5e", "e-mails with a prefix, fetch all", must: 1.8, aim: 1.3) {
      try $0.find(emailPrefix: "ann")
    },
    repeated("R5c", "cities with a prefix, fetch all", must: 1.8, aim: 1.3) {
      try $0.find(cityPrefix: "Glensel")
    },
    repeated("R6", "count of a range", must: 2.0, aim: 1.2, readsRecords: false) {
      try $0.count(from: 50)
    },
    repeated("R7", "filter without an index", must: 1.8, aim: 1.1) {
      try $0.find(scoreAbove: 0.99)
    },
    repeated("R9", "top 10 without an index", must: 1.7, aim: 1.1) { try $0.top(scores: 10) },
    Operation(
      name: "R10", what: "the 50 people of a company", unit: "query", stage: .read,
      limit: .ratio(must: 1.8, aim: 1.4),
      memberwise: ("R10m", .ratio(must: 1.8, aim: 1.4))
    ) { session in
      let count = WorkloadPerson.companies(size: session.size)
      var stream = RandomStream(operation: 110)
      let companies = (0..<1_000).map { _ in 1 + Int64(stream.below(count)) }
      return try query("R10", operations: companies.count, session) {
        try session.people.find(companies: companies)
      }
    },
  ]

  /// A query that is run for each of the texts.
  private static func texts(
    _ name: String, _ what: String, _ unit: String, _ query: TextQuery, must: Double, aim: Double,
    _ texts: @escaping @Sendable (_ size: Int) -> [String]
  ) -> Operation {
    Operation(
      name: name, what: what, unit: unit, stage: .read, limit: .ratio(must: must, aim: aim),
      memberwise: (name + "m", .ratio(must: must, aim: aim))
    ) { session in
      let asked = texts(session.size)
      let (nanoseconds, result) = try session.people.time(query, asked, session.stopwatch)
      return Measurement(
        operation: name, nanoseconds: nanoseconds, operations: asked.count,
        rows: result.rows / UInt64(asked.count), checksum: result.checksum)
    }
  }

  /// A query over a large part of the store: a few runs, each a read of its own.
  private static func repeated(
    _ name: String, _ what: String, must: Double, aim: Double, readsRecords: Bool = true,
    _ body: @escaping @Sendable (any Engine) throws -> QueryResult
  ) -> Operation {
    let limit = Limit.ratio(must: must, aim: aim)
    return Operation(
      name: name, what: what, unit: "query", stage: .read, limit: limit,
      memberwise: readsRecords ? (name + "m", limit) : nil
    ) { session in
      try repeatedQuery(name, session) { try body(session.people) }
    }
  }
}
