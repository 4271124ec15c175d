import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Plans of queries whose outline was planned before, against plans that are made anew.
@Suite("What the planner remembers of an outline")
struct PlanMemoryTests {
  private let memory = PlanMemory()

  @Test("A query of a known outline has the plan that it would have anew")
  func same() throws {
    let seed = PlanPropertyTests.givenSeed ?? UInt64.random(in: 0...999_999)
    var samples = PlanSamples(seed: seed)
    let people = try SchemaCompiler.compile(PlanPerson.self)
    let documents = try SchemaCompiler.compile(PlanDocument.self)
    var known = 0
    var kinds: [String: Int] = [:]
    for round in 0..<(PlanPropertyTests.rounds * 10) {
      let schema = samples.chance(75) ? people : documents
      var query =
        schema === people ? samples.query().details : samples.query(ofDocuments: ()).details
      if samples.chance(50) {
        // One or two conditions, as in most queries of programs.
        query.filter =
          schema === people
          ? samples.filter(depth: 1).node : samples.filter(ofDocuments: 1).node
      }
      let need = schema === people ? samples.need() : samples.needOfDocuments()
      for time in 0..<8 {
        var asked = query
        asked.filter = samples.withOtherConstants(query.filter)
        if asked.limit != nil { asked.limit = samples.pick([1, 3, 20, 900, 1001, 5000]) }
        if samples.chance(20) { asked.after = samples.token(asked.order) }
        // An index that is being built, or is complete by now.
        let usable = samples.pick([UInt64.max, .max, .max, .max, .max, ~2, ~7])
        let all = (UInt64(1) << UInt64(schema.indexes.count)) - 1
        let planner = Planner(schema: schema, usable: usable & all)
        let statistics = ChangingStatistics(seed: samples.generator.next())
        if try memory.scan(of: asked, for: need, in: planner) != nil { known += 1 }
        let plan = try planner.plan(
          asked, for: need, statistics: statistics, remembering: memory)
        let anew = try planner.plan(asked, for: need, statistics: statistics)
        // The values of the plan, with every byte of its bounds; and its filters, by their texts.
        guard "\(plan)" == "\(anew)", plan.text(in: schema) == anew.text(in: schema) else {
          Issue.record(
            """
            seed \(seed), round \(round), time \(time): \(asked.filter.text), \
            order \(asked.order.map(\.field.name)), \(need), limit \(asked.limit ?? -1)
            \(plan.text(in: schema))
            anew:
            \(anew.text(in: schema))
            """)
          return
        }
        let text = plan.text(in: schema)
        kinds[String(text.split(whereSeparator: { " \n".contains($0) })[0]), default: 0] += 1
      }
    }
    #expect(known > PlanPropertyTests.rounds * 5, "seed \(seed)")
    for kind in ["all", "records", "index", "nothing", "union"] {
      #expect(kinds[kind, default: 0] > 0, "no plan was of the kind \(kind), seed \(seed)")
    }
  }

  @Test("Queries whose outlines have the same place are remembered side by side")
  func places() throws {
    let planner = Planner(schema: try SchemaCompiler.compile(PlanPerson.self), usable: .max)
    let query = PlanPerson.where { $0.age == 3 }.details
    let filter = try query.filter.normalized()
    let traits = try #require(QueryOutline.traits(query, .records, wanted: nil))
    func keep(_ hash: UInt) throws -> PlanMemory.Known {
      let outline = try #require(QueryOutline(filter, query, .records, traits))
      let known = PlanMemory.Known(hash, planner, outline, nil, nil)
      memory.keep(known)
      return known
    }
    let hashes: [UInt] = [7, 71, 135, 199]
    let known = try hashes.map(keep)
    for (hash, known) in zip(hashes, known) { #expect(memory[hash] === known) }
    // One that is planned again takes its own place.
    let again = try keep(71)
    #expect(memory[71] === again && memory[7] === known[0] && memory[199] === known[3])
    // Of five, one is forgotten.
    let fifth = try keep(263)
    #expect(memory[263] === fifth)
    #expect(hashes.count { memory[$0] != nil } == 3)
    // The places of one are not those of all.
    #expect(memory[8] == nil && memory[70] == nil)
  }

  @Test("Usual queries are known when they are asked again, with any constant")
  func usual() throws {
    let simulator = try PlanSimulator([PlanPerson(name: "Ada", age: 36, city: "London")])
    func isKnown(
      _ need: QueryNeed, _ first: Query<PlanPerson>, _ second: Query<PlanPerson>
    ) throws -> Bool {
      let planner = simulator.planner
      _ = try planner.plan(
        first.details, for: need, statistics: simulator, remembering: memory)
      return try memory.scan(of: second.details, for: need, in: planner) != nil
    }
    #expect(
      try isKnown(
        .count, PlanPerson.where { $0.city == "London" }, PlanPerson.where { $0.city == "Paris" }))
    #expect(
      try isKnown(
        .records, PlanPerson.where { $0.email == "a" }, PlanPerson.where { $0.email == "b" }))
    #expect(
      try isKnown(
        .count, PlanPerson.where { $0.score >= 1 && $0.score < 2 },
        PlanPerson.where { $0.score >= 7 && $0.score < 9 }))
    #expect(
      try isKnown(
        .records, PlanPerson.where { $0.city == "London" }.sorted(by: \.age).limit(20),
        PlanPerson.where { $0.city == "Paris" }.sorted(by: \.age).limit(10)))
    #expect(
      try isKnown(
        .records, PlanPerson.where { $0.id > 7 }.limit(9), PlanPerson.where { $0.id > 9 }.limit(5)))
    #expect(
      try isKnown(
        .values([TypedField.of(\PlanPerson.age)]), PlanPerson.where { $0.city == "London" },
        PlanPerson.where { $0.city == "Paris" }))
    #expect(
      try isKnown(
        .records, PlanPerson.where { $0.note == "a" }, PlanPerson.where { $0.note == "b" }))
  }

  @Test("Another field, test, order, need or length of a list is another outline")
  func others() throws {
    let simulator = try PlanSimulator([PlanPerson(name: "Ada", age: 36, city: "London")])
    let planner = simulator.planner
    let query = PlanPerson.where { $0.city == "London" }
    _ = try planner.plan(query.details, for: .count, statistics: simulator, remembering: memory)
    #expect(try memory.scan(of: query.details, for: .count, in: planner) != nil)
    let others: [(Query<PlanPerson>, QueryNeed)] = [
      (query, .records), (query, .exists), (query.limit(3), .count),
      (query.sorted(by: \.age), .records), (query.reversed(), .records),
      (PlanPerson.where { $0.note == "London" }, .count),
      (PlanPerson.where { $0.city >= "London" }, .count),
      (PlanPerson.where { $0.city != "London" }, .count),
      (PlanPerson.where { ["London", "Paris"].contains($0.city) }, .count),
      (PlanPerson.where { $0.city == "London" && $0.age == 3 }, .count),
    ]
    for (other, need) in others {
      #expect(
        try memory.scan(of: other.details, for: need, in: planner) == nil,
        "\(other.details.filter.text)")
    }
    // The same query where an index is not complete.
    let incomplete = Planner(schema: simulator.schema, usable: 0)
    #expect(try memory.scan(of: query.details, for: .count, in: incomplete) == nil)
  }

  @Test("A frequent value of a known outline is found by another plan")
  func frequent() throws {
    var people: [PlanPerson] = []
    for number in 0..<400 {
      var person = PlanPerson(id: RecordID(Int64(number + 1)))
      person.score = number < 300 ? 1 : Double(number)
      people.append(person)
    }
    let simulator = try PlanSimulator(people)
    func text(_ score: Double) throws -> String {
      try simulator.planner.plan(
        PlanPerson.where { $0.score == score }.details, for: .records, statistics: simulator,
        remembering: memory
      ).text(in: simulator.schema)
    }
    for _ in 0..<2 {
      #expect(try text(350).hasPrefix("index score [350.0]"))
      #expect(try text(1).hasPrefix("all records"))
    }
  }
}

/// Statistics of a store that changes from query to query.
private struct ChangingStatistics: PlanStatistics {
  let seed: UInt64

  func recordCount() -> Int {
    var random = SeededGenerator(seed: seed)
    return [0, 20, 40, 1_000, 1_000_000][Int(random.next() % 5)]
  }

  func estimate(ids ranges: [KeyRange]) -> Int { estimate(index: 99, ranges: ranges) }

  func estimate(_ lists: Plan.ListScan) -> Int { lists.ids.count }

  func estimate(index: Int, ranges: [KeyRange]) -> Int {
    var random = SeededGenerator(
      seed: seed &+ UInt64(index) &* 977 &+ UInt64(ranges.count) &* 7919)
    return min(recordCount(), [0, 1, 30, 1_000, 50_000, 900_000][Int(random.next() % 6)])
  }
}

extension PlanMemory {
  /// What is known of the outline of a query.
  fileprivate func scan(
    of query: QueryDescription, for need: QueryNeed, in planner: Planner
  ) throws -> ScanOutline? {
    try known(query.filter.normalized(), query, for: need, planner)?.scan
  }
}

extension PlanSamples {
  fileprivate mutating func needOfDocuments() -> QueryNeed {
    switch number(5) {
    case 0: .ids
    case 1: .count
    case 2: .exists
    case 3: .values([TypedField.of(\PlanDocument.year)])
    default: .records
    }
  }

  /// A position in an order, which is not that of a record.
  fileprivate mutating func token(_ order: [OrderTerm]) -> PageToken {
    var values: [[KeyValue]] = []
    for term in order { values.append(value(of: term.field.form)) }
    return PageToken(order: "", values: values, id: [0x80, 0, 0, 0, 0, 0, 0, UInt8(number(60))])
  }

  private mutating func value(of form: KeyForm) -> [KeyValue] {
    switch form.unwrapped.node {
    case .primitive(.bool): [.bool(chance(50))]
    case .primitive(.string): [.string(text())]
    case .primitive(.double): [.double(double())]
    case .primitive(.date): [.date(double())]
    case .primitive(.uint8): [.unsigned(UInt64(number(200)))]
    case .primitive: [.signed(Int64(int()))]
    case .composite(let forms): forms.flatMap { value(of: $0) }
    case .optional: [.null]
    }
  }

  /// The same filter with other constants, mostly of the same outline.
  fileprivate mutating func withOtherConstants(_ node: FilterNode) -> FilterNode {
    switch node {
    case .all(let nodes): return .all(nodes.map { withOtherConstants($0) })
    case .any(let nodes): return .any(nodes.map { withOtherConstants($0) })
    case .not(let node): return .not(withOtherConstants(node))
    case .pair, .words, .record, .related: return node
    case .field(let filter):
      return .field(FieldFilter(filter.field, withOtherConstants(filter.test, filter.field.form)))
    }
  }

  private mutating func withOtherConstants(_ test: FieldTest, _ form: KeyForm) -> FieldTest {
    switch test {
    case .equal(let values): return .equal(values.map { otherValue($0, form) })
    case .within(let lower, let upper):
      return .within(lower: lower.map { other($0, form) }, upper: upper.map { other($0, form) })
    case .oneOf(let list):
      return .oneOf(anyOrder: list.map { values in values.map { otherValue($0, form) } })
    case .text(let text):
      return .text(TextTest(kind: text.kind, text: self.text(), text.textForm))
    }
  }

  private mutating func other(_ bound: ValueBound, _ form: KeyForm) -> ValueBound {
    ValueBound(values: bound.values.map { otherValue($0, form) }, isIncluded: chance(50))
  }

  private mutating func otherValue(_ value: KeyValue, _ form: KeyForm) -> KeyValue {
    switch value {
    case .bool: return .bool(chance(50))
    case .signed: return .signed(Int64(chance(50) ? int() : number(60)))
    case .unsigned: return .unsigned(UInt64(number(200)))
    case .double: return .double(double())
    case .date: return .date(double())
    case .string: return .string(chance(85) ? text() : PlanSamples.prefix + text())
    case .null, .float, .decimal, .data, .uuid, .url: return value
    }
  }
}
