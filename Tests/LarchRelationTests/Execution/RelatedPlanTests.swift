import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Plans of filters across associations")
struct RelatedPlanTests {
  struct Company: Record {
    var id = RecordID<Company>()
    var name = ""
    var size = 0

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> {
      people
      Index(\.name)
    }
  }

  struct Person: Record {
    var id = RecordID<Person>()
    var name = ""
    var age = 0
    var companyID: Company.ID?

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let projects = ManyToMany<Person, Project>(named: "members")
    static let schema = Schema<Person> {
      projects
      Index(\.name)
      Index(\.age)
    }
  }

  struct Project: Record {
    var id = RecordID<Project>()
    var title = ""

    static let members = ManyToMany<Project, Person>(named: "members")
    static let schema = Schema<Project> { Index(\.title) }
  }

  /// 200 companies of 20 people each, one age in a hundred; 20 projects of 100 members.
  func store() throws -> Store {
    let store = try Store.temporary(for: Company.self, Person.self, Project.self)
    try store.write { tx in
      for number in 0..<200 {
        var company = Company(name: "company \(number)", size: number % 10)
        try tx.insert(&company)
        for place in 0..<20 {
          var person = Person(name: "person \(place)", age: (number * 20 + place) % 100)
          person.companyID = company.id
          try tx.insert(&person)
        }
      }
      let lists = tx.context.catalog.association("Person/Project/members")?.lists
      for number in 0..<20 {
        var project = Project(title: "project \(number)")
        try tx.insert(&project)
        guard let lists else { continue }
        for place in 0..<100 {
          var person = KeyWriter()
          var other = KeyWriter()
          try Person.ID(Int64(number * 37 + place * 11 + 1))._writeID(to: &person)
          try project.id._writeID(to: &other)
          let maintainer = tx.writer.maintainer
          try maintainer.add(other.bytes, toList: person.bytes, in: lists.forward)
          try maintainer.add(person.bytes, toList: other.bytes, in: lists.inverse)
        }
      }
    }
    return store
  }

  @Test("A few parents drive the plan by the index of the reference")
  func parentDrives() throws {
    try store().expectPlan(
      of: Person.where { $0.company.name == "company 7" },
      """
      index companyID [8]
        related(companyID).matches { name == "company 7" }: collected first, 1 id; the rows are found by it
          index name ["company 7"]
            answered from the index alone
      examined 21 index entries, 20 records; returned 20
      """)
  }

  @Test("A count by a parent reads no record")
  func parentCount() throws {
    try store().expectPlan(
      counting: Person.where { $0.company.matches { $0.name == "company 7" } },
      "")
  }

  @Test("A few children drive the plan by the ids that they hold")
  func childrenDrive() throws {
    try store().expectPlan(
      of: Company.where { $0.people.contains { $0.age == 3 && $0.name == "person 3" } }.limit(5),
      "")
  }

  @Test("Children are asked row by row where few rows are asked")
  func childrenProbed() throws {
    try store().expectPlan(
      of: Company.where { $0.name == "company 9" && $0.people.contains { $0.age > 30 } },
      "")
  }

  @Test("Children are collected once where all rows are asked")
  func childrenCollected() throws {
    try store().expectPlan(
      of: Company.where { !$0.people.contains { $0.age > 30 } },
      "")
  }

  @Test("The first rows are enough for a limit")
  func limitProbes() throws {
    try store().expectPlan(
      of: Person.where { $0.company.size >= 2 }.limit(3),
      "")
  }

  @Test("The members of one are its list")
  func members() throws {
    let store = try store()
    let query = Person.where { $0.projects.contains(Project.ID(4)) }
    try store.expectPlan(of: query, "")
    try store.expectPlan(counting: query, "")
    try store.expectPlan(of: query.sorted(by: \.age).limit(3), "")
    try store.expectPlan(of: query.where { $0.age == 50 }, "")
    try store.expectPlan(of: query.where { $0.projects.contains(Project.ID(5)) }, "")
  }

  @Test("Lists of records that a filter finds are read one after the other")
  func listsOfFound() throws {
    try store().expectPlan(
      of: Person.where { $0.projects.contains { $0.title == "project 3" } && $0.age < 50 },
      "")
    try store().expectPlan(
      of: Project.where { $0.members.contains { $0.name == "person 3" && $0.age == 3 } },
      "")
  }

  @Test("Filters nest, and inner plans show theirs")
  func nested() throws {
    try store().expectPlan(
      of: Company.where { $0.people.contains { $0.projects.contains { $0.title == "project 3" } } },
      "")
  }

  @Test("One of two ways is a union")
  func union() throws {
    try store().expectPlan(
      of: Person.where { $0.company.name == "company 7" || $0.projects.contains(Project.ID(2)) },
      "")
  }
}
