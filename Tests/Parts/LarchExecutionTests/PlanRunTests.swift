import LarchTestSupport
import Testing

@testable import Larch

@Suite struct PlanRunTests {
  /// Random sources, residues, orders, pages and counts, against arrays.
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `Every plan gives what an array gives`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let samples = try SampleStore(count: 120, &random)
    for round in 0..<300 {
      let source = random.source(depth: 2)
      let residue = random.chance(3) ? [] : [random.filter(depth: 2)]
      let (order, terms, idsDescend) = random.order(of: source)
      let expected = Expectation(
        filter: .all([source.meaning] + residue), order: terms, idsDescend: idsDescend)
      var plan = Plan(
        source: source.source, residue: residue, order: order, isCovering: random.chance(2),
        after: nil, offset: random.chance(3) ? random.below(5) : 0,
        limit: random.chance(2) ? random.below(20) : nil)
      if random.chance(4) { plan.after = expected.token(random.pick(samples.records)) }
      var settings = SortSettings()
      if random.chance(3) { settings.budget = random.below(4096) }
      let all = expected.rows(samples.records, after: plan.after).dropFirst(plan.offset)
      let rows = all.prefix(plan.limit ?? .max).map(\.id.rawValue)
      let comment: Comment = "seed \(seed) round \(round) \(plan)"
      #expect(try samples.ids(plan, settings: settings) == rows, comment)
      let count = try samples.run(plan, settings: settings) { run, _ in try run.count() }
      #expect(count == rows.count, comment)
      let exists = try samples.run(plan, settings: settings) { run, _ in try run.exists() }
      #expect(exists == !rows.isEmpty, comment)
      plan.order = .any
      plan.after = nil
      plan.offset = 0
      plan.limit = nil
      let whole = expected.rows(samples.records).map(\.id.rawValue).sorted()
      #expect(try samples.ids(plan).sorted() == whole, comment)
      plan.limit = 1
      let any = try samples.run(plan) { run, _ in try run.exists() }
      #expect(any == !whole.isEmpty, comment)
    }
  }
}
