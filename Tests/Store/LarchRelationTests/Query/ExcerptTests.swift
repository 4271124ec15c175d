import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Records without some of their fields")
struct ExcerptTests {
  private struct Person: Record, Hashable {
    var id = RecordID<Person>()
    var name: String
    var age: Int
    var photo: Data
    var notes: String?

    static let schema = Schema<Person> { Index(\.age) }
  }

  private static func store() throws -> (Store, [Person]) {
    let store = try Store.checked(for: Person.self)
    var random = SeededGenerator(seed: 33_700)
    let people = try store.write { tx in
      try (0..<30).map { number in
        var person = Person(
          name: "p\(number % 4)", age: .random(in: 0..<6, using: &random),
          photo: Data(repeating: UInt8(number), count: 50), notes: number % 3 == 0 ? nil : "n")
        try tx.save(&person)
        return person
      }
    }
    return (store, people)
  }

  @Test("Every other field is that of the record, and those left out have the given values")
  func fields() throws {
    let (store, people) = try Self.store()
    let list = Person.where { $0.age > 1 && $0.photo.count > 10 }
      .sorted(by: \.age, .descending).leavingOut(\.photo, \.notes, as: Data(), "left out")
    let expected = people.filter { $0.age > 1 }
      .sorted { ($1.age, $0.id.rawValue) < ($0.age, $1.id.rawValue) }
    func check(_ reader: some RecordReading) throws {
      for (limit, offset) in [(100, 0), (4, 0), (3, 5), (0, 1), (5, 40)] {
        let part = Array(expected.dropFirst(offset).prefix(limit))
        let request = list.limit(limit).offset(offset)
        let rows = try reader.fetch(request)
        #expect(rows.map(\.id) == part.map(\.id))
        #expect(rows.map(\.name) == part.map(\.name) && rows.map(\.age) == part.map(\.age))
        #expect(rows.allSatisfy { $0.photo.isEmpty && $0.notes == "left out" })
        #expect(try reader.count(request) == part.count)
        #expect(try reader.first(request)?.id == part.first?.id)
        #expect(try reader.exists(request) == !part.isEmpty)
        var visited: [Person.ID] = []
        try reader.forEach(request) { visited.append($0.id) }
        #expect(visited == part.map(\.id))
      }
    }
    try check(store)
    try store.write { tx in try check(tx) }
    #expect(
      try store.fetch(Person.leavingOut(\.photo, as: Data())).map(\.notes)
        == people.map(\.notes))
    let plan = try store.explain(
      Person.where { $0.age == 3 }.leavingOut(\.photo, as: Data()))
    #expect(plan.hasPrefix("index age [3]"), "\(plan)")
  }

  @Test("distinct compares what is left")
  func distinct() throws {
    let (store, people) = try Self.store()
    let names = try store.fetch(
      Person.all.leavingOut(\.id, \.age, \.photo, \.notes, as: .init(), 0, Data(), nil)
        .distinct())
    #expect(names.map(\.name) == ["p0", "p1", "p2", "p3"])
    #expect(names.map(\.name) == people.prefix(4).map(\.name))
    let request = Person.all
      .leavingOut(\.id, \.age, \.photo, \.notes, as: .init(), 0, Data(), nil).distinct()
    #expect(try store.fetch(request.limit(2).offset(1)).map(\.name) == ["p1", "p2"])
    #expect(try store.count(request) == 4)
  }

  @Test("Selected fields have limits, offsets and orders that are those of arrays")
  func selections() throws {
    let (store, people) = try Self.store()
    let sorted = people.sorted { ($0.age, $0.id.rawValue) < ($1.age, $1.id.rawValue) }
    for (limit, offset) in [(5, 0), (3, 4), (0, 0), (9, 25)] {
      #expect(
        try store.fetch(Person.select(\.name).sorted(by: \.age).limit(limit).offset(offset))
          == sorted.dropFirst(offset).prefix(limit).map(\.name))
      var ages: [Int] = []
      for person in sorted where !ages.contains(person.age) { ages.append(person.age) }
      #expect(
        try store.fetch(
          Person.select(\.age).sorted(by: \.age).distinct().limit(limit).offset(offset))
          == Array(ages.dropFirst(offset).prefix(limit)))
    }
  }

  @Test("Observed, it follows all fields but those that are left out keep their values")
  func observed() async throws {
    let (store, people) = try Self.store()
    let request = Person.where { $0.age >= 0 }.leavingOut(\.photo, as: Data())
    let values = store.observe(request).makeAsyncIterator()
    #expect(try await values.next()?.value.count == 30)
    try await store.write { tx in
      var person = people[3]
      person.name = "new"
      try tx.update(person)
    }
    #expect(try await values.next()?.value[3].name == "new")
  }
}
