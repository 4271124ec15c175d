import Larch
import LarchTestSupport

/// What all versions of a person are made from, and compared with.
struct PersonModel {
  var id: Int
  var name: String
  var age: Int
  var nick: String?
  var score: Double
  var level: String
  var town: String
  var zip: Int
  var tags: [String]
  var email: String?
  var rating: Int
  var teamID: Int?

  /// The same person for the same number.
  init(_ id: Int) {
    var random = SeededGenerator(seed: UInt64(id))
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    self.id = id
    name =
      ["Curie", "Noether", "Lovelace", "Hopper", "Ä", ""][pick(6)] + (pick(2) == 0 ? " B" : "")
    age = pick(7) - 3
    nick = pick(3) == 0 ? nil : "nick \(pick(3))"
    score = Double(pick(9)) / 4
    level = ["low", "high"][pick(2)]
    town = ["Roma", "Oslo", "Bern"][pick(3)]
    zip = pick(4)
    tags = (0..<pick(3)).map { "t\($0)" }
    email = pick(2) == 0 ? nil : "\(id)@example.org"
    rating = pick(5)
    teamID = pick(4) == 0 ? nil : pick(3) + 1
  }
}

/// A person in one version of its type.
protocol PersonVersion: Record, Equatable where ID == Int {
  /// As this version reads a person that was written by an earlier one, or by itself.
  init(_ model: PersonModel, writtenBy version: Int)
}

protocol TeamVersion: Record, Equatable where ID == Int {
  init(id: Int, title: String)
  associatedtype Person: PersonVersion where Person.ID == Int
  var title: String { get }
  var members: Related<Self, Person> { get }
}

enum V1 {
  enum Level: String, Codable { case low, high }
  struct Home: Codable, Hashable {
    var town: String
    var zip: Int16
  }

  struct Person: PersonVersion {
    static let schema = Schema<Person> {
      Index(\.age)
      Index(\.lastName)
      BelongsTo(\.teamID, to: Team.self)
    }
    var id: Int
    var lastName: String
    var age: Int32
    var nick: String?
    var score: Float
    var level: Level
    var home: Home
    var tags: [String]
    var teamID: Int?

    init(_ model: PersonModel, writtenBy version: Int) {
      id = model.id
      lastName = model.name
      age = Int32(model.age)
      nick = model.nick
      score = Float(model.score)
      level = Level(rawValue: model.level) ?? .low
      home = Home(town: model.town, zip: Int16(model.zip))
      tags = model.tags
      teamID = model.teamID
    }
  }

  struct Team: TeamVersion {
    static let schema = Schema<Team> { ManyToMany(Person.self, named: "members") }
    var id: Int
    var title: String
    var members: Related<Team, Person> { related(ManyToMany(named: "members")) }
  }
}

/// Fields added, optional and with a default; a number widened.
enum V2 {
  struct Person: PersonVersion {
    static let schema = Schema<Person> {
      Index(\.age)
      Index(\.lastName)
      Index(\.rating, \.age)
      Default(\.rating, 3)
      BelongsTo(\.teamID, to: Team.self)
    }
    var id: Int
    var lastName: String
    var age: Int
    var nick: String?
    var score: Float
    var level: V1.Level
    var home: V1.Home
    var tags: [String]
    var teamID: Int?
    var email: String?
    var rating: Int

    init(_ model: PersonModel, writtenBy version: Int) {
      id = model.id
      lastName = model.name
      age = model.age
      nick = model.nick
      score = Float(model.score)
      level = V1.Level(rawValue: model.level) ?? .low
      home = V1.Home(town: model.town, zip: Int16(model.zip))
      tags = model.tags
      teamID = model.teamID
      email = version >= 2 ? model.email : nil
      rating = version >= 2 ? model.rating : 3
    }
  }

  struct Team: TeamVersion {
    static let schema = Schema<Team> { ManyToMany(Person.self, named: "members") }
    var id: Int
    var title: String
    var members: Related<Team, Person> { related(ManyToMany(named: "members")) }
  }
}

/// Fields renamed, one of them nested; an optional one required, with a default; one removed; a case
/// added to an enum.
enum V3 {
  enum Level: String, Codable { case low, mid, high }
  struct Home: Codable, Hashable {
    var city: String
    var zip: Int32
  }

  struct Person: PersonVersion {
    static let schema = Schema<Person> {
      Index(\.age)
      Index(\.surname)
      Index(\.nick)
      Index(\.home.city, \.surname)
      Renamed(\.surname, from: "lastName")
      Renamed(\.home.city, from: "town")
      Default(\.rating, 3)
      Default(\.nick, "none")
      BelongsTo(\.teamID, to: Team.self)
    }
    var id: Int
    var surname: String
    var age: Int
    var nick: String
    var score: Double
    var level: Level
    var home: Home
    var teamID: Int?
    var email: String?
    var rating: Int

    init(_ model: PersonModel, writtenBy version: Int) {
      id = model.id
      surname = model.name
      age = model.age
      nick = model.nick ?? "none"
      score = model.score
      level = Level(rawValue: model.level) ?? .low
      home = Home(city: model.town, zip: Int32(model.zip))
      teamID = model.teamID
      email = version >= 2 ? model.email : nil
      rating = version >= 2 ? model.rating : 3
    }
  }

  struct Team: TeamVersion {
    static let schema = Schema<Team> { ManyToMany(Person.self, named: "members") }
    var id: Int
    var title: String
    var members: Related<Team, Person> { related(ManyToMany(named: "members")) }
  }
}

/// A field renamed again, a field made optional, an enum that became its raw type, a nested value
/// that is optional now, and a type with another name.
enum V4 {
  struct Person: PersonVersion {
    static let schema = Schema<Person> {
      Index(\.age)
      Index(\.familyName, options: .caseInsensitive)
      Index(\.nick)
      Index(\.rating)
      Renamed(\.familyName, from: "surname")
      Renamed(\.familyName, from: "lastName")
      Renamed(\.home?.city, from: "town")
      Default(\.nick, "none")
      BelongsTo(\.teamID, to: Group.self)
    }
    var id: Int
    var familyName: String
    var age: Int
    var nick: String
    var score: Double
    var level: String
    var home: V3.Home?
    var teamID: Int?
    var email: String?
    var rating: Int?

    init(_ model: PersonModel, writtenBy version: Int) {
      id = model.id
      familyName = model.name
      age = model.age
      nick = model.nick ?? "none"
      score = model.score
      level = model.level
      home = V3.Home(city: model.town, zip: Int32(model.zip))
      teamID = model.teamID
      email = version >= 2 ? model.email : nil
      rating = version >= 2 ? model.rating : nil
    }
  }

  struct Group: TeamVersion {
    static let schema = Schema<Group> {
      ManyToMany(Person.self, named: "members")
      Renamed(from: "Team")
    }
    var id: Int
    var title: String
    var members: Related<Group, Person> { related(ManyToMany(named: "members")) }
  }
}
