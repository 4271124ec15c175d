import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Two forms show one record; one changes its name, the other its age. The second `persist()` wrote
/// the whole record, and the name was the old one again, without an error.
@Suite("Changes of several copies of a record are all kept")
struct LostUpdateTests {
  private func stored(_ store: Store, _ person: Person = Person(name: "Ada")) throws -> Person {
    var person = person
    try store.save(&person)
    return person
  }

  @Test("Two tracked copies that change different fields keep both changes")
  func differentFields() throws {
    let store = try Fixtures.store()
    let id = try stored(store).id
    var first = try #require(try store.tracked(Person.self, id))
    var second = try #require(try store.tracked(Person.self, id))
    first.name = "Augusta"
    second.age = 36
    #expect(try first.persist(in: store) == .updated)
    #expect(try second.persist(in: store) == .updated)
    let now = try #require(try store.find(Person.self, id))
    #expect(now.name == "Augusta" && now.age == 36)
    #expect(second.value == now && second.state == .unchanged && second.stored == now)
    #expect(try store.fetch(Person.where { $0.age == 36 }).map(\.name) == ["Augusta"])
  }

  @Test("The later of two changes of a field wins, and changes of other fields are kept")
  func sameField() throws {
    let store = try Fixtures.store()
    let id = try stored(store).id
    var first = try #require(try store.tracked(Person.self, id))
    var second = try #require(try store.tracked(Person.self, id))
    first.age = 1
    first.tags = ["a"]
    second.age = 2
    try first.persist(in: store)
    try second.persist(in: store)
    let now = try #require(try store.find(Person.self, id))
    #expect(now.age == 2 && now.tags == ["a"])
  }

  @Test("Nil is a change in both directions, and an enum, a list and a nested value are one field")
  func kinds() throws {
    let store = try Fixtures.store()
    let id = try stored(
      store, Person(name: "Ada", email: "a@x", address: .init(street: "s", city: "c"))
    ).id
    var first = try #require(try store.tracked(Person.self, id))
    var second = try #require(try store.tracked(Person.self, id))
    var third = try #require(try store.tracked(Person.self, id))
    first.email = nil
    second.address.city = "d"
    second.role = .owner
    third.tags = ["x", "y"]
    third.address.street = "t"
    for change in [first.state, second.state, third.state] { #expect(change == .changed) }
    try first.persist(in: store)
    try second.persist(in: store)
    try third.persist(in: store)
    let now = try #require(try store.find(Person.self, id))
    #expect(now.email == nil && now.role == .owner && now.tags == ["x", "y"])
    #expect(now.address == .init(street: "t", city: "c"), "the address is one field")
    first.email = "b@x"
    try first.persist(in: store)
    #expect(try store.find(Person.self, id)?.email == "b@x")
    #expect(try store.verify().isClean)
  }

  @Test("A plain save beside a tracked copy keeps its fields")
  func plainSave() throws {
    let store = try Fixtures.store()
    var ada = try stored(store)
    var form = try #require(try store.tracked(Person.self, ada.id))
    ada.age = 5
    try store.save(&ada)
    form.name = "Augusta"
    try form.persist(in: store)
    #expect(try store.find(Person.self, ada.id)?.age == 5)
    form.name = "Ada"
    try store.write { tx in _ = try form.persist(in: tx) }
    #expect(form.age == 5 && form.value == ada)
  }

  @Test("A unique value that another record has is a conflict with that record")
  func uniqueConflict() throws {
    let store = try Fixtures.store()
    let id = try stored(store, Person(name: "Ada", email: "a@x")).id
    var first = try #require(try store.tracked(Person.self, id))
    var second = try #require(try store.tracked(Person.self, id))
    first.email = "b@x"
    try first.persist(in: store)
    // The first record no longer has this address, so another one may have it.
    let other = try stored(store, Person(name: "Bo", email: "a@x"))
    second.age = 9
    #expect(try second.persist(in: store) == .updated)
    #expect(second.email == "b@x")
    #expect(try store.find(Person.self, by: \.email, equals: "a@x")?.id == other.id)
  }

  @Test("The times of a record alone are not a change")
  func times() throws {
    let clock = Locked(Date(timeIntervalSinceReferenceDate: 0))
    let store = try Fixtures.store { $0.clock = { clock.withLock { $0 } } }
    var note = Note(text: "a")
    try store.save(&note)
    var form = try #require(try store.tracked(Note.self, note.id))
    clock.withLock { $0 += 10 }
    note.text = "b"
    try store.save(&note)
    clock.withLock { $0 += 10 }
    form.text = "c"
    try form.persist(in: store)
    let now = try #require(try store.find(Note.self, note.id))
    #expect(now.createdAt == Date(timeIntervalSinceReferenceDate: 0))
    #expect(now.updatedAt == Date(timeIntervalSinceReferenceDate: 20) && form.value == now)
  }

  @Test("An undone persist also reverts the fields of others that it merged")
  func undone() throws {
    let store = try Fixtures.store()
    var ada = try stored(store)
    var form = try #require(try store.tracked(Person.self, ada.id))
    form.name = "Augusta"
    ada.age = 5
    try store.save(&ada)
    _ = try? store.write { tx in
      try form.persist(in: tx)
      #expect(form.age == 5)
      throw Stop()
    }
    #expect(form.name == "Augusta" && form.age == 0 && form.state == .changed)
    ada.age = 6
    try store.save(&ada)
    try form.persist(in: store)
    #expect(form.age == 6 && form.name == "Augusta")
  }

  @Test("A record that was deleted in the meantime is not inserted again")
  func deleted() throws {
    let store = try Fixtures.store()
    let ada = try stored(store)
    var form = try #require(try store.tracked(Person.self, ada.id))
    form.age = 5
    try store.delete(ada)
    let error = caught { try form.persist(in: store) }
    #expect(error?.code == .recordNotFound && error?.context.id == "1")
    #expect(try store.count(Person.all) == 0)
  }

  struct Odd: Record, Equatable {
    var id: Int
    var a = 0
    var b = 0

    init(id: Int) { self.id = id }

    // One value, without fields.
    init(from decoder: any Decoder) throws {
      let all = try decoder.singleValueContainer().decode([Int].self)
      (id, a, b) = (all[0], all[1], all[2])
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode([id, a, b])
    }
  }

  final class Shared: Record, @unchecked Sendable {
    var id: Int
    var a = 0
    var b: [String: [Double]] = [:]
    var c: Data?

    init(id: Int) { self.id = id }
  }

  @Test("A record without fields is one value, and a record that is an object is merged too")
  func forms() throws {
    let store = try Store.temporary(for: Odd.self, Shared.self)
    var odd = Odd(id: 1)
    try store.save(&odd)
    var first = try #require(try store.tracked(Odd.self, 1))
    var second = try #require(try store.tracked(Odd.self, 1))
    first.a = 1
    second.b = 2
    try first.persist(in: store)
    try second.persist(in: store)
    #expect(try store.find(Odd.self, 1).map { [$0.a, $0.b] } == [0, 2])

    var shared = Shared(id: 1)
    try store.save(&shared)
    var one = try #require(try store.tracked(Shared.self, 1))
    var two = try #require(try store.tracked(Shared.self, 1))
    var three = try #require(try store.tracked(Shared.self, 1))
    one.a = 7
    two.b = ["x": [1, -0.0, .nan]]
    three.c = Data([1, 2])
    try one.persist(in: store)
    try two.persist(in: store)
    try three.persist(in: store)
    let now = try #require(try store.find(Shared.self, 1))
    #expect(now.a == 7 && now.b["x"]?[0] == 1 && now.b["x"]?[1].sign == .minus)
    #expect(now.b["x"]?[2].isNaN == true && now.c == Data([1, 2]))
  }

  @Test("Saving a value only if the stored one is unchanged")
  func ifUnchanged() throws {
    let store = try Fixtures.store()
    let ada = try stored(store)
    var mine = ada
    var other = ada
    other.age = 1
    try store.save(&other, ifUnchanged: ada)
    mine.name = "Augusta"
    let before = mine
    let error = caught { try store.save(&mine, ifUnchanged: ada) }
    #expect(error?.code == .conflict && error?.context.id == "1")
    #expect(error?.context.collection == "Person" && mine == before)
    try store.write { tx in
      var fresh = try #require(try tx.find(Person.self, ada.id))
      let original = fresh
      fresh.name = "Augusta"
      try tx.save(&fresh, ifUnchanged: original)
      #expect(caught { try tx.save(&mine, ifUnchanged: ada) }?.code == .conflict)
    }
    let now = try #require(try store.find(Person.self, ada.id))
    #expect(now.name == "Augusta" && now.age == 1)
    try Store.with(store) { () throws in
      var again = now
      again.age = 2
      try again.save(ifUnchanged: now)
      #expect(try Person.find(ada.id)?.age == 2)
    }

    try store.delete(ada)
    #expect(caught { try store.save(&mine, ifUnchanged: ada) }?.code == .conflict)
    var unsaved = Person(name: "new")
    let new = unsaved
    #expect(caught { try store.save(&unsaved, ifUnchanged: new) }?.code == .conflict)
    var elsewhere = ada
    elsewhere.id = 77
    #expect(caught { try store.save(&elsewhere, ifUnchanged: ada) }?.code == .idChanged)
    #expect(try store.count(Person.all) == 0)
  }

  @Test("The same in asynchronous code")
  func ifUnchangedAsync() async throws {
    let store = try Fixtures.store()
    try await Store.with(store) { () async throws in
      var note = Note(text: "a")
      try await note.save()
      let read = note
      note.text = "b"
      try await note.save(ifUnchanged: read)
      var late = read
      late.text = "c"
      do {
        try await late.save(ifUnchanged: read)
        Issue.record("a stale record was saved")
      } catch let error as LarchError { #expect(error.code == .conflict) }
      let second = note
      note.text = "d"
      try await note.save(ifUnchanged: second, in: store)
      #expect(try Note.find(note.id)?.text == "d")
    }
  }

  enum Figure: Record, Equatable {
    struct Circle: Codable, Equatable, Sendable {
      var id: Int
      var radius = 1
    }
    struct Box: Codable, Equatable, Sendable {
      var id: Int
      var side = 1
    }
    case circle(Circle)
    case box(Box)

    var id: Int {
      get {
        switch self {
        case .circle(let circle): circle.id
        case .box(let box): box.id
        }
      }
      set {
        switch self {
        case .circle(var circle):
          circle.id = newValue
          self = .circle(circle)
        case .box(var box):
          box.id = newValue
          self = .box(box)
        }
      }
    }
  }

  /// The fields of both cases were put together, and no figure could be read from them.
  @Test("A case that somebody replaced by another is one value: the later save wins")
  func otherCase() throws {
    let store = try Store.temporary(for: Figure.self)
    var figure = Figure.circle(.init(id: 1))
    try store.save(&figure)
    var first = try #require(try store.tracked(Figure.self, 1))
    var second = try #require(try store.tracked(Figure.self, 1))
    try store.update(Figure.box(.init(id: 1)))
    first.value = .circle(.init(id: 1, radius: 2))
    try first.persist(in: store)
    #expect(try store.find(Figure.self, 1) == .circle(.init(id: 1, radius: 2)))
    try second.persist(in: store)
    #expect(try store.find(Figure.self, 1) == .circle(.init(id: 1, radius: 2)))
  }
}
