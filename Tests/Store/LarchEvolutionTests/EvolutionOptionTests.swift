import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// `Options.evolution`, and when the file is written at opening.
@Suite struct EvolutionOptionTests {
  struct First: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: String
  }
  struct Second: Record {
    static let collectionName = "Thing"
    static let schema = Schema<Second> { Index(\.name) }
    var id: Int
    var name: String
    var note: String?
  }
  struct Third: Record {
    static let collectionName = "Thing"
    var id: Int
    var name: Int
  }
  struct Other: Record {
    var id: Int
  }
  struct Moved: Record {
    static let schema = Schema<Moved> { Renamed(from: "Thing") }
    var id: Int
    var name: String
  }

  private let check = Store.Options.quick { $0.evolution = .check }
  private let off = Store.Options.quick { $0.evolution = .off }

  @Test func `A store that was opened with a check can be rebuilt`() throws {
    let file = try EvolutionFile()
    try file.open(Second.self) { try $0.put([Second(id: 1, name: "a", note: nil)]) }
    try file.open(Second.self, options: check) { store throws in
      try store.rebuild()
      #expect(try store.fetch(Second.where { $0.name == "a" }).map(\.id) == [1])
      #expect(try store.explain(Second.where { $0.name == "a" }).hasPrefix("index name"))
    }
  }

  @Test func `Saving an unchanged old record writes nothing`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.open(Second.self) { store throws in
      let before = try file.transactionID
      let old = try #require(try store.find(Second.self, 1))
      for _ in 0..<3 { try store.write { tx in try tx.update(old) } }
      #expect(try file.transactionID == before)
      try store.write { tx in try tx.update(Second(id: 1, name: "a", note: "new")) }
      #expect(try store.find(Second.self, 1)?.note == "new")
      #expect(try file.transactionID > before)
    }
  }

  @Test func `A check reports the changes, and makes none`() throws {
    let file = try EvolutionFile()
    #expect(file.refusal(First.self, options: check)?.code == .fileNotFound)
    try file.save(First(id: 1, name: "a"))
    let before = try file.transactionID
    #expect(file.refusal(First.self, options: check) == nil)
    let error = file.refusal(Second.self, Other.self, options: check)
    #expect(error?.code == .schemaMismatch)
    #expect(
      error?.context.detail
        == "index name of Thing is new; the fields of Thing change; collection Other is new")
    #expect(
      file.refusal(Moved.self, options: check)?.context.detail
        == "collection Thing becomes Moved")
    #expect(file.refusal(Third.self, options: check)?.context.field == "name")
    #expect(try file.transactionID == before)
    try file.open(Second.self)
    #expect(file.refusal(Second.self, options: check) == nil)
    try file.open(Second.self, options: check) { store throws in
      try store.put([Second(id: 2, name: "b")])
      #expect(try store.all(Second.self).count == 2)
    }
  }

  @Test func `With evolution switched off, an incompatible record is an error when it is read`()
    throws
  {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"), options: off)
    #expect(try file.history("Thing") == nil)
    try file.open(Third.self, Other.self, options: off) { store throws in
      try store.put([Other(id: 1)])
      do {
        _ = try store.all(Third.self)
        Issue.record("a text was read as a number")
      } catch let error as LarchError { #expect(error.code == .decodingFailed) }
    }
    #expect(try file.history("Thing") == nil)
    // With the comparison on again, the stored records decide.
    #expect(file.refusal(Third.self)?.context.field == "name")
  }

  @Test func `Opening with the same declarations writes nothing`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    let before = try file.transactionID
    for _ in 0..<3 { try file.open(First.self) }
    #expect(try file.transactionID == before)
    try file.open(Second.self)
    let after = try file.transactionID
    #expect(after > before)
    for _ in 0..<3 { try file.open(Second.self) }
    #expect(try file.transactionID == after)
    #expect(try file.history("Thing")?.versions.count == 1)
    #expect(try file.history("Thing")?.unwritten.count == 1)
    try file.save(Second(id: 2, name: "b", note: nil))
    #expect(try file.history("Thing")?.versions.count == 2)
    #expect(try file.history("Thing")?.unwritten.isEmpty == true)
  }

  @Test func `A file that did not keep declarations is not written until they change`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.forgetHistory()
    let before = try file.transactionID
    try file.open(First.self)
    #expect(try file.transactionID == before)
    try file.open(Second.self)
    #expect(try file.history("Thing")?.versions.count == 1)
    #expect(try file.history("Thing")?.declarations.count == 2)
    #expect(file.refusal(Third.self)?.context.field == "name")
  }

  @Test func `Two stores of one program notice when one changes the declarations`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.open(First.self) { first throws in
      try file.open(Second.self) { second throws in
        try second.put([Second(id: 2, name: "b", note: "n")])
        do {
          // The index of the second is not declared by the first.
          _ = try first.all(First.self)
          Issue.record("the first store went on")
        } catch let error as LarchError { #expect(error.code == .schemaChanged) }
        #expect(try second.all(Second.self).count == 2)
      }
    }
  }

  @Test func `An older program gets a clear error or right data`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.save(Second(id: 2, name: "b", note: "n"))
    // It has no value for an optional field only, so it reads everything.
    try file.open(First.self) { store throws in
      #expect(try store.all(First.self).map(\.name) == ["a", "b"])
    }
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/v4.larch")
    let newer = try EvolutionFile(copyOf: golden)
    let before = try newer.transactionID
    for error in [
      newer.refusal(V1.Person.self, V1.Team.self), newer.refusal(V2.Person.self, V2.Team.self),
      newer.refusal(V3.Person.self, V3.Team.self),
    ] {
      #expect(error?.code == .schemaMismatch)
      #expect(error?.context.collection == "Person")
      #expect(error?.context.field != nil)
    }
    #expect(try newer.transactionID == before)
  }

  @Test func `Once all records are rewritten, the history has only the current form`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.open(Second.self) { store throws in
      try store.write { tx throws in
        try tx.storage { lmdb throws in
          let collection = tx.context.catalog.collections[0]
          try tx.context.catalog.storage.resetFieldHistory(
            of: collection.number, to: collection.schema, in: lmdb)
        }
      }
    }
    #expect(try file.history("Thing") == FieldHistory([TypeProbe.facts(of: Second.self).form]))
  }

  @Test func `Awaiting migrations, records that cannot be read are refused later`() throws {
    let file = try EvolutionFile()
    try file.save(First(id: 1, name: "a"))
    try file.open { store throws in
      var loader = CatalogLoader(store.environment, try StoreSchema([Third.self]))
      #expect(throws: LarchError.self) { try loader.load() }
      loader.awaitsMigrations = true
      #expect(try loader.load() == nil)
      try loader.update()
      #expect(try loader.load() != nil)
      do {
        try loader.checkFields()
        Issue.record("the records are as they were")
      } catch let error as LarchError { #expect(error.context.field == "name") }
    }
    #expect(try file.history("Thing")?.declarations.count == 2)
    // Nothing was written as a `Third`.
    #expect(file.refusal(First.self) == nil)
  }
}
