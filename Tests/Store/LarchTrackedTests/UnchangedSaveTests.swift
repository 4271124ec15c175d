import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Saves that change nothing")
struct UnchangedSaveTests {
  private static let count = 10_000

  /// Saves unchanged records again and again, and checks that the file does not change.
  private func expectUntouched(
    _ store: Store, times: Int = count, _ save: () throws -> Void
  ) throws {
    let before = try store.lastTransactionID
    let bytes = try Data(contentsOf: URL(fileURLWithPath: store.path))
    for _ in 0..<times { try save() }
    #expect(try store.lastTransactionID == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == bytes)
    #expect(try store.verify().isClean)
  }

  private func filled(_ store: Store) throws -> (Person, Page, Note, Article) {
    var ada = Person(name: "Ada", email: "a@x", age: 36, tags: ["x", "y"])
    var page = Page(id: "a", text: "b")
    var note = Note(text: "n")
    var article = Article(title: "t")
    try store.write { tx throws in
      try tx.save(&ada)
      try tx.save(&page)
      try tx.save(&note)
      try tx.save(&article)
    }
    return (ada, page, note, article)
  }

  @Test("10,000 saves, each in its own write, leave the last transaction as it was")
  func transactions() throws {
    let store = try Fixtures.store()
    var (ada, page, note, article) = try filled(store)
    try expectUntouched(store) {
      try store.write { tx throws in
        try tx.save(&ada)
        try tx.save(&page)
        try tx.save(&note)
        try tx.save(&article)
        try tx.update(&ada)
      }
    }
  }

  @Test("The same for 10,000 saves on the store, and on the ambient one")
  func stores() throws {
    let store = try Fixtures.store()
    var (ada, page, note, article) = try filled(store)
    try expectUntouched(store) { try store.save(&ada) }
    try expectUntouched(store) { try store.save(&note) }
    try Store.with(store) {
      try expectUntouched(store) { try article.save() }
      try expectUntouched(store) { try Store.transaction { try page.save() } }
    }
  }

  @Test("10,000 saves in one write, in savepoints too, write nothing")
  func oneWrite() throws {
    let store = try Fixtures.store()
    var (ada, _, note, article) = try filled(store)
    try expectUntouched(store, times: 1) {
      try store.write { tx throws in
        for _ in 0..<Self.count {
          try tx.save(&ada)
          try tx.savepoint { try tx.save(&note) }
          try tx.save(&article)
        }
        #expect(tx.changeCount == 0)
      }
    }
  }

  @Test("Persisting an unchanged record 10,000 times begins no transaction")
  func tracked() throws {
    let store = try Fixtures.store()
    let (person, page, note, article) = try filled(store)
    var ada = try Tracked(person, in: store)
    var sheet = try Tracked(page, in: store)
    var remark = try Tracked(note, in: store)
    var essay = try Tracked(article, in: store)
    try expectUntouched(store) { () throws in
      #expect(try ada.persist(in: store) == nil)
      #expect(try sheet.persist(in: store) == nil)
      #expect(try remark.persist(in: store) == nil)
      #expect(try essay.persist(in: store) == nil)
    }
    store.close()
    #expect(try ada.persist(in: store) == nil)
  }

  @Test("Reading states, changes and queries in a write writes nothing either")
  func asking() throws {
    let store = try Fixtures.store()
    let (ada, page, note, article) = try filled(store)
    var other = ada
    other.age = 99
    try expectUntouched(store, times: 1000) {
      try store.write { tx throws in
        #expect(try tx.state(of: ada) == .unchanged)
        #expect(try tx.state(of: other) == .changed)
        #expect(try tx.changes(of: other).count == 1)
        #expect(try tx.state(of: page) == .unchanged)
        #expect(try tx.state(of: note) == .unchanged)
        #expect(try tx.state(of: article) == .unchanged)
        #expect(try tx.tracked(Person.self, ada.id)?.state == .unchanged)
        #expect(try tx.fetch(Person.all).count == 1)
      }
    }
  }

  @Test("Saving unchanged records waits for no flush: a thousand take less time than one flush")
  func durable() throws {
    let store = try Fixtures.store { $0.durability = .durable }
    var (ada, _, _, _) = try filled(store)
    try expectUntouched(store, times: 1000) { try store.save(&ada) }
  }

  // MARK: Changed saves

  /// Where the tree of each database of the file begins: another page once anything in it was
  /// written, since LMDB never writes over what is committed.
  private func roots(_ store: Store) throws -> [String: UInt64] {
    let tree = try PageTree(path: store.path)
    let databases = tree.databases(in: tree.states[0]) { page, reason in
      Issue.record("page \(page): \(reason)")
    }
    return Dictionary(uniqueKeysWithValues: databases.map { ($0.name, $0.record.root) })
  }

  @Test("Saving a changed record writes the record and only the changed indexes")
  func indexes() throws {
    let store = try Fixtures.store()
    var people: [Person] = []
    try store.write { tx throws in
      for number in 0..<500 {
        var person = Person(
          name: "p\(number)", email: "e\(number)", age: number % 90, tags: ["t\(number % 7)"],
          address: .init(street: "s", city: "c\(number % 20)"))
        try tx.save(&person)
        people.append(person)
      }
    }
    let collection = try store.read { tx throws in
      try tx.context.collection(of: Person.self).stored
    }
    let records = CatalogStorage.recordsName(collection.id)
    func index(_ name: String) throws -> String {
      let found = try #require(collection.indexes.first { $0.name == name })
      return CatalogStorage.indexName(found.id)
    }
    let names = collection.indexes.map(\.name)
    #expect(names.count == 4)

    let changes: [(name: String?, (inout Person) -> Void)] = [
      (nil, { $0.name = "other" }), (nil, { $0.address.street = "other" }),
      (nil, { $0.role = .owner }), ("age", { $0.age = 1000 }),
      ("email", { $0.email = "other" }), ("address.city", { $0.address.city = "other" }),
      ("tags", { $0.tags.append("other") }),
    ]
    for (name, change) in changes {
      for way in 0..<3 {
        var person = try #require(people.randomElement())
        person = try #require(try store.find(Person.self, person.id))
        let before = try roots(store)
        let original = person
        change(&person)
        switch way {
        case 0: try store.save(&person)
        case 1: try store.update(person)
        default:
          var tracked = try #require(try store.tracked(Person.self, person.id))
          tracked.value = person
          #expect(try tracked.persist(in: store) == .updated)
        }
        let after = try roots(store)
        let touched = Set(before.keys.filter { before[$0] != after[$0] })
        var expected: Set<String> = [records]
        if let name {
          let match = try #require(names.first { $0 == name || $0.hasPrefix(name) })
          expected.insert(try index(match))
        }
        #expect(touched == expected, "\(name ?? "no index"), way \(way)")
        person = original
        try store.save(&person)
      }
    }
  }
}
