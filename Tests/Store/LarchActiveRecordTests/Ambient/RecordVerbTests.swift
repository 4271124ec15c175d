import Foundation
import Larch
import Testing

@Suite("Records save, find and delete themselves")
struct RecordVerbTests {
  typealias Person = Ambient.Person
  typealias Company = Ambient.Company
  typealias Note = Ambient.Note

  @Test("save inserts a new record, gives it an id, and updates a stored one")
  func save() throws {
    try Ambient.withStore { store throws in
      var ada = Person(name: "Ada")
      try ada.save()
      #expect(ada.id.isAssigned)
      ada.age = 36
      try ada.save()
      #expect(try store.fetch(Person.all) == [ada])
    }
  }

  @Test("insert refuses an existing id, update a missing one")
  func insertAndUpdate() throws {
    try Ambient.withStore { _ throws in
      var ada = Person(name: "Ada")
      #expect(try Ambient.code { try ada.update() } == .idUnassigned)
      try ada.insert()
      #expect(try Ambient.code { try ada.insert() } == .idExists)
      ada.age = 36
      try ada.update()
      #expect(try Person.find(ada.id) == ada)
      try ada.delete()
      #expect(try Ambient.code { try ada.update() } == .recordNotFound)
    }
  }

  @Test("delete returns whether there was a record, and applies the delete rules")
  func delete() throws {
    try Ambient.withStore { _ throws in
      var acme = Company(name: "Acme")
      try acme.save()
      var ada = Person(name: "Ada", companyID: acme.id)
      try ada.save()
      #expect(try acme.deletionPlan().isAllowed)
      #expect(try acme.delete())
      #expect(try !acme.delete())
      #expect(try Person.find(ada.id)?.companyID == nil)
      #expect(try Person.delete(ada.id))
      #expect(try !Person.delete(ada.id))
      // Saved again, it has its id again.
      let id = ada.id
      ada.companyID = nil
      try ada.save()
      #expect(ada.id == id)
    }
  }

  @Test("reload reads the stored record, and throws if it was deleted")
  func reload() throws {
    try Ambient.withStore { _ throws in
      var ada = Person(name: "Ada", age: 36)
      #expect(try Ambient.code { try ada.reload() } == .idUnassigned)
      try ada.save()
      let saved = ada
      ada.name = "Grace"
      #expect(try ada.reloaded() == saved)
      try ada.reload()
      #expect(ada == saved)
      try ada.delete()
      ada.name = "Grace"
      #expect(try Ambient.code { try ada.reload() } == .recordNotFound)
      #expect(ada.name == "Grace")
    }
  }

  @Test("saving a constant returns the saved value")
  func constants() throws {
    try Ambient.withStore { _ throws in
      let ada = try Person(name: "Ada").saved()
      let grace = try Person(name: "Grace").inserted()
      let older = try Person(id: ada.id, name: "Ada", age: 37).saved()
      #expect(try Person.all.fetch() == [older, grace])
    }
  }

  @Test("hooks and times of a save are in the record afterwards")
  func hooks() throws {
    var options = Store.Options()
    options.clock = { Date(timeIntervalSince1970: 7) }
    try Ambient.withStore(options) { _ throws in
      var note = Note(text: "a")
      try note.save()
      #expect(note.saves == 1)
      #expect(note.createdAt == Date(timeIntervalSince1970: 7))
      note.text = "b"
      try note.update()
      #expect(note.saves == 2)
      #expect(try Note.find(note.id) == note)
    }
  }

  @Test("a type finds its records by id, by ids and by a field, and creates missing ones")
  func finding() throws {
    try Ambient.withStore { _ throws in
      #expect(try Person.all.first() == nil)
      let people = try ["a", "b", "c"].map { try Person(name: $0, email: "\($0)@x").saved() }
      #expect(try Person.all.first() == people[0])
      #expect(try Person.find(people[1].id) == people[1])
      #expect(try Person.find([people[2].id, 99, people[0].id]) == [people[2], people[0]])
      // An id that was passed twice returned its record twice.
      let twice: [Person.ID] = [people[2].id, people[0].id, 99, people[2].id, 99]
      #expect(try Person.find(twice) == [people[2], people[0]])
      #expect(try Person.find(by: \.email, equals: "b@x") == people[1])
      #expect(try Person.find(by: \.name, equals: "c") == people[2])
      #expect(try Person.find(by: \.email, equals: "d@x") == nil)
      let found = try Person.findOrCreate(by: \.name, equals: "a") { Person(name: "a") }
      #expect(found == people[0])
      let made = try Person.findOrCreate(by: \.name, equals: "d") { Person(name: "d") }
      #expect(try Person.find(made.id) == made)
      #expect(try Person.all.count() == 4)
      #expect(try Person.exists(made.id))
      #expect(try !Person.exists(99))
    }
  }

  @Test("deleting all and erasing empty a collection and return the number of records")
  func emptying() throws {
    try Ambient.withStore { _ throws in
      let acme = try Company(name: "Acme").saved()
      let ada = try Person(name: "Ada", companyID: acme.id).saved()
      #expect(try Company.all.delete() == 1)
      #expect(try Person.find(ada.id)?.companyID == nil)
      #expect(try Person.erase() == 1)
      #expect(try Person.all.count() == 0)
      #expect(try Person.all.delete() == 0)
      #expect(try Person.erase() == 0)
    }
  }

  @Test("a failed save leaves the record as it was, its id too")
  func failedSaves() throws {
    for runsTwice in [false, true] {
      var options = Store.Options()
      options.runsWritesTwice = runsTwice
      try Ambient.withStore(options) { _ throws in
        try Person(name: "Ada", email: "ada@x").saved().expectStored()
        var other = Person(name: "Eve", email: "ada@x")
        let original = other
        #expect(try Ambient.code { try other.save() } == .uniqueConflict)
        #expect(other == original)
        #expect(try Ambient.code { try other.insert() } == .uniqueConflict)
        #expect(other == original)
        try Store.transaction { () throws in
          #expect(try Ambient.code { try other.save() } == .uniqueConflict)
          #expect(other == original)
        }
        var note = Note(text: "x")
        note.id = 5
        let before = note
        #expect(try Ambient.code { try note.update() } == .recordNotFound)
        #expect(note == before)
      }
    }
  }

  @Test("a transaction that fails at its commit leaves the record of a single save as it was")
  func failedCommit() throws {
    try Ambient.withStore { _ throws in
      // The reference is checked at the end of the transaction, after the save itself.
      var ada = Person(name: "Ada", companyID: 77)
      let original = ada
      #expect(try Ambient.code { try ada.save() } == .danglingReference)
      #expect(ada == original)
      #expect(try Person.all.count() == 0)
    }
  }
}

extension Ambient.Person {
  func expectStored() throws { #expect(try Ambient.Person.find(id) == self) }
}
