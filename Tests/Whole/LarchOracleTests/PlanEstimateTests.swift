import LarchTestSupport
import Testing

@testable import Larch

/// The planner took an index on `group, number` to have as many entries of each group as of any
/// other: it only looked at keys as numbers, and not at how many there are between them. So a rare
/// group was found by a scan of all records.
@Suite("What the planner expects of ranges")
struct PlanEstimateTests {
  @Test("An estimate is near the number of entries, wherever they lie")
  func near() throws {
    var errors: [(factor: Double, text: String)] = []
    for seed in 500..<UInt64(530) {
      let store = try RegretStore(seed: seed)
      try store.store.read { tx in
        for place in 0..<40 { try tx.compare(try RegretCase(store, place), &errors) }
      }
    }
    errors.sort { $0.factor < $1.factor }
    #expect(errors.count > 500)
    let most = errors[errors.count * 95 / 100]
    #expect(most.factor <= 1.5, "\(most.text)")
    #expect(errors.last?.factor ?? 0 <= 3, "\(errors.last?.text ?? "")")
  }

  @Test("An estimate in a write includes what it wrote")
  func writing() throws {
    let store = try RegretStore(seed: 7)
    try store.store.write { tx in
      let before = try tx.count(RegretItem.all)
      for code in 0..<500 {
        var item = RegretItem()
        item.code = 2_000_000 + code
        try tx.insert(&item)
      }
      let collection = try tx.context.collection(of: RegretItem.self)
      let ids = KeyRange(lower: [0x80], upper: nil, needsCheck: false)
      let found = try IndexStatistics(collection, tx.context).estimate(ids: [ids])
      #expect(found == before + 500)
    }
  }
}

extension ReadTransaction {
  fileprivate func compare(
    _ asked: RegretCase, _ errors: inout [(factor: Double, text: String)]
  ) throws {
    let collection = try context.collection(of: RegretItem.self)
    let statistics = IndexStatistics(collection, context)
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    guard let task = try planner.task(asked.query.details, for: .count) else { return }
    func note(_ estimate: Int, _ source: Plan.Source) throws {
      let plan = Plan(
        source: source, residue: [], order: .any, isCovering: true, offset: 0, limit: nil)
      let run = try PlanRun(
        plan, in: collection, context: context,
        typed: RecordAccess<RegretItem>(context, collection))
      var count = 0
      while try run.next() != nil { count += 1 }
      run.close()
      // A few more or less decide nothing.
      let factor = (Double(estimate) + 16) / (Double(count) + 16)
      errors.append(
        (
          Swift.max(factor, 1 / factor),
          "\(asked.text)\n\(plan.text(in: collection.schema))\n\(estimate) for \(count)"
        ))
    }
    for match in task.matches(among: collection.answering) {
      guard let candidate = task.scan(match), case .index(var scan) = candidate.source,
        !scan.mayRepeat
      else { continue }
      scan.keyFilter = []
      try note(try statistics.estimate(index: scan.index, ranges: scan.ranges), .index(scan))
    }
    if let ids = task.boundsOfID() {
      try note(try statistics.estimate(ids: ids.ranges), .records(ids.ranges))
    }
  }
}
