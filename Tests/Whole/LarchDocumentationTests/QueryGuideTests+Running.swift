import Foundation
import Larch
import LarchTestSupport
import Testing

// The second half of the examples of docs/queries.md: running queries, and how they are answered.

extension QueryGuide {
  @Suite("queries.md: running")
  struct Running {
    @Test("The verbs of a query")
    func verbs() throws {
      let (store, _) = try filled()
      let query = Person.where { $0.city == "London" }.sorted(by: \.age)
      // snippet: query-verbs
      let people = try store.fetch(query)  // all of them, as an array
      let youngest = try store.first(query)  // the first in the order, or nil
      let howMany = try store.count(query)
      let isAny = try store.exists(query)
      let ids = try store.ids(query)  // [RecordID<Person>], in the order of the query
      // end snippet
      #expect(people.map(\.name) == ["Ada", "Eve", "alan"])
      #expect(youngest?.name == "Ada")
      #expect(howMany == 3)
      #expect(isAny)
      #expect(ids == [1, 6, 2])

      // snippet: query-in
      let londoners = try Person.where { $0.city == "London" }.fetch(in: store)
      // end snippet
      #expect(londoners.map(\.id) == [1, 2, 6])
    }

    @Test("Some fields instead of records")
    func select() throws {
      let (store, _) = try filled()
      var lines: [String] = []
      // snippet: query-select
      let names = try store.fetch(Person.all.select(\.name))  // [String]
      for (city, age) in try store.fetch(Person.all.sorted(by: \.city).select(\.city, \.age)) {
        lines.append("\(city) \(age)")
      }
      let cities = try store.fetch(Person.all.sorted(by: \.city).select(\.city).distinct())
      let eldest = try store.fetch(Person.select(\.name).sorted(by: \.age, .descending).limit(2))
      // end snippet
      #expect(names == ["Ada", "alan", "Bo", "Zoë", "Émile", "Eve"])
      #expect(lines.prefix(2) == ["London 36", "London 41"])
      #expect(cities == ["London", "Oslo", "Paris"])
      #expect(try store.count(Person.select(\.city).distinct()) == 3)
      let ages = try store.fetch(Person.all.sorted(by: \.age, .descending)).map(\.name)
      #expect(eldest == Array(ages.prefix(2)))
    }

    @Test("Sections")
    func sections() throws {
      let (store, _) = try filled()
      var lines: [String] = []
      // snippet: query-sections
      for city in try store.fetch(Person.all.sorted(by: \.name).sectioned(by: \.city)) {
        lines.append("\(city.value): \(city.map(\.name))")
      }
      // end snippet
      let people = try store.fetch(Person.all.sorted(by: \.name))
      let cities = Set(people.map(\.city)).sorted()
      #expect(
        lines == cities.map { city in "\(city): \(people.filter { $0.city == city }.map(\.name))" })
      #expect(try store.count(Person.all.sectioned(by: \.city)) == cities.count)
    }

    @Test("Groups")
    func groups() throws {
      let (store, _) = try filled()
      var lines: [String] = []
      // snippet: query-groups
      let adults = Person.where { $0.age >= 18 }
      let cities = adults.grouped(by: \.city)
        .select(.count, .average(\.age), .max(\.joined))
        .having { $0.1 >= 2 }  // of (key, count, average, latest)
        .sorted { $0.1 > $1.1 }
        .limit(10)
      for (city, count, age, latest) in try store.fetch(cities) {
        lines.append("\(city): \(count), \(age ?? 0), \(latest?.description ?? "-")")
      }
      let roles = try store.fetch(Person.all.grouped(by: \.city, \.role).select(.count))
      for ((city, role), count) in roles { lines.append("\(city) \(role): \(count)") }
      // end snippet
      let people = try store.fetch(adults)
      let wanted = Dictionary(grouping: people, by: \.city).filter { $0.value.count >= 2 }
        .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        .map { city, people in
          let mean = Double(people.map(\.age).reduce(0, +)) / Double(people.count)
          let latest = people.map(\.joined).max()?.description ?? "-"
          return "\(city): \(people.count), \(mean), \(latest)"
        }
      #expect(Array(lines.prefix(wanted.count)) == wanted && !wanted.isEmpty)
      #expect(lines.count == wanted.count + roles.count)
      #expect(try roles.map(\.1).reduce(0, +) == store.count(Person.all))
    }

    @Test("Aggregates")
    func figures() throws {
      let (store, _) = try filled()
      // snippet: query-figures
      let london = Person.where { $0.city == "London" }
      let youngest = try store.min(\.age, of: london)  // Int?
      let tallest = try store.max(\.height, of: london)  // Double?: nil and NaN count for nothing
      let years = try store.sum(\.age, of: london)  // Int, or the error .overflow
      let mean = try store.average(\.age, of: london)  // Double?
      let sizes = try store.counts(by: \.city, of: Person.all)  // ascending by city
      // end snippet
      #expect(youngest == 36)
      #expect(tallest == 1.78)
      #expect(years == 113)
      #expect(mean == 113.0 / 3)
      #expect(sizes.map(\.value) == ["London", "Oslo", "Paris"])
      #expect(sizes.map(\.count) == [3, 2, 1])
      #expect(try store.min(\.age, of: Person.where { $0.city == "Rome" }) == nil)
    }

    @Test("Finding by a field, and creating a missing record")
    func findBy() throws {
      let (store, _) = try filled()
      // snippet: query-find-by
      let ada = try store.find(Person.self, by: \.email, equals: "ada@acme.example")

      let carl = try store.findOrCreate(by: \.email, equals: "carl@acme.example") {
        Person(name: "Carl", email: "carl@acme.example", age: 20, city: "Graz")
      }
      // end snippet
      #expect(ada?.name == "Ada")
      #expect(carl.id == 7)
      let again: Person = try store.findOrCreate(by: \.email, equals: "carl@acme.example") {
        Issue.record("it is there")
        return carl
      }
      #expect(again.id == 7)
    }

    @Test("Deleting and updating the records of a query")
    func change() throws {
      let (store, _) = try filled()
      // snippet: query-change
      let birthdays = try store.update(Person.where { $0.city == "London" }) { $0.age += 1 }
      let gone = try store.delete(Person.where { !$0.isActive })
      // end snippet
      #expect(birthdays == 3)
      #expect(gone == 2)
      #expect(try store.fetch(Person.all.select(\.age)) == [37, 42, 17, 64])
      #expect(try store.verify().isClean)
      // An error undoes all of it.
      #expect(throws: LarchError.self) {
        try store.update(Person.all) { $0.email = "the same" }
      }
      #expect(try store.count(Person.where { $0.email == "the same" }) == 0)
    }

    @Test("Records one by one")
    func streams() throws {
      let (store, _) = try filled()
      var lines: [String] = []
      // snippet: query-stream
      try store.forEach(Person.where { $0.age >= 18 }) { person in
        lines.append("\(person.name);\(person.city)")
      }

      try store.read { tx in
        let people = try tx.cursor(Person.all.sorted(by: \.age, .descending))
        while let person = try people.next(), person.age > 40 {
          lines.append(person.name)
        }
      }
      // end snippet
      #expect(
        lines == [
          "Ada;London", "alan;London", "Zoë;Oslo", "Émile;Paris", "Eve;London", "Émile", "alan",
        ])
    }

    @Test("In a write transaction")
    func inWrite() throws {
      let (store, _) = try filled()
      // snippet: query-write
      try store.write { tx in
        var dan = Person(name: "Dan", age: 50, city: "Graz")
        try tx.insert(&dan)
        let graz = try tx.count(Person.where { $0.city == "Graz" })  // 1: what was changed is seen

        try tx.forEach(Person.where { $0.age >= 40 }) { person in
          var person = person
          person.role = graz == 1 ? .member : .guest
          person.age -= 10  // the loop still visits those that were found at its beginning
          try tx.update(person)
        }
      }
      // end snippet
      #expect(
        try store.fetch(Person.all.select(\.age)) == [36, 31, 17, 29, 54, 36, 40])
      #expect(try store.count(Person.where { $0.role == .member }) == 4)
    }
  }

  @Suite("queries.md: explain, indexes and tests")
  struct Explaining {
    @Test("Explain shows the source of the rows and the steps")
    func explain() throws {
      let (store, _) = try filled()
      var printed = ""
      func print(_ text: String) { printed = text }
      // snippet: query-explain
      let query = Person.where { $0.city == "London" && $0.age >= 18 && $0.name.contains("v") }
        .sorted(by: \.age, .descending)
        .limit(2)
      print(try store.explain(query, running: true))
      // end snippet
      #expect(
        printed == """
          index city_age ["London", 18] ... ["London"] descending
            filter name.contains("v")
            order served by the index
            limit 2
          examined 3 index entries, 3 records; returned 1
          """)
      let guide = try SnippetTests.lines(of: "docs/queries.md").joined(separator: "\n")
      #expect(guide.contains("```text\n" + printed + "\n```"))
    }

    @Test("The plans are those of the table in the guide")
    func plans() throws {
      let store = try Store.checked(for: Person.self)
      try store.write { tx in
        for number in 0..<2000 {
          var person = Person(
            name: "Person \(number)", email: "p\(number)@larch.example", age: number % 90,
            city: "City \(number % 20)", tags: ["t\(number % 10)", "u\(number % 7)"])
          try tx.insert(&person)
        }
      }
      func plan(_ query: Query<Person>) throws -> String { try store.explain(query) }
      #expect(
        try plan(Person.where { $0.email == "p7@larch.example" })
          == #"index email ["p7@larch.example"]"#)
      #expect(
        try plan(Person.where { $0.city == "City 1" && $0.age == 30 })
          == #"index city_age ["City 1", 30]"#)
      #expect(
        try plan(Person.where { ["City 1", "City 2"].contains($0.city) })
          == "index city_age [\"City 1\"], [\"City 2\"]\n  sort by id")
      #expect(
        try plan(Person.where { $0.age == 30 }) == "all records\n  filter age == 30")
      #expect(
        try plan(Person.where { $0.tags.contains("t3") }) == #"index tags ["t3"]"#)
      #expect(
        try plan(Person.where { $0.name.equals("PERSON 7", options: .caseInsensitive) })
          == #"index name ["person 7"]"#)
      #expect(
        try plan(
          Person.where {
            $0.email == "p7@larch.example" || $0.name.equals("person 8", options: .caseInsensitive)
          })
          == "union\n  index email [\"p7@larch.example\"]\n  index name [\"person 8\"]")
      #expect(try plan(Person.where { $0.age > 9 && $0.age < 9 }) == "nothing")
      #expect(try plan(Person.where { $0.id > 1990 }) == "records [1990] <..")
    }

    // snippet: query-indexes
    struct Order: Record {
      var id = RecordID<Order>()
      var customer: String
      var state: String
      var placed: Date
      var total: Int
      var items: [String] = []

      static let schema = Schema<Order> {
        Index(\.state, \.placed)  // equality first, then the range or the order
        Index(\.customer, \.placed, \.total)  // answers sums by customer without reading records
        Index(\.items)  // an entry for each element
      }
    }
    // end snippet

    @Test("Indexes for a filter, for an order, and for a whole query")
    func indexes() throws {
      let store = try Store.checked(for: Order.self)
      let noon = Date(timeIntervalSinceReferenceDate: 43_200)
      try store.write { tx in
        for number in 0..<300 {
          var order = Order(
            customer: "c\(number % 30)", state: number % 10 == 0 ? "open" : "sent",
            placed: noon.addingTimeInterval(Double(number * 60)), total: number,
            items: ["item \(number % 50)"])
          try tx.insert(&order)
        }
      }
      // snippet: query-use-index
      let open = Order.where { $0.state == "open" && $0.placed >= noon }
        .sorted(by: \.placed)
        .limit(10)
      let spent = try store.sum(\.total, of: Order.where { $0.customer == "c7" })
      let buyers = try store.count(Order.where { $0.items.contains("item 3") })
      // end snippet
      #expect(try store.fetch(open).map(\.total) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90])
      #expect(spent == (0..<10).reduce(0) { $0 + 7 + 30 * $1 })
      #expect(buyers == 6)
      try store.expectPlan(
        of: open,
        """
        index state_placed ["open", 2001-01-01T12:00:00Z] ... ["open"]
          order served by the index
          limit 10
        examined 10 index entries, 10 records; returned 10
        """)
    }

    @Test("Plans in tests, and stores that check themselves")
    func testing() throws {
      // snippet: query-testing
      let store = try Store.checked(for: Person.self)  // each query is also run as a full scan
      try store.write { tx in
        for age in 1...50 {
          var person = Person(name: "P\(age)", age: age, city: age % 5 == 0 ? "Oslo" : "London")
          try tx.insert(&person)
        }
      }

      try store.expectPlan(
        of: Person.where { $0.city == "Oslo" }.sorted(by: \.age).limit(3),
        """
        index city_age ["Oslo"]
          order served by the index
          limit 3
        examined 3 index entries, 3 records; returned 3
        """)
      // end snippet
      #expect(throws: PlanDifference.self) {
        try store.expectPlan(of: Person.all, "nothing", running: false)
      }
    }
  }
}
