import Foundation
import Larch
import Testing

@testable import Larch

/// Changes of a type that would lose or misread what is stored, each refused when the store is
/// opened, and each with the sentence that names what is in the way.
@Suite struct RefusedChangeTests {
  struct Stored: Record {
    static let collectionName = "Thing"
    struct Place: Codable, Hashable { var city: String; var number: Int? }
    enum Color: String, Codable { case red, blue }
    var id: Int
    var size: Int
    var name: String
    var note: String?
    var tags: [String]
    var place: Place
    var places: [Place]
    var ratings: [String: Int]
    var color: Color
    var price: Double
    var made: Date

    static let some = Stored(
      id: 1, size: 7, name: "a", note: nil, tags: ["x"], place: Place(city: "c", number: nil),
      places: [Place(city: "d", number: 4)], ratings: ["r": 1], color: .blue, price: 1.5,
      made: Date(timeIntervalSinceReferenceDate: 5))
  }

  private func check<R: Record>(
    _ type: R.Type, field: String, _ detail: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for isLegacy in [false, true] {
      let file = try EvolutionFile()
      try file.save(Stored.some)
      if isLegacy { try file.forgetHistory() }
      let before = try file.transactionID
      for isReadOnly in [false, true] {
        let options = Store.Options.quick { $0.isReadOnly = isReadOnly }
        let error = file.refusal(R.self, options: options)
        #expect(error?.code == .schemaMismatch, sourceLocation: location)
        #expect(error?.context.collection == "Thing", sourceLocation: location)
        #expect(error?.context.field == field, sourceLocation: location)
        if !isLegacy {
          #expect(error?.context.detail == detail, sourceLocation: location)
        }
      }
      #expect(try file.transactionID == before, sourceLocation: location)
      // What refused the type is still there for the right one.
      try file.open(Stored.self) { store throws in
        let all = try store.all(Stored.self)
        #expect(all.first?.size == 7, sourceLocation: location)
      }
    }
  }

  struct Narrowed: Record {
    static let collectionName = "Thing"
    var id: Int
    var size: Int32
  }
  @Test func `A narrowed integer is refused`() throws {
    try check(Narrowed.self, field: "size", "stored int64, declared int32")
  }

  struct Unsigned: Record {
    static let collectionName = "Thing"
    var id: Int
    var size: UInt
  }
  @Test func `An integer that loses its sign is refused`() throws {
    try check(Unsigned.self, field: "size", "stored int64, declared uint64")
  }

  struct Rounded: Record {
    static let collectionName = "Thing"
    var id: Int
    var price: Float
  }
  @Test func `A number that would be rounded is refused`() throws {
    try check(Rounded.self, field: "price", "stored double, declared float")
  }

  struct Inexact: Record {
    static let collectionName = "Thing"
    var id: Int
    var size: Double
  }
  @Test func `An integer of 64 bits is not read as a Double`() throws {
    try check(Inexact.self, field: "size", "stored int64, declared double")
  }

  struct Retyped: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: Int
  }
  @Test func `Another type is refused`() throws {
    try check(Retyped.self, field: "name", "stored string, declared int64")
  }

  struct Seconds: Record {
    static let collectionName = "Thing"
    var id: Int
    var made: Double
  }
  @Test func `A date is not read as a number`() throws {
    try check(Seconds.self, field: "made", "stored date, declared double")
  }

  struct Required: Record {
    static let collectionName = "Thing"
    var id: Int
    var note: String
  }
  @Test func `An optional made required without a default is refused`() throws {
    try check(Required.self, field: "note", "stored string?, declared string")
  }

  struct New: Record {
    static let collectionName = "Thing"
    var id: Int
    var weight: Int
  }
  @Test func `A new required field without a default is refused`() throws {
    try check(New.self, field: "weight", "stored nothing, declared int64")
  }

  struct NestedRetyped: Record {
    static let collectionName = "Thing"
    struct Place: Codable { var city: Int }
    var id: Int
    var place: Place
  }
  @Test func `Another type in a nested value is refused`() throws {
    try check(NestedRetyped.self, field: "place.city", "stored string, declared int64")
  }

  struct NestedNew: Record {
    static let collectionName = "Thing"
    struct Place: Codable { var city: String; var zip: String }
    var id: Int
    var place: Place
  }
  @Test func `A new required field of a nested value is refused`() throws {
    try check(NestedNew.self, field: "place.zip", "stored nothing, declared string")
  }

  struct ListRetyped: Record {
    static let collectionName = "Thing"
    var id: Int
    var tags: [Int]
  }
  @Test func `Elements of another type are refused`() throws {
    try check(ListRetyped.self, field: "tags[]", "stored string, declared int64")
  }

  struct ListOfRecords: Record {
    static let collectionName = "Thing"
    struct Place: Codable { var city: String; var number: String? }
    var id: Int
    var places: [Place]
  }
  @Test func `A field of elements with another type is refused`() throws {
    try check(ListOfRecords.self, field: "places[].number", "stored int64, declared string")
  }

  struct MapRetyped: Record {
    static let collectionName = "Thing"
    var id: Int
    var ratings: [String: String]
  }
  @Test func `Values of a dictionary with another type are refused`() throws {
    let file = try EvolutionFile()
    try file.save(Stored.some)
    let error = file.refusal(MapRetyped.self)
    #expect(error?.context.field == "ratings[]")
    #expect(error?.context.detail == "stored int64, declared string")
  }

  struct Flattened: Record {
    static let collectionName = "Thing"
    var id: Int
    var place: String
  }
  @Test func `A nested value that became a single one is refused`() throws {
    try check(Flattened.self, field: "place", "stored record, declared string")
  }

  struct Single: Record {
    static let collectionName = "Thing"
    var id: Int
    var tags: String
  }
  @Test func `A list that became a single value is refused`() throws {
    try check(Single.self, field: "tags", "stored list of string, declared string")
  }

  struct Several: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: Bool
    var size: Int8
    var weight: Int
  }
  @Test func `Several at once are all in the detail`() throws {
    try check(
      Several.self, field: "name",
      "name: stored string, declared bool; size: stored int64, declared int8; "
        + "weight: stored nothing, declared int64")
  }

  struct Without: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: String
  }
  struct Again: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: String
    var size: String?
  }
  struct AgainRight: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: String
    var size: Int?
  }
  @Test func `A field that was removed and comes back with another type is refused`() throws {
    let file = try EvolutionFile()
    try file.save(Stored.some)
    try file.save(Without(id: 2, name: "b"))
    let error = file.refusal(Again.self)
    #expect(error?.context.field == "size")
    #expect(error?.context.detail == "stored int64, declared string")
    try file.open(AgainRight.self) { store throws in
      #expect(try store.all(AgainRight.self).map(\.size) == [7, nil])
    }
  }

  @Test func `An empty collection is whatever it is declared to be`() throws {
    let file = try EvolutionFile()
    try file.save(Stored.some)
    try file.open(Stored.self) { store throws in
      _ = try store.write { tx throws in try tx.delete(Stored.self, 1) }
    }
    try file.save(Retyped(id: 1, name: 3))
    #expect(try file.history("Thing")?.versions.count == 1)
    #expect(file.refusal(Stored.self)?.code == .schemaMismatch)
  }

  @Test func `The message says what to do`() throws {
    let file = try EvolutionFile()
    try file.save(Stored.some)
    #expect(file.refusal(Retyped.self)?.message.contains("migration") == true)
    #expect(file.refusal(Required.self)?.message.contains("Default") == true)
    #expect(file.refusal(New.self)?.message.contains("do not have a field") == true)
  }
}
