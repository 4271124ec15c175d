import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/evolution.md: several versions of one type.

/// As the application began.
enum FirstDay {
  // snippet: evolution-first
  struct Person: Record {
    var id = RecordID<Person>()
    var lastName: String
    var age: Int32
    var role: Role
    var nickname: String
  }

  enum Role: String, Codable, Sendable { case member, admin }
  // end snippet
}

/// Everything that needs no more than a declaration.
enum SecondDay {
  // snippet: evolution-second
  struct Person: Record {
    var id = RecordID<Person>()
    var surname: String  // renamed
    var age: Int  // wider
    var role: Role  // with another case
    var nickname: String?  // may be nil now
    var email: String?  // added
    var level: Int  // added, and never nil

    static let schema = Schema<Person> {
      Renamed(\.surname, from: "lastName")
      Default(\.level, 1)
      Index(\.surname)  // built from the old records too
    }
  }

  enum Role: String, Codable, Sendable { case guest, member, admin }
  // end snippet
}

/// A change that declarations cannot describe: a string becomes a number.
enum ThirdDay {
  // snippet: evolution-third
  struct Person: Record {
    var id = RecordID<Person>()
    var surname: String
    var age: String  // was a number
  }
  // end snippet
}

enum FourthDay {
  // snippet: evolution-type
  struct Member: Record {
    var id = RecordID<Member>()
    var surname: String
    var age: Int

    static let schema = Schema<Member> { Renamed(from: "Person") }
  }
  // end snippet
}

/// A change that needs a migration.
enum FifthDay {
  // snippet: evolution-migrated
  struct Person: Record {
    var id = RecordID<Person>()
    var name: Name
    var born: Int

    struct Name: Codable, Sendable { var first, last: String }
  }

  /// As it was before: all that the migration reads.
  struct PersonV1: Codable {
    var id: RecordID<Person>
    var lastName: String
    var age: Int
  }
  // end snippet

  struct Tag: Record {
    var id = RecordID<Tag>()
    var label: String
  }
}

@Suite("evolution.md")
struct EvolutionGuideTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path("people.larch") }

  init() throws { folder = try TemporaryFolder() }

  private func begin() throws {
    let store = try Store(at: path, for: FirstDay.Person.self)
    try store.write { tx in
      for number in 1...3 {
        var person = FirstDay.Person(
          lastName: "Berg \(number)", age: Int32(number * 10), role: .member, nickname: "b\(number)"
        )
        try tx.save(&person)
      }
    }
    store.close()
  }

  @Test("A change that declarations describe needs nothing else")
  func automatic() throws {
    try begin()
    typealias Person = SecondDay.Person
    let path = path
    // snippet: evolution-open
    let store = try Store(at: path, for: Person.self)
    let berg = try store.find(Person.self, by: \.surname, equals: "Berg 2")
    // end snippet
    #expect(berg?.age == 20 && berg?.level == 1 && berg?.email == nil && berg?.role == .member)
    #expect(try store.verify().isClean)
    store.close()
  }

  @Test("A change that would be misread is refused")
  func refused() throws {
    try begin()
    typealias Person = ThirdDay.Person
    let path = path
    let error = #expect(throws: LarchError.self) {
      // snippet: evolution-refused
      let store = try Store(at: path, for: Person.self)
      // end snippet
      store.close()
    }
    #expect(error?.code == .schemaMismatch)
    #expect(error?.context.collection == "Person")
    #expect(try Store(at: path, for: FirstDay.Person.self).count(FirstDay.Person.all) == 3)
  }

  @Test("A type with another name keeps its data")
  func renamedType() throws {
    let first = try Store(at: path, for: SecondDay.Person.self)
    var person = SecondDay.Person(surname: "Berg", age: 20, role: .guest, level: 2)
    try first.save(&person)
    first.close()
    let store = try Store(at: path, for: FourthDay.Member.self)
    #expect(try store.fetch(FourthDay.Member.all).map(\.surname) == ["Berg"])
    store.close()
  }

  @Test("A check before an upgrade")
  func check() throws {
    try begin()
    typealias Person = SecondDay.Person
    let path = path
    // snippet: evolution-check
    var options = Store.Options()
    options.evolution = .check
    do {
      try Store(at: path, for: Person.self, options: options).close()
      print("the file is as declared")
    } catch let error as LarchError where error.code == .schemaMismatch {
      print(error.context.detail ?? "")  // what opening it for good would change
    }
    // end snippet
  }

  @Test("Migrations run once, in their order")
  func migrations() throws {
    try begin()
    typealias Person = FifthDay.Person
    typealias PersonV1 = FifthDay.PersonV1
    typealias Tag = FifthDay.Tag
    let path = path
    // snippet: evolution-migrations
    let migrations = [
      Migration("names and years") { tx in
        try tx.rewrite(Person.self, from: PersonV1.self) { old in
          Person(
            id: old.id, name: Person.Name(first: "", last: old.lastName), born: 2026 - old.age)
        }
      },
      Migration("first tags") { tx in
        for label in ["new", "known"] {
          var tag = Tag(label: label)
          try tx.save(&tag)
        }
      },
    ]
    let store = try Store(at: path, for: Person.self, Tag.self, migrations: migrations)
    // end snippet
    #expect(try store.fetch(Person.all).map(\.born) == [2016, 2006, 1996])
    #expect(try store.fetch(Person.all).map(\.name.last) == ["Berg 1", "Berg 2", "Berg 3"])
    store.close()
    let again = try Store(at: path, for: Person.self, Tag.self, migrations: migrations)
    #expect(try again.count(Tag.all) == 2)
    again.close()
  }

  @Test("Migrations may work on plain fields")
  func fields() throws {
    try begin()
    typealias Person = FifthDay.Person
    let path = path
    // snippet: evolution-fields
    let migration = Migration("names and years") { tx in
      try tx.rewrite(Person.self) { fields in
        guard case .string(let last)? = fields["lastName"], case .int(let age)? = fields["age"]
        else { return fields.isDropped = true }  // a record that is no person
        fields["name"] = .record(["first": .string(""), "last": .string(last)])
        fields["born"] = .int(2026 - age)
      }
    }
    // end snippet
    let store = try Store(at: path, for: Person.self, migrations: [migration])
    #expect(try store.fetch(Person.all).map(\.born) == [2016, 2006, 1996])
    store.close()
  }
}
