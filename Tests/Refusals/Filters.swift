import Foundation
import Larch

struct Company: Record {
  var id = RecordID<Company>()
  var name: String
  var address: Address
}

struct Address: Codable, Sendable {
  var city: String
}

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var email: String?
  var age: Int
  var rank: Int?
  var isActive: Bool
  var isHidden: Bool?
  var price: Decimal
  var address: Address
  var tags: [String]
  var companyID: Company.ID?

  static let company = BelongsTo<Person, Company>(\.companyID)
  static let friends = ManyToMany<Person, Person>(named: "friends")
}

func misspelt() {
  _ = Person.where { $0.agee >= 18 }  // error: 'Fields<Person>' has no dynamic member 'agee'
  _ = Person.where { $0.isActive && $0.agee >= 18 }  // error: has no dynamic member 'agee'
  _ = Person.where { $0.address.town == "x" }  // error: has no dynamic member 'town'
  _ = Person.where { $0.name.hasPrefx("a") }  // error: has no dynamic member 'hasPrefx'
  _ = Person.all.sorted(by: \.agee)  // error: value of type 'Person' has no member 'agee'
  _ = Person.all.select(\.name, \.agee)  // error: 'Person' has no member 'agee'
}

func wrongType(person: Person, text: String) {
  _ = Person.where { $0.age == "x" }  // error: compare a field with a value of its own type
  _ = Person.where { $0.age >= text }  // error: order a field by a value of its own type
  _ = Person.where { $0.isActive && $0.age > "x" }  // error: order a field by a value of its own ty
  _ = Person.where { $0.rank > text }  // error: order a field by a value of its own type
  _ = Person.where { 18 < $0.name }  // error: order a field by a value of its own type
  _ = Person.where { $0.name == $0.age }  // error: compare a field with a value of its own type
  _ = Person.where { $0.companyID == person.id }  // error: compare a field with a value of its own
  _ = Person.where { ["a"].contains($0.age) }  // error: cannot convert value of type 'Field
  _ = Person.where { $0.tags.contains(5) }  // error: cannot convert value of type 'Int'
  _ = Person.where { $0.age.hasPrefix("1") }  // error: has no dynamic member 'hasPrefix'
  _ = Person.where { $0.age < nil }  // error: order a field by a value of its own type
  _ = Person.where { $0.age != 1.5 }  // error: compare a field with a value of its own type
  _ = Person.where { $0.isActive == 1 }  // error: compare a field with a value of its own type
  _ = Person.where { $0.address == person.address }  // error: compare a field with a value of its o
}

func noCondition() {
  _ = Person.where { $0.name }  // error: requires the types 'String' and 'Bool' be equivalent
  _ = Person.where { $0.isHidden }  // error: the types 'Bool?' and 'Bool' be equivalent
  _ = Person.where { $0.name && $0.isActive }  // error: 'String' and 'Bool' be equivalent
}

func noOrder() {
  _ = Person.all.sorted(by: \.address)  // error: requires that 'Address' conform to 'IndexKey'
  _ = Person.all.sorted(by: \.age, options: .caseInsensitive)  // error: 'Int' conform to 'TextValue
  _ = Person.all.sorted(by: \.company)  // error: the order is by a field of the record itself
  _ = Person.all.sorted(by: \.company.nmae)  // error: has no dynamic member 'nmae'
  _ = Person.all.sorted(by: \.company.address)  // error: the order is by a field of the record
  _ = Person.all.sorted(by: \.friends.name)  // error: has no member 'name'
  _ = Person.all.select(\.address).distinct()  // error: each field must be Hashable
}
