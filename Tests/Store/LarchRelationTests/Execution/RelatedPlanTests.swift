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
  private func store() throws -> Store {
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

  @Test("A count by a parent reads no record of a child")
  func parentCount() throws {
    try store().expectPlan(
      counting: Person.where { $0.company.matches { $0.name == "company 7" } },
      """
      index companyID [8]
        answered from the index alone
        related(companyID).matches { name == "company 7" }: collected first, 1 id; the rows are found by it
          index name ["company 7"]
            answered from the index alone
      examined 2 index entries, 0 records; returned 0
      """)
  }

  @Test("A few children drive the plan by the ids in them")
  func childrenDrive() throws {
    let store = try store()
    try store.expectPlan(
      of: Company.where { $0.people.contains { $0.age == 3 && $0.name == "person 3" } }.limit(5),
      """
      records [1], [6], [11], [16], [21], [26], [31], [36], … 40 in all
        limit 5
        related(Person.companyID).contains { age == 3 && name == "person 3" }: collected first, 40 ids; the rows are found by it
          index age [3]
            filter name == "person 3"
      examined 40 index entries, 45 records; returned 5
      """)
  }

  @Test("Children are tested row by row if few rows are needed")
  func childrenProbed() throws {
    let store = try store()
    try store.expectPlan(
      of: Company.where { $0.name == "company 9" && $0.people.contains { $0.age > 30 } },
      """
      index name ["company 9"]
        filter related(Person.companyID).contains { age > 30 }
        related(Person.companyID).contains { age > 30 }: 1 row was asked
          all records
            filter age > 30
      examined 2 index entries, 2 records; returned 1
      """)
  }

  @Test("Children are collected once if all rows are needed")
  func childrenCollected() throws {
    let store = try store()
    try store.expectPlan(
      of: Company.where { !$0.people.contains { $0.age > 30 } },
      """
      all records
        filter !related(Person.companyID).contains { age > 30 }
        related(Person.companyID).contains { age > 30 }: collected once, after 151 rows were asked
          all records
            filter age > 30
      examined 1051 index entries, 5250 records; returned 40
      """)
  }

  @Test("The first rows are enough for a limit")
  func limitProbes() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.company.size >= 2 }.limit(3),
      """
      all records
        filter related(companyID).matches { size >= 2 }
        limit 3
        related(companyID).matches { size >= 2 }: 43 rows were asked
          all records
            filter size >= 2
      examined 0 index entries, 86 records; returned 3
      """)
  }

  @Test("Many parents are compared with each row")
  func parentsCompared() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.company.size >= 2 },
      """
      all records
        filter [3, 4, 5, 6, 7, 8, 9, 10, … 160 in all].contains(companyID)
        related(companyID).matches { size >= 2 }: collected first, 160 ids; each row is compared
          all records
            filter size >= 2
      examined 0 index entries, 4200 records; returned 3200
      """)
  }

  @Test("Many parents are counted by the index of the reference")
  func parentsCounted() throws {
    let store = try store()
    try store.expectPlan(
      counting: Person.where { $0.company.size >= 2 },
      """
      index companyID [3], [4], [5], [6], [7], [8], [9], [10], … 160 ranges
        answered from the index alone
        related(companyID).matches { size >= 2 }: collected first, 160 ids; the rows are found by it
          all records
            filter size >= 2
      examined 160 index entries, 200 records; returned 0
      """)
  }

  @Test("The members of one are its list, in the order of ids")
  func members() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.projects.contains(Project.ID(4)) },
      """
      list related(members) of [4]
        related(members).contains { id == 4 }: its list is read
      examined 100 index entries, 100 records; returned 100
      """)
  }

  @Test("Members are counted by one search")
  func membersCounted() throws {
    let store = try store()
    try store.expectPlan(
      counting: Person.where { $0.projects.contains(Project.ID(4)) },
      """
      list related(members) of [4]
        answered from the list alone
        related(members).contains { id == 4 }: its list is read
      examined 1 index entry, 0 records; returned 0
      """)
  }

  @Test("Members can be sorted")
  func membersSorted() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.projects.contains(Project.ID(4)) }.sorted(by: \.age).limit(3),
      """
      list related(members) of [4]
        sort by age, keeping 3
        limit 3
        related(members).contains { id == 4 }: its list is read
      examined 100 index entries, 103 records; returned 3
      """)
  }

  @Test("Members are intersected with an index")
  func membersRefined() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.projects.contains(Project.ID(4)) }.where { $0.age == 50 },
      """
      intersection
        index age [50]
        list related(members) of [4]
        related(members).contains { id == 4 }: its list is read
      examined 140 index entries, 1 record; returned 1
      """)
  }

  @Test("Members of two are the intersection of their lists")
  func membersOfTwo() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where {
        $0.projects.contains(Project.ID(4)) && $0.projects.contains(Project.ID(5))
      },
      """
      intersection
        list related(members) of [4]
        list related(members) of [5]
        related(members).contains { id == 4 }: its list is read
        related(members).contains { id == 5 }: its list is read
      examined 200 index entries, 0 records; returned 0
      """)
  }

  @Test("A limit ends the reading of a list")
  func membersLimited() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.projects.contains(Project.ID(4)) }.limit(2),
      """
      list related(members) of [4]
        limit 2
        related(members).contains { id == 4 }: its list is read
      examined 2 index entries, 2 records; returned 2
      """)
  }

  @Test("A page of a list begins at its position")
  func membersPage() throws {
    let store = try store()
    let members = Person.where { $0.projects.contains(Project.ID(4)) }
    let token = try #require(try store.page(members.limit(50)).next)
    try store.expectPlan(
      of: members.after(token).limit(2),
      """
      list related(members) of [4]
        after id 651
        limit 2
        related(members).contains { id == 4 }: its list is read
      examined 3 index entries, 2 records; returned 2
      """)
  }

  @Test("The list of a record that a filter finds is read")
  func listOfFound() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.projects.contains { $0.title == "project 3" } && $0.age < 50 },
      """
      list related(members) of [4]
        filter age < 50
        related(members).contains { title == "project 3" }: collected first, 1 id; the rows are found by it
          index title ["project 3"]
            answered from the index alone
      examined 101 index entries, 100 records; returned 50
      """)
  }

  @Test("The lists of members are collected once")
  func listsCollected() throws {
    let store = try store()
    try store.expectPlan(
      of: Project.where { $0.members.contains { $0.name == "person 3" && $0.age == 3 } },
      """
      all records
        filter related(members).contains { name == "person 3" && age == 3 }
        related(members).contains { name == "person 3" && age == 3 }: collected once, after 1 row was asked
          index age [3]
            filter name == "person 3"
      examined 105 index entries, 104 records; returned 20
      """)
  }

  @Test("Filters nest, and inner plans show theirs")
  func nested() throws {
    let store = try store()
    try store.expectPlan(
      of: Company.where { $0.people.contains { $0.projects.contains { $0.title == "project 3" } } },
      """
      records [6], [7], [8], [9], [10], [11], [12], [13], … 56 in all
        related(Person.companyID).contains { related(members).contains { title == "project 3" } }: collected first, 56 ids; the rows are found by it
          list related(members) of [4]
          related(members).contains { title == "project 3" }: collected first, 1 id; the rows are found by it
            index title ["project 3"]
              answered from the index alone
      examined 101 index entries, 156 records; returned 56
      """)
  }

  @Test("A filter with or is a union")
  func union() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.company.name == "company 7" || $0.projects.contains(Project.ID(2)) },
      """
      union
        index companyID [8]
        list related(members) of [2]
        related(companyID).matches { name == "company 7" }: collected first, 1 id; the rows are found by it
          index name ["company 7"]
            answered from the index alone
        related(members).contains { id == 2 }: its list is read
      examined 121 index entries, 118 records; returned 118
      """)
  }

  @Test("A negated comparison is checked for each row")
  func negated() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.company.name != "company 7" },
      """
      all records
        filter companyID != 8
        related(companyID).matches { name == "company 7" }: collected first, 1 id; each row is compared
          index name ["company 7"]
            answered from the index alone
      examined 1 index entry, 4000 records; returned 3980
      """)
  }

  @Test("The existence of a child is one search for each row")
  func isEmpty() throws {
    let store = try store()
    try store.expectPlan(
      of: Company.where { $0.people.isEmpty },
      """
      all records
        filter related(Person.companyID).isEmpty
        related(Person.companyID): 200 rows were asked
      examined 200 index entries, 200 records; returned 0
      """)
  }

  @Test("The existence of a member is one search for each row")
  func listIsEmpty() throws {
    let store = try store()
    try store.expectPlan(
      of: Project.where { $0.members.isEmpty },
      """
      all records
        filter related(members).isEmpty
        related(members): 20 rows were asked
      examined 20 index entries, 20 records; returned 0
      """)
  }

  @Test("The existence of a parent is tested row by row until all parents are collected")
  func parentIsNil() throws {
    let store = try store()
    try store.expectPlan(
      of: Person.where { $0.company == nil },
      """
      all records
        filter related(companyID).isEmpty
        related(companyID): collected once, after 22 rows were asked
      examined 0 index entries, 4021 records; returned 0
      """)
  }
}
