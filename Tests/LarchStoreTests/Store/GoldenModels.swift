import Foundation

@testable import Larch

/// The types of the golden file of format 1. Never change them: the file is kept permanently.
enum Golden {
  struct Place: Codable, Equatable, Sendable {
    var city: String
    var point: [Double]
  }
  enum Form: Codable, Equatable, Sendable {
    case plain
    case round(radius: Int)
    case named(String, Place?)
  }
  enum Level: Int, Codable, IndexKey { case low = -1, high = 1 }

  /// Every kind of field, and every kind of index.
  struct Kinds: Record, Equatable {
    var id = RecordID<Kinds>()
    var flag: Bool
    var i8: Int8
    var i16: Int16
    var i32: Int32
    var i64: Int64
    var u8: UInt8
    var u16: UInt16
    var u32: UInt32
    var u64: UInt64
    var float: Float
    var double: Double
    var date: Date
    var uuid: UUID
    var decimal: Decimal
    var text: String
    var data: Data
    var url: URL
    var maybe: String?
    var place: Place
    var maybePlace: Place?
    var form: Form
    var level: Level
    var list: [String]
    var numbers: Set<Int>
    var map: [String: Int]
    var pairs: [Int: String]
    var nested: [[Int]]
    var maybes: [Int?]
    var other: RecordID<Parcel>

    var initial: String { String(text.prefix(1)) }

    static let collectionName = "Kinds"
    static let schema = Schema<Kinds> {
      Unique(\.uuid)
      Index(\.flag, \.i8, \.i16, \.i32, \.i64)
      Index(\.u8, \.u16, \.u32, \.u64)
      Index(\.float, \.double)
      Index(\.date)
      Index(\.text)
      Index(\.text, options: .caseInsensitive, name: "textFolded")
      Index(\.data)
      Index(\.url)
      Unique(\.maybe)
      Index(\.place.city, \.maybe)
      Index(\.maybePlace?.city)
      Index(\.level)
      Index(\.list)
      Index(\.list, \.numbers)
      Index(\.other)
      Index(\.initial, name: "initial")
      Index(\.i64, name: "flagged", where: { $0.flag })
    }

    static let all: [Kinds] = [
      Kinds(
        id: 1, flag: true, i8: .min, i16: .min, i32: .min, i64: .min, u8: 0, u16: 0, u32: 0,
        u64: 0, float: -0.5, double: -0.0, date: Date(timeIntervalSinceReferenceDate: -1e9 - 0.25),
        uuid: UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
        decimal: Decimal(string: "-123456789012345678901234567890.12345678")!, text: "",
        data: Data(), url: URL(string: "https://example.org/a?b=c#d")!, maybe: nil,
        place: Place(city: "", point: []), maybePlace: nil, form: .plain, level: .low, list: [],
        numbers: [], map: [:], pairs: [:], nested: [], maybes: [], other: 0),
      Kinds(
        id: 2, flag: false, i8: .max, i16: .max, i32: .max, i64: .max, u8: .max, u16: .max,
        u32: .max, u64: .max, float: .greatestFiniteMagnitude, double: .leastNonzeroMagnitude,
        date: Date(timeIntervalSinceReferenceDate: 700_000_000.125),
        uuid: UUID(uuid: (255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255)),
        decimal: 0, text: "E\u{301}cole \0 한 👍🏽 " + String(repeating: "long ", count: 60),
        data: Data([0, 255, 1, 0, 0]), url: URL(string: "file:///tmp/x")!, maybe: "maybe",
        place: Place(city: "Zürich", point: [47.4, -8.5]),
        maybePlace: Place(city: "Oslo", point: [.infinity]),
        form: .named("n", Place(city: "in", point: [1])), level: .high,
        list: ["b", "a", "b", ""], numbers: [3, -3], map: ["x": 1, "": 2, "ä": 3],
        pairs: [7: "seven", -1: "minus"], nested: [[1], [], [2, 3]], maybes: [nil, 4, nil],
        other: 9),
      Kinds(
        id: 7, flag: true, i8: 1, i16: -2, i32: 3, i64: -4, u8: 5, u16: 6, u32: 7, u64: 8,
        float: 1.5, double: 2.25, date: Date(timeIntervalSinceReferenceDate: 0),
        uuid: UUID(uuid: (9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)),
        decimal: Decimal(string: "3.14")!, text: "é", data: Data(repeating: 7, count: 9000),
        url: URL(string: "relative")!, maybe: "", place: Place(city: "Oslo", point: [0]),
        maybePlace: nil, form: .round(radius: 12), level: .high, list: ["a"], numbers: [3],
        map: ["only": -1], pairs: [0: ""], nested: [[]], maybes: [1], other: -5),
    ]
  }

  /// As records were written by the first version of a program …
  struct OldParcel: Record {
    var id = RecordID<Parcel>()
    var name: String
    var weight: Int32
    var dropped = true
    static let collectionName = "Parcel"
    static let schema = Schema<OldParcel> { Index(\.weight) }
  }

  /// … and as they are read by the second.
  struct Parcel: Record, Equatable {
    var id = RecordID<Parcel>()
    var name: String
    var weight: Int64
    var note: String?
    var category: String
    static let collectionName = "Parcel"
    static let schema = Schema<Parcel> {
      Index(\.weight)
      Index(\.category)
      Default(\.category, "standard")
    }
  }

  struct Named: Record, Equatable {
    var id: String
    var value: Int
    static let schema = Schema<Named> { Index(\.value) }
    static let all = ["", "\0", "a", String(repeating: "n", count: 490), "é"].enumerated().map {
      Named(id: $1, value: $0 % 2)
    }
  }
  struct Signed: Record, Equatable {
    var id: Int64
    var value: Double
    static let schema = Schema<Signed> { Index(\.value) }
    static let values: [Double] = [.nan, -.infinity, -1, -0.0, 0, 1, .infinity]
  }
  struct Unsigned: Record, Equatable {
    var id: UInt16
    var group: String
    static let schema = Schema<Unsigned> { Index(\.group) }
    // More ids under one key than a page of entries holds.
    static let all = (0..<300).map { Unsigned(id: UInt16($0 * 200), group: "g") }
  }
  struct Tokened: Record, Equatable {
    var id: UUID
    static let all = [
      Tokened(id: UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    ]
  }
  struct Empty: Record, Equatable {
    var id = RecordID<Empty>()
    static let schema = Schema<Empty> { Unique(\.id) }
  }
}

/// The types of the golden file of associations in format 1. Never change them either.
enum GoldenAssociations {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var bossID: RecordID<Person>?
    var home: Home
    var badgeID: UUID?
    var friendIDs: [RecordID<Person>] = []

    struct Home: Codable, Equatable, Sendable { var town: String? }
    enum CodingKeys: String, CodingKey {
      case id, name, home, badgeID, friendIDs
      case bossID = "boss"
    }

    static let collectionName = "Person"
    static let teams = ManyToMany<Person, Team>(named: "members", onDelete: .destroyLast)
    static let mentors = ManyToMany<Person, Person>(named: "mentors")
    static let visited = ManyToMany<Person, Town>(named: "visited")
    static let schema = Schema<Person> {
      BelongsTo(\.bossID, to: Person.self, onDelete: DeleteRule.none)
      BelongsTo(\.home.town, to: Town.self)
      HasMany(Person.self, in: \.friendIDs)
      teams
      mentors
      visited
    }
  }
  struct Town: Record, Equatable {
    var id: String
    static let collectionName = "Town"
    static let schema = Schema<Town> { HasMany(\Person.home.town, onDelete: .deny) }
  }
  struct Badge: Record, Equatable {
    var id: UUID
    static let collectionName = "Badge"
    static let schema = Schema<Badge> { HasOne(\Person.badgeID, onDelete: .destroy) }
  }
  struct Team: Record, Equatable {
    var id: Int32
    static let collectionName = "Team"
    static let schema = Schema<Team> { ManyToMany(Person.self, named: "members") }
  }
  struct Letter: Record, Equatable {
    var id = RecordID<Letter>()
    var fromID: Person.ID
    var toID: Person.ID?
    static let collectionName = "Letter"
    static let schema = Schema<Letter> {
      BelongsTo(\.fromID, to: Person.self)
      Index(\.toID)
    }
  }

  static let types: [any Record.Type] = [
    Person.self, Town.self, Badge.self, Team.self, Letter.self,
  ]
  static let long = String(repeating: "Llanfair", count: 18)
  static let towns: [Town] = ["", "Oslo", "Z\u{FC}rich", long + "1", long + "2"].map {
    Town(id: $0)
  }
  static let badges: [Badge] = (UInt8(0)..<3).map { number -> Badge in
    Badge(id: UUID(uuid: (number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255)))
  }
  static let teams: [Team] = [Int32.min, -1, 0, 1, .max].map { Team(id: $0) }
  static let people: [Person] = (1...300).map { number -> Person in
    let town: String? = number % 6 == 0 ? nil : towns[number % 5].id
    let badge: UUID? = number <= 2 ? badges[number].id : nil
    return Person(
      id: RecordID(Int64(number)), name: "p\(number)",
      bossID: number > 1 ? RecordID(Int64(number / 10 + 1)) : nil, home: .init(town: town),
      badgeID: badge, friendIDs: number % 50 == 0 ? [3, 1, 2] : [])
  }
  static let letters = [Letter(id: 1, fromID: 1, toID: 2), Letter(id: 2, fromID: 300, toID: nil)]

  /// Lists with one member, with some, and with more than a page holds; ids of all lengths.
  static func link(_ tx: WriteTransaction) throws {
    for person in people {
      let number = Int(person.id.rawValue)
      try tx.add(teams[0].id, to: person.related(Person.teams))
      if number % 7 == 0 { try tx.add(teams[4].id, to: person.related(Person.teams)) }
      if number > 1 { try tx.add(1, to: person.related(Person.mentors)) }
      if number < 3 { try tx.add(300, to: person.related(Person.mentors)) }
      try tx.add(towns[number % 2 + 3].id, to: person.related(Person.visited))
      if number == 9 { try tx.add(contentsOf: towns.map(\.id), to: person.related(Person.visited)) }
    }
  }
}
