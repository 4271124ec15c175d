import LarchTestSupport
import Testing

@testable import Larch

/// Records are stored under the raw values of their ids, and filters go by index values: a record whose id
/// has another one would not be found.
@Suite("Ids that declare another index value")
struct IdentifierValueTests {
  /// Of the type of the raw value; the same for some.
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
    var name = ""

    static var collectionName: String { "Thing" }
    static var schema: Schema<Self> { Schema { Index(\.name) } }
  }

  /// - Parameter same: the ids whose index values are their raw values.
  private func check<ID: RecordIdentifier & RawRepresentable>(_ ids: [ID], same: [ID]) throws
  where ID.RawValue: Comparable {
    let store = try Store.temporary(for: Thing<ID>.self)
    var kept: [Thing<ID>] = []
    for id in ids {
      let isSame = same.contains(id)
      func expect(_ error: LarchError?) {
        #expect(error?.code == (isSame ? nil : .fieldMismatch))
        #expect(error?.context.field == (isSame ? nil : "id"))
      }
      expect(caught { try store.saveAll([Thing(id: id)]) })
      expect(
        caught {
          try store.write { tx throws in
            var thing = Thing(id: id, name: "a")
            try tx.save(&thing)
          }
        })
      if isSame { kept.append(Thing(id: id, name: "a")) }
    }
    kept.sort { $0.id.rawValue < $1.id.rawValue }
    #expect(try store.everything(Thing<ID>.self) == kept)
    for id in ids {
      #expect(try store.fetch(Thing<ID>.where { $0.id == id }) == kept.filter { $0.id == id })
      #expect(
        try store.fetch(Thing<ID>.where { $0.id == id || $0.name == "a" && $0.id != id })
          == kept)
    }
    #expect(try store.verify().isClean)
  }

  @Test("A record that a filter on its id would not find is not saved")
  func refused() throws {
    try check(
      ["12", "22", "aba", "ab", "7"].map { Code(rawValue: $0) },
      same: ["22", "aba", "7"].map { Code(rawValue: $0) })
    try check([-1, 0, 4].map { Number(rawValue: $0) }, same: [])
    try check(Place.allCases, same: [.west])
  }
}
