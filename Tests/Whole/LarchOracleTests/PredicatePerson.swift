import Foundation

@testable import Larch

enum PredicateLevel: String, Codable, CaseIterable, IndexKey { case low, middle, high }

struct PredicateHome: Codable, Hashable, Sendable {
  var city: String
  var zip: Int?
}

struct PredicateCompany: Record {
  var id = RecordID<Self>()
  var name: String

  static let people = HasMany<Self, PredicatePerson>(\.companyID)
  static var schema: Schema<Self> { Schema { people } }
}

/// A record with a property for each operator of `#Predicate`.
struct PredicatePerson: Record {
  var id = RecordID<Self>()
  var name: String
  var email: String?
  var age: Int
  var limit: Int
  var height: Double
  var city: String
  var isActive: Bool
  var isMember: Bool?
  var tags: [String]
  var marks: [Int]
  var born: Date
  var token: UUID
  var level: PredicateLevel
  var work: PredicateHome
  var home: PredicateHome?
  var scores: [String: Int]
  var companyID: PredicateCompany.ID?

  /// A property that is not stored.
  var initial: String { String(name.prefix(1)) }

  static let company = BelongsTo<Self, PredicateCompany>(\.companyID)
  static var schema: Schema<Self> {
    Schema {
      company
      Index(\.city, \.age)
      Index(\.age)
      Index(\.email)
      Index(\.name)
      Index(\.tags)
      Index(\.born)
      Index(\.level)
      Index(\.home?.city, name: "home.city")
    }
  }

  static func sample(_ number: Int) -> PredicatePerson {
    PredicatePerson(
      name: ["Ada", "Bo", "Cy", "Di", "\u{C9}va", "E\u{301}va"][number % 6],
      email: number % 3 == 0 ? nil : "p\(number)@\(number % 2 == 0 ? "acme" : "other").example",
      age: [17, 18, 30, 41, 65, Int.max][number % 6], limit: number % 50,
      height: [1.6, 1.75, 1.9, .nan, -0.0][number % 5], city: ["Oslo", "Rome", "Kyiv"][number % 3],
      isActive: number % 2 == 0, isMember: [true, false, nil][number % 3],
      tags: Array(["swift", "linux", "go"].prefix(number % 4)),
      marks: (0..<number % 3).map { $0 * 10 + number % 7 },
      born: Date(timeIntervalSinceReferenceDate: Double(number) * 1000),
      token: UUID(
        uuid: (UInt8(truncatingIfNeeded: number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
      level: PredicateLevel.allCases[number % 3],
      work: PredicateHome(city: ["Oslo", "Lyon"][number % 2], zip: number % 4 == 0 ? nil : number),
      home: number % 5 == 0
        ? nil
        : PredicateHome(city: ["Oslo", "Rome"][number % 2], zip: number % 7 == 0 ? nil : number),
      scores: number % 2 == 0 ? ["go": number] : ["go": 3, "chess": number],
      companyID: nil)
  }

  /// A store with some people, and the same people as an array.
  static func samples(_ count: Int = 60) throws -> (store: Store, people: [PredicatePerson]) {
    let store = try Store.temporary(for: PredicatePerson.self, PredicateCompany.self)
    let people = try store.write { tx in
      var companies = ["Acme", "Other"].map { PredicateCompany(name: $0) }
      for place in companies.indices { try tx.insert(&companies[place]) }
      var people = (0..<count).map { PredicatePerson.sample($0) }
      for place in people.indices {
        people[place].companyID = place % 4 == 0 ? nil : companies[place % 2].id
        try tx.insert(&people[place])
      }
      return people
    }
    return (store, people)
  }
}
