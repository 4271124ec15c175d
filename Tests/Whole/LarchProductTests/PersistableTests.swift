import Foundation
import Larch
import LarchTestSupport
import Testing

/// The rows of the table of features that come from the Persistable pattern, each a test.
@Suite("Table of features: Persistable pattern")
struct PersistableTests {
  typealias Person = Product.Person

  @Test("Unique id; find by id; finders by convention")
  func finders() throws {
    let store = try Product.store()
    let people = try Product.people(in: store)
    #expect(Set(people.map(\.id)).count == 5)
    try Store.with(store) { () throws in
      #expect(try Person.find(people[1].id)?.name == "Bo")
      #expect(try Person.find(by: \.number, equals: 3)?.name == "Cy")
      #expect(try Person.find(by: \.email, equals: "di@acme.example")?.name == "Di")
      #expect(try Person.find(by: \.email, equals: "nobody@acme.example") == nil)
    }
  }

  @Test("State of an object: new, existing, changed, deleted; persist acts on the state")
  func state() throws {
    let store = try Product.store()
    try Store.with(store) { () throws in
      var person = Tracked(Person(name: "Flo", number: 6))
      #expect(person.state == .new)
      try person.persist()
      #expect(person.state == .unchanged)
      #expect(try Person.find(by: \.number, equals: 6)?.name == "Flo")

      person.name = "Florence"
      #expect(person.state == .changed)
      #expect(try person.changes().map(\.field) == ["name"])
      try person.persist()
      #expect(try store.state(of: person.value) == .unchanged)

      person.markDeleted()
      #expect(person.state == .deleted)
      try person.persist()
      #expect(try Person.all.count() == 0)
      #expect(try store.state(of: person.value) == .deleted)
    }
  }

  @Test("Insert, update, save and delete")
  func verbs() throws {
    let store = try Product.store()
    try Store.with(store) { () throws in
      var person = Person(name: "Flo", number: 6)
      try person.insert()
      let inserted = person
      #expect(throws: LarchError.self) {
        var again = inserted
        try again.insert()
      }
      person.name = "Florence"
      try person.update()
      #expect(try Person.find(person.id)?.name == "Florence")
      #expect(throws: LarchError.self) {
        var unknown = Person(id: 99, name: "Nobody", number: 7)
        try unknown.update()
      }
      person.age = 50
      try person.save()
      #expect(try Person.find(person.id)?.age == 50)
      #expect(try person.delete())
      #expect(try person.delete() == false)
      try person.save()
      #expect(try Person.find(person.id)?.age == 50)
    }
  }
}
