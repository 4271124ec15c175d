import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The most important rule: a query gives the answer of plain Swift over an array of all records.
@Suite("The Swift oracle")
struct OracleTests {
  /// The number of queries in a run of the suite, over all kinds of indexes; a run by hand may have
  /// more.
  static let count =
    ProcessInfo.processInfo.environment["LARCH_QUERIES"].flatMap(Int.init) ?? 40_000
  static let storeSize = 32
  static let queriesAStore = 500

  @Test("Random queries over unindexed records equal the array", arguments: 0..<4)
  func unindexed(part: Int) throws { try check(NoIndexes.self, part: part, of: 4) }

  @Test(
    "Random queries over records with an index for each field equal the array", arguments: 0..<4)
  func single(part: Int) throws { try check(SingleIndexes.self, part: part, of: 4) }

  @Test("Random queries with the second field of an index equal the array", arguments: 0..<4)
  func second(part: Int) throws { try check(SecondIndexes.self, part: part, of: 4) }

  private func check<K: OracleIndexes>(_ kind: K.Type, part: Int, of parts: Int) throws {
    let wanted = OracleTests.count / 3 / parts
    var done = 0
    var seed = UInt64(part) &* 1_000_003 &+ 17
    while done < wanted {
      seed &+= 1
      let oracle = try Oracle(kind, seed: seed, size: OracleTests.storeSize)
      for number in 0..<min(OracleTests.queriesAStore, wanted - done) {
        try oracle.checkQuery(number: number)
        done += 1
      }
      if seed % 8 == 0 { #expect(try oracle.store.verify().isClean) }
    }
  }
}

/// A store and the array that it is compared with.
final class Oracle<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  let store: Store
  private(set) var things: [Thing] = []
  private var random: SeededGenerator
  private let seed: UInt64

  init(_ kind: K.Type, seed: UInt64, size: Int) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    store = try Store.temporary(for: Thing.self)
    var made: [Thing] = []
    for _ in 0..<size { made.append(random.thing(kind)) }
    things = try store.write { tx in
      var saved = made
      for place in saved.indices { try tx.insert(&saved[place]) }
      // Holes in the ids, and records that were changed.
      for place in saved.indices.reversed() where place % 7 == 3 {
        try tx.delete(saved[place])
        saved.remove(at: place)
      }
      for place in saved.indices where place % 5 == 2 {
        let id = saved[place].id
        saved[place] = made[(place + 11) % made.count]
        saved[place].id = id
        try tx.update(saved[place])
      }
      return saved
    }
  }

  func checkQuery(number: Int) throws {
    let filter = OracleFilter<K>.random(&random, depth: 1 + random.below(5))
    let order = OracleOrder<K>.random(&random)
    let limit = random.chance(1, in: 3) ? random.pick([0, 1, 2, 5, 20, 1000]) : nil
    let offset = random.chance(1, in: 4) ? random.pick([0, 1, 3, 10, 1000]) : 0
    var query = Query<Thing>.matching(filter.filter)
    query = order.apply(query)
    if let limit { query = query.limit(limit) }
    if offset > 0 { query = query.offset(offset) }
    let all = order.sort(things.filter(filter.matches))
    let expected = Array(all.dropFirst(offset).prefix(limit ?? .max))
    let text =
      "seed \(seed), query \(number): \(filter.text)\(order.text) limit \(limit ?? -1) offset \(offset)"
    do {
      try compare(query, expected, text)
      if number % 4 == 0 { try comparePages(query, all, text) }
      if number % 50 == 0 { try compareInWrite(query, expected, text) }
    } catch let error as LarchError {
      Issue.record("\(text): \(error)")
    }
  }

  private func compare(_ query: Query<Thing>, _ expected: [Thing], _ text: String) throws {
    let ids = expected.map(\.id)
    try store.read { tx throws in
      let fetched = try tx.fetch(query).map(\.id)
      guard fetched == ids else {
        let plan = try tx.explain(query)
        Issue.record("\(text)\n\(plan)\ngives \(fetched)\ninstead of \(ids)")
        return
      }
      #expect(try tx.count(query) == ids.count, "\(text)")
      #expect(try tx.exists(query) == !ids.isEmpty, "\(text)")
      switch random.below(5) {
      case 0: #expect(try tx.ids(query) == ids, "\(text)")
      case 1: #expect(try tx.first(query)?.id == ids.first, "\(text)")
      case 2:
        let rows = try tx.fetch(query.select(\.number, \.text, \.real, \.maybe))
        #expect(rows.map(\.0) == expected.map(\.number), "\(text)")
        #expect(
          rows.map { Array($0.1.utf8) } == expected.map { Array($0.text.utf8) }, "\(text)")
        #expect(
          rows.map(\.2.bitPattern) == expected.map(\.real.bitPattern), "\(text)")
        #expect(rows.map(\.3) == expected.map(\.maybe), "\(text)")
      case 3:
        var seen: [RecordID<Thing>] = []
        try tx.forEach(query) { seen.append($0.id) }
        #expect(seen == ids, "\(text)")
      default:
        let texts = try tx.fetch(query.select(\.text))
        #expect(texts == expected.map(\.text), "\(text)")
      }
    }
  }

  /// All pages together are the whole result, without limit and offset.
  private func comparePages(_ query: Query<Thing>, _ all: [Thing], _ text: String) throws {
    var page = query.offset(0).limit(1 + random.below(9))
    var seen: [RecordID<Thing>] = []
    while true {
      let part = try store.page(page)
      seen += part.records.map(\.id)
      guard let next = part.next else { break }
      guard !part.records.isEmpty, seen.count <= all.count else {
        Issue.record("\(text): pages do not end")
        return
      }
      page = page.after(try PageToken(next.text))
    }
    if seen != all.map(\.id) {
      let plan = try store.explain(page)
      Issue.record("\(text)\n\(plan)\npages give \(seen)\ninstead of \(all.map(\.id))")
    }
  }

  /// In a write with uncommitted changes, which is undone afterwards.
  private func compareInWrite(_ query: Query<Thing>, _ expected: [Thing], _ text: String) throws {
    let left = Set(expected.map(\.id))
    do {
      try store.write { tx throws in
        #expect(try tx.fetch(query).map(\.id) == expected.map(\.id), "\(text)")
        let deleted = try tx.delete(query)
        #expect(deleted == expected.count, "\(text)")
        #expect(
          try tx.fetch(Thing.all).map(\.id) == things.map(\.id).filter { !left.contains($0) },
          "\(text)")
        throw Undo()
      }
    } catch is Undo {}
  }
}

/// Undoes a write that only reads.
private struct Undo: Error {}

extension Query {
  /// The records for which a filter from elsewhere is true.
  fileprivate static func matching(_ filter: Filter<R>) -> Query { R.where { _ in filter } }
}
