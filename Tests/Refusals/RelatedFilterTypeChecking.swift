import Foundation
import Larch

// The control for filters across associations, as FilterTypeChecking.swift is for fields.
// swiftc: -warnings-as-errors -Xfrontend -solver-scope-threshold=2000

struct Company: Record {
  var id = RecordID<Company>()
  var name: String
  var size: Int
  var city: String?
  var parentID: Company.ID?

  static let people = HasMany<Company, Person>(\.companyID)
  static let parent = BelongsTo<Company, Company>(\.parentID)
  static let schema = Schema<Company> {
    people
    parent
  }
}

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
  var age: Int
  var companyID: Company.ID?
  var tagIDs: [String]

  static let company = BelongsTo<Person, Company>(\.companyID)
  static let profile = HasOne<Person, Profile>(\.personID)
  static let projects = ManyToMany<Person, Project>(named: "members")
  static let tags = HasMany<Person, Tag>(in: \.tagIDs)
  static let schema = Schema<Person> { profile }
}

struct Project: Record {
  var id = UUID()
  var title: String
  static let members = ManyToMany<Project, Person>(named: "members")
}

struct Profile: Record {
  var id = RecordID<Profile>()
  var personID: Person.ID?
  var score: Double
}

struct Tag: Record {
  var id: String
}

func related(project: Project, person: Person) {
  _ = Company.where {
    $0.people.contains { $0.age > 30 && $0.name != "Ada" } && !$0.people.isEmpty
      && $0.people.contains(person.id) && $0.size >= 3 && $0.parent.name == "Acme"
  }
  _ = Person.where {
    $0.company.name == "Acme" && $0.company.size > 3 && $0.company.city != nil
      && $0.company.city != "Paris" && $0.age < 65 && $0.profile.score >= 1.5
      && !$0.tags.isEmpty
  }
  _ = Person.where {
    $0.projects.contains(project.id) && $0.company.name == "Acme" && $0.age < 65
      && $0.profile.score >= 1.5
  }
  _ = Person.where {
    $0.company.matches { $0.name == "Acme" || $0.size > 3 } && $0.company != nil
      && $0.projects.contains { $0.title.hasPrefix("L") && $0.members.contains { $0.age == 3 } }
  }
  _ = Person.where {
    $0.company.parent.name.hasPrefix("A") || $0.company.parent.city == nil
      || $0.company.people.contains { $0.age < 5 } || $0.company.name.count > 3
      || (1...5).contains($0.company.size)
  }
  _ = Company.where {
    $0.related(\Person.companyID).contains { $0.age > 30 }
      && !$0.related(HasMany(\Person.companyID)).isEmpty
  }
  _ = Person.where {
    $0.company == nil && $0.profile == nil && $0.company.parent != nil && $0.company != nil
      && $0.company.parent == nil && $0.companyID == nil && $0.age == 3 && $0.name != "Ada"
  }
}
