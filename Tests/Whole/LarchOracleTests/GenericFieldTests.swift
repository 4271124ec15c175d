import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Generic code over a property of a protocol reads all records, since the stored property of its
/// key path is unknown: the protocol must require the key path.
@Suite("Fields in generic code")
struct GenericFieldTests {
  protocol Aged {
    var age: Int { get }
    static var ageField: any KeyPath<Self, Int> & Sendable { get }
  }

  struct Person: Record, Aged {
    var id = RecordID<Person>()
    var age: Int
    static var ageField: any KeyPath<Person, Int> & Sendable { \.age }
    static let schema = Schema<Person> { Index(\.age) }
  }

  /// Its `age` is not a stored property, and the index is over another stored property.
  struct Dog: Record, Aged {
    var id = RecordID<Dog>()
    var years: Int
    var age: Int { years * 7 }
    static var ageField: any KeyPath<Dog, Int> & Sendable { \.age }
    static let schema = Schema<Dog> { Index(\.years) }
  }

  private static func young<R: Record & Aged>(_: R.Type) -> Query<R> { R.where { $0.age < 21 } }

  private static func youngByField<R: Record & Aged>(_: R.Type) -> Query<R> {
    R.where { $0[R.ageField] < 21 }
  }

  @Test("Answers are those of the property, and the key path of the type uses its index")
  func generic() throws {
    let store = try Store.temporary(for: Person.self, Dog.self)
    try store.write { tx throws in
      for age in 0..<100 {
        var person = Person(age: age)
        try tx.insert(&person)
        var dog = Dog(years: age)
        try tx.insert(&dog)
      }
    }
    let concrete = Person.where { $0.age < 21 }
    let plan = try store.explain(concrete)
    #expect(plan.hasPrefix("index age"))
    #expect(try store.explain(GenericFieldTests.youngByField(Person.self)) == plan)
    #expect(
      try store.ids(GenericFieldTests.young(Person.self)) == store.ids(concrete))
    #expect(try store.ids(GenericFieldTests.youngByField(Person.self)) == store.ids(concrete))
    for query in [GenericFieldTests.young(Dog.self), GenericFieldTests.youngByField(Dog.self)] {
      #expect(try store.fetch(query).map(\.years) == [0, 1, 2])
    }
  }

  /// The stored field of a key path through a protocol requirement is unknown, so a generic program
  /// lost its indexes without a message.
  @Test("The plan, the query and the log say why no index is used for a field of a protocol")
  func reasons() throws {
    let messages = Locked<[LogMessage]>([])
    var options = Store.Options()
    options.log = { message in
      if message.event == .fieldUnnamed { messages.withLock { $0.append(message) } }
    }
    let store = try Store.temporary(for: Person.self, Dog.self, options: options)
    try store.write { tx throws in
      for age in 0..<100 {
        var person = Person(age: age)
        try tx.insert(&person)
      }
    }
    let query = GenericFieldTests.young(Person.self)
    #expect(
      try store.explain(query) == """
        all records
          filter <Int> < 21
          no index is used for <Int>: it was named through a protocol's requirement, or is a computed \
        property, so its stored name is not known; see docs/limits.md
        """)
    #expect(
      "\(query)" == """
        Person
          filter <Int> < 21
          <Int> was named through a protocol's requirement, or is a computed property: its stored name \
        is not known, so only an index over the same key path is used; see docs/limits.md
        """)
    for _ in 0..<3 {
      _ = try store.fetch(query)
      _ = try store.fetch(GenericFieldTests.young(Person.self))
    }
    let told = messages.withLock { $0 }
    #expect(told.count == 1)
    #expect(told.first?.context.collection == "Person")
    #expect(told.first?.context.field == "<Int>")
    #expect(told.first?.level == .notice)
    _ = try store.fetch(GenericFieldTests.young(Dog.self))
    _ = try store.fetch(GenericFieldTests.young(Dog.self))
    #expect(messages.withLock { $0.map(\.context.collection) } == ["Person", "Dog"])
  }

  @Test("If no index can be meant, or one is used, nothing is logged")
  func silence() throws {
    let messages = Locked<[LogMessage]>([])
    var options = Store.Options()
    options.log = { message in
      if message.event == .fieldUnnamed { messages.withLock { $0.append(message) } }
    }
    let store = try Store.temporary(for: Person.self, Word.self, options: options)
    let queries = [
      Word.where { $0.length > 3 }, Word.where { $0.initial == "A" }, Word.where { $0.text > "a" },
    ]
    for query in queries {
      #expect(try !store.explain(query).contains("no index is used"))
      _ = try store.fetch(query)
    }
    let concrete = Person.where { $0.age < 21 }
    #expect(try !store.explain(concrete).contains("no index is used"))
    #expect(!"\(concrete)".contains("protocol"))
    #expect(messages.withLock { $0.isEmpty })
  }

  /// A computed property with its own index, and one whose type no index has.
  struct Word: Record {
    var id = RecordID<Word>()
    var text = ""
    var length: Int { text.count }
    var initial: String { String(text.prefix(1)) }
    static let schema = Schema<Word> {
      Index(\.text)
      Index(\.initial, name: "initial")
    }
  }
}
