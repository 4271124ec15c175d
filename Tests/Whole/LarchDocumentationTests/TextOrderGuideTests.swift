import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/text-order.md.

/// The records of the examples.
enum TextOrderGuide {
  // snippet: text-order-index
  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
    var city: String
    var nick: String?

    static let schema = Schema<Person> {
      Index(\.name, options: .localized("nb"))
      Index(\.city, then: \.name, options: .localized("nb"))  // the people of a city by name
      Index(\.nick, options: .caseAndDiacriticInsensitive)
    }
  }
  // end snippet
}

@Suite("text-order.md")
struct TextOrderGuideTests {
  typealias Person = TextOrderGuide.Person

  let store: Store
  let names = ["Åse", "Zorro", "Øst", "Adam", "Ærlig"]

  init() throws {
    store = try Store.checked(for: Person.self)
    try store.saveAll(
      names.map {
        Person(name: $0, city: $0 == "Adam" ? "Rome" : "Oslo", nick: $0 == "Adam" ? "José" : nil)
      })
  }

  @Test("An order by language")
  func order() throws {
    // snippet: text-order-query
    let byName = Person.all.sorted(by: \.name, options: .localized("nb"))
    let people = try store.fetch(byName)  // Adam, Zorro, Ærlig, Øst, Åse
    let inTown = Person.where { $0.city == "Oslo" }
      .sorted(by: \.name, options: .localized("nb"), .descending).limit(20)
    // end snippet
    #expect(people.map(\.name) == ["Adam", "Zorro", "Ærlig", "Øst", "Åse"])
    #expect(try store.fetch(inTown).map(\.name) == ["Åse", "Øst", "Ærlig", "Zorro"])
  }

  @Test("A collation sorts arrays")
  func collation() throws {
    // snippet: text-order-collation
    let norwegian = try Collation("nb")
    let sorted = names.sorted { norwegian.compare($0, $1) == .orderedAscending }
    let key = norwegian.sortKey(of: "Åse")  // bytes that sort as the texts do
    // end snippet
    #expect(sorted == ["Adam", "Zorro", "Ærlig", "Øst", "Åse"])
    #expect(norwegian.sortKey(of: "Øst").lexicographicallyPrecedes(key))
  }

  @Test("The index serves the order")
  func explain() throws {
    // snippet: text-order-explain
    let query = Person.where { $0.city == "Oslo" }.sorted(by: \.name, options: .localized("nb"))
      .limit(20)
    print(try store.explain(query))
    // end snippet
    #expect(
      try store.explain(query) == """
        index city_name_nb ["Oslo"]
          order served by the index
          limit 20
        """)
  }

  @Test("Texts without case and diacritics")
  func plain() throws {
    // In a store with few records the planner reads all of them.
    try store.saveAll((0..<500).map { Person(name: "N\($0)", city: "Rome", nick: "n\($0)") })
    // snippet: text-order-plain
    let jose = Person.where { $0.nick.equals("jose", options: .caseAndDiacriticInsensitive) }
    let starting = Person.where { $0.nick.hasPrefix("jos", options: .caseAndDiacriticInsensitive) }
    print(try store.explain(starting))
    // end snippet
    #expect(
      try store.explain(starting) == """
        index nick_plain ["jos"*]
          key filter nick.hasPrefix("jos", options: .caseAndDiacriticInsensitive)
          sort by id
        """)
    #expect(try store.count(jose) == 1)
    #expect(try store.count(starting) == 1)
  }
}
