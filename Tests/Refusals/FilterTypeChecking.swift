import Foundation
import Larch

// The control for filters: ten terms, of all kinds, each expression type-checked in at most 2,000
// scopes of the compiler's solver, which are its steps: a count says the same on a busy machine. They
// take half of it at most, some 50 ms; an overload that makes the compiler try combinations goes far
// beyond it, and the compiler itself gives up at a million.
// swiftc: -warnings-as-errors -Xfrontend -solver-scope-threshold=2000

enum Role: String, Codable, IndexKey { case guest, member, owner }

struct Address: Codable, Sendable, Equatable {
  var city: String
  var zip: Int?
}

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var email: String?
  var age: Int
  var rank: Int?
  var height: Double
  var weight: Double?
  var price: Decimal
  var role: Role
  var maybeRole: Role?
  var tags: [String]
  var marks: Set<Int>
  var address: Address
  var home: Address?
  var born: Date
  var isActive: Bool
  var isHidden: Bool
}

func tenTerms(today: Date, limit: Int) {
  _ = Person.where {
    $0.name == "a" && $0.email == "b" && $0.age >= 18 && $0.age <= 65 && $0.rank > 3
      && $0.height < 2 && $0.weight >= 50.5 && $0.isActive && !$0.isHidden && $0.role == .owner
  }
  _ = Person.where {
    $0.isActive || !$0.isHidden || $0.rank == nil || $0.email != nil || -1 < $0.age
      || 2.5 <= $0.height || $0.maybeRole == .guest || $0.role != .member || $0.price > 9.99
      || $0.weight == 70
  }
  _ = Person.where {
    ($0.age > 18 && $0.age < limit || !($0.rank == 5)) && ($0.height > 1 || $0.weight <= 100)
      && !($0.name < "m" && $0.email >= "n") && ($0.born > today || $0.isActive)
      && !$0.isHidden
  }
  _ = Person.where {
    (18...30).contains($0.age) && (1...).contains($0.rank) && (1..<2).contains($0.height)
      && ["a", "b"].contains($0.name) && ["c", nil].contains($0.email) && (1...5).contains($0.rank)
      && [1, 2].contains($0.age) && [.guest, .owner].contains($0.role)
      && (...100).contains($0.weight) && (1...2.5).contains($0.price)
  }
  // The literals are of the type of the field, which is not their usual one.
  _ = Person.where {
    [9, 7].contains($0.id) && [1, 2].contains($0.height) && [1, nil].contains($0.weight)
  }
  _ = Person.where {
    $0.address.city == "London" && $0.home.city == "Paris" && $0.home.zip == 5 && $0.home == nil
      && $0.name.count > 3 && $0.tags.isEmpty && $0.tags.contains("x")
      && $0.marks.containsAny(of: [1, 2]) && $0.tags.contains { $0.hasPrefix("y") && $0 != "yz" }
      && $0.email.hasSuffix(".org", options: .caseInsensitive)
  }
  _ = Person.where {
    $0.age == $0.rank && $0.rank != $0.age && $0.height < $0.weight && $0.name == $0.email
      && $0.age < $0.age && $0.weight >= $0.height && $0.name.like("a%") && $0.name.contains(/b+/)
      && $0.isActive == $0.isHidden && $0.role == $0.maybeRole
  }
  _ = Person.where {
    5 == $0.age && 6 != $0.rank && "a" == $0.name && "b" != $0.email && 1.5 == $0.height
      && $0.name == "c" && today != $0.born && 7 <= $0.rank && $0.isActive && limit == $0.age
  }
}
