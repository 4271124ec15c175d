import LarchTestSupport
import Testing

@testable import Larch

/// Records are stored under the raw values of their ids, and so those are what filters, orders and indexes
/// go by, whatever index value the type declares for other uses.
@Suite("Ids that declare another index value")
struct IdentifierValueTests {
  /// Of the type of the raw value.
  struct Code: RawRepresentable, RecordIdentifier {
    var rawValue: String
    var indexValue: String { String(rawValue.reversed()) }
  }

  /// Of another type.
  struct Number: RawRepresentable, RecordIdentifier {
    var rawValue: Int
    var indexValue: String { "\(-rawValue)" }
  }

  /// The raw values are those of other cases.
  enum Place: String, RecordIdentifier, CaseIterable {
    case north, south, west
    var indexValue: String { self == .north ? "south" : self == .south ? "north" : rawValue }
  }

  struct Thing<ID: RecordIdentifier>: Record, Equatable {
    var id: ID
    var other: ID
    var maybe: ID?

    static var collectionName: String { "Thing" }
    static var schema: Schema<Self> {
      Schema {
        Index(\.other)
        Index(\.maybe, \.other)
      }
    }
  }

  private func check<ID: RecordIdentifier & RawRepresentable>(_ ids: [ID]) throws
  where ID.RawValue: Comparable {
    let sorted = ids.sorted { $0.rawValue < $1.rawValue }
    let things = sorted.enumerated().map { place, id in
      Thing(
        id: id, other: sorted[(place * 2) % ids.count],
        maybe: place % 3 == 0 ? nil : sorted[(place + 1) % ids.count])
    }
    try withScratchPath { path throws in
      try Store.using(path, Thing<ID>.self) { store throws in
        try store.saveAll(things.reversed())
        #expect(try store.everything(Thing<ID>.self) == things)
        for id in sorted {
          func expect(
            _ filter: Filter<Thing<ID>>, _ isWanted: (Thing<ID>) -> Bool,
            location: SourceLocation = #_sourceLocation
          ) throws {
            let wanted = things.filter(isWanted)
            let query = Thing<ID>.where { _ in filter }
            #expect(try store.fetch(query) == wanted, sourceLocation: location)
            #expect(try store.fetch(query.sorted(by: \.id)) == wanted, sourceLocation: location)
            #expect(try store.count(query) == wanted.count, sourceLocation: location)
          }
          let fields = Fields<Thing<ID>>()
          try expect(fields.id == id) { $0.id == id }
          try expect(fields.id != id) { $0.id != id }
          try expect([sorted[0], id].contains(fields.id)) { [sorted[0], id].contains($0.id) }
          try expect(fields.other == id) { $0.other == id }
          try expect(fields.maybe == id) { $0.maybe == id }
          try expect(fields.maybe == nil || fields.id == id) { $0.maybe == nil || $0.id == id }
          #expect(try store.find(Thing<ID>.self, id)?.id == id)
        }
        let byOther = try store.fetch(Thing<ID>.all.sorted(by: \.other))
        #expect(
          byOther
            == things.sorted {
              ($0.other.rawValue, $0.id.rawValue) < ($1.other.rawValue, $1.id.rawValue)
            })
        let counts = try store.counts(by: \.other, of: Thing<ID>.all)
        #expect(
          counts.map(\.value) == Set(things.map(\.other)).sorted { $0.rawValue < $1.rawValue })
        for (value, count) in counts { #expect(count == things.count { $0.other == value }) }
        #expect(try Set(store.fetch(Thing<ID>.all.select(\.other))) == Set(things.map(\.other)))
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("Queries go by the raw value, which records are stored under")
  func queries() throws {
    try check((1...9).map { Code(rawValue: "\($0)\(10 - $0)") })
    try check([-20, -3, 0, 5, 40, 41, 700].map { Number(rawValue: $0) })
    try check(Place.allCases)
  }
}
