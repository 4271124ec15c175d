import Larch
import Testing

@Suite("Queries, associations, joins and selections run without a store")
struct AmbientQueryTests {
  typealias Person = Ambient.Person
  typealias Company = Ambient.Company

  /// Runs the closure with two companies and three people, in and outside of a transaction.
  private func withPeople(_ body: (Company, Company, [Person]) throws -> Void) throws {
    for isTransaction in [false, true] {
      try Ambient.withStore { store throws in
        func run() throws {
          let acme = try Company(name: "Acme").saved()
          let bolt = try Company(name: "Bolt").saved()
          let people = try [("a", 10), ("b", 20), ("c", 30)].map { name, age in
            try Person(name: name, email: "\(name)@x", age: age, companyID: acme.id).saved()
          }
          try body(acme, bolt, people)
        }
        if isTransaction { try Store.transaction { try run() } } else { try run() }
      }
    }
  }

  @Test("records, one record, aggregates, ids and pages of a query")
  func queries() throws {
    try withPeople { _, _, people throws in
      let grown = Person.where { $0.age >= 20 }.sorted(by: \.age, .descending)
      #expect(try grown.fetch() == [people[2], people[1]])
      #expect(try grown.first() == people[2])
      #expect(try grown.count() == 2)
      #expect(try grown.exists())
      #expect(try grown.ids() == [people[2].id, people[1].id])
      #expect(try grown.explain().contains("age"))
      #expect(try grown.explain(counting: true).contains("age"))
      var names: [String] = []
      try grown.forEach { names.append($0.name) }
      #expect(names == ["c", "b"])
      let page = try grown.limit(1).page()
      #expect(page.records == [people[2]])
      let next = try #require(page.next)
      #expect(try grown.limit(1).after(next).page().records == [people[1]])
    }
  }

  @Test("aggregates, groups and selections of a query")
  func figures() throws {
    try withPeople { acme, _, people throws in
      #expect(try Person.all.min(\.age) == 10)
      #expect(try Person.all.max(\.age) == 30)
      #expect(try Person.all.min(\.email) == "a@x")
      #expect(try Person.all.max(\.email) == "c@x")
      #expect(try Person.where { $0.age > 10 }.sum(\.age) == 50)
      #expect(try Person.all.average(\.age) == 20)
      let groups = try Person.all.counts(by: \.companyID)
      #expect(groups.map(\.value) == [acme.id])
      #expect(groups.map(\.count) == [3])
      #expect(try Person.select(\.name).fetch() == ["a", "b", "c"])
      #expect(try Person.all.select(\.name, \.age).first().map(\.1) == 10)
      #expect(try Person.select(\.companyID).distinct().count() == 1)
      #expect(try !Person.select(\.age).explain().isEmpty)
      #expect(try Company.all.deletionPlan().isAllowed)
    }
  }

  @Test("changes by a query")
  func changes() throws {
    try withPeople { _, _, people throws in
      #expect(try Person.where { $0.age > 10 }.update { $0.age += 1 } == 2)
      #expect(try Person.all.select(\.age).fetch() == [10, 21, 31])
      #expect(try Person.where { $0.age > 10 }.delete() == 2)
      #expect(try Person.all.fetch() == [people[0]])
    }
  }

  @Test("related records are read and changed")
  func related() throws {
    try withPeople { acme, bolt, people throws in
      #expect(try acme.people.fetch() == people)
      #expect(try acme.related(Company.people).first() == people[0])
      #expect(try acme.people.count() == 3)
      #expect(try bolt.people.exists() == false)
      #expect(try acme.people.ids() == people.map(\.id))
      #expect(try acme.people.contains(people[0]))
      #expect(try acme.people.contains(people[0].id))
      #expect(try acme.people.where { $0.age > 10 }.count() == 2)
      #expect(try people[0].related(Person.company).first() == acme)
      var names: [String] = []
      try acme.people.forEach { names.append($0.name) }
      try acme.people.forEachID { names.append("\($0)") }
      #expect(names == ["a", "b", "c", "1", "2", "3"])
      try bolt.people.add(people[0])
      try bolt.people.add(people[1].id)
      var new = Person(name: "d")
      try bolt.people.add(&new)
      #expect(new.companyID == bolt.id)
      #expect(try bolt.people.fetch().map(\.name) == ["a", "b", "d"])
      try bolt.people.remove(people[0])
      try bolt.people.remove(people[1].id)
      try bolt.people.add(contentsOf: [people[2].id])
      #expect(try bolt.people.fetch().map(\.name) == ["c", "d"])
      try bolt.people.replace(with: [people[0].id])
      #expect(try bolt.people.fetch().map(\.name) == ["a"])
      try bolt.people.removeAll()
      #expect(try bolt.people.count() == 0)
    }
  }

  @Test("records with their related ones, and joins")
  func together() throws {
    try withPeople { acme, bolt, people throws in
      let companies = try Company.all.with(Company.people).fetch()
      #expect(companies.map(\.0) == [acme, bolt])
      #expect(companies.map(\.1) == [people, []])
      let employers = try Person.all.with(Person.company).fetch()
      #expect(employers.map(\.1) == [acme, acme, acme])
      var counts: [Int] = []
      try Company.all.with(Company.people).forEach { _, people in counts.append(people.count) }
      #expect(counts == [3, 0])
      let join = Person.all.joined(with: Company.all, on: \.companyID)
      #expect(try join.fetch().map(\.1) == [acme, acme, acme])
      #expect(try join.first()?.0 == people[0])
      #expect(try join.count() == 3)
      #expect(try join.exists())
      #expect(try !join.explain().isEmpty)
      var rows = 0
      try join.forEach { _ in rows += 1 }
      #expect(rows == 3)
    }
  }
}
