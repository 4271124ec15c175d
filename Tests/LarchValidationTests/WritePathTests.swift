import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Rules run on every path that writes records")
struct WritePathTests {
  struct Company: Record {
    var id = RecordID<Company>()
    var name = ""
    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> { people }
    var people: Related<Company, Person> { related(Company.people) }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name = ""
    var city = ""
    var companyID: Company.ID?
    static let company = BelongsTo<Person, Company>(\.companyID)
    static let schema = Schema<Person> {
      company
      Validate(\.name, .presence, .uniqueness)
      Validate(\.companyID, .presence).when { $0.city == "Oslo" }
    }
  }

  private func withStore(_ body: (Store) throws -> Void) throws {
    try Store.scratch(Company.self, Person.self, body: body)
  }

  /// What the store holds, and the number of its last transaction.
  private func image(_ store: Store) throws -> String { try store.dump(.all) }

  @Test("Nothing is changed after a refusal")
  func unchanged() throws {
    try withStore { store in
      var ada = Person(name: "Ada")
      try store.save(&ada)
      let before = try image(store)
      var blank = Person()
      #expect(refused { try store.save(&blank) } == ["name cant_be_blank"])
      #expect(refused { try store.insert(&blank) } == ["name cant_be_blank"])
      #expect(!blank.id.isAssigned)
      ada.name = ""
      #expect(refused { try store.save(&ada) } == ["name cant_be_blank"])
      #expect(refused { try store.update(ada) } == ["name cant_be_blank"])
      #expect(refused { try store.update(&ada) } == ["name cant_be_blank"])
      #expect(try image(store) == before)
      // A transaction that continues after it keeps the rest.
      try store.write { tx in
        var bo = Person(name: "Bo")
        try tx.save(&bo)
        #expect(refused { try tx.save(&blank) } == ["name cant_be_blank"])
        #expect(refused { try tx.update(ada) } == ["name cant_be_blank"])
      }
      #expect(try store.fetch(Person.all).map(\.name) == ["Ada", "Bo"])
      try store.expectSound()
    }
  }

  @Test("Updates by a query are refused as a whole")
  func query() throws {
    try withStore { store in
      try store.write { tx in
        for name in ["a", "b", "c"] {
          var person = Person(name: name)
          try tx.save(&person)
        }
      }
      let before = try image(store)
      #expect(
        refused { try store.update(Person.all) { $0.name = $0.name == "c" ? "" : $0.name + "x" } }
          == ["name cant_be_blank"])
      #expect(
        refused { try store.update(Person.all) { $0.name = "same" } } == ["name already_exists"])
      #expect(try image(store) == before)
    }
  }

  @Test("Records that are found or created, and those that an association saves")
  func created() throws {
    try withStore { store in
      #expect(
        refused {
          _ = try store.findOrCreate(by: \.city, equals: "Rome") { Person(city: "Rome") }
        } == ["name cant_be_blank"])
      var acme = Company(name: "Acme")
      try store.save(&acme)
      var person = Person()
      #expect(refused { try store.add(&person, to: acme.people) } == ["name cant_be_blank"])
      person.name = "Ada"
      try store.add(&person, to: acme.people)
      #expect(try store.fetch(Person.all).map(\.companyID) == [acme.id])
    }
  }

  @Test("Records that lose a reference by a delete rule are checked for it")
  func cascades() throws {
    try withStore { store in
      var acme = Company(name: "Acme")
      try store.save(&acme)
      var ada = Person(name: "Ada", city: "Oslo", companyID: acme.id)
      try store.save(&ada)
      let before = try image(store)
      #expect(refused { try store.delete(acme) } == ["companyID cant_be_blank"])
      #expect(try image(store) == before)
      ada.city = "Rome"
      try store.update(ada)
      try store.delete(acme)
      #expect(try store.find(Person.self, ada.id)?.companyID == nil)
    }
  }

  struct Timed: Record, Timestamped {
    var id = RecordID<Timed>()
    var name = ""
    var createdAt: Date?
    var updatedAt: Date?
    mutating func willSave(in tx: WriteTransaction) throws {
      name = name.trimmingCharacters(in: .whitespaces)
    }
    func didSave(in tx: WriteTransaction) throws {
      if name == "twin" {
        var other = Timed(name: "other")
        try tx.save(&other)
      }
    }
    static let schema = Schema<Timed> {
      Validate(\.name, .presence, .length(...5), .uniqueness)
      Validate(\.createdAt, .presence)
      WillSave { try $0.willSave(in: $1) }
      DidSave { try $0.didSave(in: $1) }
    }
  }

  @Test("Rules see what hooks and times made of the record, and hooks may save")
  func hooks() throws {
    try Store.scratch(Timed.self) { store in
      var timed = Timed(name: "  ")
      #expect(refused { try store.save(&timed) } == ["name cant_be_blank"])
      #expect(timed.name == "  ")
      timed.name = " abcde "
      try store.save(&timed)
      #expect(timed.name == "abcde")
      timed.name = "abcdef"
      #expect(refused { try store.update(timed) } == ["name too_long 5"])
      timed.name = "twin"
      try store.update(&timed)
      #expect(try store.fetch(Timed.all).map(\.name) == ["twin", "other"])
      // The record that the hook saves is refused, and takes the one with the hook along.
      timed.name = "x"
      try store.update(&timed)
      timed.name = "twin"
      #expect(refused { try store.update(timed) } == ["name already_exists"])
      #expect(try store.fetch(Timed.all).map(\.name) == ["x", "other"])
      try store.expectSound()
    }
  }

  @Test("Deleting checks no rule of what goes")
  func deleting() throws {
    try withStore { store in
      var ada = Person(name: "Ada")
      try store.save(&ada)
      ada.name = ""
      try store.delete(ada)
      #expect(try store.count(Person.all) == 0)
      try store.erase(Person.self)
    }
  }
}
