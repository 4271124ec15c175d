import Foundation
import Larch

// What is no arithmetic in Swift, and an order of nil, in filters of ten terms: an error comes at
// once, and not after seconds of trying.
// swiftc: -Xfrontend -solver-scope-threshold=20000

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var age: Int
  var weeks: Int8
  var rank: Int?
  var maybeRank: Int?
  var height: Double
  var price: Decimal
  var isActive: Bool
}

func noArithmetic(limit: Int?) {
  _ = Person.where {
    $0.rank + 1 == 3  // error: calculate with two integers or floats
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
  }
  _ = Person.where {
    $0.age + $0.weeks == 3  // error: calculate with two integers or floats
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
  }
  _ = Person.where {
    $0.price * 2 > 3  // error: calculate with two integers or floats
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
  }
  _ = Person.where {
    $0.age < nil  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
  }
  _ = Person.where {
    $0.age >= limit  // error: order a field by a value of its own type
      && $0.age == 2 && $0.name == "a" && $0.age > 3 && $0.height < 2 && $0.isActive
      && $0.name != "b" && $0.age <= 65 && $0.rank != nil && !$0.isActive
  }
  _ = Person.where { $0.name + "b" == "ab" }  // error: calculate with two integers or floats
  _ = Person.where { $0.age + 1.5 == 3 }  // error: calculate with two integers or floats
  _ = Person.where { $0.height % 2 == 1 }  // error: calculate with two integers or floats
  _ = Person.where { $0.age - limit == 3 }  // error: calculate with two integers or floats
  _ = Person.where { $0.age / $0.rank == 3 }  // error: calculate with two integers or floats
  _ = Person.where { $0.rank < limit }  // error: order a field by a value of its own type
  _ = Person.where { limit <= $0.rank }  // error: order a field by a value of its own type
  _ = Person.where { $0.rank > $0.maybeRank }  // error: order a field by a value of its own type
  _ = Person.where { $0.rank >= nil }  // error: order a field by a value of its own type
  _ = Person.where { $0.name * 2 == "x" }  // error: calculate with two integers or floats
  _ = Person.where { $0.height * $0.age > 2 }  // error: calculate with two integers or floats
  _ = Person.where { nil > $0.age }  // error: order a field by a value of its own type
}
