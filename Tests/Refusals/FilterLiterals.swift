import Foundation
import Larch

// An order with a literal of another type before its field, and a list against a field, in filters of twelve terms:
// an error comes as fast as in a filter that is right. Each took the compiler more than 40,000 scopes.
// swiftc: -Xfrontend -solver-scope-threshold=2000

enum Role: String, Codable, IndexKey { case guest, owner }

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var age: Int
  var rank: Int?
  var height: Double
  var role: Role
  var maybeRole: Role?
  var isActive: Bool
}

func literals(roles: [Role]) {
  _ = Person.where {
    5 < $0.name  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    "x" >= $0.age  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.role == [.guest]  // error: compare a field with one value
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.maybeRole != [.guest]  // error: compare a field with one value
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.role == roles  // error: compare a field with one value
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.age == [5]  // error: compare a field with one value
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive && $0.rank > 4
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
      && 5 < $0.name  // error: order a field by a value of its own type
  }
}
