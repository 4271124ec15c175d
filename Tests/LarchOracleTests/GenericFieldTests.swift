import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Generic code over a protocol's property looks at all records, since nothing tells which property
/// its key path leads to: the protocol has to ask for the key path.
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

  /// Its `age` is no stored property, and the stored one of that index is another.
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

  @Test("The answer is that of the property; the key path that the type gives uses its index")
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
}
