import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Queries of decimals equal the array, with an index and without.
@Suite("The Swift oracle: decimals")
struct DecimalOracleTests {
  @Test("Random queries of decimals equal the array", arguments: 1...4 as ClosedRange<UInt64>)
  func random(seed: UInt64) throws {
    try DecimalOracleTests.check(NoDecimalIndexes.self, seed)
    try DecimalOracleTests.check(FirstDecimalIndexes.self, seed)
    try DecimalOracleTests.check(SecondDecimalIndexes.self, seed)
  }

  @Test("They do in a store that checks each query")
  func checked() throws {
    try DecimalOracleTests.check(FirstDecimalIndexes.self, 5, isChecked: true)
    try DecimalOracleTests.check(SecondDecimalIndexes.self, 6, isChecked: true)
  }

  private static func check<L: DecimalIndexes>(
    _: L.Type, _ seed: UInt64, isChecked: Bool = false
  ) throws {
    typealias Item = DecimalRecord<L>
    var random = SeededGenerator(seed: seed &+ 7000)
    var options = Store.Options()
    options.checksQueries = isChecked
    let store = try Store.temporary(for: Item.self, options: options)
    for _ in 0..<(isChecked ? 2 : 6) {
      try store.write { tx throws in
        try tx.delete(Item.all)
        for _ in 0..<random.pick([1, 30, 90]) {
          var record = random.decimalRecord(L.self)
          try tx.insert(&record)
        }
      }
      let all = try store.fetch(Item.all)
      for number in 0..<(isChecked ? 20 : 80) {
        let filter = DecimalFilter<L>.random(&random, depth: random.below(4))
        let order = DecimalOrder<L>.random(&random)
        let limit = random.chance(1, in: 3) ? random.below(12) : nil
        let text = "\(L.name), seed \(seed), \(number): \(filter.text), \(order.text)"
        let rows = order.sort(all.filter(filter.matches))
        let query = order.apply(Item.where { _ in filter.filter })
        try compare(store, query, rows, limit: limit, text)
        if number % 10 == 0 { try comparePages(store, query, rows, &random, text) }
      }
      #expect(try store.verify().isClean)
    }
  }

  private static func compare<L: DecimalIndexes>(
    _ store: Store, _ base: Query<DecimalRecord<L>>, _ sorted: [DecimalRecord<L>], limit: Int?,
    _ text: String
  ) throws {
    let query = limit.map { base.limit($0) } ?? base
    let rows = Array(sorted.prefix(limit ?? .max))
    let prices = rows.map(\.price)
    let discounts = rows.compactMap(\.discount)
    try store.read { tx throws in
      let found = try tx.fetch(query)
      guard found.map(\.id) == rows.map(\.id) else {
        Issue.record("\(text)\n\(try tx.explain(query))\n\(found.map(\.price)), not \(prices)")
        return
      }
      #expect(found.map(\.price) == prices, "\(text)")
      #expect(try tx.count(query) == rows.count, "\(text)")
      #expect(try tx.exists(query) == !rows.isEmpty, "\(text)")
      #expect(try tx.fetch(query.select(\.price)) == prices, "\(text)")
      #expect(try tx.fetch(query.select(\.discount)) == rows.map(\.discount), "\(text)")
      var seen: Set<Decimal> = []
      let distinct = sorted.map(\.price).filter { seen.insert($0).inserted }
      #expect(
        try tx.fetch(query.select(\.price).distinct()) == Array(distinct.prefix(limit ?? .max)),
        "\(text)")
      let counts = try tx.counts(by: \.price, of: query)
      #expect(counts.map(\.value) == Set(prices).sorted(), "\(text)")
      #expect(
        counts.map(\.count) == counts.map { pair in prices.filter { $0 == pair.value }.count },
        "\(text)")
      #expect(try tx.min(\.price, of: query) == prices.min(), "\(text)")
      #expect(try tx.max(\.price, of: query) == prices.max(), "\(text)")
      #expect(try tx.min(\.discount, of: query) == discounts.min(), "\(text)")
      #expect(try tx.max(\.discount, of: query) == discounts.max(), "\(text)")
      let sum = prices.reduce(0, +)
      #expect(try tx.sum(\.price, of: query) == sum, "\(text)")
      #expect(try tx.sum(\.discount, of: query) == discounts.reduce(0, +), "\(text)")
      let mean = try tx.average(\.price, of: query)
      if prices.isEmpty || sum.isNaN {
        #expect(mean?.isNaN ?? prices.isEmpty, "\(text)")
      } else {
        #expect(mean == (Double(sum.description) ?? 0) / Double(prices.count), "\(text)")
      }
    }
  }

  private static func comparePages<L: DecimalIndexes>(
    _ store: Store, _ query: Query<DecimalRecord<L>>, _ rows: [DecimalRecord<L>],
    _ random: inout SeededGenerator, _ text: String
  ) throws {
    var page = query.limit(1 + random.below(9))
    var seen: [RecordID<DecimalRecord<L>>] = []
    while true {
      let part = try store.page(page)
      seen += part.records.map(\.id)
      guard let next = part.next, seen.count <= rows.count else { break }
      page = page.after(try PageToken(next.text))
    }
    #expect(seen == rows.map(\.id), "\(text): pages")
  }

  // MARK: What the index does

  struct Sale: Record {
    var id = RecordID<Sale>()
    var price: Decimal
    var kind: Int
    var note = ""
    static let collectionName = "Sale"
  }

  struct IndexedSale: Record {
    var id = RecordID<IndexedSale>()
    var price: Decimal
    var kind: Int
    var note = ""
    static let collectionName = "Sale"
    static let schema = Schema<IndexedSale> {
      Index(\.price)
      Index(\.kind, \.price)
    }
  }

  @Test("An index on decimals that were written before is built, and answers alone")
  func addedIndex() throws {
    try withScratchPath { path throws in
      do {
        let store = try Store(at: path, for: Sale.self)
        try store.write { tx throws in
          for number in 0..<1_000 {
            var sale = Sale(price: Decimal(number % 250) / 4, kind: number % 3)
            try tx.insert(&sale)
          }
        }
        #expect(try store.count(Sale.where { $0.price < 10 }) == 160)
        store.close()
      }
      let store = try Store(at: path, for: IndexedSale.self)
      let few = IndexedSale.where { $0.price >= 10 && $0.price < 11 }
      let expected = [[Decimal]](repeating: [10, 10.25, 10.5, 10.75], count: 4).flatMap(\.self)
      #expect(try store.fetch(few).map(\.price) == expected)
      for query in [few, few.sorted(by: \.price), IndexedSale.where { $0.kind == 1 }] {
        let plan = try store.explain(query.select(\.price)).description
        #expect(plan.contains("index"), "\(plan)")
      }
      try store.read { tx throws in
        let work = try tx.explain(few).description
        #expect(!work.contains("full scan"), "\(work)")
        let groups = try tx.counts(by: \.price, of: IndexedSale.where { $0.kind == 1 })
        #expect(groups.count == 250)
      }
      #expect(try store.max(\.price, of: IndexedSale.all) == 62.25)
      #expect(try store.verify().isClean)
      try store.rebuild()
      #expect(try store.count(few) == 16)
    }
  }

  struct Offer: Record {
    var id = RecordID<Offer>()
    var price: Decimal
    static let schema = Schema<Offer> { Unique(\.price) }
  }

  @Test("Equal decimals are one value to a unique index, NaN too")
  func unique() throws {
    let store = try Store.temporary(for: Offer.self)
    try store.write { tx throws in
      for price: Decimal in [12.5, .nan] {
        var offer = Offer(price: price)
        try tx.insert(&offer)
      }
    }
    for price in [Decimal(sign: .plus, exponent: -2, significand: 1250), .nan] {
      #expect(throws: LarchError.self) {
        try store.write { tx throws in
          var offer = Offer(price: price)
          try tx.insert(&offer)
        }
      }
    }
    #expect(try store.find(Offer.self, by: \.price, equals: 12.5) != nil)
  }
}

/// An order and the same in Swift.
struct DecimalOrder<L: DecimalIndexes> {
  typealias Item = DecimalRecord<L>

  let text: String
  let apply: (Query<Item>) -> Query<Item>
  /// Negative if the first is less; rows that are equal are in the order of their ids.
  private let compare: (Item, Item) -> Int
  private let isReversed: Bool

  func sort(_ rows: [Item]) -> [Item] {
    let sorted = rows.sorted {
      let order = compare($0, $1)
      return order == 0 ? $0.id < $1.id : order < 0
    }
    return isReversed ? sorted.reversed() : sorted
  }

  private static func of(_ a: Decimal, _ b: Decimal) -> Int { a < b ? -1 : a > b ? 1 : 0 }

  private static func of(_ a: Decimal?, _ b: Decimal?) -> Int {
    guard let a, let b else { return (a == nil ? 0 : 1) - (b == nil ? 0 : 1) }
    return of(a, b)
  }

  static func random(_ random: inout SeededGenerator) -> Self {
    switch random.below(6) {
    case 0:
      Self(
        text: "by price", apply: { $0.sorted(by: \.price) }, compare: { of($0.price, $1.price) },
        isReversed: false)
    case 1:
      Self(
        text: "by price, reversed", apply: { $0.sorted(by: \.price).reversed() },
        compare: { of($0.price, $1.price) }, isReversed: true)
    case 2:
      Self(
        text: "by price, descending", apply: { $0.sorted(by: \.price, .descending) },
        compare: { of($1.price, $0.price) }, isReversed: false)
    case 3:
      Self(
        text: "by discount, then price",
        apply: { $0.sorted(by: \.discount).then(by: \.price, .descending) },
        compare: {
          let order = of($0.discount, $1.discount)
          return order == 0 ? of($1.price, $0.price) : order
        }, isReversed: false)
    case 4:
      Self(
        text: "by kind, then price", apply: { $0.sorted(by: \.kind).then(by: \.price) },
        compare: { $0.kind == $1.kind ? of($0.price, $1.price) : $0.kind - $1.kind },
        isReversed: false)
    default: Self(text: "by id", apply: { $0 }, compare: { _, _ in 0 }, isReversed: false)
    }
  }
}
