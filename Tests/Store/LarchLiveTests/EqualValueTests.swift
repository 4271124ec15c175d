import LarchTestSupport
import Testing

@testable import Larch

/// A record whose `==` compares only the id, as some programs do for lists on a screen.
struct Loose: Record, Equatable {
  var id: Int
  var text: String

  static func == (a: Loose, b: Loose) -> Bool { a.id == b.id }
}

@Suite("Values that are equal to the one before")
struct EqualValueTests {
  private func store() throws -> Store {
    try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self, Loose.self)
  }

  private func observer<Value>(_ observation: StoreObservation<Value>) -> Observer<Value> {
    observation.makeAsyncIterator().polled
  }

  @Test("a change of a record after a limit reads nothing, and gives no value")
  func limit() throws {
    let store = try store()
    for number in 0..<5 { try store.put(Tag(id: "\(number)", color: number)) }
    let page = observer(store.observe(Tag.all.sorted(by: \.color).limit(2)))
    #expect(try page.poll()?.rows.map(\.id) == ["0", "1"])
    try store.put(Tag(id: "4", color: 9))
    #expect(try page.poll() == nil)
    try store.put(Tag(id: "4", color: -1))
    #expect(try page.poll()?.rows.map(\.id) == ["4", "0"])
    #expect(try page.poll() == nil)
    #expect(page.reads == 1 && page.patches == 1)
  }

  @Test("a change that is changed back before it is read gives no value")
  func thereAndBack() throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let tags = observer(store.observe(Tag.all))
    let colors = observer(store.observe(Tag.select(\.id, \.color)))
    #expect(try tags.poll()?.rows.count == 1)
    #expect(try colors.poll()?.rows.count == 1)
    for color in [2, 1] { try store.put(Tag(id: "a", color: color)) }
    try store.put(Tag(id: "b", color: 1))
    try store.write { try $0.delete(Tag.self, "b") }
    #expect(try tags.poll() == nil)
    #expect(try colors.poll() == nil)
    #expect(tags.reads == 1 && tags.patches == 0)
    #expect(colors.reads == 1 && colors.patches == 0)
    try store.put(Tag(id: "a", color: 2))
    #expect(try tags.poll()?.rows == [Tag(id: "a", color: 2)])
    #expect(try colors.poll()?.rows.first?.1 == 2)
  }

  @Test("a compaction gives no value")
  func compaction() throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 1))
    let tags = observer(store.observe(Tag.all))
    let count = observer(store.observe { try $0.count(Tag.all) })
    #expect(try tags.poll()?.rows.count == 1)
    #expect(try count.poll()?.value == 1)
    try store.compact()
    #expect(try tags.poll() == nil)
    #expect(try count.poll() == nil)
    try store.put(Tag(id: "b", color: 1))
    #expect(try tags.poll()?.rows.count == 2)
    #expect(try count.poll()?.value == 2)
  }

  @Test("records are compared as they are stored, not by their `==`")
  func stored() throws {
    let store = try store()
    try store.put(Loose(id: 1, text: "a"))
    let all = observer(store.observe(Loose.all))
    #expect(try all.poll()?.rows.map(\.text) == ["a"])
    try store.put(Loose(id: 1, text: "b"))
    #expect(try all.poll()?.rows.map(\.text) == ["b"])
  }

  @Test("another order of the same records is another value")
  func order() throws {
    let store = try store()
    try store.write { tx in
      for name in ["a", "b"] {
        var owner = Owner(name: name, city: "Oslo", age: 1)
        try tx.save(&owner)
        try tx.put(Pet(name: name, weight: 1, ownerID: owner.id))
      }
    }
    // With a limit, it is read again.
    let pets = observer(store.observe(Pet.all.sorted(by: \.owner.name).limit(9)))
    #expect(try pets.poll()?.rows.map(\.name) == ["a", "b"])
    var owner = try #require(try store.first(Owner.all))
    owner.city = "Rome"
    try store.put(owner)
    #expect(try pets.poll() == nil)
    #expect(pets.reads == 2)
    owner.name = "c"
    try store.put(owner)
    #expect(try pets.poll()?.rows.map(\.name) == ["b", "a"])
  }

  @Test("pairs and related records are compared on both sides")
  func pairs() throws {
    let store = try store()
    var owner = Owner(name: "a", city: "Oslo", age: 1)
    var other = Owner(name: "b", city: "Rome", age: 9)
    try store.write { [owner, other] tx in
      var (owner, other) = (owner, other)
      try tx.save(&owner)
      try tx.save(&other)
      try tx.put(Pet(name: "p", weight: 1, ownerID: owner.id))
    }
    owner = try #require(try store.first(Owner.where { $0.name == "a" }))
    other = try #require(try store.first(Owner.where { $0.name == "b" }))
    let young = Owner.where { $0.age < 5 }
    let inner = observer(store.observe(Pet.all.joined(with: young, on: \.ownerID, kind: .left)))
    // With a limit and with this order, they are read again.
    let part = observer(
      store.observe(Pet.all.joined(with: young, on: \.ownerID, kind: .left).limit(9)))
    let pets = Pet.all.sorted(by: \.owner.name)
    let with = observer(store.observe(Owner.where { $0.age < 5 }.with(Owner.pets, from: pets)))
    let related = observer(store.observe(owner.related(Owner.pets)))
    #expect(try inner.poll()?.rows.first?.1?.name == "a")
    #expect(try part.poll()?.rows.first?.1?.name == "a")
    #expect(try with.poll()?.rows.map(\.1.count) == [1])
    #expect(try related.poll()?.rows.map(\.name) == ["p"])

    other.name = "c"
    try store.put(other)
    #expect(try inner.poll() == nil)
    #expect(try part.poll() == nil)
    #expect(try with.poll() == nil)
    #expect(try related.poll() == nil)
    #expect(inner.reads == 1 && part.reads == 2 && with.reads == 2)

    owner.name = "d"
    try store.put(owner)
    #expect(try inner.poll()?.rows.first?.1?.name == "d")
    #expect(try part.poll()?.rows.first?.1?.name == "d")
    #expect(try with.poll()?.rows.map(\.0.name) == ["d"])

    var pet = try #require(try store.first(Pet.all))
    pet.weight = 4
    try store.put(pet)
    #expect(try inner.poll()?.rows.map(\.0.weight) == [4])
    #expect(try part.poll()?.rows.map(\.0.weight) == [4])
    #expect(try with.poll()?.rows.first?.1.first?.weight == 4)
    #expect(try related.poll()?.rows.map(\.weight) == [4])

    owner.age = 7
    try store.put(owner)
    #expect(try inner.poll()?.rows.first?.1?.name == nil)
    #expect(inner.reads == 1 && inner.patches == 3)
    #expect(try part.poll()?.rows.first?.1?.name == nil)
    #expect(part.reads == 5)
    #expect(try with.poll()?.rows.isEmpty == true)
    #expect(try related.poll() == nil)
  }

  private struct Figures: Equatable {
    var count: Int
    var heaviest: Int?
  }

  @Test("what a closure reads is compared if it is `Equatable`")
  func closure() throws {
    let store = try store()
    try store.put(Tag(id: "a", color: 5))
    let figures = observer(
      store.observe { tx in
        Figures(count: try tx.count(Tag.all), heaviest: try tx.max(\.color, of: Tag.all))
      })
    // A tuple is not.
    let pair = observer(
      store.observe { tx in (try tx.count(Tag.all), try tx.fetch(Tag.all).count) })
    #expect(try figures.poll()?.value == Figures(count: 1, heaviest: 5))
    #expect(try pair.poll() != nil)
    try store.put(Tag(id: "a", color: 5))
    try store.write { tx in
      try tx.delete(Tag.self, "a")
      try tx.put(Tag(id: "b", color: 5))
    }
    #expect(try figures.poll() == nil)
    #expect(figures.reads == 2)
    #expect(try pair.poll()?.value.0 == 1)
    try store.put(Tag(id: "b", color: 6))
    #expect(try figures.poll()?.value.heaviest == 6)
  }

  @Test("selected fields are compared by value, also those that no index could have")
  func fields() throws {
    let store = try store()
    var owner = Owner(name: "a", city: "Oslo", age: 1)
    try store.write { [owner] tx in try tx.put(owner) }
    owner = try #require(try store.first(Owner.all))
    let names = observer(store.observe(Owner.select(\.name)))
    let three = observer(store.observe(Owner.select(\.name, \.age, \.initials)))
    #expect(try names.poll()?.rows == ["a"])
    #expect(try three.poll()?.rows.first?.2 == Initials(first: "a"))
    owner.city = "Rome"
    try store.put(owner)
    #expect(try names.poll() == nil)
    #expect(try three.poll() == nil)
    #expect(names.reads == 1 && three.reads == 1)
    owner.age = 2
    try store.put(owner)
    #expect(try names.poll() == nil)
    #expect(try three.poll()?.rows.first?.1 == 2)
    owner.name = "b"
    try store.put(owner)
    #expect(try names.poll()?.rows == ["b"])
    #expect(try three.poll()?.rows.first?.2 == Initials(first: "b"))
  }

  @Test("a digest keeps neighbours apart")
  func digest() {
    func digest(_ rows: [(String, String?)]) -> Int {
      let digest = RowDigest()
      for (id, record) in rows {
        Array(id.utf8).withUnsafeBytes { id in
          guard let record else { return digest.add(id: id, nil) }
          Array(record.utf8).withUnsafeBytes { digest.add(id: id, $0) }
        }
      }
      return digest.value
    }
    let rows: [[(String, String?)]] = [
      [], [("", nil)], [("", "")], [("a", "bc")], [("ab", "c")], [("a", "b"), ("", "c")],
      [("a", "b"), ("c", "")], [("a", "bc"), ("", nil)], [("a", "bc"), ("a", "bc")],
    ]
    #expect(Set(rows.map(digest)).count == rows.count)
    #expect(digest(rows[3]) == digest(rows[3]))
  }
}

/// A value that is no key of an index.
struct Initials: Sendable, Equatable {
  var first: String
}

extension Owner {
  fileprivate var initials: Initials { Initials(first: String(name.prefix(1))) }
}
