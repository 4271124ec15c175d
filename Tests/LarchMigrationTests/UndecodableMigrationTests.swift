import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// `rebuild()` and an opening pass over a record that its type cannot decode, and leave an index that
/// needs it unfinished. `buildIndexes(of:)` of a migration threw: with one such record in the file the
/// migration failed, and the store could not be opened at all.
@Suite("A migration builds indexes over records that cannot be decoded")
struct UndecodableMigrationTests {
  enum NewKind: String, Codable, IndexKey { case open, closed, paused }
  enum Kind: String, Codable, IndexKey { case open, closed }

  struct NewTask: Record {
    var id = RecordID<NewTask>()
    var name: String
    var kind: NewKind
    var number: Int
    static let collectionName = "Task"
  }

  struct Task: Record {
    var id = RecordID<Task>()
    var name: String
    var kind: Kind
    var number: Int
    var label: String { "\(name) \(number)" }
    static let collectionName = "Task"
    static let schema = Schema<Task> {
      Index(\.kind)
      Unique(\.name)
      Index(\.label, name: "label")
      Unique(\.number, name: "open", where: { $0.kind != .closed })
    }
  }

  /// Ten tasks, of which two have a kind that `Task` does not know, and no index.
  private static func withTasks(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, NewTask.self) { store throws in
        try store.saveAll(
          (1...10).map {
            NewTask(name: "task \($0)", kind: [4, 7].contains($0) ? .paused : .open, number: $0)
          })
      }
      try body(path)
    }
  }

  private static var small: Store.Options { .quick.with { $0.indexBatchSize = 3 } }

  @Test("The report names the records, and the indexes that need them are unfinished")
  func building() throws {
    try Self.withTasks { path throws in
      let notes = Notes()
      let migration = Migration("build") { tx in
        let report = try tx.buildIndexes(of: Task.self)
        notes.add("\(report.recordCount) \(report.count)")
        notes.add(report.records.map { "\($0.index) \($0.id)" }.sorted().joined(separator: ", "))
        notes.add(try tx.explain(Task.where { $0.kind == .open && $0.name == "task 3" }))
        notes.add(try tx.explain(Task.where { $0.label == "task 3 3" }))
        // What is saved now has to be in the indexes that are built later.
        var task = Task(name: "task 11", kind: .open, number: 11)
        try tx.save(&task)
        task = Task(id: 1, name: "new", kind: .open, number: 100)
        try tx.save(&task)
        try tx.delete(Task.self, 2)
        task = Task(name: "task 5", kind: .open, number: 50)
        notes.add("\(caught { try tx.save(&task) }?.code.rawValue ?? "saved")")
      }
      try Store.using(path, Task.self, migrations: [migration], options: Self.small) {
        store throws in
        let found = notes.all
        #expect(found[0] == "2 4")
        #expect(found[1] == "label 4, label 7, open 4, open 7")
        #expect(found[2].hasPrefix("index name"), "\(found[2])")
        #expect(found[3].hasPrefix("all records"), "\(found[3])")
        #expect(found[4] == "unique_conflict")
        #expect(try store.migrationNames == ["build"])
        // As after `rebuild()`: no query uses the index, and explain says why.
        let plan = try store.explain(Task.where { $0.label == "task 3 3" })
        #expect(plan.hasPrefix("all records") && plan.contains("index label is incomplete"))
        #expect(try store.verify().faults.map(\.id) == ["4", "7"])
        #expect(try store.delete(Task.where { $0.number == 4 || $0.number == 7 }) == 2)
      }
      try Store.using(path, Task.self, options: Self.small) { store throws in
        #expect(try store.faults == [])
        #expect(try store.ids(Task.where { $0.label == "task 11 11" }) == [11])
        #expect(try store.ids(Task.where { $0.label == "new 100" }) == [1])
        #expect(try store.ids(Task.where { $0.label == "task 2 2" }) == [])
        #expect(
          try store.explain(Task.where { $0.label == "new 100" }).hasPrefix("index label"))
      }
    }
  }

  @Test("A migration that replaces the records first builds all indexes at once")
  func replacing() throws {
    try Self.withTasks { path throws in
      let notes = Notes()
      let migration = Migration("replace") { tx in
        try tx.rewrite(Task.self) { fields in
          if fields["kind"] == .string("paused") { fields["kind"] = .string("closed") }
        }
        notes.add("\(try tx.buildIndexes(of: Task.self).isComplete)")
        notes.add(try tx.explain(Task.where { $0.label == "task 3 3" }))
      }
      try Store.using(path, Task.self, migrations: [migration], options: Self.small) {
        store throws in
        #expect(notes.all[0] == "true" && notes.all[1].hasPrefix("index label"))
        #expect(try store.faults == [])
      }
    }
  }

  @Test("A conflict of records that can be read still undoes the migration")
  func conflict() throws {
    struct Numbered: Record {
      var id = RecordID<Numbered>()
      var name: String
      var kind: Kind
      var number: Int
      static let collectionName = "Task"
      static let schema = Schema<Numbered> {
        Unique(\.number, name: "open", where: { $0.kind != .closed })
      }
    }
    try Self.withTasks { path throws in
      try Store.using(path, NewTask.self) { store throws in
        var task = NewTask(name: "twin", kind: .open, number: 9)
        try store.save(&task)
      }
      let migration = Migration("build") { tx in try tx.buildIndexes(of: Numbered.self) }
      let error = caught {
        try Store.using(path, Numbered.self, migrations: [migration], options: Self.small)
      }
      #expect(error?.code == .migrationFailed && error?.context.index == "open")
      #expect((error?.underlying as? LarchError)?.code == .uniqueConflict)
      try Store.using(path, NewTask.self) { store throws in
        #expect(try store.migrationNames == [])
        #expect(try store.count(NewTask.all) == 11)
        #expect(try store.faults == [])
      }
    }
  }
}
