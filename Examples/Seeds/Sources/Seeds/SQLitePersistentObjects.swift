import Foundation
import Larch

/// SQLitePersistentObjects: objects that are saved with all that they hold, found by any property, and
/// follow their class as it changes.
enum SQLitePersistentObjectsSeed {
  struct Place: Codable, Sendable, Equatable {
    var street: String
    var city: String
  }

  struct Person: Record {
    var id = RecordID<Person>()
    var firstName: String
    var lastName: String
    var birthYear = 1900
    var homes: [Place] = []  // a collection of objects
    var marks: [String: Int] = [:]
    var employerID: Employer.ID?

    static let keyStrategy = KeyStrategy.snakeCase  // first_name, as its columns were
    static let employer = BelongsTo<Person, Employer>(\.employerID)
    static let schema = Schema<Person> {
      employer
      Index(\.lastName, \.firstName)  // + (NSArray *)indices
    }
  }

  struct Employer: Record {
    var id = RecordID<Employer>()
    var name: String

    static let people = HasMany<Employer, Person>(\.employerID)
    static let schema = Schema<Employer> { people }
  }

  static func run() throws {
    let store = try Store.temporary(for: Person.self, Employer.self)
    defer { store.close() }
    try Store.with(store) {
      try saving()
      try finding()
      try identity(store)
    }
  }

  private static func saving() throws {
    // person.employer = employer; [person save]
    let employer = try Employer(name: "Larch").saved()
    let homes = [Place(street: "Main", city: "Oslo"), Place(street: "Via", city: "Rome")]
    var ada = try Person(
      firstName: "Ada", lastName: "Lovelace", birthYear: 1815, homes: homes, marks: ["logic": 1],
      employerID: employer.id
    ).saved()
    _ = try Person(firstName: "Bo", lastName: "Berg", birthYear: 1950).saved()
    Check.equal(try Person.find(ada.id)?.homes, homes, "a collection of objects")
    Check.equal(try Person.find(ada.id)?.marks, ["logic": 1], "a dictionary")

    // [person revert], [person revertProperty:@"firstName"]
    ada.firstName = "Eva"
    try ada.reload()
    Check.equal(ada.firstName, "Ada", "reverted")
    var form = try ada.tracked()
    form.firstName = "Eva"
    form.birthYear = 1816
    form.revert(\.firstName)
    Check.equal(try form.changes().map(\.field), ["birthYear"], "one property reverted")
  }

  private static func finding() throws {
    // [Person findByLastName:@"Lovelace"], [Person findFirstByCriteria:@"…"]
    Check.equal(
      try Person.where { $0.lastName == "Lovelace" }.fetch().map(\.firstName), ["Ada"],
      "by a property")
    Check.equal(
      try Person.where { $0.lastName == "Berg" && $0.birthYear > 1900 }.first()?.firstName, "Bo",
      "the first by criteria")

    // [Person findByCriteria:@"WHERE last_name = 'Berg'"], [person valueForKey:@"first_name"]
    let berg = try Person.query(text: "last_name = 'Berg'").first()
    Check.equal(try berg?.value(named: "first_name").description, "\"Bo\"", "a value by name")

    // [Person count], [Person sumOfBirthYear], [Person averageOfBirthYear], [Person maxOfBirthYear]
    Check.equal(try Person.all.count(), 2, "count")
    Check.equal(try Person.all.sum(\.birthYear), 3765, "sum")
    Check.equal(try Person.all.average(\.birthYear), 1882.5, "average")
    Check.equal(try Person.all.max(\.birthYear), 1950, "max")

    // [Person pairedArraysForProperties:@[@"firstName", @"birthYear"]]
    let pairs = try Person.all.select(\.firstName, \.birthYear).fetch()
    Check.equal(pairs.map { "\($0.0) \($0.1)" }, ["Ada 1815", "Bo 1950"], "paired values")

    // [employer findRelated:[Person class]]
    let employer = try Employer.all.first()!
    Check.equal(
      try employer.related(Employer.people).fetch().map(\.firstName), ["Ada"], "related objects")

    // The objects that an object holds are loaded with it, at any depth.
    let colleagues = Employer.all.with(Employer.people)
    let rows = try Person.all.with(Person.employer, from: colleagues).fetch()
    Check.equal(
      rows.map { "\($0.0.firstName) \($0.1?.0.name ?? "-") \($0.1?.1.count ?? 0)" },
      ["Ada Larch 1", "Bo - 0"], "loaded with what they hold")
  }

  private static func identity(_ store: Store) throws {
    // Two finds of one row are one object, which is saved once.
    let work = store.work()
    let id = try Person.where { $0.firstName == "Bo" }.first()!.id
    let one = try work.draft(Person.self, id)!
    let same = try work.drafts(Person.where { $0.lastName == "Berg" })[0]
    Check.that(one === same, "loaded twice is one object")
    one.birthYear = 1951
    Check.equal(same.birthYear, 1951, "an edit of one is an edit of the other")
    work.undo()
    Check.equal(one.birthYear, 1950, "undone")
    work.redo()

    // Somebody else saves it meanwhile.
    try Person.where { $0.firstName == "Bo" }.update { $0.lastName = "Holm" }
    try Check.refuses(.conflict, "a save over the change of another") { try work.commit() }
    for conflict in try work.conflicts() { try work.resolve(conflict, by: .merge) }
    try work.commit()
    let stored = try Person.find(id)
    Check.equal(stored?.birthYear, 1951, "the edit")
    Check.equal(stored?.lastName, "Holm", "and the change of the other")
  }
}
