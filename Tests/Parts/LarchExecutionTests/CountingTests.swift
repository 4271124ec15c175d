import LarchTestSupport
import Testing

@testable import Larch

@Suite struct CountingTests {
  private func scan(
    _ index: Int, _ ranges: [KeyRange] = [.everything], _ keyFilter: [FilterNode] = []
  ) -> Plan.IndexScan {
    Plan.IndexScan(
      index: index, ranges: ranges, bounds: [], keyFilter: keyFilter, mayRepeat: false,
      isPoints: false)
  }

  private func plan(_ source: Plan.Source, limit: Int? = nil, offset: Int = 0) -> Plan {
    Plan(
      source: source, residue: [], order: .any, isCovering: true, after: nil, offset: offset,
      limit: limit)
  }

  @Test func `Counts read keys, not entries or records`() throws {
    var random = SeededGenerator(seed: 71)
    let samples = try SampleStore(count: 400, &random)
    let atLeast = FilterNode.field(
      FieldFilter(
        SampleField.age,
        .within(lower: ValueBound(values: [.signed(3)], isIncluded: true), upper: nil)))
    let ages = Set(samples.records.map(\.age))
    let keys = Set(samples.records.map { "\($0.city ?? "nil") \($0.age)" })
    func counted(_ plan: Plan) throws -> (Int, ExecutionCounters) {
      try samples.run(plan) { run, _ in (try run.count(), run.counters) }
    }
    var result = try counted(plan(.records([.everything])))
    #expect(result.0 == 400)
    #expect(result.1 == ExecutionCounters())
    result = try counted(plan(.index(scan(Sample.Place.age))))
    #expect(result.0 == 400)
    #expect(result.1 == ExecutionCounters())
    result = try counted(plan(.index(scan(Sample.Place.age, [.everything], [atLeast]))))
    #expect(result.0 == samples.records.count { $0.age >= 3 })
    #expect(result.1.entriesExamined == ages.count)
    #expect(result.1.recordsExamined == 0)
    // Composed and decomposed texts are one key, so this is a bound.
    result = try counted(plan(.index(scan(Sample.Place.cityAge, [.everything], [atLeast]))))
    #expect(result.0 == samples.records.count { $0.age >= 3 })
    #expect(result.1.entriesExamined <= keys.count)
    result = try counted(plan(.index(scan(Sample.Place.age)), limit: 30, offset: 395))
    #expect(result.0 == 5)
    result = try counted(plan(.index(scan(Sample.Place.age)), limit: .max, offset: 5))
    #expect(result.0 == 395)
    let exists = try samples.run(plan(.index(scan(Sample.Place.age, [.everything], [atLeast])))) {
      run, _ in (try run.exists(), run.counters)
    }
    #expect(exists.0)
    #expect(exists.1.entriesExamined <= ages.count)
  }

  @Test(arguments: [72, 73] as [UInt64])
  func `Groups are those of the records`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let samples = try SampleStore(count: 200, &random)
    let cases: [(Int, TypedField<Sample>)] = [
      (Sample.Place.cityAge, SampleField.city), (Sample.Place.cityAge, SampleField.age),
      (Sample.Place.note, SampleField.note), (Sample.Place.noteAge, SampleField.age),
      (Sample.Place.score, SampleField.score), (Sample.Place.height, SampleField.height),
      (Sample.Place.day, SampleField.day), (Sample.Place.blobSmall, SampleField.small),
      (Sample.Place.blobSmall, SampleField.blob), (Sample.Place.token, SampleField.token),
      (Sample.Place.shout, SampleField.shout),
    ]
    for (index, field) in cases {
      let filter = FilterNode.field(FieldFilter(field, random.test(of: field)))
      let filters = random.chance(2) ? [filter] : []
      var found: [(values: [KeyValue], count: Int)] = []
      func add(_ values: [KeyValue], _ count: Int) {
        if let place = found.firstIndex(where: { KeyValue.compare($0.values, values) == 0 }) {
          found[place].count += count
        } else {
          found.append((values, count))
        }
      }
      let isGrouped = try samples.run(
        plan(.index(scan(index, [.everything], filters))), selecting: [field]
      ) { run, _ in try run.forEachGroup(of: 0) { values, count, _ in add(values, count) } }
      #expect(isGrouped)
      let groups = found.sorted { KeyValue.compare($0.values, $1.values) < 0 }
      found = []
      for record in samples.records where FilterNode.all(filters).matches(record) {
        add(field.value(of: record), 1)
      }
      found.sort { KeyValue.compare($0.values, $1.values) < 0 }
      #expect(groups.map(\.count) == found.map(\.count), "seed \(seed) \(field.name)")
      #expect(zip(groups, found).allSatisfy { KeyValue.compare($0.values, $1.values) == 0 })
    }
  }

  @Test func `The first rows of an order keep and read only as many records`() throws {
    var random = SeededGenerator(seed: 74)
    let samples = try SampleStore(count: 300, &random)
    let age = OrderTerm(field: SampleField.age, descends: true)
    // The keys have the order, so only the returned records are read.
    let sorted = Plan(
      source: .index(scan(Sample.Place.cityAge)), residue: [],
      order: .sorted([age], idsDescend: false), isCovering: false, after: nil, offset: 2,
      limit: 5)
    try samples.run(sorted) { run, _ in
      while try run.next() != nil {}
      #expect(run.counters.recordsExamined == 5)
      #expect(run.counters.entriesExamined == 300)
      #expect(run.counters.spilledBytes == 0)
    }
    let ordered = Plan(
      source: .index(scan(Sample.Place.age)), residue: [],
      order: .byIndex(components: 1, descends: false, idsDescend: false), isCovering: false,
      after: nil, offset: 0, limit: 5)
    try samples.run(ordered) { run, _ in
      while try run.next() != nil {}
      #expect(run.counters.recordsExamined == 5)
      #expect(run.counters.entriesExamined <= 10)
    }
  }

  @Test func `Statistics are exact for few entries and approximate for many`() throws {
    var random = SeededGenerator(seed: 75)
    let samples = try SampleStore(count: 2000, &random)
    try samples.store.read { tx throws in
      let collection = try tx.context.collection(of: Sample.self)
      let statistics = IndexStatistics(collection, tx.context)
      #expect(try statistics.recordCount() == 2000)
      func bound(_ age: Int) -> KeyPrefix {
        var writer = KeyWriter()
        writer.append(int64: Int64(age))
        return KeyPrefix(writer)
      }
      for age in -3...11 {
        let points = try statistics.estimate(
          index: Sample.Place.age, ranges: [.exactly(bound(age))])
        #expect(points == samples.records.count { $0.age == age })
      }
      let some = KeyRange(lower: bound(2).bytes, upper: bound(7).bytes, needsCheck: false)
      #expect(
        try statistics.estimate(index: Sample.Place.age, ranges: [some])
          == samples.records.count { (2..<7).contains($0.age) })
      #expect(try statistics.estimate(index: Sample.Place.age, ranges: []) == 0)
      #expect(try statistics.estimate(index: Sample.Place.age, ranges: [.everything]) == 2000)
      let beyond = KeyRange(lower: [0xFF, 0xFF], upper: nil, needsCheck: false)
      #expect(try statistics.estimate(index: Sample.Place.age, ranges: [beyond]) <= 2000)
    }
  }
}
