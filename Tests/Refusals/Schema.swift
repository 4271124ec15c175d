import Foundation
import Larch

// Every declaration of a schema with a misspelt property, a field that no index can order, and an
// optional: each is one error, on its line, that says what is wrong.

enum Level: String, Codable { case low, high }
enum Rank: Int, Codable, IndexKey { case first, second }
enum Kind: Codable { case a, b }

struct Address: Codable, Sendable {
  var city: String
}

struct Company: Record {
  var id = RecordID<Company>()
  var name: String
  var bossID: Person.ID?
  static let boss = BelongsTo<Company, Person>(\.bossID)
}

struct Tag: Record {
  var id: String
}

struct Job: Record {
  var id = RecordID<Job>()
  var personID: Person.ID
  var companyID: Company.ID
}

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var age: Int
  var maybeAge: Int?
  var height: Double
  var price: Decimal
  var maybePrice: Decimal?
  var prices: [Decimal]
  var level: Level
  var maybeLevel: Level?
  var levels: [Level]
  var rank: Rank
  var kind: Kind
  var address: Address
  var home: Address?
  var matrix: [[Int]]
  var counts: [String: Int]
  var tags: [String]
  var companyID: Company.ID?
  var tagIDs: [String]
  var version = 0

  static let company = BelongsTo<Person, Company>(\.companyID)

  // The right way is open.
  static let schema = Schema<Person> {
    company
    Index(\.name, \.age)
    Index(\.rank)
    Versioned(\.version)
    Index(\.tags, options: .caseInsensitive)
    Index(\.address.city, options: .caseInsensitive)
    Unique(\.name, options: .caseInsensitive, where: { $0.age > 3 })
    Default(\.level, .low)
    Renamed(\.name, from: "title")
    Renamed(from: "Human")
    Validate(\.name, .uniqueness(scope: \.rank))
    HasMany(Tag.self, in: \.tagIDs)
    HasMany(\Job.personID)
    ManyToMany(Company.self, named: "clients")
    if Rank.first.rawValue == 0 { Index(\.age) } else { Unique(\.age) }
    for name in ["a", "b"] { Index(\.maybeAge, name: name) }
  }
}

func misspelt() {
  _ = Schema<Person> {
    Index(\.nmae)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Index(\.nmae, \.age)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Index(\.name, \.age, \.nope)  // error: value of type 'Person' has no member 'nope'
  }
  _ = Schema<Person> {
    Index(\.address.town)  // error: value of type 'Address' has no member 'town'
  }
  _ = Schema<Person> {
    Index(\.nmae, options: .caseInsensitive)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Index(\.name, where: { $0.nmae == "x" })  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Unique(\.nmae)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Unique(\.nmae, options: .caseInsensitive)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Default(\.agee, 5)  // error: value of type 'Person' has no member 'agee'
  }
  _ = Schema<Person> {
    Renamed(\.surnmae, from: "lastName")  // error: value of type 'Person' has no member 'surnmae'
  }
  _ = Schema<Person> {
    Validate(\.nmae, .presence)  // error: value of type 'Person' has no member 'nmae'
  }
  _ = Schema<Person> {
    Validate(\.name, .presense)  // error: type 'ValidationRule<Person, String>' has no member 'pres
  }
  _ = Schema<Person> {
    Validate(\.name, .uniqueness(scope: \.nope))  // error: value of type 'Person' has no member 'no
  }
  _ = Schema<Person> {
    Validate(\.name, .presence).when { $0.agee > 1 }  // error: value of type 'Person' has no member
  }
  _ = Schema<Person> {
    Validate(\.name, "short") { $0.cuont < 5 }  // error: value of type 'String' has no member 'cuon
  }
  _ = Schema<Person> {
    Validate("young") { $0.agee > 17 }  // error: value of type 'Person' has no member 'agee'
  }
  _ = Schema<Person> {
    Validate("young", on: \.agee) { $0.age > 17 }  // error: value of type 'Person' has no member 'a
  }
  _ = Schema<Person> {
    BelongsTo(\.compnayID, to: Company.self)  // error: value of type 'Person' has no member 'compna
  }
  _ = Schema<Person> {
    BelongsTo(\.companyID, to: Company.self, onDelete: .nullfy)  // error: type 'DeleteRule' has no
  }
  _ = Schema<Person> {
    HasMany(\Company.nope)  // error: value of type 'Company' has no member 'nope'
  }
  _ = Schema<Person> {
    HasMany(Tag.self, in: \.tagsIDs)  // error: value of type 'Person' has no member 'tagsIDs'
  }
  _ = Schema<Person> {
    HasMany(Company.self, through: \Job.personID, \Job.nope)  // error: value of type 'Job' has no m
  }
  _ = Schema<Person> {
    HasOne(\Job.nope)  // error: value of type 'Job' has no member 'nope'
  }
  _ = Schema<Person> {
    ManyToMany(Company.self, nmaed: "clients")  // error: incorrect argument label in call (have '_
  }
  _ = Schema<Person> {
    Person.compny  // error: type 'Person' has no member 'compny'
  }
  _ = Schema<Person> {
    Versioned(\.versoin)  // error: value of type 'Person' has no member 'versoin'
  }
  _ = Schema<Person> {
    Index(\.name, \.agee)  // error: value of type 'Person' has no member 'agee'
  }
  _ = Schema<Person> {
    Index(\.name, \.agee, where: { $0.age > 3 })  // error: value of type 'Person' has no member 'a
  }
  _ = Schema<Person> {
    Index(\.name, \.home.city)  // error: value of optional type 'Address?' must be unwrapped
  }
  _ = Schema<Person> {
    Unique(\.name, \.agee)  // error: value of type 'Person' has no member 'agee'
  }
  _ = Schema<Person> {
    Index(\.name, \.age, options: .caseInsensitive)  // error: only one text by itself
  }
  _ = Schema<Person> {
    Index(\.name, .caseInsensitive)  // error: has no member 'caseInsensitive'
  }
}

func keyless() {
  _ = Schema<Person> {
    Index(\.level)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.maybeLevel)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.levels)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.name, \.level)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.level, \.name, \.age)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.kind)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.address)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.home)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.matrix)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.counts)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.level, name: "level", where: { $0.age > 3 })  // error: a field has a type that no index
  }
  _ = Schema<Person> {
    Index(\.age, options: .caseInsensitive)  // error: only one text by itself
  }
  _ = Schema<Person> {
    Index(\.level, options: .caseInsensitive)  // error: only one text by itself
  }
  _ = Schema<Person> {
    Unique(\.level)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Unique(\.name, \.level)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Unique(\.address)  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Unique(\.age, options: .caseInsensitive)  // error: only one text by itself
  }
  _ = Schema<Person> {
    Validate(\.level, .uniqueness)  // error: the field, or one of the scope, has a type that no ind
  }
  _ = Schema<Person> {
    Validate(\.level, .uniqueness(name: "level"))  // error: the field, or one of the scope, has a t
  }
  _ = Schema<Person> {
    Validate(\.address, .uniqueness)  // error: the field, or one of the scope, has a type that no i
  }
  _ = Schema<Person> {
    Validate(\.name, .uniqueness(scope: \.level))  // error: the field, or one of the scope, has a t
  }
  _ = Schema<Person> {
    Validate(\.name, .uniqueness(scope: \.age, \.address))  // error: the field, or one of the scope
  }
  _ = Schema<Person> {
    Validate(\.age, .uniqueness(options: .caseInsensitive))  // error: only texts can be compared wi
  }
  _ = Schema<Person> {
    Validate(\.name, .uniqueness(options: .caseInsensitive, scope: \.level))  // error: only texts c
  }
}

func optional() {
  _ = Schema<Person> {
    Index(\.home.city)  // error: value of optional type 'Address?' must be unwrapped to ref
  }
  _ = Schema<Person> {
    Unique(\.home.city)  // error: value of optional type 'Address?' must be unwrapped to ref
  }
  _ = Schema<Person> {
    Default(\.age, nil)  // error: 'nil' is not compatible with expected argument type 'Int'
  }
  _ = Schema<Person> {
    Validate(\.home.city, .presence)  // error: value of optional type 'Address?' must be unwrapped
  }
  _ = Schema<Person> {
    Validate("x") { $0.maybeAge > 3 }  // error: value of optional type 'Int?' must be unwrapped to
  }
  _ = Schema<Person> {
    Validate(\.maybeAge, .length(1...3))  // error: referencing static method 'length' on 'Optional'
  }
  _ = Schema<Person> {
    Renamed(\.home.city, from: "town")  // error: value of optional type 'Address?' must be unwrappe
  }
  _ = Schema<Person> {
    Versioned(\.maybeAge)  // error: 'init(_:)' is unavailable: a version
  }
}
