import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Rows of a selection are made of the keys of an index that has every field, and sums after a text are read
/// from the places that numbers have behind it. The answers are those of the array, to the last bit.
@Suite("Selected values and sums from keys")
struct SelectedKeyTests {
  struct Parcel: Record {
    var id = RecordID<Parcel>()
    var owner: String
    var number: Int
    var weight: Double
    var count: UInt8
    var note: String?
    var boxID: Parcel.ID?

    static let schema = Schema<Parcel> {
      Index(\.owner, \.number, \.weight, \.count)
      Index(\.number, \.owner)
      Index(\.count, \.note)
      Index(\.boxID)
    }
  }

  private static let owners = [
    "", "a", "ab", "abc", "a\u{0}", "a\u{0}b", "é", "e\u{301}", "owner of fifteen", "owner number",
    String(repeating: "y", count: 130), String(repeating: "z", count: 240),
  ]

  private static func filled(_ random: inout SeededGenerator, _ count: Int) throws -> (
    Store, [Parcel]
  ) {
    let store = try Store.temporary(for: Parcel.self)
    try store.write { tx in
      for place in 0..<count {
        var parcel = Parcel(
          owner: random.pick(owners), number: random.pick([-3, 0, 7, .max, random.below(40)]),
          weight: random.pick([0, -0.0, .nan, 1.5, -2, .infinity]), count: UInt8(random.below(5)),
          note: random.optional(random.pick(owners)),
          boxID: random.optional(RecordID(Int64(random.below(max(1, place / 4))) + 1)))
        try tx.insert(&parcel)
      }
    }
    return (store, try store.fetch(Parcel.all))
  }

  private static func bits(_ owner: String, _ number: Int, _ weight: Double) -> String {
    "\(Array(owner.utf8)) \(number) \(weight.bitPattern)"
  }

  @Test("Selections are those of the array", arguments: 0..<6)
  func selections(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 211)
    let (store, parcels) = try Self.filled(&random, [0, 1, 30, 300, 900, 900][seed])
    for _ in 0..<40 {
      let owner = random.pick(Self.owners)
      let from = random.below(40)
      let limit = random.pick([nil, 1, 5, 500])
      let query = Parcel.where { $0.owner == owner && $0.number >= from }
      let found = parcels.filter { $0.owner == owner && $0.number >= from }
      let rows = limit.map { Array(found.prefix($0)) } ?? found
      let part = limit.map { query.limit($0) } ?? query
      let triples = try store.fetch(part.select(\.owner, \.number, \.weight))
      #expect(
        triples.map { Self.bits($0.0, $0.1, $0.2) }
          == rows.map { Self.bits($0.owner, $0.number, $0.weight) })
      let weights = try store.fetch(part.select(\.weight))
      #expect(weights.map(\.bitPattern) == rows.map(\.weight.bitPattern))
      let counts = try store.fetch(part.select(\.count, \.owner))
      #expect(
        counts.map { "\($0.0) \(Array($0.1.utf8))" }
          == rows.map { "\($0.count) \(Array($0.owner.utf8))" })
      let ids = try store.fetch(part.select(\.id, \.owner))
      #expect(
        ids.map { "\($0.0) \(Array($0.1.utf8))" }
          == rows.map { "\($0.id) \(Array($0.owner.utf8))" })
      let sorted = try store.fetch(
        part.sorted(by: \.number, .descending).select(\.number, \.owner))
      let numbers = found.map(\.number).sorted(by: >)
      #expect(sorted.map { $0.0 } == Array(numbers.prefix(limit ?? .max)))
      let count = UInt8(random.below(5))
      let notes = try store.fetch(Parcel.where { $0.count == count }.select(\.note, \.count))
      #expect(notes.map { $0.0 } == parcels.filter { $0.count == count }.map(\.note))
      // In a write they are read from entries and records that it has changed.
      let selection = part.select(\.owner, \.number, \.weight)
      var written = triples
      written.removeAll()
      try store.write { tx in written = try tx.fetch(selection) }
      #expect(
        written.map { Self.bits($0.0, $0.1, $0.2) }
          == rows.map { Self.bits($0.owner, $0.number, $0.weight) })
    }
  }

  @Test("Orders by a part of the key are those of the array", arguments: 0..<4)
  func orders(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 307)
    let (store, parcels) = try Self.filled(&random, [3, 60, 600, 1_200][seed])
    for _ in 0..<30 {
      let owner = random.pick(Self.owners)
      let descends = random.chance(1, in: 2)
      let query = Parcel.where { $0.owner == owner }
        .sorted(by: \.number, descends ? .descending : .ascending)
      // A sort of the standard library keeps the order of equal elements.
      let found = parcels.filter { $0.owner == owner }
        .sorted { descends ? $0.number > $1.number : $0.number < $1.number }
      let limit = random.pick([1, 2, 7, 2_000])
      for query in [query, query.limit(limit)] {
        let rows = Array(found.prefix(query.details.limit ?? .max))
        let selected = try store.fetch(query.select(\.number, \.weight))
        #expect(
          selected.map { "\($0.0) \($0.1.bitPattern)" }
            == rows.map { "\($0.number) \($0.weight.bitPattern)" })
        #expect(try store.ids(query) == rows.map(\.id))
        #expect(try store.fetch(query).map(\.id) == rows.map(\.id))
      }
    }
  }

  @Test("Sums of numbers behind a text are those of the array", arguments: 0..<4)
  func sums(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 401)
    let (store, parcels) = try Self.filled(&random, [1, 40, 400, 1_500][seed])
    let field = TypedField.of(\Parcel.number)
    for owner in Self.owners + Self.owners {
      let query = Parcel.where { $0.owner == owner }
      let found = parcels.filter { $0.owner == owner }
      #expect(try store.sum(\.count, of: query) == found.reduce(0) { $0 + UInt($1.count) })
      let numbers = found.reduce(Int128(0)) { $0 + Int128($1.number) }
      if let sum = Int(exactly: numbers) {
        #expect(try store.sum(\.number, of: query) == sum)
      } else {
        #expect(throws: LarchError.self) { try store.sum(\.number, of: query) }
      }
    }
    // A key is not cut in a short text, and the second time nothing is planned.
    let short = Parcel.where { $0.owner == "ab" }
    #expect(
      try store.read { try $0.totalOfKey(field, short.details, of: Parcel.self) != nil })
  }

  @Test("References that may be nil are found as in the array", arguments: 0..<3)
  func references(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 503)
    let (store, parcels) = try Self.filled(&random, [2, 50, 800][seed])
    for _ in 0..<60 {
      let box: Parcel.ID? = random.optional(RecordID(Int64(random.below(parcels.count / 4 + 2))))
      let query = Parcel.where { $0.boxID == box }
      let found = parcels.filter { $0.boxID == box }
      for _ in 0..<2 {
        #expect(try store.count(query) == found.count)
        #expect(try store.ids(query) == found.map(\.id))
        #expect(try store.fetch(query).map(\.id) == found.map(\.id))
      }
      let boxes = [box, RecordID(1)]
      let either = parcels.filter { boxes.contains($0.boxID) }
      #expect(try store.count(Parcel.where { boxes.contains($0.boxID) }) == either.count)
    }
  }
}
