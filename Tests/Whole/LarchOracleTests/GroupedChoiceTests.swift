import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What the regret test of groups found, each as a case of its own: see `PlanRegretTests`.
@Suite("The choice of a plan for groups")
struct GroupedChoiceTests {
  struct Sale: Record {
    var id = RecordID<Self>()
    var city: String
    var isPaid: Bool
    var day: Int
    var price: Double

    static let schema = Schema<Sale> {
      // By name, the index with a key for each record would come first.
      Index(\.city, \.day)
      Index(\.city, \.isPaid)
      Index(\.day)
      Index(\.price)
    }
  }

  private static let count = 4000
  private static let cities = ["Oslo", "Lund", "Århus"]

  private static func sales() throws -> (store: Store, sales: [Sale]) {
    let store = try Store.temporary(for: Sale.self)
    var sales = (0..<count).map { number in
      Sale(
        city: cities[number % 3], isPaid: number % 2 == 0, day: number,
        price: number % 4 == 0 ? -0.0 : Double(number % 4))
    }
    try store.write { tx in
      for place in sales.indices { try tx.insert(&sales[place]) }
    }
    return (store, sales)
  }

  /// What `running` says of a request, which begins with its plan.
  private static func examined(_ text: String) throws -> (entries: Int, records: Int) {
    let numbers = text.split(separator: "\n").last?.split { !$0.isNumber }.compactMap { Int($0) }
    let found = try #require(numbers?.count == 3 ? numbers : nil, "\(text)")
    return (found[0], found[1])
  }

  // A report of counts by city took as long as reading all of an index of which each key was another
  // record's, though one beside it has six keys: the entries of both are as many.
  @Test("Of several indexes with the groups, the one with the fewest keys is read")
  func fewestKeys() throws {
    let (store, sales) = try GroupedChoiceTests.sales()
    let request = Sale.all.grouped(by: \.city).select(.count)
    let text = try store.explain(request, running: true)
    #expect(text.hasPrefix("index city_isPaid all entries\n  counts group by group"), "\(text)")
    #expect(try GroupedChoiceTests.examined(text).entries <= 10, "\(text)")
    let expected = Dictionary(grouping: sales, by: \.city).mapValues(\.count)
    for (city, count) in try store.fetch(request) { #expect(count == expected[city]) }
  }

  @Test("Of several indexes with a field, a sum reads the one with the fewest keys")
  func fewestKeysOfSum() throws {
    struct Visit: Record {
      var id = RecordID<Self>()
      var day: Int
      var number: Int
      var isLong: Bool
      static let schema = Schema<Visit> {
        Index(\.day, \.number)
        Index(\.day, \.isLong)
      }
    }
    let store = try Store.temporary(for: Visit.self)
    try store.write { tx in
      for number in 0..<2000 {
        var visit = Visit(day: number % 7, number: number, isLong: number % 2 == 0)
        try tx.insert(&visit)
      }
    }
    for query in [Visit.all, Visit.where { $0.day >= 2 }] {
      try store.read { tx in
        let collection = try tx.context.collection(of: Visit.self)
        let prepared = try tx.prepare(
          query.details, for: .values([TypedField.of(\Visit.day)]), in: collection)
        #expect(prepared.text.hasPrefix("index day_isLong "), "\(prepared.text)")
      }
    }
    #expect(
      try store.sum(\.day, of: Visit.where { $0.day >= 2 })
        == (0..<2000).map { $0 % 7 }.filter { $0 >= 2 }.reduce(0, +))
  }

  // After one large group, two searches were made for each group of one record.
  @Test("Small groups after a large one cost no search each", arguments: [false, true])
  func smallAfterLarge(isGreatest: Bool) throws {
    struct Reading: Record {
      var id = RecordID<Self>()
      var sensor: Int
      var value: Int
      static let schema = Schema<Reading> { Index(\.sensor, \.value) }
    }
    let store = try Store.temporary(for: Reading.self)
    try store.write { tx in
      for number in 0..<2000 {
        var reading = Reading(sensor: max(0, number - 1000), value: number * 7919 % 1000)
        try tx.insert(&reading)
      }
    }
    let request = Reading.all.grouped(by: \.sensor)
      .select(isGreatest ? .max(\.value) : .min(\.value))
    try store.read { tx in
      let skipped = try tx.run(
        request.query.details, of: Reading.self, for: request.need, selecting: request.selected
      ) { run, access in
        let groups = try request.groups(of: run, access)
        #expect(groups.table.count == 1000)
        #expect(run.counters.entriesExamined <= 1020)
        return run.counters.groupsSkipped
      }
      #expect(skipped <= 4)
    }
  }

  // A group of prices with a zero, or of names beyond ASCII, read each of its records: the value that was
  // asked for is the one of the key.
  @Test("Groups under one key read no record, whatever the value")
  func valuesOfKeys() throws {
    let (store, sales) = try GroupedChoiceTests.sales()
    let free = Sale.where { $0.price == 0 }.grouped(by: \.price).select(.max(\.price))
    let text = try store.explain(free, running: true)
    #expect(try GroupedChoiceTests.examined(text).records == 0, "\(text)")
    #expect(try store.fetch(free).map { $0.1?.sign } == [.plus])
    let paid = Sale.where { $0.city == "Århus" && $0.isPaid }.grouped(by: \.city, \.isPaid)
      .select(.max(\.city))
    let other = try store.explain(paid, running: true)
    #expect(try GroupedChoiceTests.examined(other).records == 0, "\(other)")
    #expect(try store.fetch(paid).map { $0.1 } == ["Århus"])
    // The sum of zeros does not depend on their signs, but each of them is added.
    let sums = try store.fetch(
      Sale.where { $0.price == 0 }.grouped(by: \.price).select(.sum(\.price)))
    #expect(sums.map { $0.1 } == [sales.filter { $0.price == 0 }.reduce(0) { $0 + $1.price }])
  }
}
