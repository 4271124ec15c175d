import Foundation
import LarchTestSupport

@testable import Larch

/// The same collections in three versions of a program.
enum V1 {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var age: Int32
    var companyID: Int64?

    static let schema = Schema<Person> { Index(\.age) }
  }

  struct Company: Record, Equatable {
    var id = RecordID<Company>()
    var name: String
  }

  struct Customer: Record, Equatable {
    var id: String
    var fullName: String
  }
}

enum V2 {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var first: String
    var last: String
    var age: Int32
    var companyID: Int64?
  }
}

enum V3 {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var first: String
    var last: String
    var months: Int
    var companyID: Company.ID?
    var initials: String { String(first.prefix(1)) + String(last.prefix(1)) }

    static let schema = Schema<Person> {
      Index(\.last, \.months)
      Index(\.initials, name: "initials")
      BelongsTo(\.companyID, to: Company.self, onDelete: .nullify)
      projects
    }
    static let projects = ManyToMany<Person, Project>(named: "members")
  }

  struct Company: Record, Equatable {
    var id = RecordID<Company>()
    var name: String

    static let schema = Schema<Company> { Unique(\.name) }
  }

  struct Project: Record, Equatable {
    var id = RecordID<Project>()
    var title: String

    static let members = ManyToMany<Project, Person>(named: "members")
    static let schema = Schema<Project> { members }
  }
}

enum Split {
  static func parts(_ name: String) -> (first: String, last: String) {
    let parts = name.split(separator: " ", maxSplits: 1).map(String.init)
    return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
  }

  static func v2(_ old: V1.Person) -> V2.Person {
    let (first, last) = parts(old.name)
    return V2.Person(
      id: .init(old.id.rawValue), first: first, last: last, age: old.age,
      companyID: old.companyID)
  }

  static func v3(_ old: V2.Person) -> V3.Person {
    V3.Person(
      id: .init(old.id.rawValue), first: old.first, last: old.last, months: Int(old.age) * 12,
      companyID: old.companyID.map { .init($0) })
  }

  /// From the first version to the third, as a program of the third one has it.
  static let names = Migration("split names") { tx throws in
    try tx.rewrite("Person", from: V1.Person.self, to: V2.Person.self) { v2($0) }
  }
  static let months = Migration("months") { tx throws in
    try tx.rewrite(V3.Person.self, from: V2.Person.self) { v3($0) }
  }

  static let people = [
    V1.Person(name: "Ada Lovelace", age: 36, companyID: 1),
    V1.Person(name: "Grace Brewster Hopper", age: 85, companyID: nil),
    V1.Person(name: "Plato", age: 80, companyID: 2),
  ]

  static func makeFirst(_ path: String, _ people: [V1.Person] = people) throws {
    try Store.using(path, V1.Person.self, V1.Company.self) { store throws in
      try store.saveAll([V1.Company(name: "Engines"), V1.Company(name: "Academy")])
      try store.saveAll(people)
    }
  }
}
