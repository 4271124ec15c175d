import LarchTestSupport
import Testing

@testable import Larch

/// The reasons for choices, and what they must never do.
struct PlanChoiceTests {
  private let table: PlanTable

  init() throws { table = try PlanTable() }

  @Test func `Simple queries are planned without statistics`() throws {
    let queries = [
      PlanPerson.all,
      PlanPerson.where { $0.id == 3 },
      PlanPerson.where { $0.email == "e7@x" },
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age).limit(20),
      PlanPerson.where { $0.score > 3 }.sorted(by: \.score).limit(20),
      PlanPerson.where { $0.note == "n" },
      PlanPerson.all.sorted(by: \.note),
    ]
    for query in queries { _ = try table.simulator.plan(query) }
    _ = try table.simulator.plan(PlanPerson.where { $0.score > 3 }, for: .count)
    #expect(table.simulator.questions == 0)
    // One reading of the number of records with the value.
    _ = try table.simulator.plan(PlanPerson.where { $0.company == 3 })
    #expect(table.simulator.questions == 2)
    _ = try table.simulator.plan(PlanPerson.where { $0.score > 3 })
    #expect(table.simulator.questions > 2)
  }

  @Test func `A value that most records have does not make the plan use an index`() throws {
    let simulator = try PlanSimulator(
      (1...1000).map { n in
        var person = PlanPerson(id: RecordID(Int64(n)))
        person.company = n % 10 == 0 ? n : 1
        return person
      })
    #expect(
      try simulator.text(PlanPerson.where { $0.company == 1 })
        == "all records\n  filter company == 1")
    #expect(
      try simulator.text(PlanPerson.where { $0.company == 10 })
        == "index company_name [10]\n  sort by id")
    // The first few are found immediately, and counting reads no record.
    #expect(
      try simulator.text(PlanPerson.where { $0.company == 1 }.sorted(by: \.name).limit(2))
        .hasPrefix("index company_name [1]"))
  }

  @Test func `An index that is not complete, or not over all records, is not used`() throws {
    let simulator = try PlanSimulator([PlanPerson](), unreadable: ["city_age"])
    #expect(
      try simulator.text(PlanPerson.where { $0.city == "a" })
        == "all records\n  filter city == \"a\"")
    #expect(
      try simulator.text(PlanPerson.where { $0.isActive && $0.age == 3 }).contains("activeAge")
        == false)
  }

  @Test func `All matches of a cut constant are checked`() throws {
    let long = String(repeating: "x", count: 200)
    let first = try table.simulator.plan(
      PlanPerson.where { $0.city == long && $0.age == 3 }.sorted(by: \.name))
    guard case .index(let scan) = first.source else {
      Issue.record("no index: \(first)")
      return
    }
    #expect(scan.keyFilter.map(\.text).count == 2)
    #expect(scan.ranges.allSatisfy { $0.needsCheck })
    // The age is not in the key, so its order is not either.
    let second = try table.simulator.text(
      PlanPerson.where { $0.city == long }.sorted(by: \.age))
    #expect(second.contains("sort by age"))
  }

  @Test func `Of equally good indexes, the first by name is used`() throws {
    let simulator = try PlanSimulator([PlanTwins]())
    #expect(
      try simulator.text(PlanTwins.where { $0.a == 1 }) == "index alpha [1]")
    #expect(
      try simulator.text(PlanTwins.where { $0.a == 1 && $0.b > 2 })
        == "index beta [1, 2] <.. [1]\n  sort by id")
  }

  @Test func `A negative limit or offset is an error`() throws {
    for query in [PlanPerson.all.limit(-1), PlanPerson.all.offset(-1)] {
      #expect(throws: LarchError.self) { try table.simulator.plan(query) }
      #expect(throws: LarchError.self) {
        try table.simulator.planner.fullScan(query.details, for: .records)
      }
    }
  }

  @Test func `The greatest limit and offset do not trap`() throws {
    let query = PlanPerson.all.sorted(by: \.note).limit(.max).offset(.max)
    #expect(try table.simulator.text(query).contains("sort by note\n"))
    _ = try table.simulator.plan(query, for: .exists)
    _ = try table.simulator.plan(PlanPerson.where { $0.score > 3 }.offset(.max), for: .exists)
  }

  @Test func `A full scan uses the filter as it was written`() throws {
    let query = PlanPerson.where { $0.city == "London" && !($0.age < 3) }.sorted(by: \.age)
    let plan = try table.simulator.planner.fullScan(query.details, for: .records)
    #expect(
      plan.text(in: table.simulator.schema) == """
        all records
          filter city == "London" && !(age < 3)
          sort by age
        """)
    #expect(try table.simulator.rows(plan) == table.simulator.expected(query.details))
  }

  @Test func `The minimum and the maximum are one entry at an end of an index`() throws {
    for query in [
      PlanPerson.where { $0.company != nil }.sorted(by: \.company).limit(1),
      PlanPerson.where { (0...).contains($0.age) }.sorted(by: \.score, .descending).limit(1),
    ] {
      let plan = try table.simulator.plan(query, for: .fields(table.company))
      guard case .byIndex = plan.order else {
        Issue.record("not by an index: \(plan)")
        return
      }
    }
    let present = FilterNode.field(FieldFilter(table.score[0], .within(lower: nil, upper: nil)))
    var query = QueryDescription()
    query.filter = present
    query.order = [OrderTerm(field: table.score[0], descends: true)]
    query.limit = 1
    let plan = try table.simulator.planner.plan(
      query, for: .fields(table.score), statistics: table.simulator)
    #expect(
      plan.text(in: table.simulator.schema) == """
        index score [score != nil] descending
          order served by the index
          limit 1
          answered from the index alone
        """)
  }

  // MARK: Pages

  @Test(arguments: [false, true])
  func `A page costs as much as its rows, and no row is lost`(isReversed: Bool) throws {
    let queries: [Query<PlanPerson>] = [
      PlanPerson.all,
      PlanPerson.where { $0.id > 100 && $0.id < 1500 },
      PlanPerson.where { $0.city == "London" }.sorted(by: \.age),
      PlanPerson.all.sorted(by: \.score),
      PlanPerson.all.sorted(by: \.city, \.age),
      PlanPerson.all.sorted(by: \.version),
      PlanPerson.all.sorted(by: \.name, options: .caseInsensitive),
    ]
    let simulator = table.simulator
    for query in queries {
      let query = isReversed ? query.reversed() : query
      let whole = simulator.expected(query.details)
      var details = query.details
      details.limit = 61
      var rows: [[UInt8]] = []
      simulator.examined = 0
      var lengths = 0
      while true {
        let plan = try simulator.planner.plan(details, for: .records, statistics: simulator)
        // Rows before the page are outside the bounds of the scan, except at most 67 equal keys.
        let before = simulator.examined
        let page = try simulator.rows(plan)
        lengths += simulator.examined - before
        #expect(simulator.examined - before <= whole.count - rows.count + 80)
        rows += page
        guard page.count == 61, let last = page.last else { break }
        details.after = simulator.token(last, details.order)
      }
      #expect(rows == whole, "\(query)")
      #expect(lengths > 0)
    }
  }
}

/// Two indexes that begin the same.
private struct PlanTwins: Record {
  var id = RecordID<PlanTwins>()
  var a = 0
  var b = 0

  static let schema = Schema<PlanTwins> {
    Index(\.a, \.b, name: "beta")
    Index(\.a, \.b, name: "delta")
    Index(\.a, name: "gamma")
    Index(\.a, name: "alpha")
  }
}
