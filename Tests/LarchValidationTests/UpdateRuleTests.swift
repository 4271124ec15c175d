import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("An update asks the rules of what it changes")
struct UpdateRuleTests {
  struct Address: Codable, Sendable, Equatable {
    var city = ""
    var zip = ""
  }

  /// Records from before there were rules.
  struct Early: Record {
    static let collectionName = "Person"
    var id = 0
    var name = ""
    var age = -1
    var address = Address()
    var home: Address?
    var tags: Set<String> = []
    var note = ""
  }

  struct Person: Record {
    var id = 0
    var name = ""
    var age = -1
    var address = Address()
    var home: Address?
    var tags: Set<String> = []
    var note = ""
    var late: Int?

    var shout: String { name.uppercased() }

    static let schema = Schema<Person> {
      Validate(\.name, .presence)
      Validate(\.age, .range(0...))
      Validate(\.address.city, .presence)
      Validate(\.home?.zip, .presence)
      Validate(\.tags, .length(min: 1))
      Validate(\.late, .presence)
      Validate(\.shout, .length(...3), name: "shout")
      Validate(\.note, .length(max: 1).when { _ in true })
      Validate("whole") { $0.note != "bad" }
    }
  }

  private static let all = [
    "name cant_be_blank", "age too_small 0", "address.city cant_be_blank", "home.zip cant_be_blank",
    "tags too_short 1", "late cant_be_blank",
  ]

  /// A store with a record from before the rules, and nil for the field that it lacks.
  private func withEarly(_ body: (Store) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var store = try Store(at: path, for: Early.self)
    try store.save(Early(id: 1))
    store.close()
    store = try Store(at: path, for: Person.self)
    defer { store.close() }
    try body(store)
  }

  private func change(_ store: Store, _ change: (inout Person) -> Void) throws -> [String]? {
    guard var person = try store.find(Person.self, 1) else { return ["gone"] }
    change(&person)
    return refused { try store.update(person) }
  }

  @Test("A new record is checked by every rule")
  func insert() throws {
    try Store.scratch(Person.self) { store in
      #expect(refused { try store.save(Person(id: 1)) } == Self.all)
      #expect(
        refused { try store.save(Person(id: 1, name: "long", note: "bad")) } == Array(
          Self.all.dropFirst()) + ["shout too_long 3", "note too_long 1", "- whole"])
    }
  }

  @Test(
    "Other fields of an old record can be changed, and only the rules of changed fields are checked"
  )
  func update() throws {
    try withEarly { store throws in
      let first = try change(store) { $0.note = "n" }
      #expect(first == nil)
      // Now the record has the shape of the new type.
      #expect(try change(store) { $0.note = "m" } == nil)
      #expect(try change(store) { $0.name = " " } == ["name cant_be_blank"])
      #expect(try change(store) { $0.age = -2 } == ["age too_small 0"])
      #expect(try change(store) { $0.address.zip = "1" } == nil)
      #expect(try change(store) { $0.address.city = " " } == ["address.city cant_be_blank"])
      #expect(try change(store) { $0.home = Address() } == ["home.zip cant_be_blank"])
      #expect(try change(store) { $0.home = Address(zip: "1") } == nil)
      #expect(try change(store) { $0.home = nil } == ["home.zip cant_be_blank"])
      #expect(try change(store) { $0.home?.city = "Oslo" } == nil)
      #expect(try change(store) { $0.tags = ["a"] } == nil)
      #expect(try change(store) { $0.tags = [] } == ["tags too_short 1"])
      #expect(try change(store) { $0.late = 1 } == nil)
      #expect(try change(store) { $0.late = nil } == ["late cant_be_blank"])
      #expect(try change(store) { $0.name = "long" } == ["shout too_long 3"])
      #expect(
        try change(store) {
          $0.age = -5
          $0.note = "bad"
        } == ["age too_small 0", "note too_long 1", "- whole"])
    }
  }

  @Test("Rules of whole records, computed properties and conditions are always checked")
  func always() throws {
    struct Odd: Record {
      static let collectionName = "Person"
      var id = 0
      var name = ""
      var note = ""
    }
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var store = try Store(at: path, for: Odd.self)
    try store.save(Odd(id: 1, name: "long", note: "bad"))
    store.close()
    struct Now: Record {
      static let collectionName = "Person"
      var id = 0
      var name = ""
      var note = ""
      var other = 0
      var shout: String { name.uppercased() }
      static let schema = Schema<Now> {
        Validate(\.shout, .length(...3), name: "shout")
        Validate(\.note, .length(max: 1).when { _ in true })
        Validate(\.name, .length(max: 1))
        Validate("whole") { $0.note != "bad" }
        Default(\.other, 0)
      }
    }
    store = try Store(at: path, for: Now.self)
    defer { store.close() }
    guard var now = try store.find(Now.self, 1) else { throw CancellationError() }
    // Nothing would change but the bytes: nothing is written, and nothing asked.
    #expect(refused { try store.update(now) } == nil)
    now.other = 2
    #expect(
      refused { try store.update(now) } == ["shout too_long 3", "note too_long 1", "- whole"])
  }

  @Test("An unchanged record is neither written nor checked")
  func unchanged() throws {
    try Store.scratch(Person.self) { store in
      var person = Person(id: 1, name: "n", age: 1, address: Address(city: "c"))
      person.home = Address(zip: "z")
      person.tags = ["t"]
      person.late = 1
      try store.save(&person)
      try store.save(&person)
      try store.update(person)
    }
  }

  /// A type that writes its fields itself, under names of other properties.
  struct Own: Record {
    var id = 0
    var name = ""
    var other = 0
    enum CodingKeys: String, CodingKey { case id, name, other }
    init(id: Int, name: String, other: Int) {
      self.id = id
      self.name = name
      self.other = other
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      let text = try container.decode(String.self, forKey: .other)
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      name = String(parts[0])
      other = Int(parts[1]) ?? 0
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode("\(name)/\(other)", forKey: .other)
    }
    static let schema = Schema<Own> { Validate(\.name, .presence) }
  }

  @Test("If bytes do not show whether a field changed, its rules are checked")
  func ownCoding() throws {
    try Store.scratch(Own.self) { store in
      try store.save(Own(id: 1, name: "n", other: 1))
      #expect(
        refused { try store.update(Own(id: 1, name: "", other: 1)) } == ["name cant_be_blank"])
      try store.update(Own(id: 1, name: "m", other: 2))
      #expect(try store.find(Own.self, 1)?.name == "m")
    }
  }
}
