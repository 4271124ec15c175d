import Larch
import LarchTestSupport
import Testing

// The examples of docs/units.md.

/// The records of the examples.
enum UnitGuide {
  struct Company: Record {
    var id = RecordID<Company>()
    var name: String

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> { people }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var age = 36
    var city = "Oslo"
    var companyID: Company.ID?

    static let schema = Schema<Person> { Validate(\.name, .presence) }
  }
}

@Suite("units.md")
struct UnitGuideTests {
  typealias Company = UnitGuide.Company
  typealias Person = UnitGuide.Person

  let store: Store
  let id: Person.ID

  init() throws {
    store = try Store.checked(for: Company.self, Person.self)
    var people = ["Ada", "Bo", "Cy"].map { Person(name: $0) }
    try store.write { tx in
      for place in people.indices { try tx.save(&people[place]) }
    }
    id = people[0].id
  }

  @Test("Drafts are edited in memory")
  func drafts() throws {
    // snippet: unit-drafts
    let work = store.work()
    if let ada = try work.draft(Person.self, id) {
      ada.age += 1
      print(try ada.changes())  // [age: 36 -> 37]
    }
    let people = try work.drafts(Person.where { $0.city == "Oslo" })
    let acme = try work.insert(Company(name: "Acme"))
    people[0].companyID = acme.id  // it has an id before it is stored
    try work.delete(people[1])
    // end snippet
    #expect(try people[0].changes().map(\.description) == ["age: 36 -> 37", "companyID: nil -> 1"])
    #expect(try store.count(Company.all) == 0)
    try work.commit()
    #expect(try store.fetch(Person.all) == [people[0].record, people[2].record])
  }

  @Test("A commit that a rule refuses leaves the edits")
  func commit() async throws {
    let work = store.work()
    let people = try work.drafts(Person.all)
    people[0].name = ""
    // snippet: unit-commit
    do {
      try await work.commit()
    } catch let error as LarchError where error.code == .invalid {
      print(error.validationErrors)  // and the drafts still have their edits
    }
    // end snippet
    #expect(people[0].hasChanges && people[0].name.isEmpty)
  }

  @Test("Conflicts are resolved one by one")
  func conflicts() throws {
    let work = store.work()
    let people = try work.drafts(Person.all)
    people[0].age = 40
    people[1].age = 41
    try store.update(Person.all) { $0.city = "Rome" }
    try store.update(Person.where { $0.name == "Bo" }) { $0.age = 99 }
    // snippet: unit-conflicts
    do {
      try work.commit()
    } catch let error as LarchError where error.code == .conflict {
      for conflict in try work.conflicts() {
        print(conflict.mine, conflict.theirs, conflict.clashes)
        try work.resolve(conflict, by: conflict.isMergeable ? .merge : .takeTheirs)
      }
      try work.commit()
    }
    // end snippet
    #expect(try store.fetch(Person.all).map(\.age) == [40, 99, 36])
    #expect(people.map(\.city) == ["Rome", "Rome", "Rome"] && !work.hasChanges)
  }

  @Test("Steps are undone and made again")
  func steps() throws {
    let work = store.work()
    let people = try work.drafts(Person.all)
    // snippet: unit-steps
    work.step("Move to Bergen") {
      for person in people { person.city = "Bergen" }
    }
    print(work.undoName ?? "")  // Move to Bergen
    work.undo()
    work.redo()
    // end snippet
    #expect(people.allSatisfy { $0.city == "Bergen" } && work.undoName == "Move to Bergen")
    work.undo()
    #expect(!work.hasChanges)
  }
}
