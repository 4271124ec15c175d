import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Pages by a place in the order: nothing that stays is skipped or repeated, whatever happens
/// between two pages.
@Suite("Paging")
struct PagingTests {
  @Test(
    "Pages neither skip nor repeat a record that stays, with inserts and deletions between them",
    arguments: OracleKind.allCases)
  func changes(kind: OracleKind) throws { try Self.changes(kind.indexes) }

  private static func changes<K: OracleIndexes>(_ kind: K.Type) throws {
    for seed in UInt64(0)..<40 {
      var random = SeededGenerator(seed: seed &* 31 &+ 7)
      var paging = try Paging<K>(&random, size: 40, seed: seed)
      try paging.run(&random)
    }
  }

  @Test("A token is the same as text, and as JSON, and holds after the store is opened again")
  func reopening() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    typealias Thing = OracleThing<SingleIndexes>
    var random = SeededGenerator(seed: 77)
    var store = try Store(at: path, for: Thing.self)
    try store.write { tx throws in
      for _ in 0..<30 {
        var thing = random.thing(SingleIndexes.self)
        try tx.insert(&thing)
      }
    }
    for number in 0..<8 {
      let order = OracleOrder<SingleIndexes>.random(&random)
      var query = order.apply(Thing.all).limit(4)
      var seen: [RecordID<Thing>] = []
      let wanted = try store.ids(order.apply(Thing.all))
      while true {
        let page = try store.page(query)
        seen += page.records.map(\.id)
        guard let token = page.next else { break }
        if number < 2 {
          store.close()
          store = try Store(at: path, for: Thing.self)
        }
        let text = token.text
        #expect(text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
        let copy = try PageToken(text)
        #expect(copy == token && copy.text == text)
        let data = try JSONEncoder().encode([token])
        let decoded = try JSONDecoder().decode([PageToken].self, from: data)
        #expect(decoded == [token])
        query = query.after(decoded[0])
      }
      #expect(seen == wanted, "\(order.text)")
    }
    store.close()
  }

  @Test("Values whose keys are cut are paged as they are sorted", arguments: OracleKind.allCases)
  func cutKeys(kind: OracleKind) throws { try Self.cutKeys(kind.indexes) }

  private static func cutKeys<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let beginning = String(repeating: "k\u{E9}", count: 260)
    let clause = try OracleClause<K>.of((0..<14).map { ($0 * 5) % 14 }) {
      $0.text = beginning + "\($1 / 2)"
      $0.note = $1 % 3 == 0 ? nil : beginning + String(repeating: "x", count: $1)
      $0.blob = Data(repeating: 7, count: 600) + Data([UInt8($1 / 3)])
    }
    let all = clause.things
    for (query, wanted) in [
      (Thing.all.sorted(by: \.text), all.sorted { ($0.text, $0.id) < ($1.text, $1.id) }),
      (
        Thing.all.sorted(by: \.text, .descending),
        all.sorted { $0.text != $1.text ? $0.text > $1.text : $0.id < $1.id }
      ),
      (
        Thing.all.sorted(by: \.text).reversed(),
        all.sorted { ($0.text, $0.id) > ($1.text, $1.id) }
      ),
      (
        Thing.where { $0.flag }.sorted(by: \.text),
        all.filter(\.flag).sorted { ($0.text, $0.id) < ($1.text, $1.id) }
      ),
      (
        Thing.where { $0.number == 0 }.sorted(by: \.note, .descending).then(by: \.text),
        all.filter { $0.number == 0 }.sorted {
          let order = nilFirst($1.note, $0.note, compareText)
          return order != 0 ? order < 0 : ($0.text, $0.id) < ($1.text, $1.id)
        }
      ),
      (
        Thing.all.sorted(by: \.blob).reversed(),
        all.sorted { ($0.blob.last!, $0.id) > ($1.blob.last!, $1.id) }
      ),
    ] {
      for limit in [1, 3, 28] {
        var page = try clause.store.page(query.limit(limit))
        var seen = page.records
        while let token = page.next, seen.count <= wanted.count {
          page = try clause.store.page(query.limit(limit).after(try PageToken(token.text)))
          seen += page.records
        }
        let text = try clause.store.explain(query)
        #expect(seen.map(\.id) == wanted.map(\.id), "\(K.name), \(limit), \(text)")
      }
    }
  }

  @Test(
    "Behind a token, every way of asking gives the same records", arguments: OracleKind.allCases)
  func ways(kind: OracleKind) throws { try Self.ways(kind.indexes) }

  private static func ways<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    for seed in UInt64(0)..<6 {
      var random = SeededGenerator(seed: seed &+ 90)
      let clause = try OracleClause<K>((0..<30).map { _ in random.thing(K.self) })
      for number in 0..<12 {
        let filter = OracleFilter<K>.random(&random, depth: 2)
        let order = OracleOrder<K>.random(&random)
        let query = order.apply(Thing.where { _ in filter.filter })
        let sorted = order.sort(clause.things.filter(filter.matches))
        let taken = 1 + random.below(6)
        guard let token = try clause.store.page(query.limit(taken)).next else {
          #expect(sorted.count <= taken)
          continue
        }
        let text = "seed \(seed), query \(number), behind \(taken): \(filter.text)\(order.text)"
        try clause.compare(query.after(token), Array(sorted.dropFirst(taken)), text)
        // The first page has skipped the offset; after a token nothing more is skipped.
        let part = Array(sorted.dropFirst(taken).prefix(3))
        try clause.compare(query.after(token).offset(2).limit(3), part, text + " limit 3 offset 2")
        try clause.compare(query.offset(2).limit(3).after(token), part, text + " offset 2 limit 3")
      }
    }
  }

  /// Each page left out as many records as the offset says, so a walk through all pages missed a few
  /// before each of them.
  @Test(
    "Pages of a query with an offset give all records but the first ones",
    arguments: OracleKind.allCases)
  func offsets(kind: OracleKind) throws { try Self.offsets(kind.indexes) }

  private static func offsets<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    for seed in UInt64(0)..<6 {
      var random = SeededGenerator(seed: seed &+ 170)
      let clause = try OracleClause<K>((0..<40).map { _ in random.thing(K.self) })
      for number in 0..<12 {
        let filter = OracleFilter<K>.random(&random, depth: 1)
        let order = OracleOrder<K>.random(&random)
        let (limit, offset) = (1 + random.below(11), random.below(9))
        let wanted = order.sort(clause.things.filter(filter.matches)).dropFirst(offset)
        var query = order.apply(Thing.where { _ in filter.filter }).limit(limit).offset(offset)
        let text = "seed \(seed), query \(number): \(filter.text)\(order.text), \(limit) \(offset)"
        var page = try clause.store.page(query)
        var seen = page.records
        while let token = page.next, seen.count <= wanted.count {
          query = query.after(token)
          if random.chance(1, in: 2) { query = query.offset(offset) }
          #expect(!"\(query)".contains("offset"), "\(text)")
          page = try clause.store.page(query)
          seen += page.records
        }
        #expect(seen.map(\.id) == wanted.map(\.id), "\(K.name), \(text)")
      }
    }
  }

  @Test("A negative offset is refused after a token too")
  func negativeOffset() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let clause = try OracleClause<SingleIndexes>.of([1, 2, 3]) { $0.number = $1 }
    let token = try #require(try clause.store.page(Thing.all.limit(2)).next)
    for query in [Thing.all.after(token).offset(-1), Thing.all.offset(-1).after(token)] {
      #expect(caught { _ = try clause.store.fetch(query) }?.code == .invalidQuery)
      let numbers = query.select(\.number).distinct()
      #expect(caught { _ = try clause.store.fetch(numbers) }?.code == .invalidQuery)
    }
  }

  @Test("A page without limit is everything, one of nothing is empty, and neither has a next one")
  func edges() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let clause = try OracleClause<SingleIndexes>.of([1, 2, 3]) { $0.number = $1 }
    let store = clause.store
    let all = try store.page(Thing.all.sorted(by: \.number))
    #expect(all.records.count == 6 && all.next == nil)
    let none = try store.page(Thing.all.limit(0))
    #expect(none.records.isEmpty && none.next == nil)
    let exact = try store.page(Thing.all.limit(6))
    #expect(exact.records.count == 6 && exact.next == nil)
    let huge = try store.page(Thing.all.sorted(by: \.text).limit(.max))
    #expect(huge.records.count == 6 && huge.next == nil)
    let beyond = try store.page(Thing.all.offset(.max).limit(.max))
    #expect(beyond.records.isEmpty && beyond.next == nil)
    let absent = try store.page(Thing.where { $0.number > 9 }.limit(2))
    #expect(absent.records.isEmpty && absent.next == nil)
    // The record of the token may be gone.
    let token = try #require(try store.page(Thing.all.sorted(by: \.number).limit(3)).next)
    try store.delete(Thing.where { $0.number == 2 })
    #expect(try store.fetch(Thing.all.sorted(by: \.number).after(token)).map(\.number) == [3, 3])
    try store.erase()
    #expect(try store.page(Thing.all.sorted(by: \.number).after(token).limit(2)).records.isEmpty)
  }
}

extension Store {
  fileprivate func erase() throws {
    try write { tx in _ = try tx.erase(OracleThing<SingleIndexes>.self) }
  }
}

/// Goes through the pages of one query while records come and go.
private struct Paging<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  let store: Store
  let seed: UInt64
  private var things: [RecordID<Thing>: Thing] = [:]
  /// Those that were there at the first page, and were never touched.
  private var surviving: Set<RecordID<Thing>> = []

  init(_ random: inout SeededGenerator, size: Int, seed: UInt64) throws {
    let clause = try OracleClause<K>((0..<size).map { _ in random.thing(K.self) })
    store = clause.store
    self.seed = seed
    for thing in clause.things { things[thing.id] = thing }
  }

  mutating func run(_ random: inout SeededGenerator) throws {
    let filter = OracleFilter<K>.random(&random, depth: 1 + random.below(2))
    let order = OracleOrder<K>.random(&random)
    let limit = 1 + random.below(5)
    var query = order.apply(Thing.where { _ in filter.filter }).limit(limit)
    let text = "\(K.name), seed \(seed): \(filter.text)\(order.text) limit \(limit)"
    surviving = Set(things.keys)
    var seen: [Thing] = []
    for _ in 0..<200 {
      let page = try store.page(query)
      #expect(page.records.count <= limit, "\(text)")
      for thing in page.records {
        #expect(thing.fingerprint == things[thing.id]?.fingerprint, "\(text)")
        #expect(filter.matches(thing), "\(text)")
      }
      seen += page.records
      guard let next = page.next else { break }
      query = query.after(next)
      try change(&random)
    }
    let ids = seen.map(\.id)
    #expect(Set(ids).count == ids.count, "repeats, \(text)")
    let kept = order.sort(
      things.values.filter { surviving.contains($0.id) && filter.matches($0) }
        .sorted { $0.id < $1.id })
    #expect(ids.filter(surviving.contains) == kept.map(\.id), "\(text)")
    #expect(order.sort(seen.sorted { $0.id < $1.id }).map(\.id) == ids, "order, \(text)")
  }

  /// Inserts anywhere, and deletes what was seen, what is to come, and the record of the token.
  private mutating func change(_ random: inout SeededGenerator) throws {
    if random.chance(1, in: 6) { return }
    let new = (0..<random.below(3)).map { _ in random.thing(K.self) }
    let gone = things.keys.sorted().filter { _ in random.chance(1, in: 25) }
    let saved = try store.write { tx throws in
      var saved = new
      for place in saved.indices { try tx.insert(&saved[place]) }
      for id in gone { try tx.delete(Thing.self, id) }
      return saved
    }
    for id in gone {
      things[id] = nil
      surviving.remove(id)
    }
    for thing in saved { things[thing.id] = thing }
  }
}
