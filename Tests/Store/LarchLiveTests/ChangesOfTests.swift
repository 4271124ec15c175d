import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observers to which only some fields matter")
struct ChangesOfTests {
  private static func store() throws -> Store {
    try Store.checked(for: Owner.self, Pet.self, Note.self, Tag.self)
  }

  private static func owner(_ id: Int64, _ random: inout SeededGenerator) -> Owner {
    Owner(
      id: RecordID(id), name: ["a", "b"].randomElement(using: &random)!,
      city: ["Oslo", "Rome", "Kyiv"].randomElement(using: &random)!,
      age: Int.random(in: 0..<4, using: &random))
  }

  private static let requests: [Query<Owner>] = [
    Owner.all, Owner.all.sorted(by: \.age), Owner.where { $0.city == "Oslo" }.sorted(by: \.name),
    Owner.all.sorted(by: \.age, .descending).limit(5), Owner.all.limit(4).offset(2),
  ]

  @Test(
    "a value comes exactly if the records, their order or these fields differ",
    arguments: UInt64(1)...4)
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: 76_000 + seed)
    let store = try Self.store()
    try store.write { tx in
      for _ in 0..<20 { var owner = Self.owner(0, &random); try tx.save(&owner) }
    }
    let observers = Self.requests.map { query in
      (query, store.observe(query.changes(of: \.name, \.city)).makeAsyncIterator().polled)
    }
    func shown(_ rows: [Owner]) -> [String] { rows.map { "\($0.id) \($0.name) \($0.city)" } }
    var last = try observers.map { shown(try #require(try $0.1.poll()).rows) }
    var (silent, values) = (0, 0)
    for round in 0..<400 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          let id = Int64.random(in: 1...24, using: &random)
          var owner = Self.owner(id, &random)
          guard let old = try tx.find(Owner.self, RecordID(id)) else { continue }
          switch Int.random(in: 0..<8, using: &random) {
          case 0: try tx.delete(old)
          case 1:
            owner.id = RecordID(0)
            try tx.save(&owner)
          case 2..<6:
            // Only the field that does not matter, but for the order.
            (owner.name, owner.city) = (old.name, old.city)
            try tx.update(owner)
          default: try tx.update(owner)
          }
        }
      }
      for (place, (query, observer)) in observers.enumerated() {
        let text = "seed \(seed), round \(round), \(place)" as Comment
        let known = try store.fetch(query)
        if let value = try observer.poll() {
          values += 1
          // It has the newest state of the other fields too.
          #expect(value.rows == known, text)
          #expect(shown(known) != last[place], text)
          #expect(value.version == (try store.version), text)
        } else {
          silent += 1
          #expect(shown(known) == last[place], text)
        }
        last[place] = shown(known)
      }
    }
    #expect(silent > 100 && values > 100)
    #expect(observers[0].1.reads == 1 && observers[1].1.reads == 1)
  }

  @Test("to all other verbs it is the query")
  func verbs() throws {
    let store = try Self.store()
    for number in 0..<5 {
      try store.put(Owner(name: "\(number)", city: "Oslo", age: number))
    }
    let query = Owner.where { $0.age > 1 }.sorted(by: \.age, .descending)
    let request = query.changes(of: \.name)
    #expect(try store.fetch(request) == (try store.fetch(query)))
    #expect(try store.first(request)?.age == 4)
    #expect(try store.count(request) == 3)
    #expect(try store.exists(request))
    var ages: [Int] = []
    try store.forEach(request) { ages.append($0.age) }
    #expect(ages == [4, 3, 2])
    #expect(try store.explain(request) == (try store.explain(query)))
    #expect(
      try store.explain(observing: Owner.all.changes(of: \.name, \.age)).split(separator: "\n")
        .prefix(3) == [
          "changes of Owner", "  only name, age, and which records in which order",
          "rows brought up to date from the changed records",
        ])
  }

  @Test("rows count as updated only for these fields")
  func updates() throws {
    let store = try Self.store()
    for name in ["a", "b", "c"] { try store.put(Owner(name: name, city: "Oslo", age: 1)) }
    let observer = store.observe(Owner.all.sorted(by: \.name)).makeAsyncIterator().polled
    let first = try #require(try observer.poll())
    try store.write { tx in
      var owners = try tx.fetch(Owner.all.sorted(by: \.name))
      owners[0].age = 2
      owners[1].city = "Rome"
      for owner in owners { try tx.update(owner) }
    }
    let second = try #require(try observer.poll())
    #expect(second.changes(from: first.rows).updates.map(\.new) == [0, 1])
    #expect(second.changes(from: first.rows, of: \.city).updates.map(\.new) == [1])
    #expect(second.changes(from: first.rows, of: \.name).isEmpty)
  }
}
