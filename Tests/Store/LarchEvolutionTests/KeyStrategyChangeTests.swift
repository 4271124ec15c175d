import LarchTestSupport
import Testing

@testable import Larch

/// Stores whose types got another key strategy, and strategies that cannot be followed.
@Suite struct KeyStrategyChangeTests {
  struct Camel: Record, Equatable {
    static let collectionName = "Thing"
    var id: Int
    var firstName: String?
    var place: Camel.Place?
    struct Place: Codable, Hashable { var cityName: String? }
  }
  struct Snake: Record, Equatable {
    static let collectionName = "Thing"
    static let keyStrategy = KeyStrategy.snakeCase
    static let schema = Schema<Snake> { Index(\.firstName) }
    var id: Int
    var firstName: String?
    var place: Snake.Place?
    struct Place: Codable, Hashable, KeyNaming {
      static let keyStrategy = KeyStrategy.snakeCase
      var cityName: String?
    }
  }
  struct Followed: Record, Equatable {
    static let collectionName = "Thing"
    static let keyStrategy = KeyStrategy.snakeCase
    static let schema = Schema<Followed> {
      Renamed(keysFrom: .asWritten)
      Index(\.firstName)
      Index(\.place?.cityName)
    }
    var id: Int
    var firstName: String?
    var place: Snake.Place?
  }
  struct Back: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<Back> {
      Renamed(keysFrom: .snakeCase)
      Index(\.firstName)
    }
    var id: Int
    var firstName: String?
  }

  @Test func `A changed strategy is refused, even if all fields are optional`() throws {
    let file = try EvolutionFile()
    try file.save(Camel(id: 1, firstName: "a", place: .init(cityName: "Oslo")))
    let before = try file.transactionID
    let error = file.refusal(Snake.self)
    #expect(error?.code == .schemaMismatch)
    #expect(error?.context.detail?.contains("firstName") == true)
    #expect(error?.context.detail?.contains("first_name") == true)
    #expect(error?.message.contains("Renamed(keysFrom:)") == true)
    #expect(try file.transactionID == before)
    try file.open(Camel.self) { store throws in
      #expect(try store.all(Camel.self).map(\.firstName) == ["a"])
    }
    let other = try EvolutionFile()
    try other.save(Snake(id: 1, firstName: "a"))
    #expect(other.refusal(Camel.self)?.code == .schemaMismatch)
    // An empty collection has nothing to lose.
    try other.open(Snake.self) { store throws in
      try store.write { tx throws in try tx.delete(Snake.all) }
    }
    #expect(other.refusal(Camel.self) == nil)
  }

  @Test func `A changed strategy that is declared is followed in both directions`() throws {
    var options = Store.Options.quick
    options.checksQueries = true
    let file = try EvolutionFile()
    try file.save(
      Camel(id: 1, firstName: "a", place: .init(cityName: "Oslo")), Camel(id: 2, firstName: "b"))
    try file.open(Followed.self, options: options) { store throws in
      try store.put([Followed(id: 3, firstName: "c", place: .init(cityName: "Rome"))])
      #expect(try store.all(Followed.self).map(\.firstName) == ["a", "b", "c"])
      #expect(try store.all(Followed.self).map(\.place?.cityName) == ["Oslo", nil, "Rome"])
      #expect(try store.fetch(Followed.where { $0.firstName == "a" }).map(\.id) == [1])
      #expect(try store.fetch(Followed.where { $0.place.cityName == "Oslo" }).map(\.id) == [1])
      #expect(
        try Followed.query(text: "first_name in ('a', 'c')").fetch(in: store).map(\.id) == [1, 3])
      try store.expectSound()
    }
    try file.open(Back.self, options: options) { store throws in
      #expect(try store.all(Back.self).map(\.firstName) == ["a", "b", "c"])
      #expect(try store.fetch(Back.where { $0.firstName == "c" }).map(\.id) == [3])
      try store.expectSound()
    }
  }

  // MARK: Refused declarations

  struct Twice: Record {
    static let keyStrategy = KeyStrategy.snakeCase
    var id: Int
    var homeURL: String
    var homeUrl: String
  }
  struct TwiceInside: Record {
    struct Inner: Codable, KeyNaming {
      static let keyStrategy = KeyStrategy.snakeCase
      var aB: Int
      var other: Int
      enum CodingKeys: String, CodingKey {
        case aB
        case other = "a_b"
      }
    }
    var id: Int
    var list: [Inner]
  }
  struct OwnCoding: Record {
    static let keyStrategy = KeyStrategy.snakeCase
    var id: Int
    init(from decoder: any Decoder) throws {
      id = try decoder.singleValueContainer().decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(id)
    }
  }
  struct NothingRenamed: Record {
    static let schema = Schema<NothingRenamed> { Renamed(keysFrom: .snakeCase) }
    var id: Int
    var name: String
  }

  @Test func `Names that collide, or that nobody can know, are refused at opening`() throws {
    for type in [Twice.self, TwiceInside.self, OwnCoding.self, NothingRenamed.self]
      as [any Record.Type]
    {
      let file = try EvolutionFile()
      let error = file.refusal(type)
      #expect(error?.code == .invalidSchema, "\(type)")
    }
    let error = try EvolutionFile().refusal(Twice.self)
    #expect(error?.context.field == "home_url")
    #expect(error?.context.detail == "Twice.homeURL and Twice.homeUrl")
  }
}
