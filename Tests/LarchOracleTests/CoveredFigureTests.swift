import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Figures that an index alone tells, and what they look at.
@Suite("Figures from an index alone")
struct CoveredFigureTests {
  private struct Sale: Record {
    var id = RecordID<Sale>()
    var city: String
    var amount: Int16
    var note: String?

    static let schema = Schema<Sale> {
      Index(\.city, \.amount)
      Unique(\.note)
    }
  }

  private func store() throws -> Store {
    let store = try Store.temporary(for: Sale.self)
    try store.write { tx throws in
      for number in 0..<90 {
        var sale = Sale(
          city: ["Oslo", "Lyon", "Bergen"][number % 3], amount: Int16(20_000 + number / 3))
        try tx.insert(&sale)
      }
    }
    return store
  }

  @Test("Counts by the first field of an index read no record")
  func counts() throws {
    let store = try store()
    let counts = try store.counts(by: \Sale.city)
    #expect(counts.map(\.value) == ["Bergen", "Lyon", "Oslo"])
    #expect(counts.map(\.count) == [30, 30, 30])
    let some = try store.counts(by: \.city, of: Sale.where { $0.amount < 20_010 })
    #expect(some.map(\.count) == [10, 10, 10])
    let limited = try store.counts(by: \.city, of: Sale.all.limit(4))
    #expect(limited.map(\.count) == [1, 1, 2])
    // The very same figures where records have to be looked at.
    let notes = try store.counts(by: \Sale.note)
    #expect(notes.count == 1 && notes[0].value == nil && notes[0].count == 90)
  }

  @Test("Counting a range of an index reads only its keys")
  func counting() throws {
    let store = try store()
    let query = Sale.where { $0.city == "Oslo" && $0.amount >= 20_010 && $0.amount < 20_015 }
    #expect(try store.count(query) == 5)
    let text = try store.explain(query, counting: true, running: true)
    #expect(text.hasSuffix("examined 5 index entries, 0 records; returned 0"), "\(text)")
    try store.expectPlan(counting: query, text)
    #expect(throws: PlanDifference.self) {
      try store.expectPlan(counting: Sale.all, text)
    }
  }

  @Test("A selection of indexed fields reads no record")
  func selection() throws {
    let store = try store()
    let selection = Sale.where { $0.city == "Lyon" }.sorted(by: \.amount).select(\.city, \.amount)
    let text = try store.explain(selection, running: true)
    #expect(text.hasSuffix("examined 30 index entries, 0 records; returned 30"), "\(text)")
    #expect(try store.fetch(selection).map(\.1) == (0..<30).map { Int16(20_000 + $0) })
  }

  @Test("The sum of small numbers is not bound to their type")
  func smallSums() throws {
    let store = try store()
    let sum: Int = try store.sum(\Sale.amount)
    #expect(sum == 90 * 20_000 + 3 * (0..<30).reduce(0, +))
  }

  @Test("A missing record is created once, whatever form the closure has")
  func findOrCreate() throws {
    let store = try store()
    for _ in 0..<2 {
      let sale = try store.findOrCreate(Sale.self, by: \.note, equals: "gift") {
        let city = "Paris"
        return Sale(city: city, amount: 1, note: "gift")
      }
      #expect(sale.id == 91)
    }
    #expect(try store.count(Sale.all) == 91)
  }
}
