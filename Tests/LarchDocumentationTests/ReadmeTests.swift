import Foundation
import Larch
import LarchTestSupport
import Testing

@Suite("README.md")
struct ReadmeTests {
  // snippet: readme-record
  struct Person: Record {
    var id = RecordID<Person>()  // assigned by the store at the first save
    var name: String
    var email: String?
    var age: Int
    var city: String
    var tags: [String] = []

    static let schema = Schema<Person> {
      Unique(\.email)  // many nils are fine
      Index(\.city, \.age)  // by city, then by age
      Index(\.tags)  // an entry for each element
      Index(\.name, .caseInsensitive)
    }
  }
  // end snippet

  @Test("The example at the top does what it says")
  func example() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")

    // snippet: readme-use
    let store = try Store(at: path, for: Person.self)

    var ada = Person(name: "Ada", email: "ada@acme.example", age: 36, city: "London")
    var bo = Person(name: "Bo", age: 41, city: "Oslo")

    try store.write { tx in  // all or nothing; a thrown error rolls back
      try tx.save(&ada)
      try tx.save(&bo)
    }

    let found = try store.read { tx in try tx.find(Person.self, ada.id) }

    bo.age += 1
    try store.write { tx in
      try tx.update(bo)
      try tx.delete(ada)
    }

    let everyone = try store.read { tx in Array(try tx.all(Person.self)) }
    // end snippet

    #expect(found?.name == "Ada")
    #expect(everyone.map(\.name) == ["Bo"])
    #expect(everyone.map(\.age) == [42])
    #expect(try store.verify().isClean)
  }
}
