import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Index maintenance")
struct IndexMaintenanceTests {
  /// The root page of every tree: it stays where it is as long as nothing in its tree changes.
  private func roots(_ store: Store) throws -> [String: UInt64] {
    let tree = try PageTree(path: store.path)
    let state = try #require(tree.states.first)
    var result: [String: UInt64] = [:]
    for database in tree.databases(in: state, onDamage: { _, _ in }) {
      result[database.name] = database.record.root
    }
    return result
  }

  /// The names of the indexes that a write changed.
  private func touched(_ store: Store, _ change: (WriteTransaction) throws -> Void) throws
    -> Set<String>
  {
    let before = try roots(store)
    try store.write(change)
    let after = try roots(store)
    let collection = try store.read { tx throws in try tx.context.collection(of: Person.self) }
    let names = collection.indexes.filter {
      let name = CatalogStorage.indexName($0.stored.id)
      return before[name] != after[name]
    }.map(\.stored.name)
    return Set(names)
  }

  @Test("An update writes only to the indexes whose entries differ")
  func onlyDifferent() throws {
    let store = try Store.temporary(for: Person.self)
    var random = SeededGenerator(seed: 5)
    var people = (0..<400).map { number in
      var person = random.person()
      person.email = "p\(number)@mail.example"
      return person
    }
    people[7].isActive = true
    people[7].age = 30
    people[7].name = "Ada"
    people[7].tags = ["a", "b"]
    try store.saveAll(people)
    var person = try #require(try store.read { tx throws in try tx.find(Person.self, 8) })

    func update(_ change: (inout Person) -> Void) throws -> Set<String> {
      change(&person)
      return try touched(store) { tx throws in try tx.update(person) }
    }
    #expect(try update { $0.address.street = "elsewhere" } == [])
    #expect(try update { $0.age = 31 } == ["address.city_age", "activeAge"])
    #expect(try update { $0.isActive = false } == ["activeAge"])
    #expect(try update { $0.age = 32 } == ["address.city_age"])
    #expect(try update { $0.tags = ["b", "a", "b"] } == [])
    #expect(try update { $0.tags = ["a", "c"] } == ["tags"])
    #expect(try update { $0.name = "ada" } == ["initials"])
    #expect(try update { $0.name = "adA b" } == ["name"])
    #expect(try update { $0.email = "other" } == ["email"])
    #expect(try update { $0.score = 77 } == ["score"])
    #expect(try update { $0.companyID = 77 } == ["companyID"])
    #expect(try update { _ in } == [])
    // Changed and changed back within one write.
    let before = try store.dump()
    try store.write { tx throws in
      var other = person
      other.email = "third"
      other.tags = []
      try tx.update(other)
      try tx.update(person)
    }
    #expect(try store.dump() == before)
    #expect(try store.verify().isClean)
  }

  @Test(
    "After any changes the store equals one that was filled with its records at once",
    arguments: 1...UInt64(isSoak ? 100 : 6))
  func builtAnew(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: Person.self, Document.self)
    for _ in 0..<12 {
      try store.write { tx throws in
        for _ in 0..<60 {
          var person = random.person()
          if random.below(2) == 0 { person.id = RecordID(Int64(random.below(80) + 1)) }
          if caught({ try tx.save(&person) }) != nil { continue }
          var document = random.document()
          _ = caught { try tx.save(&document) }
          if random.below(4) == 0 {
            try tx.delete(Person.self, RecordID(Int64(random.below(120) + 1)))
            try tx.delete(Document.self, random.document().id)
          }
        }
      }
    }
    let dump = try store.dump()
    let fresh = try Store.temporary(for: Person.self, Document.self)
    try fresh.saveAll(try store.everything(Person.self))
    try fresh.saveAll(try store.everything(Document.self))
    let difference = TextDifference.between(expected: try fresh.dump(), actual: dump)
    #expect(difference == nil, "seed \(seed)\n\(difference ?? "")")
    #expect(dump.utf8.count > 10_000)
    try store.rebuild()
    #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil, "seed \(seed)")
    #expect(try store.verify().isClean)
  }

  @Test("An index built in batches of any size is the same, with long and equal values too")
  func batches() throws {
    try withScratchPath { path throws in
      var random = SeededGenerator(seed: 8)
      let people = (0..<97).map { number in
        var person = random.person()
        person.email = number % 4 == 0 ? nil : "p\(number)"
        return person
      }
      var dumps: Set<String> = []
      for size in [1, 2, 48, 96, 97, 98, 1000] {
        try Store.using(path, Person.self, options: .quick.with { $0.indexBatchSize = size }) {
          store throws in
          if size == 1 { try store.saveAll(people) }
          try store.rebuild()
          dumps.insert(try store.dump())
          #expect(try store.verify().isClean, "batches of \(size)")
        }
      }
      #expect(dumps.count == 1)
    }
  }
}
