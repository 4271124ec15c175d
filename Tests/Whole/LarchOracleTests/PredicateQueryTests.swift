import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// How a predicate joins what a query has, which index it uses, and how it fails.
@Suite("Predicates in queries")
struct PredicateQueryTests {
  typealias Person = PredicatePerson

  // MARK: Plans

  @Test("What is a filter bounds the scan of an index, and the rest is evaluated on its records")
  func plans() throws {
    let (store, _) = try Person.samples(2_000)
    func check(_ predicate: Predicate<Person>, _ plan: String) throws {
      let actual = try store.explain(Person.where(predicate))
      #expect(actual == plan, "\(actual)")
    }
    try check(
      #Predicate { $0.city == "Oslo" && $0.age >= 18 },
      """
      index city_age ["Oslo", 18] ... ["Oslo"]
        sort by id
      """)
    try check(
      #Predicate { ($0.email ?? "") == "p7@other.example" }, #"index email ["p7@other.example"]"#)
    try check(
      #Predicate { $0.email == "p7@other.example" && $0.limit % 7 == 2 },
      """
      index email ["p7@other.example"]
        filter #Predicate { ($0.limit % …) == … } (evaluated on each record)
      """)
    // What cannot fail may come in any order.
    try check(
      #Predicate { $0.scores["go"] == 3 && $0.email == "p7@other.example" },
      """
      index email ["p7@other.example"]
        filter #Predicate { $0.scores[…] == … } (evaluated on each record)
      """)
    // After what may fail, no index is used: it would hide the error.
    try check(
      #Predicate { $0.limit % 7 == 2 && $0.email == "p7@other.example" },
      """
      all records
        filter #Predicate { ($0.limit % …) == … && $0.email == … } (evaluated on each record)
      """)
    // A third of the records has none, on which it fails.
    try check(
      #Predicate { $0.email! == "p7@other.example" },
      """
      all records
        filter [nil, "p7@other.example"].contains(email)
        filter #Predicate { $0.email! == … } (evaluated on each record)
      """)
    try check(
      #Predicate { $0.tags.contains { $0.contains("w") && $0.starts(with: "sw") } },
      """
      all records
        filter tags.contains { $0.contains("w") }
        filter tags.contains { $0.hasPrefix("sw") }
        filter #Predicate { $0.tags.contains { value in value.contains(…) && value.starts(with: …) } } (evaluated on each record)
      """)
  }

  // MARK: Requests

  @Test("A predicate joins closures, orders, limits, selections, groups and joins")
  func requests() throws {
    let (store, people) = try Person.samples()
    let predicate = #Predicate<Person> { $0.limit % 2 == 0 && $0.city != "Rome" }
    let passing = try people.filter(predicate)
    let adults = passing.filter { $0.age > 18 }

    let query = Person.all.where(predicate).where { $0.age > 18 }.sorted(by: \.age, .descending)
    let sorted = adults.sorted { ($1.age, $0.id.rawValue) < ($0.age, $1.id.rawValue) }
    #expect(try store.fetch(query).map(\.id) == sorted.map(\.id))
    #expect(try store.fetch(query.limit(4).offset(2)).map(\.id) == sorted[2..<6].map(\.id))
    #expect(try store.fetch(Person.all.select(\.name).where(predicate)) == passing.map(\.name))
    #expect(
      try store.count(Person.where { $0.age > 18 && $0.satisfies(predicate) }) == adults.count)
    #expect(
      try store.count(Person.where { !($0.age > 18 && $0.satisfies(predicate)) })
        == people.count - adults.count)

    let groups = try store.fetch(Person.where(predicate).grouped(by: \.city).select(.count))
    #expect(groups.map(\.0) == ["Kyiv", "Oslo"])
    #expect(groups.map(\.1).reduce(0, +) == passing.count)

    let pairs = try store.fetch(
      Person.where(predicate).joined(
        with: PredicateCompany.where(#Predicate { $0.name == "Acme" }), on: \.companyID))
    let acme = try #require(try store.first(PredicateCompany.where { $0.name == "Acme" }))
    #expect(pairs.map(\.0.id) == passing.filter { $0.companyID == acme.id }.map(\.id))

    let theirs = try store.fetch(acme.related(PredicateCompany.people).where(predicate))
    #expect(theirs.map(\.id) == passing.filter { $0.companyID == acme.id }.map(\.id))
    #expect(!theirs.isEmpty)
    let changed = try store.update(Person.where(predicate)) { $0.limit += 1 }
    #expect(changed == passing.count)
    #expect(try store.count(Person.where(predicate)) == 0)
  }

  @Test("A predicate tests related records")
  func related() throws {
    let (store, people) = try Person.samples()
    let isAcme = #Predicate<PredicateCompany> { $0.name.starts(with: "Ac") }
    let companies = try store.fetch(PredicateCompany.where(isAcme)).map(\.id)
    let expected = people.filter { $0.companyID.map { companies.contains($0) } ?? false }
    #expect(
      try store.fetch(Person.where { $0.company.matches(isAcme) }).map(\.id) == expected.map(\.id))
    let isOld = #Predicate<Person> { $0.limit % 50 == 49 }
    let owners = Set(people.filter { $0.limit == 49 }.compactMap(\.companyID))
    let found = try store.fetch(PredicateCompany.where { $0.people.contains(where: isOld) })
    #expect(Set(found.map(\.id)) == owners)
    #expect(!owners.isEmpty && owners.count < 2)
  }

  @Test("An observed predicate follows changes")
  func observed() async throws {
    let (store, people) = try Person.samples()
    let predicate = #Predicate<Person> { $0.city == "Oslo" && $0.limit % 5 == 4 }
    var passing = try people.filter(predicate)
    let results = store.observe(Person.where(predicate)).makeAsyncIterator()
    #expect(try await results.next()?.rows.map(\.id) == passing.map(\.id))
    var person = try #require(passing.last)
    person.limit += 1
    try await store.write { [person] tx in try tx.update(person) }
    passing.removeLast()
    #expect(try await results.next()?.rows.map(\.id) == passing.map(\.id))
  }

  // MARK: Errors

  @Test("A predicate that throws ends the query with an error that names the record")
  func errors() throws {
    let (store, people) = try Person.samples()
    let unwrap = #Predicate<Person> { $0.email!.contains("acme") }
    do {
      _ = try store.fetch(Person.where(unwrap))
      Issue.record("nil was unwrapped")
    } catch let error as LarchError {
      #expect(error.code == .invalidQuery)
      #expect(error.context.id == people[0].id.description)
      #expect(error.context.collection == "PredicatePerson")
      #expect(error.underlying as? PredicateError == .forceUnwrapFailure)
    }
    // Contents of records never appear in an error.
    let place = 1
    let subscripted = #Predicate<Person> { $0.marks[place] == 4 }
    do {
      _ = try store.count(Person.where(subscripted))
      Issue.record("an index was out of bounds")
    } catch let error as LarchError {
      #expect(error.code == .invalidQuery)
      #expect(error.underlying as? PredicateError == .invalidInput)
      #expect(!"\(error)".contains("bounds of the collection"))
    }
    // The store is as it was, and works.
    #expect(throws: LarchError.self) {
      try store.update(Person.where(unwrap)) { $0.age = 1 }
    }
    #expect(try store.fetch(Person.all).map(\.age) == people.map(\.age))
  }

  @Test("An integer that overflows, and a division by zero, are errors and stop nothing")
  func overflow() throws {
    let (store, _) = try Person.samples()
    let zero = 0
    let least = Int.min
    let predicates: [Predicate<Person>] = [
      #Predicate { $0.age + 1 > 5 },
      #Predicate { $0.age * 2 > 5 },
      #Predicate { $0.limit - least > 5 },
      #Predicate { $0.limit / zero == 1 },
      #Predicate { $0.limit % zero == 1 },
      #Predicate { -($0.limit + least) == 1 },
      #Predicate { [1, 2].contains($0.age + 1) },
      #Predicate { $0.tags.isEmpty || $0.age + 1 == 3 },
      #Predicate { ($0.isActive ? 2 : $0.age + 1) == 2 },
      #Predicate { person in person.marks.allSatisfy { $0 != person.age + 1 } },
      #Predicate { person in person.marks.filter { $0 == person.age + 1 }.isEmpty },
      #Predicate { person in (person.home?.zip.flatMap { $0 + person.age } ?? 0) > 3 },
      #Predicate { (0...($0.age + 1)).contains(3) },
      #Predicate { $0.scores["go", default: 1] + $0.age == 3 },
    ]
    for (number, predicate) in predicates.enumerated() {
      do {
        let count = try store.count(Person.where(predicate))
        Issue.record("number \(number) gives \(count)")
      } catch let error as LarchError {
        #expect(error.code == .overflow, "number \(number): \(error)")
        #expect(error.context.id != nil)
      }
    }
    // Of a constant it is one too, but only for a record that is asked.
    let greatest = Int.max
    let constant = #Predicate<Person> { $0.age == greatest + 1 }
    #expect(throws: LarchError.self) { try store.fetch(Person.where(constant)) }
    #expect(try store.fetch(Person.where { $0.city == "Paris" }.where(constant)).isEmpty)
  }

  @Test("Whether a query fails does not depend on its plan")
  func order() throws {
    let (store, people) = try Person.samples()
    // A condition before it keeps it from the records on which it would fail.
    let guarded = #Predicate<Person> { $0.email != nil && $0.email!.contains("acme") }
    let expected = try people.filter(guarded).map(\.id)
    #expect(try store.fetch(Person.where(guarded)).map(\.id) == expected)
    #expect(!expected.isEmpty)
    // One after it does not, though an index has it.
    let late = #Predicate<Person> { $0.email!.contains("acme") && $0.city == "Paris" }
    #expect(throws: LarchError.self) { try store.fetch(Person.where(late)) }
    let either = #Predicate<Person> { $0.email!.contains("acme") || $0.city == "Oslo" }
    #expect(throws: LarchError.self) { try store.fetch(Person.where(either)) }
    let never = #Predicate<Person> { $0.email! == "none" && false }
    #expect(throws: LarchError.self) { try store.fetch(Person.where(never)) }
    // Another condition of the query does, wherever it is written and however it is tested.
    let unwrap = #Predicate<Person> { $0.email!.contains("acme") }
    for query in [
      Person.where(unwrap).where { $0.email != nil },
      Person.where { $0.email != nil }.where(unwrap),
      Person.where(unwrap).filter { $0.email != nil },
      Person.where { $0.satisfies(unwrap) && $0.satisfies { $0.email != nil } },
    ] {
      #expect(try store.fetch(query).map(\.id) == expected)
    }
  }

  @Test("An object that a predicate holds is asked for each record")
  func objects() throws {
    final class Limit: Sendable, Codable {
      let value: Int
      init(_ value: Int) { self.value = value }
    }
    let (store, people) = try Person.samples()
    let limit = Limit(20)
    let predicate = #Predicate<Person> { $0.limit > limit.value }
    #expect(try store.count(Person.where(predicate)) == people.filter { $0.limit > 20 }.count)
    #expect(try store.explain(Person.where(predicate)).contains("(evaluated on each record)"))
  }
}
