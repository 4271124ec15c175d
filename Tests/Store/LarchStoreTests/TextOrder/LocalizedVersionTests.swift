import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Indexes whose texts are in a form that has a name and a version.
@Suite("Versions of orders by language")
struct LocalizedVersionTests {
  struct Person: Record, Equatable {
    static let schema = Schema<Person> {
      Index(\.name, options: .localized("nb"))
      Index(\.name, options: .caseAndDiacriticInsensitive)
    }
    var id: Int
    var name: String
  }

  private static let names = ["Åse", "Zorro", "Øst", "Adam", "Ærlig", "aa", "José"]

  private func stored(_ store: Store) throws -> [StoredIndex] {
    try store.read { tx in
      try tx.context.catalog.storage.collections(in: tx.context.transaction())[0].indexes
    }
  }

  /// Gives the indexes the definitions that an older Larch would have written.
  private func age(_ store: Store, _ old: String, _ new: String) throws {
    try store.write { tx in
      let transaction = try tx.context.transaction()
      let storage = tx.context.catalog.storage
      var collection = try storage.collections(in: transaction)[0]
      for place in collection.indexes.indices {
        collection.indexes[place].definition = collection.indexes[place].definition
          .replacingOccurrences(of: old, with: new)
      }
      try storage.set(collection, in: transaction)
    }
  }

  @Test func `the catalog has the name and the version of each form`() throws {
    let store = try Store.temporary(for: Person.self)
    #expect(
      try stored(store).map(\.definition)
        == ["string;stored;~nb@1..name", "string;stored;~marks@1..name"])
    #expect(try stored(store).map(\.name) == ["name_nb", "name_plain"])
  }

  @Test(arguments: [("nb@1", "nb@0"), ("nb@1", "sv@1"), ("marks@1", "marks@0")])
  func `an index of another version is built again when the store is opened`(
    old: String, new: String
  ) throws {
    try withScratchPath { path in
      try Store.using(path, Person.self) { store in
        try store.saveAll(Self.names.enumerated().map { Person(id: $0 + 1, name: $1) })
        try age(store, old, new)
      }
      let numbers = try Store.using(path, Person.self) { store in
        let definitions = try stored(store).map(\.definition).sorted()
        #expect(definitions == ["string;stored;~marks@1..name", "string;stored;~nb@1..name"])
        let report = try store.verify()
        #expect(report.isClean)
        let byName = Person.all.sorted(by: \.name, options: .localized("nb"))
        let names = try store.fetch(byName).map(\.name)
        #expect(names == ["Adam", "José", "Zorro", "Ærlig", "Øst", "aa", "Åse"])
        let plan = try store.explain(byName)
        #expect(plan.contains("order served by the index"))
        return try stored(store).map(\.id)
      }
      // It is not built a second time.
      try Store.using(path, Person.self) { store in
        let same = try stored(store).map(\.id)
        #expect(same == numbers)
      }
    }
  }

  @Test func `without the type an index of an unknown version is not read, and the others are`()
    throws
  {
    try withScratchPath { path in
      try Store.using(path, Person.self) { store in
        try store.saveAll(Self.names.enumerated().map { Person(id: $0 + 1, name: $1) })
      }
      func plan() throws -> String {
        let store = try Store(at: path)
        defer { store.close() }
        return try store.inspect { inspector in
          let people = try #require(inspector.collections.first)
          return try inspector.query("order by name localized nb", in: people).explain()
        }
      }
      #expect(try plan().contains("order served by the index"))
      try Store.using(path, Person.self) { try age($0, "nb@1", "nb@9") }
      #expect(try plan().contains("sort by name localized \"nb\""))
    }
  }

  @Test
  func `a definition is read as it was written, and that of another version is known as such`() {
    let nb = IndexDefinition("string;stored;~nb@1..name")
    #expect(nb.fields[0].textForm.mark == "~nb@1..")
    #expect(nb.fields[0].path == ["name"])
    #expect(nb.isReadableFromBytes)
    for other in [
      "~nb@2..name", "~xx@1..name", "~marks@7..name", "~..name", "~nb..name", "~fo@..name",
    ] {
      let definition = IndexDefinition("string;stored;" + other)
      #expect(!definition.fields[0].isFormKnown, "\(other)")
      #expect(!definition.isReadableFromBytes, "\(other)")
    }
    let list = IndexDefinition("string,int64;stored;[]~marks@1..place.city;age")
    #expect(list.fields[0].textForm == .caseAndDiacriticInsensitive)
    #expect(list.fields[0].isMultiple)
    #expect(list.fields[0].path == ["place", "city"])
    #expect(IndexDefinition("string;stored;~name").fields[0].textForm == .caseInsensitive)
  }
}
