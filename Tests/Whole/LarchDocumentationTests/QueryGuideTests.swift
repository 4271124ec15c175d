import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/queries.md about queries and filters; the others are in the files with a +.

/// The records of the guide. The stores of its tests repeat every query as a full scan.
enum QueryGuide {
  // snippet: query-record
  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
    var nickname: String?
    var email: String?
    var age: Int
    var city: String
    var height: Double?
    var isActive = true
    var role = Role.guest
    var tags: [String] = []
    var address: Address?
    var joined = Date(timeIntervalSinceReferenceDate: 0)

    static let schema = Schema<Person> {
      Unique(\.email)
      Index(\.city, \.age)
      Index(\.tags)
      Index(\.name, options: .caseInsensitive)
    }
  }

  struct Address: Codable, Sendable {
    var street: String
    var zip: String
  }

  enum Role: String, Codable, Sendable, IndexKey { case guest, member, admin }
  // end snippet

  static let people = [
    Person(
      name: "Ada", nickname: "Ada", email: "ada@acme.example", age: 36, city: "London",
      height: 1.65, role: .admin, tags: ["maths", "engine"],
      address: Address(street: "12 St James's Square", zip: "SW1"), joined: day(3)),
    Person(
      name: "alan", email: "alan@acme.example", age: 41, city: "London", height: 1.78,
      role: .member, tags: ["maths", "running"], joined: day(5)),
    Person(
      name: "Bo", nickname: "B", email: "bo@larch.example", age: 17, city: "Oslo", tags: ["swift"],
      address: Address(street: "Karl Johans gate 1", zip: "0154"), joined: day(1)),
    Person(
      name: "Zoë", email: nil, age: 29, city: "Oslo", height: .nan, isActive: false,
      role: .member, tags: [], joined: day(4)),
    Person(
      name: "Émile", email: nil, age: 64, city: "Paris", height: 1.70, role: .member,
      tags: ["swift", "maths"], joined: day(2)),
    Person(name: "Eve", email: nil, age: 36, city: "London", isActive: false, joined: day(6)),
  ]

  private static func day(_ number: Int) -> Date {
    Date(timeIntervalSinceReferenceDate: Double(number) * 86_400)
  }

  /// The store, and the records that are in it.
  static func filled() throws -> (store: Store, people: [Person]) {
    let store = try Store.checked(for: Person.self)
    let saved = try store.write { tx in
      var people = people
      for place in people.indices { try tx.insert(&people[place]) }
      return people
    }
    return (store, saved)
  }
}

extension QueryGuide {
  @Suite("queries.md: a query")
  struct Beginning {
    @Test("A query is a value that is run on a store or in a transaction")
    func query() throws {
      let (store, all) = try filled()

      // snippet: query-first
      let grown = Person.where { $0.city == "London" && $0.age >= 18 }
      let oldest = grown.sorted(by: \.age, .descending).limit(20)

      let people = try store.fetch(oldest)  // [Person]
      let howMany = try store.count(grown)
      // end snippet
      #expect(people.map(\.name) == ["alan", "Ada", "Eve"])
      #expect(howMany == 3)

      // snippet: query-oracle
      let same = all.filter { $0.city == "London" && $0.age >= 18 }
      // end snippet
      #expect(try store.fetch(grown).map(\.id) == same.map(\.id))

      // snippet: query-where-where
      let london = Person.where { $0.city == "London" }
      let active = london.where { $0.isActive }  // both must be true
      // end snippet
      #expect(try store.count(active) == 2)

      // snippet: query-in-transactions
      let (names, youngest) = try store.read { tx in  // one snapshot for both
        (try tx.fetch(active).map(\.name), try tx.first(active.sorted(by: \.age)))
      }
      // end snippet
      #expect(names == ["Ada", "alan"])
      #expect(youngest?.name == "Ada")
    }
  }

  @Suite("queries.md: filters")
  struct Filters {
    @Test("Comparisons, ranges and lists")
    func comparisons() throws {
      let (store, all) = try filled()
      // snippet: query-comparisons
      let queries = [
        Person.where { $0.age == 36 },
        Person.where { $0.age != 36 },
        Person.where { $0.age > 17 && $0.age <= 41 },
        Person.where { (18..<65).contains($0.age) },
        Person.where { (18...).contains($0.age) },
        Person.where { ["London", "Paris"].contains($0.city) },
        Person.where { $0.role == .admin || $0.role == .member },
        Person.where { $0.isActive && !$0.name.isEmpty },
        Person.where { !($0.city == "Oslo" && $0.age < 18) },
      ]
      // end snippet
      let expected: [(Person) -> Bool] = [
        { $0.age == 36 }, { $0.age != 36 }, { $0.age > 17 && $0.age <= 41 },
        { (18..<65).contains($0.age) }, { (18...).contains($0.age) },
        { ["London", "Paris"].contains($0.city) }, { $0.role == .admin || $0.role == .member },
        { $0.isActive && !$0.name.isEmpty }, { !($0.city == "Oslo" && $0.age < 18) },
      ]
      try expect(queries, expected, all, store)
    }

    @Test("Arithmetic")
    func arithmetic() throws {
      let (store, all) = try filled()
      // snippet: query-arithmetic
      let queries = [
        Person.where { $0.age % 2 == 0 },
        Person.where { $0.age * 2 > 70 && 100 - $0.age > 60 },
        Person.where { (3..<4).contains($0.age / 10) },
      ]
      // end snippet
      try expect(
        queries,
        [
          { $0.age % 2 == 0 }, { $0.age * 2 > 70 && 100 - $0.age > 60 },
          { (3..<4).contains($0.age / 10) },
        ], all, store)
      #expect(try store.fetch(Person.select(\.age)).contains(36))
      #expect(try store.first(Person.select(\.age)) ?? 0 == all.first?.age)
    }

    @Test("Texts")
    func texts() throws {
      let (store, all) = try filled()
      // snippet: query-texts
      let queries = [
        Person.where { $0.name.hasPrefix("A") },
        Person.where { $0.name.hasSuffix("n") },
        Person.where { $0.name.contains("la") },
        Person.where { $0.name.like("_l%") },  // _ one character, % any text, \% a percent sign
        Person.where { $0.name.equals("ALAN", options: .caseInsensitive) },
        Person.where { $0.name.hasPrefix("a", options: .caseInsensitive) },
        Person.where { $0.email.contains(/@acme\.example$/) },
        Person.where { $0.email.contains(pattern: "^[a-c]") },  // a pattern that is text itself
      ]
      // end snippet
      let expected: [(Person) -> Bool] = [
        { $0.name.hasPrefix("A") }, { $0.name.hasSuffix("n") }, { $0.name.contains("la") },
        { $0.name.wholeMatch(of: /.l.*/) != nil }, { $0.name.lowercased() == "alan" },
        { $0.name.lowercased().hasPrefix("a") },
        { $0.email?.hasSuffix("@acme.example") ?? false },
        { $0.email?.contains(/^[a-c]/) ?? false },
      ]
      try expect(queries, expected, all, store)
    }

    @Test("Optionals and nested values")
    func optionals() throws {
      let (store, all) = try filled()
      // snippet: query-optionals
      let queries = [
        Person.where { $0.email == nil },
        Person.where { $0.email != nil },
        Person.where { $0.email != "ada@acme.example" },  // those without e-mail too
        Person.where { $0.height > 1.6 },  // nil and NaN are greater than nothing
        Person.where { $0.address.zip == "SW1" },  // address is optional
        Person.where { $0.address == nil },
      ]
      // end snippet
      let expected: [(Person) -> Bool] = [
        { $0.email == nil }, { $0.email != nil }, { $0.email != "ada@acme.example" },
        { $0.height.map { $0 > 1.6 } ?? false }, { $0.address?.zip == "SW1" },
        { $0.address == nil },
      ]
      try expect(queries, expected, all, store)
    }

    @Test("Key paths through an optional have a question mark")
    func optionalPaths() throws {
      let (store, all) = try filled()
      // snippet: query-optional-path
      let byZip = Person.all.sorted(by: \.address?.zip)
      let zips = try store.fetch(byZip.select(\.address?.zip))  // [String?]
      let sizes = try store.counts(by: \.address?.zip, of: Person.all)
      // end snippet
      #expect(zips == [nil, nil, nil, nil, "0154", "SW1"])
      #expect(sizes.map(\.value) == [nil, "0154", "SW1"] && sizes.map(\.count) == [4, 1, 1])
      #expect(all.filter { $0.address?.zip == nil }.count == 4)
    }

    @Test("Elements of arrays and sets")
    func elements() throws {
      let (store, all) = try filled()
      // snippet: query-elements
      let queries = [
        Person.where { $0.tags.contains("maths") },
        Person.where { $0.tags.containsAny(of: ["swift", "engine"]) },
        Person.where { $0.tags.containsAll(of: ["swift", "maths"]) },
        Person.where { $0.tags.contains { $0.hasPrefix("sw") } },
        Person.where { $0.tags.isEmpty },  // a computed property, as any other
        Person.where { $0.tags.count > 1 },
      ]
      // end snippet
      let expected: [(Person) -> Bool] = [
        { $0.tags.contains("maths") }, { !Set($0.tags).isDisjoint(with: ["swift", "engine"]) },
        { Set($0.tags).isSuperset(of: ["swift", "maths"]) },
        { $0.tags.contains { $0.hasPrefix("sw") } }, { $0.tags.isEmpty }, { $0.tags.count > 1 },
      ]
      try expect(queries, expected, all, store)
    }

    @Test("Two fields, and closures over the whole record")
    func whole() throws {
      let (store, all) = try filled()
      func isPalindrome(_ text: String) -> Bool { text == String(text.reversed()) }
      // snippet: query-whole
      let queries = [
        Person.where { $0.nickname == $0.name },  // two fields
        Person.where { $0.city == "London" && $0.satisfies { $0.name.count == $0.tags.count + 1 } },
        Person.where { $0.city == "London" }.filter { $0.name.lowercased() == "eve" },
      ]
      // end snippet
      let expected: [(Person) -> Bool] = [
        { $0.nickname == $0.name },
        { $0.city == "London" && $0.name.count == $0.tags.count + 1 },
        { $0.city == "London" && $0.name.lowercased() == "eve" },
      ]
      try expect(queries, expected, all, store)
    }

    @Test("Conditions that are combined at run time")
    func dynamic() throws {
      let (store, _) = try filled()
      // snippet: query-dynamic
      func search(_ words: [String], in city: String?) throws -> [Person] {
        var query = Person.where { person in
          words.map { person.tags.contains($0) }.reduce(Filter.never) { $0 || $1 }
        }
        if let city { query = query.where { $0.city == city } }
        return try store.fetch(query)
      }
      // end snippet
      #expect(try search(["swift", "engine"], in: nil).map(\.name) == ["Ada", "Bo", "Émile"])
      #expect(try search(["swift", "engine"], in: "Oslo").map(\.name) == ["Bo"])
      #expect(try search([], in: nil).isEmpty)
    }

    @Test("A query as text, with values beside the text")
    func text() throws {
      let (store, all) = try filled()
      let (city, words) = ("Oslo", ["swift", "engine"])
      // snippet: query-text
      let written = try Person.query(text: "age >= 30 and city = 'London' order by name limit 20")
      let safe = try Person.query(text: "city = ? and age > ?", city, 18)
      let named = try Person.query(
        text: "city = :city or tags in :words", named: ["city": city, "words": words])
      // end snippet
      #expect(
        try store.fetch(written).map(\.name)
          == all.filter { $0.age >= 30 && $0.city == "London" }.map(\.name).sorted())
      #expect(
        try store.fetch(safe).map(\.name)
          == all.filter { $0.city == city && $0.age > 18 }.map(\.name))
      #expect(
        try store.fetch(named).map(\.name)
          == all.filter { $0.city == city || !Set(words).isDisjoint(with: $0.tags) }.map(\.name))
    }

    @Test("A dictionary of fields and values")
    func matching() throws {
      let (store, all) = try filled()
      // snippet: query-matching
      let matches = try Person.where(matching: ["city": "London", "nickname": nil])
      let either = try Person.where(matching: ["city": ["Oslo", "London"]])
      let tagged = try Person.where(matching: ["tags": "swift"])  // some element
      // end snippet
      #expect(
        try store.fetch(matches).map(\.name)
          == all.filter { $0.city == "London" && $0.nickname == nil }.map(\.name))
      #expect(
        try store.fetch(either).map(\.name)
          == all.filter { ["Oslo", "London"].contains($0.city) }.map(\.name))
      #expect(
        try store.fetch(tagged).map(\.name)
          == all.filter { $0.tags.contains("swift") }.map(\.name))
    }

    @Test("Key paths that are values of the program")
    func keyPaths() throws {
      let (store, _) = try filled()
      // snippet: query-key-path
      func people(with value: String, in field: any KeyPath<Person, String> & Sendable)
        throws -> [Person]
      {
        try store.fetch(Person.where { $0[field] == value })
      }
      // end snippet
      #expect(try people(with: "Oslo", in: \.city).count == 2)
      #expect(try people(with: "Bo", in: \.name).count == 1)
    }

    @Test("Predicates of Foundation")
    func predicates() throws {
      let (store, all) = try filled()
      // snippet: query-predicate
      func people(where predicate: Predicate<Person>) throws -> [Person] {
        try store.fetch(Person.where(predicate).where { $0.city == "London" }.sorted(by: \.age))
      }

      let city = "Oslo"
      let queries = [
        Person.where(#Predicate { $0.age >= 18 && $0.city == city }),
        Person.where(
          #Predicate { $0.email?.contains("@acme.") == true || $0.tags.contains("swift") }),
        Person.where {
          $0.isActive && $0.satisfies(#Predicate { $0.name.count == $0.tags.count + 1 })
        },
      ]
      // end snippet
      try expect(
        queries,
        [
          { $0.age >= 18 && $0.city == city },
          { $0.email?.contains("@acme.") == true || $0.tags.contains("swift") },
          { $0.isActive && $0.name.count == $0.tags.count + 1 },
        ], all, store)
      #expect(try people(where: #Predicate { $0.age < 40 }).map(\.name) == ["Ada", "Eve"])
      let query = Person.where(#Predicate { $0.city == "London" && $0.name < "B" })
      #expect(
        try store.explain(query) == """
          index city_age ["London"]
            filter #Predicate { $0.name < … } (evaluated on each record)
            sort by id
          """)
      // snippet: query-predicate-explain
      print(try store.explain(Person.where(#Predicate { $0.city == "London" && $0.name < "B" })))
      // end snippet
    }

    /// Each query agrees with the closure beside it, and returns some but not all records.
    fileprivate func expect(
      _ queries: [Query<Person>], _ closures: [(Person) -> Bool], _ all: [Person], _ store: Store
    ) throws {
      #expect(queries.count == closures.count)
      for (place, (query, closure)) in zip(queries, closures).enumerated() {
        let expected = all.filter(closure).map(\.name)
        #expect(try store.fetch(query).map(\.name) == expected, "query \(place)")
        #expect(!expected.isEmpty && expected.count < all.count, "query \(place) tells nothing")
      }
    }
  }
}

extension QueryGuide.Filters {
  @Test("Expressions that differ from those for an array")
  func translations() throws {
    let (store, all) = try QueryGuide.filled()
    let limit = 36
    let closures: [(QueryGuide.Person) -> Bool] = [
      { $0.address?.zip == "SW1" }, { $0.height != nil && $0.height! > 1.6 },
      { $0.name.lowercased() == "ada" }, { $0.tags.allSatisfy { $0.hasPrefix("m") } },
      { $0.age + 1 > limit },
    ]
    let queries = [
      QueryGuide.Person.where { $0.address.zip == "SW1" },
      QueryGuide.Person.where { $0.height > 1.6 },
      QueryGuide.Person.where { $0.name.equals("ada", options: .caseInsensitive) },
      QueryGuide.Person.where { !$0.tags.contains { !$0.hasPrefix("m") } },
      QueryGuide.Person.where { $0.age > limit - 1 },
    ]
    try expect(queries, closures, all, store)
  }
}
