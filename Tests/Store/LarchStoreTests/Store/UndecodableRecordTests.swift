import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A program lost a case of an enum while records with it were stored. With an index over the enum
/// they could be neither deleted nor replaced, and the indexes could not be rebuilt: each of these
/// operations decoded the record to find its old entries, and threw `decoding_failed`.
@Suite("A record that its type cannot decode")
struct UndecodableRecordTests {
  enum OldKind: String, Codable, CaseIterable, IndexKey { case open, closed, odd }
  enum Kind: String, Codable, CaseIterable, IndexKey { case open, closed }

  struct OldTask: Record {
    var id = RecordID<OldTask>()
    var name: String
    var kind: OldKind
    var other: OldKind?
    var kinds: [OldKind]
    var number: Int
    var label: String { "\(name) \(number)" }

    static let collectionName = "Task"
    static let schema = Schema<OldTask> {
      Unique(\.name)
      Index(\.kind, \.number)
      Index(\.other)
      Index(\.kinds)
      Index(\.label, name: "label")
      Unique(\.number, name: "open", where: { $0.kind != .closed })
    }
  }

  struct Task: Record {
    var id = RecordID<Task>()
    var name: String
    var kind: Kind
    var other: Kind?
    var kinds: [Kind]
    var number: Int
    var label: String { "\(name) \(number)" }

    static let collectionName = "Task"
    static let schema = Schema<Task> {
      Unique(\.name)
      Index(\.kind, \.number)
      Index(\.other)
      Index(\.kinds)
      Index(\.label, name: "label")
      Unique(\.number, name: "open", where: { $0.kind != .closed })
    }
  }

  /// The same without an index.
  struct BareTask: Record {
    var id = RecordID<BareTask>()
    var name: String
    var kind: Kind
    var other: Kind?
    var kinds: [Kind]
    var number: Int
    static let collectionName = "Task"
  }

  /// The enum alone in its index, and with rules, hooks and times.
  struct GuardedTask: Record, Timestamped {
    var id = RecordID<GuardedTask>()
    var name: String
    var kind: Kind
    var number: Int
    var createdAt: Date?
    var updatedAt: Date?
    static let collectionName = "Task"
    static let schema = Schema<GuardedTask> {
      Unique(\.name)
      Index(\.kind, \.number)
      Validate(\.name, .presence)
      WillSave { _, _ in }
      WillUpdate { _, _, _ in }
      DidUpdate { _, _, _ in }
      WillDelete { _, _ in }
      DidDelete { _, _ in }
    }
  }

  /// Ten tasks; those with an even number are of a kind that `Task` does not know.
  private static func withTasks(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, OldTask.self) { store throws in
        try store.write { tx throws in
          for number in 1...10 {
            var task = OldTask(
              name: "task \(number)", kind: number.isMultiple(of: 2) ? .odd : .open,
              other: number.isMultiple(of: 4) ? .odd : nil,
              kinds: number.isMultiple(of: 3) ? [.odd, .open] : [.closed], number: number)
            try tx.insert(&task)
          }
        }
      }
      try body(path)
    }
  }

  /// Every index has exactly the entries of the records that are there.
  private static func expectEntries(_ path: String, names: [String]) throws {
    try Store.using(path, OldTask.self) { store throws in
      #expect(try store.verify().isClean)
      let tasks = try store.fetch(OldTask.all)
      #expect(tasks.map(\.name) == names)
    }
  }

  @Test("It can be deleted by id, by query and by erasing, with all its entries")
  func deleting() throws {
    try UndecodableRecordTests.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        #expect(caught { _ = try store.find(Task.self, 2) }?.code == .decodingFailed)
        #expect(try store.delete(Task.self, 2))
        #expect(try store.delete(Task.where { $0.number >= 9 }) == 2)
        #expect(try store.count(Task.all) == 7)
      }
      try UndecodableRecordTests.expectEntries(
        path, names: [1, 3, 4, 5, 6, 7, 8].map { "task \($0)" })
      try Store.using(path, Task.self) { store throws in
        #expect(try store.write { tx in try tx.erase(Task.self) } == 7)
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("It can be replaced by a save and by an update; an insert is refused")
  func replacing() throws {
    try UndecodableRecordTests.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        var task = Task(id: 2, name: "new", kind: .closed, other: .open, kinds: [.open], number: 20)
        #expect(caught { try store.write { tx in try tx.insert(&task) } }?.code == .idExists)
        try store.save(&task)
        task.id = 4
        task.name = "newer"
        task.number = 40
        try store.write { tx in try tx.update(task) }
        // A value that a record that cannot be decoded still has.
        task.id = 5
        task.name = "task 6"
        let error = caught { try store.save(&task) }
        #expect(error?.code == .uniqueConflict && error?.context.otherID == "6")
        // The name that is free now.
        task.name = "task 2"
        task.number = 50
        try store.save(&task)
        #expect(try store.find(Task.self, by: \.name, equals: "new")?.number == 20)
      }
      try UndecodableRecordTests.expectEntries(
        path,
        names: ["task 1", "new", "task 3", "newer", "task 2"] + (6...10).map { "task \($0)" })
    }
  }

  @Test("It can be replaced and deleted if its type has rules, hooks and times")
  func guarded() throws {
    try UndecodableRecordTests.withTasks { path throws in
      try Store.using(path, GuardedTask.self) { store throws in
        var task = GuardedTask(id: 2, name: "new", kind: .closed, number: 20)
        try store.save(&task)
        #expect(try store.find(GuardedTask.self, 2)?.name == "new")
        #expect(try store.delete(GuardedTask.self, 4))
        #expect(try store.delete(GuardedTask.where { $0.number == 6 }) == 1)
        #expect(try store.ids(GuardedTask.all) == [1, 2, 3, 5, 7, 8, 9, 10])
      }
    }
  }

  @Test("Indexes over an enum are rebuilt from stored bytes")
  func rebuilding() throws {
    struct Plain: Record {
      var id = RecordID<Plain>()
      var name: String
      var kind: Kind
      var kinds: [Kind]
      var number: Int
      static let collectionName = "Task"
      static let schema = Schema<Plain> {
        Unique(\.name)
        Index(\.number, \.kind)
        Index(\.kinds)
      }
    }
    try UndecodableRecordTests.withTasks { path throws in
      try Store.using(path, Plain.self) { store throws in
        #expect(try store.count(Plain.where { $0.kind == .open }) == 5)
        try store.rebuild()
        #expect(try store.count(Plain.where { $0.kind == .open }) == 5)
        #expect(try store.count(Plain.where { $0.number >= 1 && $0.kind != .open }) == 5)
        // Records that cannot be decoded are named, and their entries are correct.
        let report = try store.verify()
        #expect(report.faultCount == 7)
      }
    }
  }

  private static func answer<T>(_ work: () throws -> T) -> String {
    do {
      return "\(try work())"
    } catch let error as LarchError {
      let context = error.context
      return "\(error.code) \(context.collection ?? "") \(context.id ?? "") \(context.field ?? "")"
    } catch {
      return "\(error)"
    }
  }

  @Test("Whether a query throws does not depend on the plan")
  func plans() throws {
    try UndecodableRecordTests.withTasks { path throws in
      let indexed = try Store.using(path, Task.self) { store throws in
        [
          UndecodableRecordTests.answer { try store.count(Task.where { $0.kind == .open }) },
          UndecodableRecordTests.answer { try store.count(Task.where { $0.kind != .open }) },
          UndecodableRecordTests.answer { try store.ids(Task.where { $0.kind != .open }) },
          UndecodableRecordTests.answer { try store.exists(Task.where { $0.other != nil }) },
          UndecodableRecordTests.answer {
            try store.count(Task.where { $0.kinds.contains(.open) && $0.number > 3 })
          },
          UndecodableRecordTests.answer {
            try store.fetch(Task.where { $0.kind == .open }).map(\.name)
          },
          UndecodableRecordTests.answer {
            try store.fetch(Task.where { $0.kind != .open && $0.number > 5 }).map(\.name)
          },
          UndecodableRecordTests.answer {
            try store.ids(Task.all.sorted(by: \.kind, .descending).then(by: \.number))
          },
          UndecodableRecordTests.answer {
            try store.fetch(Task.where { $0.number < 6 }.select(\.name)).count
          },
          UndecodableRecordTests.answer {
            try store.fetch(Task.where { $0.number < 2 }.select(\.kind)).count
          },
          UndecodableRecordTests.answer { try store.counts(by: \Task.kind).count },
          UndecodableRecordTests.answer {
            try store.counts(by: \.number, of: Task.where { $0.kind != .open }).count
          },
        ]
      }
      let scanned = try Store.using(path, BareTask.self) { store throws in
        [
          UndecodableRecordTests.answer { try store.count(BareTask.where { $0.kind == .open }) },
          UndecodableRecordTests.answer { try store.count(BareTask.where { $0.kind != .open }) },
          UndecodableRecordTests.answer { try store.ids(BareTask.where { $0.kind != .open }) },
          UndecodableRecordTests.answer { try store.exists(BareTask.where { $0.other != nil }) },
          UndecodableRecordTests.answer {
            try store.count(BareTask.where { $0.kinds.contains(.open) && $0.number > 3 })
          },
          UndecodableRecordTests.answer {
            try store.fetch(BareTask.where { $0.kind == .open }).map(\.name)
          },
          UndecodableRecordTests.answer {
            try store.fetch(BareTask.where { $0.kind != .open && $0.number > 5 }).map(\.name)
          },
          UndecodableRecordTests.answer {
            try store.ids(BareTask.all.sorted(by: \.kind, .descending).then(by: \.number))
          },
          UndecodableRecordTests.answer {
            try store.fetch(BareTask.where { $0.number < 6 }.select(\.name)).count
          },
          UndecodableRecordTests.answer {
            try store.fetch(BareTask.where { $0.number < 2 }.select(\.kind)).count
          },
          UndecodableRecordTests.answer { try store.counts(by: \BareTask.kind).count },
          UndecodableRecordTests.answer {
            try store.counts(by: \.number, of: BareTask.where { $0.kind != .open }).count
          },
        ]
      }
      #expect(indexed == scanned)
      #expect(scanned[0] == "5" && scanned[1] == "5" && scanned[3] == "true")
      #expect(scanned[6] == "decoding_failed Task 6 kind")
      #expect(scanned[10] == "decoding_failed Task 2 kind")
    }
  }
}
