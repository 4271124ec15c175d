import Foundation
import Larch

// As Schema.swift, with a wrong type and a wrong argument.

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

func wrongType() {
  _ = Schema<Person> {
    Default(\.age, "x")  // error: the value is not of the type of its field
  }
  _ = Schema<Person> {
    Default(\.rank, .third)  // error: type 'Rank' has no member 'third'
  }
  _ = Schema<Person> {
    Validate(\.height, .length(1...3))  // error: referencing static method 'length' on 'ValidationR
  }
  _ = Schema<Person> {
    Validate(\.age, .presence)  // error: static property 'presence' requires that 'Int' conform to
  }
  _ = Schema<Person> {
    Validate(\.age, .range("a"..."b"))  // error: the range is not of the type of the field
  }
  _ = Schema<Person> {
    Validate(\.name, .range(1...2))  // error: the range is not of the type of the field
  }
  _ = Schema<Person> {
    Validate(\.age, .inclusion(["a"]))  // error: the values are not of the type of the field
  }
  _ = Schema<Person> {
    Validate(\.age, .exclusion(["a"]))  // error: the values are not of the type of the field
  }
  _ = Schema<Person> {
    Validate(\.address, .inclusion([]))  // error: referencing static method 'inclusion' on 'Validat
  }
  _ = Schema<Person> {
    Validate(\.age, .format(/a/))  // error: referencing static method 'format' on 'ValidationRule'
  }
  _ = Schema<Person> {
    Validate(\.name, .custom("short") { $0 > 5 })  // error: cannot convert value of type 'String' t
  }
  _ = Schema<Person> {
    Validate("adult") { $0.age }  // error: cannot convert value of type 'Int' to closure result typ
  }
  _ = Schema<Person> {
    BelongsTo(\.age, to: Company.self)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    BelongsTo(\.companyID, to: Tag.self)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    BelongsTo(\.address, to: Company.self)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    BelongsTo(\.companyID, to: Address.self)  // error: generic struct 'BelongsTo' requires that 'Ad
  }
  _ = Schema<Person> {
    HasMany(\Company.name)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    HasMany(\Job.companyID)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    HasMany(Tag.self, in: \.age)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    HasMany(Company.self, in: \.tagIDs)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    HasMany(Tag.self, through: \Job.personID, \Job.companyID)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    HasOne(\Job.companyID)  // error: initializer 'init(_
  }
  _ = Schema<Person> {
    ManyToMany(Address.self, named: "homes")  // error: generic struct 'ManyToMany' requires that 'A
  }
  _ = Schema<Person> {
    Index(\Company.name)  // error: cannot convert value of type 'KeyPath<Company, String>' to
  }
  _ = Schema<Person> {
    Unique(\Company.name)  // error: cannot convert value of type 'KeyPath<Company, String>' to
  }
  _ = Schema<Person> {
    Default(\Company.name, "x")  // error: cannot convert value of type 'KeyPath<Company, String>' t
  }
  _ = Schema<Person> {
    Renamed(\Company.name, from: "x")  // error: cannot convert value of type 'KeyPath<Company, Stri
  }
  _ = Schema<Person> {
    Validate(\Company.name, .presence)  // error: cannot convert value of type 'KeyPath<Company, Str
  }
  _ = Schema<Person> {
    Company.boss  // error: cannot convert value of type 'Company' to expected argumen
  }
  _ = Schema<Person> {
    Versioned(\.name)  // error: 'init(_:)' is unavailable: a version
  }
}

func wrongArgument() {
  _ = Schema<Person> {
    Index("name")  // error: cannot convert value of type 'String' to expected argument
  }
  _ = Schema<Person> {
    Index()  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Index(\.name, name: 5)  // error: cannot convert value of type 'Int' to expected argument ty
  }
  _ = Schema<Person> {
    Index(\.name, "name")  // error: cannot convert value of type 'String' to expected argument
  }
  _ = Schema<Person> {
    Index(\.name, options: .caseSensitive)  // error: type 'TextIndexOption' has no member 'caseSens
  }
  _ = Schema<Person> {
    Index(\.name, where: { $0.age })  // error: cannot convert value of type 'Int' to closure result
  }
  _ = Schema<Person> {
    Unique("name")  // error: cannot convert value of type 'String' to expected argument
  }
  _ = Schema<Person> {
    Unique()  // error: a field has a type that no index can order
  }
  _ = Schema<Person> {
    Versioned("version")  // error: cannot convert value of type 'String' to expected argument
  }
  _ = Schema<Person> {
    Unique(\.name, name: 5)  // error: cannot convert value of type 'Int' to expected argument ty
  }
  _ = Schema<Person> {
    Default(\.age)  // error: missing argument for parameter #2 in call
  }
  _ = Schema<Person> {
    Default("age", 5)  // error: cannot convert value of type 'String' to expected argument
  }
  _ = Schema<Person> {
    Default(\.age, to: 5)  // error: extraneous argument label 'to:' in call
  }
  _ = Schema<Person> {
    Renamed(\.name, "x")  // error: missing argument label 'from:' in call
  }
  _ = Schema<Person> {
    Renamed(\.name, from: 5)  // error: cannot convert value of type 'Int' to expected argument ty
  }
  _ = Schema<Person> {
    Renamed(from: 5)  // error: cannot convert value of type 'Int' to expected argument ty
  }
  _ = Schema<Person> {
    Validate(\.name, .length("x"))  // error: cannot convert value of type 'String' to expected argu
  }
  _ = Schema<Person> {
    Validate(\.name, .length(maximum: 5))  // error: extraneous argument label 'maximum:' in call
  }
  _ = Schema<Person> {
    Validate(\.age, .range(5))  // error: static method 'range' requires that 'Int' conform to 'Fiel
  }
  _ = Schema<Person> {
    Validate(\.name, .format("a"))  // error: static method 'format' requires that 'String' conform
  }
  _ = Schema<Person> {
    Validate(\.name, .presence.message(5))  // error: cannot convert value of type 'Int' to expected
  }
  _ = Schema<Person> {
    Validate(\.name, .presence, name: 5)  // error: cannot convert value of type 'Int' to expected a
  }
  _ = Schema<Person> {
    BelongsTo(\.companyID)  // error: generic parameter 'Target' could not be inferred
  }
  _ = Schema<Person> {
    HasMany(\.personID)  // error: cannot infer key path type from context
  }
  _ = Schema<Person> {
    HasMany(Tag.self, \.tagIDs)  // error: missing argument label 'in:' in call
  }
  _ = Schema<Person> {
    HasMany(\Job.personID, onDelete: true)  // error: cannot convert value of type 'Bool' to expecte
  }
  _ = Schema<Person> {
    HasOne(\Job.personID, onDelete: .gone)  // error: type 'DeleteRule' has no member 'gone'
  }
  _ = Schema<Person> {
    ManyToMany(Company.self)  // error: missing argument for parameter 'named' in call
  }
  _ = Schema<Person> {
    ManyToMany(Company.self, named: 5)  // error: cannot convert value of type 'Int' to expected arg
  }
  _ = Schema<Person> {
    ManyToMany(named: "clients")  // error: generic parameter 'Target' could not be inferred
  }
  _ = Schema<Person> {
    5  // error: argument type 'Int' does not conform to expected type 'Sch
  }
  _ = Schema<Person> {
    "name"  // error: argument type 'String' does not conform to expected type '
  }
}
