import Foundation
import Larch

// A value of another type than that of its field, in filters of twelve terms: an error comes as fast
// as in a filter that is right, and at the operator.
// swiftc: -Xfrontend -solver-scope-threshold=2000

enum Role: String, Codable, IndexKey { case guest, owner }

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var age: Int
  var rank: Int?
  var height: Double
  var role: Role
  var isActive: Bool
}

func wrongType(text: String, limit: Int?) {
  _ = Person.where {
    $0.age == "x"  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.age != 1.5  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.age == text  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    text != $0.age  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.age >= text  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.rank == "x"  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.name == 5  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.name < $0.age  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.role == "guest"  // error: compare a field with a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.rank < limit  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive && $0.rank > 4
  }
  _ = Person.where {
    $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive && $0.rank > 4
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
      && $0.age == "x"  // error: compare a field with a value of its own type
  }
}
