import Larch
import LarchTestSupport
import Testing

@Suite("The first pages of the DocC documentation")
struct DocumentationPageTests {
  // snippet: docc-record
  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
    var age: Int

    static let schema = Schema<Person> { Index(\.age) }
  }
  // end snippet

  @Test("Larch: a record is saved and found")
  func larch() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")
    // snippet: docc-use
    let store = try Store(at: path, for: Person.self)
    var ada = Person(name: "Ada", age: 36)
    try store.write { tx in try tx.save(&ada) }
    let grown = try store.fetch(Person.where { $0.age >= 18 }.sorted(by: \.age))
    // end snippet
    #expect(grown.map(\.name) == ["Ada"])
  }

  @Test("LarchTestSupport: a test requires a dump")
  func testSupport() throws {
    var ada = Person(name: "Ada", age: 36)
    // snippet: docc-dump
    let store = try Store.checked(for: Person.self)
    try store.write { tx in try tx.save(&ada) }
    try store.requireDump(
      ids: .named,
      equals: """
        collection Person: 1 record
          Person#1 {"age":36,"id":"Person#1","name":"Ada"}
          index age: 1 entry
            [36] -> Person#1
        """)
    // end snippet
  }
}
