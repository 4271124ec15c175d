import Foundation
import Larch
import LarchTestSupport
import Testing

@Suite("README.md")
struct ReadmeTests {
  // snippet: readme-record
  struct Company: Record {
    var id = RecordID<Company>()  // assigned by the store at the first save
    var name: String

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> { people }
  }

  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
    var email: String?
    var age: Int
    var city: String
    var tags: [String] = []
    var companyID: Company.ID?

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let schema = Schema<Person> {
      company
      Unique(\.email)  // many nils are fine
      Index(\.city, \.age)  // by city, then by age
      Index(\.tags)  // an entry for each element
      Index(\.name, options: .caseInsensitive)
      Validate(\.name, .presence)
    }
  }
  // end snippet

  @Test("The example at the top does what it says")
  func example() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")

    // snippet: readme-use
    let store = try Store(at: path, for: Person.self, Company.self)

    var acme = Company(name: "Acme")
    var ada = Person(name: "Ada", email: "ada@acme.example", age: 36, city: "London")
    var bo = Person(name: "Bo", age: 41, city: "Oslo")

    try store.write { tx in  // all or nothing; a thrown error rolls back
      try tx.save(&acme)
      ada.companyID = acme.id
      try tx.save(&ada)
      try tx.save(&bo)
    }

    let found = try store.read { tx in try tx.find(Person.self, ada.id) }

    bo.age += 1
    try store.write { tx in
      try tx.update(bo)
      try tx.delete(ada)
    }
    // end snippet

    #expect(found?.name == "Ada")
    #expect(found?.companyID == acme.id)
    let everyone = try store.read { tx in Array(try tx.all(Person.self)) }
    #expect(everyone.map(\.name) == ["Bo"])
    #expect(everyone.map(\.age) == [42])
    #expect(try store.verify().isClean)
  }

  @Test("Records save and find themselves")
  func activeRecord() throws {
    let store = try Store.checked(for: Person.self, Company.self)
    var printed = ""
    func print(_ changes: [FieldChange]) { printed = "\(changes)" }
    try Store.with(store) {
      var bo = Person(name: "Bo", age: 41, city: "Oslo")
      try bo.save()
      // snippet: readme-active
      var cy = Person(name: "Cy", age: 17, city: "Rome")
      try cy.save()  // after `Store.default = store`, once
      cy.age += 1
      print(try cy.changes())  // [age: 17 -> 18]
      try Store.transaction {
        try cy.save()
        try Person.where { $0.city == "Oslo" }.delete()
      }
      let adults = try Person.where { $0.age >= 18 }.fetch()
      // end snippet
      #expect(adults.map(\.name) == ["Cy"])
    }
    #expect(printed == "[age: 17 -> 18]")
  }

  @Test("Records are saved in asynchronous code")
  func asynchronous() async throws {
    let store = try Store.checked(for: Person.self, Company.self)
    // snippet: readme-async
    var di = Person(name: "Di", age: 30, city: "Kyiv")
    try await di.save(in: store)  // the task waits, and no thread

    let oldest = try await store.write { tx in  // several steps, all or nothing
      var person = Person(name: "Ed", age: 80, city: "Riga")
      try tx.save(&person)
      return person
    }
    let all = try store.fetch(Person.all)  // a read never waits for a writer
    // end snippet
    #expect(all.map(\.name) == ["Di", "Ed"])
    #expect(all.map(\.id) == [di.id, oldest.id])
  }

  @Test("The queries give the stated results, and the plan is the one that is shown")
  func queries() throws {
    let store = try Store.checked(for: Person.self, Company.self)
    try store.write { tx in
      for number in 0..<100 {
        var person = Person(
          name: number % 2 == 0 ? "Ada \(number)" : "Bo \(number)",
          email: number == 0 ? "ada@acme.example" : nil, age: number,
          city: number % 4 == 0 ? "London" : "Oslo", tags: number % 50 == 0 ? ["birthday"] : [])
        try tx.insert(&person)
      }
    }
    var printed = ""
    func print(_ text: String) { printed = text }

    // snippet: readme-query
    let query = Person.where { $0.city == "London" && $0.age >= 18 && $0.name.hasPrefix("A") }
      .sorted(by: \.age, .descending)
      .limit(20)

    let people = try store.fetch(query)  // [Person]
    let howMany = try store.count(query)
    let cities = try store.counts(by: \.city, of: Person.all)  // [(value: String, count: Int)]
    let grown = try store.update(Person.where { $0.tags.contains("birthday") }) { $0.age += 1 }
    let known = try store.find(Person.self, by: \.email, equals: "ada@acme.example")

    print(try store.explain(query))
    // end snippet

    #expect(people.map(\.age) == (5..<25).reversed().map { $0 * 4 })
    #expect(howMany == 20)
    #expect(cities.map(\.value) == ["London", "Oslo"])
    #expect(cities.map(\.count) == [25, 75])
    #expect(grown == 2)
    #expect(known?.age == 1)
    let readme = try SnippetTests.lines(of: "README.md").joined(separator: "\n")
    #expect(readme.contains("```text\n" + printed + "\n```"))
  }

  @Test("The associations give the stated results")
  func associations() throws {
    let store = try Store.checked(for: Person.self, Company.self)
    var acme = Company(name: "Acme")
    var ada = Person(name: "Ada", age: 36, city: "London")
    try store.write { tx in
      try tx.save(&acme)
      ada.companyID = acme.id
      try tx.save(&ada)
    }
    var printed = ""
    func print(_ text: Any) { printed = "\(text)" }

    // snippet: readme-associations
    let theirs = try store.fetch(acme.related(Company.people).where { $0.age >= 18 })
    let colleagues = try store.fetch(Person.where { $0.company.name == "Acme" })
    let idle = try store.count(Company.where { $0.people.isEmpty })
    let pairs = try store.fetch(Company.all.with(Company.people))  // [(Company, [Person])]

    print(try store.deletionPlan(for: acme))  // what would be deleted, changed or refused
    try store.write { tx in try tx.delete(acme) }  // nobody's companyID is left behind
    // end snippet

    #expect(theirs.map(\.name) == ["Ada"])
    #expect(colleagues.map(\.name) == ["Ada"])
    #expect(idle == 0)
    #expect(pairs.map(\.1.count) == [1])
    #expect(printed.contains("nullify Person 1"))
    #expect(try store.read { try $0.find(Person.self, ada.id) }?.companyID == nil)
  }
}
