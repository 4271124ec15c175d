import LarchTestSupport
import Testing

@testable import Larch

/// The planner took every condition without an index to be true for a tenth or a third of the records,
/// whatever else was true for them. So a query for open issues of a project of which all are open
/// read each of them, and sorted them, where the first ones of the order were enough.
@Suite("What samples tell the planner")
struct PlanSampleTests {
  private static let size = 6000

  /// All records of group 1 are open, and no others; one number has two thirds of all records.
  private static func store() throws -> Store {
    let indexes = [RegretIndex(fields: [.group]), RegretIndex(fields: [.number, .rank])]
    let store = try RegretItem.$indexes.withValue(indexes) {
      try Store.temporary(for: RegretItem.self)
    }
    try store.write { tx in
      for place in 0..<size {
        var item = RegretItem()
        item.group = place % 4
        item.isOpen = item.group == 1
        item.rank = place / 4 % 10
        item.number = place % 3 == 0 ? place : -1
        try tx.insert(&item)
      }
    }
    return store
  }

  @Test("Rows of an index are tested together with what they depend on")
  func dependent() throws {
    let store = try Self.store()
    let query = RegretItem.where { $0.group == 1 && $0.isOpen && $0.rank < 5 }
    try store.read { tx in
      let sample = try #require(try tx.sample(query, rows: 24))
      #expect(sample.rows.count == 24)
      #expect(sample.decided == 0b111)
      #expect(sample.rows.allSatisfy { $0 & 0b11 == 0b11 })
      #expect((6...18).contains(sample.rows.count { $0 & 0b100 != 0 }))
      #expect(sample.share(of: 0b10, guess: 0.5) > 0.95)
    }
  }

  @Test("A few keys are all counted; of many keys, a sample estimates how many pass")
  func keys() throws {
    let store = try Self.store()
    try store.read { tx in
      // The ten ranks of one number: each is a key with 400 entries.
      let few = try #require(
        try tx.sample(RegretItem.where { $0.number < 0 && $0.rank < 3 }, rows: 0))
      let facts = few.facts(entries: 4000, guess: 0.1)
      #expect(few.keys == 10)
      #expect(facts.refused == 7)
      #expect(facts.passing == 1200)
      let many = try #require(
        try tx.sample(RegretItem.where { $0.number >= 0 && $0.rank < 3 }, rows: 0))
      #expect((20...48).contains(many.keys))
      #expect(abs(many.keyCount - 2000) < 200)
      let told = many.facts(entries: 2000, guess: 0.1)
      #expect((200...1000).contains(told.passing))
      #expect((1000...1800).contains(told.refused))
    }
  }

  @Test("Records are sampled over the whole file, and a write samples nothing")
  func records() throws {
    let store = try Self.store()
    let query = RegretItem.where { $0.isOpen && $0.note == nil && $0.word.hasSuffix("x") }
    try store.read { tx in
      let sample = try #require(try tx.sampleRecords(query, rows: 24))
      #expect((16...32).contains(sample.rows.count))
      #expect(sample.rows.allSatisfy { $0 & 0b110 == 0b010 })
      #expect(abs(sample.keyCount - Double(Self.size)) < Double(Self.size) / 10)
    }
    let sampleOfWrite = try store.write { tx in try tx.sampleRecords(query, rows: 24)?.rows.count }
    #expect(sampleOfWrite == nil)
  }

  @Test("All plans of a query in turns give the answer of the first")
  func turns() throws {
    let store = try Self.store()
    let query = RegretItem.where { $0.group == 2 && $0.number == 5001 && $0.rank < 9 }
    let items = try store.fetch(RegretItem.all)
    let found = items.filter { $0.group == 2 && $0.number == 5001 && $0.rank < 9 }
    for limit in [1, 3, 10_000] {
      #expect(try store.count(query.limit(limit)) == min(limit, found.count))
    }
    #expect(try store.exists(query) == !found.isEmpty)
  }
}

extension ReadTransaction {
  /// A sample of the only index that bounds a query.
  fileprivate func sample(_ query: Query<RegretItem>, rows: Int) throws -> PlanSample? {
    let (task, statistics) = try samples(query)
    let collection = try context.collection(of: RegretItem.self)
    let match = try #require(task.matches(among: collection.answering).first)
    let scan = try #require(task.scan(match))
    return try statistics.sample(scan.source, task.conjuncts.map(\.node), rows: rows)
  }

  fileprivate func sampleRecords(_ query: Query<RegretItem>, rows: Int) throws -> PlanSample? {
    let (task, statistics) = try samples(query)
    return try statistics.sample(
      .records([.everything]), task.conjuncts.map(\.node), rows: rows)
  }

  private func samples(_ query: Query<RegretItem>) throws -> (PlanTask, IndexStatistics) {
    let collection = try context.collection(of: RegretItem.self)
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let task = try #require(try planner.task(query.details, for: .records))
    return (task, IndexStatistics(collection, context))
  }
}
