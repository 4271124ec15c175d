import Foundation
import Larch
import RegexBuilder

// The control for rules: lines of all kinds, each type-checked in few of the solver's steps, as
// FilterTypeChecking.swift says.
// swiftc: -warnings-as-errors -Xfrontend -solver-scope-threshold=2000

enum Role: String, Codable, IndexKey, CaseIterable { case guest, member, owner }

struct Address: Codable, Sendable, Equatable {
  var city: String
}

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var email: String?
  var age: Int
  var rank: Int?
  var height: Double
  var weight: Double?
  var role: Role
  var tags: [String]
  var marks: Set<Int>
  var photo: Data?
  var address: Address
  var home: Address?
  var teamID: RecordID<Person>?
  var number: Int
  var born: Date
  var isActive: Bool

  var fullName: String { name + "!" }

  static let schema = Schema<Person> {
    Validate(\.name, .presence, .length(1...40))
    Validate(\.email, .format(/.+@.+/), .uniqueness(options: .caseInsensitive), .length(max: 80))
    Validate(\.age, .range(0...150))
    Validate(\.rank, .range(1..<10), .exclusion([7]))
    Validate(\.height, .range(0...3))
    Validate(\.weight, .range(0.5...))
    Validate(\.role, .inclusion([.guest, .member]).message("is too high"))
    Validate(\.tags, .length(...10), .presence)
    Validate(\.photo, .length(...1_000_000))
    Validate(\.address.city, .inclusion(["Oslo", "Rome"])).when { $0.isActive }
    Validate(\.home?.city, .presence.when { $0.isActive })
    Validate(\.number, .uniqueness(scope: \.teamID, \.role))
    Validate(\.number, "must_be_even", message: "The number must be even.") { $0.isMultiple(of: 2) }
    Validate(\.rank, "must_be_odd") { $0 % 2 == 1 }
    Validate(\.fullName, .length(3...), name: "fullName")
    Validate(\.born, .range(Date(timeIntervalSince1970: 0)...))
    Validate("too_heavy") { $0.weight ?? 0 < 200 || $0.height > 1.8 }
    Validate("too_young", on: \.age) { $0.age > 17 || $0.role == .guest }
    Validate(\.name, .exclusion(["root"]), .custom("digits") { !$0.contains(where: \.isNumber) })
    Validate(
      \.name,
      .format(
        Regex {
          OneOrMore(.any)
        }))
  }
}
