import BenchmarkFigures
import Workload

extension Operation {
  /// What the rules and lists of associations cost, each on a store of its own.
  static let associations = [
    cascade("A1", "cascade, 10 people each") {
      Families(count: min(1_000, $0 / 100), children: 10)
    },
    cascade("A2", "cascade, 1,000 people each") {
      Families(count: 10, children: min(1_000, $0 / 100))
    },
    cascade("A3", "cascade, 100,000 people") { Families(count: 1, children: min(100_000, $0)) },
    Operation(
      name: "A4", what: "link students and courses", unit: "link", stage: .associations,
      limit: .ratio(must: 2.0, aim: 1.0),
      slowest: "sqlite", run: link),
    Operation(
      name: "A5", what: "companies with their people", unit: "person", stage: .associations,
      limit: .ratio(must: 2.0, aim: 1.4),
      memberwise: ("A5m", .ratio(must: 2.0, aim: 1.4)), run: fetchWithPeople),
  ]

  /// The companies that are destroyed.
  private struct Families {
    var count: Int
    var children: Int

    /// No fewer than one of each, however small the workload.
    init(count: Int, children: Int) {
      self.count = max(1, count)
      self.children = max(1, children)
    }

    /// The workload's people, those who go spread evenly among those who stay: of each company that
    /// goes the children's ids are as far apart as in a store that grew.
    func people(size: Int) -> [WorkloadPerson] {
      let going = count * children
      let all = max(size, going + max(1, size / 10))
      return (1...all).map { index in
        var person = WorkloadPerson(index: index, size: size)
        let before = (index - 1) * going / all
        if index * going / all > before {
          person.companyID = 1 + Int64(before % count)
        } else {
          person.companyID += Int64(count)
        }
        return person
      }
    }
  }

  private static func cascade(
    _ name: String, _ what: String, _ families: @escaping @Sendable (_ size: Int) -> Families
  ) -> Operation {
    Operation(
      name: name, what: what, unit: "child", stage: .associations,
      limit: .ratio(must: 2.0, aim: 1.0),
      slowest: "sqlite"
    ) { session in
      let families = families(session.size)
      return try session.withAssociations { engine in
        let people = families.people(size: session.size)
        let staying = WorkloadPerson.companies(size: session.size)
        try engine.fill(companies: families.count + staying, people: people)
        let companies = (1...Int64(families.count)).map { $0 }
        let nanoseconds = try session.stopwatch.time { try engine.destroy(companies: companies) }
        let left = try engine.fingerprint()
        let gone = families.count * families.children
        guard left.rows == UInt64(people.count - gone) else {
          throw BenchmarkError(
            "\(session.peer) \(name): \(left.rows) of \(people.count) people are left")
        }
        return Measurement(
          operation: name, nanoseconds: nanoseconds, operations: gone, rows: left.rows,
          checksum: left.checksum)
      }
    }
  }

  private static func link(_ session: Session) throws -> Measurement? {
    let students = max(1, min(10_000, session.size / 10))
    let courses = max(1, min(1_000, session.size / 100))
    var stream = RandomStream(operation: 304)
    let links = (0..<min(100_000, session.size)).map { _ in
      let student = 1 + Int64(stream.below(students))
      return Link(student: student, course: 1 + Int64(stream.below(courses)))
    }
    return try session.withAssociations { engine in
      try engine.addSchool(students: students, courses: courses)
      try engine.settle()
      let nanoseconds = try engine.time(links, session.stopwatch)
      let kept = try engine.links()
      guard kept.rows == UInt64(2 * Set(links).count) else {
        throw BenchmarkError("\(session.peer) A4: \(kept.rows) links in both directions")
      }
      return Measurement(
        operation: "A4", nanoseconds: nanoseconds, operations: links.count, rows: kept.rows,
        checksum: kept.checksum)
    }
  }

  private static func fetchWithPeople(_ session: Session) throws -> Measurement? {
    try session.withAssociations { engine in
      let companies = WorkloadPerson.companies(size: session.size)
      let people = WorkloadPerson.records(1...session.size, size: session.size)
      try engine.fill(companies: companies, people: people)
      // Brings every page of the people in, as the scan before each reading operation does.
      _ = try engine.fingerprint()
      var measurement = try repeatedQuery("A5", session) {
        try engine.fetch(companies: min(1_000, companies))
      }
      // Its rows are a mean of the queries, its operations were queries: now they are people.
      measurement.operations *= Int(measurement.rows)
      return measurement
    }
  }
}
