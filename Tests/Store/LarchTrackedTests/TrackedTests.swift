import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A tracked record")
struct TrackedTests {
  @Test("New, unchanged, changed, deleted and new again, each persisted by its state")
  func transitions() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    #expect(ada.state == .new && ada.stored == nil && !ada.id.isAssigned)
    #expect(try ada.persist(in: store) == .inserted)
    #expect(ada.state == .unchanged && ada.id == 1 && ada.stored == ada.value)
    #expect(try store.find(Person.self, 1) == ada.value)

    #expect(try ada.persist(in: store) == nil)
    ada.age = 36
    ada.address.city = "London"
    #expect(ada.state == .changed && ada.stored?.age == 0)
    #expect(try ada.changes().map(\.field).sorted() == ["address.city", "age"])
    #expect(try ada.persist(in: store) == .updated)
    #expect(ada.state == .unchanged)
    #expect(try store.find(Person.self, 1)?.address.city == "London")

    ada.markDeleted()
    #expect(ada.state == .deleted && ada.isMarkedDeleted && ada.stored != nil)
    ada.unmarkDeleted()
    #expect(ada.state == .unchanged)
    ada.markDeleted()
    #expect(try ada.persist(in: store) == .deleted)
    #expect(ada.state == .deleted && ada.stored == nil)
    #expect(try store.find(Person.self, 1) == nil)
    #expect(try ada.persist(in: store) == nil)

    ada.unmarkDeleted()
    #expect(ada.state == .new)
    #expect(try ada.persist(in: store) == .inserted)
    #expect(ada.id == 1 && ada.state == .unchanged)
    #expect(try store.count(Person.all) == 1)
  }

  @Test("A reverted change is not a change")
  func takenBack() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    try ada.persist(in: store)
    ada.name = "Augusta"
    #expect(ada.state == .changed)
    ada.name = "Ada"
    #expect(ada.state == .unchanged)
    #expect(try ada.changes().isEmpty)
  }

  @Test("Deleting a record that was never stored does nothing")
  func deletedBeforeStored() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    ada.markDeleted()
    #expect(ada.state == .deleted)
    #expect(try ada.persist(in: store) == nil)
    #expect(try store.count(Person.all) == 0)
    ada.revert()
    #expect(ada.state == .new)
  }

  @Test("Records are tracked when they are read, one or as a query")
  func reading() throws {
    let store = try Fixtures.store()
    try store.write { tx throws in
      for age in 0..<10 {
        var person = Person(name: "p\(age)", age: age)
        try tx.save(&person)
      }
    }
    var one = try #require(try store.tracked(Person.self, 3))
    #expect(one.state == .unchanged && one.name == "p2")
    #expect(try store.tracked(Person.self, 99) == nil)
    one.name = "changed"
    #expect(try one.persist(in: store) == .updated)

    var some = try store.fetchTracked(Person.where { $0.age >= 7 }.sorted(by: \.age, .descending))
    #expect(some.map(\.age) == [9, 8, 7])
    for index in some.indices { some[index].age += 100 }
    try store.write { tx throws in
      for index in some.indices { _ = try some[index].persist(in: tx) }
    }
    #expect(some.allSatisfy { $0.state == .unchanged })
    #expect(try store.count(Person.where { $0.age >= 100 }) == 3)
    try Store.with(store) { () throws in
      #expect(try Person.where { $0.age >= 100 }.fetchTracked().count == 3)
    }
  }

  @Test("A record from another source is compared with the stored one of its id")
  func fromElsewhere() throws {
    let store = try Fixtures.store()
    var page = Page(id: "a", text: "x")
    #expect(try Tracked(page, in: store).state == .new)
    try store.save(&page)
    #expect(try Tracked(page, in: store).state == .unchanged)
    var form = try Tracked(Page(id: "a", text: "y"), in: store)
    #expect(form.state == .changed)
    #expect(
      try form.changes() == [
        FieldChange(path: ["text"], old: .string("x"), new: .string("y"))
      ])
    #expect(try form.persist(in: store) == .updated)
    #expect(try Tracked(Person(name: "new"), in: store).state == .new)
  }

  @Test("All or single fields are reverted to what is stored")
  func revert() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada", age: 36, address: .init(street: "s", city: "London")))
    ada.name = "A"
    ada.revert()
    #expect(ada.name == "Ada" && ada.state == .new)
    try ada.persist(in: store)
    func change() {
      ada.name = "B"
      ada.age = 1
      ada.address.city = "Paris"
      ada.tags = ["t"]
    }
    change()
    ada.revert(\.name)
    #expect(ada.name == "Ada" && ada.age == 1 && ada.state == .changed)
    ada.revert(\.age, \.address.city, \.tags)
    #expect(ada.state == .unchanged)
    change()
    ada.markDeleted()
    ada.revert()
    #expect(ada.state == .unchanged && !ada.isMarkedDeleted && ada.value == ada.stored)
    ada.markDeleted()
    try ada.persist(in: store)
    ada.revert()
    #expect(ada.state == .new && ada.id == 1)
  }

  @Test("Reloading reads the changes of others, and throws if nothing is stored")
  func reload() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    #expect(caught { try ada.reload(in: store) }?.code == .idUnassigned)
    try ada.persist(in: store)
    var other = ada.value
    other.age = 50
    try store.save(&other)
    #expect(ada.state == .unchanged && ada.age == 0)
    ada.name = "X"
    ada.markDeleted()
    try ada.reload(in: store)
    #expect(ada.age == 50 && ada.name == "Ada" && ada.state == .unchanged)
    try store.delete(other)
    ada.name = "Y"
    #expect(caught { try ada.reload(in: store) }?.code == .recordNotFound)
    #expect(ada.name == "Y")
  }

  @Test("Errors leave the record as it was")
  func errors() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada", email: "a@x"))
    try ada.persist(in: store)
    var bo = Tracked(Person(name: "Bo", email: "a@x"))
    #expect(caught { try bo.persist(in: store) }?.code == .uniqueConflict)
    #expect(bo.state == .new && !bo.id.isAssigned)
    bo.email = "b@x"
    #expect(try bo.persist(in: store) == .inserted)
    bo.email = "a@x"
    #expect(caught { try bo.persist(in: store) }?.code == .uniqueConflict)
    #expect(bo.state == .changed && bo.email == "a@x")
    bo.revert(\.email)
    #expect(bo.state == .unchanged)

    try store.delete(Person.self, bo.id)
    #expect(try bo.persist(in: store) == nil)
    bo.name = "Bob"
    #expect(caught { try bo.persist(in: store) }?.code == .recordNotFound)
    #expect(bo.state == .changed)
    bo.markDeleted()
    #expect(try bo.persist(in: store) == nil)
    #expect(bo.stored == nil)

    ada.id = 77
    #expect(try ada.changes().map(\.field) == ["id"])
    #expect(caught { try ada.persist(in: store) }?.code == .idChanged)
    ada.markDeleted()
    #expect(try ada.persist(in: store) == .deleted)
    #expect(try store.count(Person.all) == 0)

    var page = Tracked(Page(id: "a"))
    try page.persist(in: store)
    var second = Tracked(Page(id: "a", text: "other"))
    #expect(caught { try second.persist(in: store) }?.code == .idExists)
    #expect(caught { try second.persist() }?.code == .noDefaultStore)
    #expect(second.state == .new)
  }

  @Test("A value that cannot be stored is a change, and persisting throws")
  func unstorable() throws {
    struct Odd: Record {
      var id = RecordID<Odd>()
      var link: URL?
      struct Bad: Codable, Sendable {
        var isBad = false
        struct Refused: Error {}
        func encode(to encoder: any Encoder) throws {
          if isBad { throw Refused() }
          var container = encoder.singleValueContainer()
          try container.encode(isBad)
        }
        init(_ isBad: Bool) { self.isBad = isBad }
        init(from decoder: any Decoder) throws {
          isBad = try decoder.singleValueContainer().decode(Bool.self)
        }
      }
      var bad = Bad(false)
    }
    let store = try Store.temporary(for: Odd.self)
    var odd = Tracked(Odd())
    try odd.persist(in: store)
    odd.bad.isBad = true
    #expect(odd.state == .changed)
    #expect(caught { _ = try odd.changes() }?.code == .encodingFailed)
    #expect(caught { try odd.persist(in: store) }?.code == .encodingFailed)
    odd.revert()
    #expect(odd.state == .unchanged)
  }

  @Test("The tracked state includes the changes of hooks and of the store's clock")
  func hooksAndTimes() throws {
    let time = Locked(0.0)
    let store = try Fixtures.store {
      $0.clock = {
        Date(
          timeIntervalSinceReferenceDate: time.withLock { time in
            time += 1
            return time
          })
      }
    }
    var article = Tracked(Article(title: " First "))
    try article.persist(in: store)
    #expect(article.title == "First" && article.version == 1 && article.state == .unchanged)
    article.title = " Second"
    #expect(try article.persist(in: store) == .updated)
    #expect(article.title == "Second" && article.version == 2 && article.state == .unchanged)
    #expect(try store.find(Article.self, article.id) == article.value)
    // The hook restores the old value.
    article.title = "Second  "
    #expect(article.state == .changed)
    #expect(try article.persist(in: store) == nil)
    #expect(article.title == "Second" && article.version == 2 && article.state == .unchanged)
    article.title = "  "
    #expect(throws: Article.Refused.self) { try article.persist(in: store) }
    #expect(article.title == "  " && article.version == 2)

    var note = Tracked(Note(text: "a"))
    try note.persist(in: store)
    let inserted = try #require(note.createdAt)
    #expect(note.updatedAt == inserted && note.state == .unchanged)
    note.text = "b"
    try note.persist(in: store)
    #expect(note.createdAt == inserted && note.updatedAt != inserted && note.state == .unchanged)
    note.updatedAt = nil
    #expect(note.state == .unchanged)
  }

  @Test("Tracked records are equal if record, stored record and mark are equal")
  func equality() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    var same = Tracked(Person(name: "Ada"))
    #expect(ada == same)
    try ada.persist(in: store)
    #expect(ada != same)
    same = try #require(try store.tracked(Person.self, ada.id))
    #expect(ada == same)
    same.markDeleted()
    #expect(ada != same)
    same.unmarkDeleted()
    same.age = 1
    #expect(ada != same)
  }

  @Test("A copy is independent")
  func copies() throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    try ada.persist(in: store)
    var copy = ada
    copy.age = 1
    #expect(ada.state == .unchanged && copy.state == .changed)
    try copy.persist(in: store)
    #expect(ada.age == 0 && ada.state == .unchanged)
  }

  @Test("A record that is an object is compared with its own copy")
  func objects() throws {
    final class Node: Record, @unchecked Sendable {
      var id = RecordID<Node>()
      var name: String
      init(_ name: String) { self.name = name }
    }
    let store = try Store.temporary(for: Node.self)
    var node = Tracked(Node("a"))
    try node.persist(in: store)
    #expect(node.state == .unchanged)
    node.value.name = "b"
    #expect(node.state == .changed && node.stored?.name == "a")
    try node.persist(in: store)
    #expect(try store.find(Node.self, node.id)?.name == "b")
    node.name = "c"
    node.revert()
    #expect(node.name == "b" && node.state == .unchanged)
    node.markDeleted()
    #expect(try node.persist(in: store) == .deleted)
  }

  @Test("Persisting on the ambient store joins the running transaction")
  func ambient() throws {
    let store = try Fixtures.store()
    try Store.with(store) {
      var ada = Tracked(Person(name: "Ada"))
      #expect(try ada.persist() == .inserted)
      ada.age = 1
      try Store.transaction { () throws in
        #expect(try ada.persist() == .updated)
        #expect(try Person.where { $0.age == 1 }.count() == 1)
      }
      try ada.reload()
      #expect(ada.age == 1)
    }
  }

  @Test("The asynchronous form persists without blocking")
  func asynchronous() async throws {
    let store = try Fixtures.store()
    var ada = Tracked(Person(name: "Ada"))
    #expect(try await ada.persist(in: store) == .inserted)
    ada.age = 1
    let updated = try await Store.with(store) { try await ada.persist() }
    #expect(updated == .updated && ada.state == .unchanged)
    #expect(try await ada.persist(in: store) == nil)
    var bo = Tracked(Person(name: "Bo", email: "e"))
    try await bo.persist(in: store)
    ada.email = "e"
    await #expect(throws: LarchError.self) { try await ada.persist(in: store) }
    #expect(ada.state == .changed)
    #expect(try store.find(Person.self, ada.id)?.age == 1)
  }
}
