import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// When migrations run, and when they do not.
@Suite("Running migrations")
struct MigrationTests {
  struct Item: Record, Equatable {
    var id = RecordID<Item>()
    var text: String
    static let schema = Schema<Item> { Index(\.text) }
  }

  private func saving(_ name: String, _ notes: Notes = Notes()) -> Migration {
    Migration(name) { tx throws in
      notes.add(name)
      var item = Item(text: name)
      try tx.save(&item)
    }
  }

  @Test("Each once, in order, on a new file too")
  func once() throws {
    try withScratchPath { path throws in
      let notes = Notes()
      let list = ["c", "a", "b"].map { saving($0, notes) }
      for _ in 0..<3 {
        try Store.using(path, Item.self, migrations: list) { store throws in
          #expect(try store.everything(Item.self).map(\.text) == ["c", "a", "b"])
          #expect(try store.migrationNames == ["c", "a", "b"])
          #expect(try store.faults == [])
        }
      }
      #expect(notes.all == ["c", "a", "b"])
    }
  }

  @Test("New ones run at any place in the list, and old ones may be omitted")
  func placed() throws {
    try withScratchPath { path throws in
      try Store.using(path, Item.self, migrations: [saving("b")])
      try Store.using(path, Item.self, migrations: ["a", "b", "c"].map { saving($0) }) {
        store throws in
        #expect(try store.migrationNames == ["b", "a", "c"])
      }
      try Store.using(path, Item.self, migrations: [saving("d")]) { store throws in
        #expect(try store.migrationNames == ["b", "a", "c", "d"])
        #expect(try store.everything(Item.self).map(\.text) == ["b", "a", "c", "d"])
      }
      try Store.using(path, Item.self) { store throws in #expect(try store.count(Item.all) == 4) }
    }
  }

  @Test("The file keeps their times, by the clock of the options")
  func date() throws {
    try withScratchPath { path throws in
      let date = Date(timeIntervalSinceReferenceDate: 123.5)
      let options = Store.Options.quick.with { $0.clock = { date } }
      try Store.using(path, Item.self, migrations: [saving("a")], options: options) {
        store throws in
        let applied = try CatalogLoader(store.environment, StoreSchema()).appliedMigrations()
        #expect(applied == [AppliedMigration(name: "a", number: 1, date: 123.5)])
      }
    }
  }

  @Test("Empty, long and duplicate names are refused before the file is created")
  func names() throws {
    try withScratchPath { path throws in
      let long = String(repeating: "é", count: 128)
      for list in [[""], [long], ["a", "b", "a"], ["é", "e\u{301}"]] {
        let error = caught {
          try Store.using(path, Item.self, migrations: list.map { saving($0) })
        }
        #expect(error?.code == .invalidSchema, "\(list)")
        #expect(!FileManager.default.fileExists(atPath: path))
      }
      try Store.using(path, Item.self, migrations: [saving(String(long.dropLast()))])
    }
  }

  struct Stop: Error {}

  @Test("One that throws leaves the file as it was, is named, and runs again later")
  func failing() throws {
    try withScratchPath { path throws in
      try Store.using(path, Item.self, migrations: [saving("first")])
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let failing = Migration("second") { tx throws in
        var item = Item(text: "lost")
        try tx.save(&item)
        try tx.rewrite(Item.self) { $0["text"] = "changed" }
        throw Stop()
      }
      let error = caught {
        try Store.using(path, Item.self, migrations: [saving("first"), failing, saving("third")])
      }
      #expect(error?.code == .migrationFailed)
      #expect(error?.context.detail == "second")
      #expect(error?.context.path == path)
      #expect(error?.underlying is Stop)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      try Store.using(path, Item.self) { store throws in
        #expect(try store.everything(Item.self).map(\.text) == ["first"])
        #expect(try store.faults == [])
      }
      try Store.using(
        path, Item.self, migrations: ["first", "second", "third"].map { saving($0) }
      ) { store throws in
        #expect(try store.everything(Item.self).map(\.text) == ["first", "second", "third"])
      }
    }
  }

  struct Other: Record {
    var id = RecordID<Other>()
    var number = 1
    static let schema = Schema<Other> { Index(\.number) }
  }

  @Test("If the first one throws, the file does not even get the declarations")
  func failingFirst() throws {
    try withScratchPath { path throws in
      try Store.using(path, Item.self)
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let error = caught {
        try Store.using(
          path, Item.self, Other.self, migrations: [Migration("a") { _ in throw Stop() }])
      }
      #expect(error?.code == .migrationFailed)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }
  }

  @Test("An error that breaks the transaction undoes it, even if the closure catches it")
  func sequenceError() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let error = caught {
        try Store.using(
          path, V1.Company.self,
          migrations: [
            Migration("reads") { tx throws in
              // Companies have no age.
              for _ in try tx.records(of: V1.Person.self, in: "Company") {}
            }
          ])
      }
      #expect(error?.code == .migrationFailed)
      #expect((error?.underlying as? LarchError)?.code == .decodingFailed)
      #expect(error?.context.collection == "Company")
      #expect(error?.context.id == "1")
    }
  }

  @Test("Read-only and checking openings refuse a pending one, and evolution that is off runs none")
  func otherWays() throws {
    try withScratchPath { path throws in
      try Store.using(path, Item.self, migrations: [saving("a")])
      let list = [saving("a"), saving("b")]
      for options in [
        Store.Options.quick.with { $0.isReadOnly = true },
        Store.Options.quick.with { $0.evolution = .check },
      ] {
        let error = caught { try Store.using(path, Item.self, migrations: list, options: options) }
        #expect(error?.code == .migrationPending)
        #expect(error?.context.detail == "b")
        #expect(error?.context.path == path)
        try Store.using(path, Item.self, migrations: [saving("a")], options: options) {
          store throws in
          #expect(try store.count(Item.all) == 1)
        }
      }
      let off = Store.Options.quick.with { $0.evolution = .off }
      try Store.using(path, Item.self, migrations: list, options: off) { store throws in
        #expect(try store.count(Item.all) == 1)
      }
      try Store.using(path, Item.self, migrations: list) { store throws in
        #expect(try store.count(Item.all) == 2)
      }
    }
  }

  @Test("Stores that open at the same time run each once")
  func atOnce() throws {
    try withScratchPath { path throws in
      let list = (0..<20).map { saving("m\($0)") }
      let failures = Notes()
      DispatchQueue.concurrentPerform(iterations: 6) { _ in
        do {
          try Store.using(path, Item.self, migrations: list) { store throws in
            let texts = try store.everything(Item.self).map(\.text)
            if texts != list.map(\.name) { failures.add("\(texts)") }
          }
        } catch {
          failures.add("\(error)")
        }
      }
      #expect(failures.all == [])
    }
  }

  @Test("Ambient calls in one, and hooks of records that it saves, are in its transaction")
  func ambient() throws {
    try withScratchPath { path throws in
      let migration = Migration("ambient") { tx throws in
        var item = Item(text: "x")
        try tx.save(&item)
        #expect(try Item.all.count() == 1)
        #expect(try Item.where { $0.text == "x" }.fetch().count == 1)
      }
      try Store.using(path, Item.self, migrations: [migration])
    }
  }

  @Test("Work for after the commit runs when the store can be used")
  func afterCommit() throws {
    try withScratchPath { path throws in
      let notes = Notes()
      let migration = Migration("later") { tx throws in
        var item = Item(text: "x")
        try tx.save(&item)
        tx.afterCommit { notes.add("\((try? Item.where { $0.text == "x" }.count()) ?? -1)") }
      }
      try Store.using(path, Item.self, migrations: [migration])
      #expect(notes.all == ["1"])
    }
  }

  @Test("The log and the progress report them")
  func told() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let notes = Notes()
      let options = Store.Options.quick.with {
        $0.log = { if $0.event == .migrated { notes.add("log \($0.context.detail ?? "")") } }
        $0.migrationProgress = {
          notes.add("\($0.migration) \($0.collection) \($0.done)/\($0.total)")
        }
      }
      try Store.using(
        path, V3.Person.self, V3.Company.self, V3.Project.self,
        migrations: [Split.names, Split.months], options: options)
      #expect(
        notes.all == [
          "split names Person 0/3", "split names Person 3/3", "log split names",
          "months Person 0/3", "months Person 3/3", "log months",
        ])
    }
  }

  @Test("A salvaged store does not repeat the migrations of the damaged one")
  func salvage() throws {
    try withScratchPath { path throws in
      try withScratchPath { target throws in
        try Store.using(path, Item.self, migrations: [saving("a"), saving("b")])
        try Store.salvage(path, to: target)
        try Store.using(target, Item.self, migrations: [saving("a"), saving("b")]) { store throws in
          #expect(try store.everything(Item.self).map(\.text) == ["a", "b"])
        }
      }
    }
  }
}
