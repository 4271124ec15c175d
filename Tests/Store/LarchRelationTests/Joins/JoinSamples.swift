import Foundation
import LarchTestSupport

@testable import Larch

/// The left side of a tested join, with indexes or without.
protocol JoinGuest: Record where ID == RecordID<Self> {
  associatedtype House: JoinHouse where House.ID == RecordID<House>

  init(
    houseID: House.ID?, houseIDs: [House.ID], city: String?, score: Double?, tags: [String],
    age: Int)
  var houseID: House.ID? { get }
  var houseIDs: [House.ID] { get }
  var city: String? { get }
  var score: Double? { get }
  var tags: [String] { get }
  var age: Int { get }

  static var houseIDPath: any KeyPath<Self, House.ID?> & Sendable { get }
  static var houseIDsPath: any KeyPath<Self, [House.ID]> & Sendable { get }
  static var cityPath: any KeyPath<Self, String?> & Sendable { get }
  static var scorePath: any KeyPath<Self, Double?> & Sendable { get }
  static var tagsPath: any KeyPath<Self, [String]> & Sendable { get }
  static var agePath: any KeyPath<Self, Int> & Sendable { get }
  static func older(than age: Int) -> Query<Self>
}

/// What the right side has.
protocol JoinHouse: Record where ID == RecordID<Self> {
  init(town: String, level: Double, labels: Set<String>, rank: Int?)
  var town: String { get }
  var level: Double { get }
  var labels: Set<String> { get }
  var rank: Int? { get }

  static var townPath: any KeyPath<Self, String> & Sendable { get }
  static var levelPath: any KeyPath<Self, Double> & Sendable { get }
  static var labelsPath: any KeyPath<Self, Set<String>> & Sendable { get }
  static var rankPath: any KeyPath<Self, Int?> & Sendable { get }
  static func ranked(above rank: Int) -> Query<Self>
}

struct PlainGuest: JoinGuest {
  var id = RecordID<PlainGuest>()
  var houseID: PlainHouse.ID?
  var houseIDs: [PlainHouse.ID]
  var city: String?
  var score: Double?
  var tags: [String]
  var age: Int

  init(
    houseID: PlainHouse.ID?, houseIDs: [PlainHouse.ID], city: String?, score: Double?,
    tags: [String], age: Int
  ) {
    self.houseID = houseID
    self.houseIDs = houseIDs
    self.city = city
    self.score = score
    self.tags = tags
    self.age = age
  }

  static let houseIDPath: any KeyPath<Self, House.ID?> & Sendable = \.houseID
  static let houseIDsPath: any KeyPath<Self, [House.ID]> & Sendable = \.houseIDs
  static let cityPath: any KeyPath<Self, String?> & Sendable = \.city
  static let scorePath: any KeyPath<Self, Double?> & Sendable = \.score
  static let tagsPath: any KeyPath<Self, [String]> & Sendable = \.tags
  static let agePath: any KeyPath<Self, Int> & Sendable = \.age
  static func older(than age: Int) -> Query<Self> { Self.where { $0.age > age } }
}

struct PlainHouse: JoinHouse {
  var id = RecordID<PlainHouse>()
  var town: String
  var level: Double
  var labels: Set<String>
  var rank: Int?

  init(town: String, level: Double, labels: Set<String>, rank: Int?) {
    self.town = town
    self.level = level
    self.labels = labels
    self.rank = rank
  }

  static let townPath: any KeyPath<Self, String> & Sendable = \.town
  static let levelPath: any KeyPath<Self, Double> & Sendable = \.level
  static let labelsPath: any KeyPath<Self, Set<String>> & Sendable = \.labels
  static let rankPath: any KeyPath<Self, Int?> & Sendable = \.rank
  static func ranked(above rank: Int) -> Query<Self> { Self.where { $0.rank > rank } }
}

struct IndexedGuest: JoinGuest {
  var id = RecordID<IndexedGuest>()
  var houseID: IndexedHouse.ID?
  var houseIDs: [IndexedHouse.ID]
  var city: String?
  var score: Double?
  var tags: [String]
  var age: Int

  init(
    houseID: IndexedHouse.ID?, houseIDs: [IndexedHouse.ID], city: String?, score: Double?,
    tags: [String], age: Int
  ) {
    self.houseID = houseID
    self.houseIDs = houseIDs
    self.city = city
    self.score = score
    self.tags = tags
    self.age = age
  }

  static let schema = Schema<IndexedGuest> {
    BelongsTo(\.houseID, to: IndexedHouse.self)
    Index(\.houseIDs)
    Index(\.city, \.tags)
    Index(\.score)
    Index(\.tags, \.age)
    Index(\.age)
  }

  static let houseIDPath: any KeyPath<Self, House.ID?> & Sendable = \.houseID
  static let houseIDsPath: any KeyPath<Self, [House.ID]> & Sendable = \.houseIDs
  static let cityPath: any KeyPath<Self, String?> & Sendable = \.city
  static let scorePath: any KeyPath<Self, Double?> & Sendable = \.score
  static let tagsPath: any KeyPath<Self, [String]> & Sendable = \.tags
  static let agePath: any KeyPath<Self, Int> & Sendable = \.age
  static func older(than age: Int) -> Query<Self> { Self.where { $0.age > age } }
}

struct IndexedHouse: JoinHouse {
  var id = RecordID<IndexedHouse>()
  var town: String
  var level: Double
  var labels: Set<String>
  var rank: Int?

  init(town: String, level: Double, labels: Set<String>, rank: Int?) {
    self.town = town
    self.level = level
    self.labels = labels
    self.rank = rank
  }

  static let schema = Schema<IndexedHouse> {
    Index(\.town)
    Index(\.level, \.rank)
    Index(\.labels)
    Index(\.rank)
  }

  static let townPath: any KeyPath<Self, String> & Sendable = \.town
  static let levelPath: any KeyPath<Self, Double> & Sendable = \.level
  static let labelsPath: any KeyPath<Self, Set<String>> & Sendable = \.labels
  static let rankPath: any KeyPath<Self, Int?> & Sendable = \.rank
  static func ranked(above rank: Int) -> Query<Self> { Self.where { $0.rank > rank } }
}

/// Records for joins, with values that are hard to compare.
enum JoinSamples {
  static let long = String(repeating: "a", count: 140)
  static let texts = [
    "", "Rome", "Caf\u{E9}", "Cafe\u{301}", "Caf\u{E9}s", "a", "A", "\u{0}", "a\u{0}b", long,
    long + "b", long + "\u{E9}", long + "e\u{301}", String(repeating: "z", count: 700),
    String(repeating: "z", count: 700) + "!",
  ]
  static let numbers = [0.0, -0.0, .nan, 1.5, -1.5, .infinity, 1e300, 4]

  static func fill<G: JoinGuest>(
    _ type: G.Type, _ writer: some RecordWriting, guests: Int, houses: Int,
    using generator: inout SeededGenerator
  ) throws {
    var random = generator
    try writer._writing { tx in
      var ids: [G.House.ID] = []
      for _ in 0..<houses {
        var house = G.House(
          town: texts.randomElement(using: &random) ?? "",
          level: numbers.randomElement(using: &random) ?? 0,
          labels: Set(
            (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
              texts.randomElement(using: &random)
            }),
          rank: Bool.random(using: &random) ? Int.random(in: 0...4, using: &random) : nil)
        try tx.save(&house)
        ids.append(house.id)
      }
      for _ in 0..<guests {
        var guest = G(
          houseID: Bool.random(using: &random) ? ids.randomElement(using: &random) : nil,
          houseIDs: (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
            ids.randomElement(using: &random)
          },
          city: Int.random(in: 0..<5, using: &random) == 0
            ? nil : texts.randomElement(using: &random),
          score: Int.random(in: 0..<4, using: &random) == 0
            ? nil : numbers.randomElement(using: &random),
          tags: (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
            texts.randomElement(using: &random)
          },
          age: Int.random(in: 0...5, using: &random))
        try tx.save(&guest)
      }
    }
    generator = random
  }
}
