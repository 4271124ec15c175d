import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// One record that its type could not decode any more kept every index that needs the decoded record
/// from being made: `rebuild()` threw, and with the index unfinished in the file no opening succeeded.
@Suite("Indexes over records that cannot be decoded")
struct UndecodableRebuildTests {
  typealias OldTask = UndecodableRecordTests.OldTask
  typealias Task = UndecodableRecordTests.Task

  private static func withTasks(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, OldTask.self) { store throws in
        try store.write { tx throws in
          for number in 1...10 {
            var task = OldTask(
              name: "task \(number)", kind: [4, 7].contains(number) ? .odd : .open, other: nil,
              kinds: [], number: number)
            try tx.insert(&task)
          }
        }
      }
      try body(path)
    }
  }

  private static func isUsed(_ store: Store) throws -> Bool {
    try store.explain(Task.where { $0.label == "task 3 3" }).hasPrefix("index label")
  }

  @Test("rebuild names the records, and leaves such an index unfinished until they are gone")
  func rebuilding() throws {
    try UndecodableRebuildTests.withTasks { path throws in
      var options = Store.Options()
      options.indexBatchSize = 3
      try Store.using(path, Task.self, options: options) { store throws in
        #expect(try UndecodableRebuildTests.isUsed(store))
        let report = try store.rebuild()
        #expect(!report.isComplete)
        #expect(report.count == 4)
        #expect(
          report.records.map { "\($0.index) \($0.id)" }.sorted()
            == ["label 4", "label 7", "open 4", "open 7"])
        #expect(report.records.allSatisfy { $0.collection == "Task" && $0.field == "kind" })
        // Nothing is missed: no query uses the index.
        #expect(try !UndecodableRebuildTests.isUsed(store))
        let error = caught { _ = try store.fetch(Task.where { $0.label == "task 3 3" }) }
        #expect(error?.code == .decodingFailed && error?.context.id == "4")
        #expect(try store.count(Task.where { $0.kind == .open }) == 8)
        let faults = try store.verify().faults.map(\.id)
        #expect(faults == ["4", "7"])
        // Nobody can tell whether these two have the value of a new record in the unique index; what
        // others have is known.
        var task = Task(name: "other", kind: .open, other: nil, kinds: [], number: 4)
        let refusal = caught { try store.save(&task) }
        #expect(refusal?.code == .decodingFailed && refusal?.context.id == "4")
        #expect(refusal?.context.index == "open")
        task.number = 9
        #expect(caught { try store.save(&task) }?.code == .uniqueConflict)
        task.kind = .closed
        try store.save(&task)
        try store.delete(task)
        // A record keeps its own value.
        var third = try #require(try store.find(Task.self, 3))
        third.other = .open
        try store.save(&third)
        third.number = 4
        #expect(caught { try store.save(&third) }?.code == .decodingFailed)
      }
      // Who can read the records finishes the index, and it has all of them.
      try Store.using(path, OldTask.self) { store throws in
        #expect(try store.verify().isClean)
        #expect(try store.count(OldTask.where { $0.label == "task 4 4" }) == 1)
      }
    }
  }

  @Test("An opening builds what it can, and the next one finishes it")
  func opening() throws {
    try UndecodableRebuildTests.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in _ = try store.rebuild() }
      try Store.using(path, Task.self) { store throws in
        #expect(try !UndecodableRebuildTests.isUsed(store))
        #expect(try store.delete(Task.self, 4))
        // The unfinished unique index refuses what it knows of.
        var task = Task(name: "other", kind: .open, other: nil, kinds: [], number: 3)
        #expect(caught { try store.save(&task) }?.code == .uniqueConflict)
        task = Task(id: 7, name: "new", kind: .open, other: nil, kinds: [], number: 70)
        try store.save(&task)
      }
      try Store.using(path, Task.self) { store throws in
        #expect(try UndecodableRebuildTests.isUsed(store))
        #expect(try store.rebuild().isComplete)
        #expect(try store.verify().isClean)
        #expect(try store.count(Task.where { $0.label == "new 70" }) == 1)
      }
    }
  }

  /// The place before the first record was kept as an empty id, which LMDB refuses to look for: each
  /// later opening failed with the error `storage`, and so did a save of a unique value.
  @Test("The first record of all may be one of them")
  func first() throws {
    try UndecodableRebuildTests.withTasks { path throws in
      try Store.using(path, OldTask.self) { store throws in
        var task = try #require(try store.find(OldTask.self, 1))
        task.kind = .odd
        try store.save(&task)
      }
      try Store.using(path, Task.self) { store throws in
        #expect(try store.rebuild().recordCount == 3)
        var task = Task(name: "other", kind: .open, other: nil, kinds: [], number: 30)
        let refusal = caught { try store.save(&task) }
        #expect(refusal?.code == .decodingFailed && refusal?.context.id == "1")
      }
      try Store.using(path, Task.self) { store throws in
        #expect(try !UndecodableRebuildTests.isUsed(store))
        #expect(try store.delete(Task.where { $0.kind != .open && $0.kind != .closed }) == 3)
      }
      try Store.using(path, Task.self) { store throws in
        #expect(try UndecodableRebuildTests.isUsed(store))
        #expect(try store.verify().isClean)
      }
    }
  }

  /// "4 records are in no index that needs them decoded" was said of two records that two indexes
  /// miss, and the log counted the records of both indexes for the first one.
  @Test("The report tells records from entries, and the log counts those of each index")
  func counting() throws {
    try UndecodableRebuildTests.withTasks { path throws in
      let messages = Locked<[LogMessage]>([])
      let options = Store.Options.quick.with {
        $0.log = { message in
          if message.event == .indexUnfinished { messages.withLock { $0.append(message) } }
        }
      }
      try Store.using(path, Task.self, options: options) { store throws in
        var report = try store.rebuild()
        #expect(report.recordCount == 2)
        #expect(report.count == 4)
        let head = report.description.prefix { $0 != "\n" }
        #expect(head == "2 records are missing in 2 indexes that need them decoded, 4 times in all")
        #expect(
          messages.withLock { $0.map { "\($0.context.index ?? ""): \($0.context.detail ?? "")" } }
            == [
              "label: 2 records, the first has the id 4", "open: 2 records, the first has the id 4",
            ])
        #expect(try store.delete(Task.self, 4))
        report = try store.rebuild()
        #expect(report.recordCount == 1 && report.count == 2)
        #expect(
          report.description == """
            1 record is missing in 2 indexes that need it decoded, 2 times in all
              collection Task, index label, id 7, field kind
              collection Task, index open, id 7, field kind
            """)
        #expect(
          messages.withLock { $0.suffix(2).map(\.context.detail) }
            == Array(repeating: "1 record, it has the id 7", count: 2))
        #expect(try store.delete(Task.self, 7))
        report = try store.rebuild()
        #expect(report.isComplete && report.recordCount == 0 && report.count == 0)
        #expect(report.description == "all indexes are complete")
      }
    }
  }

  /// The plan blamed the field, which "was named through a protocol's requirement, or is a computed
  /// property", or gave no reason at all, though the index was there and only unfinished.
  @Test("The plan and the log say that an index is unfinished")
  func reasons() throws {
    try UndecodableRebuildTests.withTasks { path throws in
      let messages = Locked<[LogMessage]>([])
      let options = Store.Options.quick.with {
        $0.log = { message in messages.withLock { $0.append(message) } }
      }
      let told = { (event: LogMessage.Event) in
        messages.withLock { $0.filter { $0.event == event && $0.level == .notice } }
      }
      try Store.using(path, Task.self, options: options) { store throws in
        let byLabel = Task.where { $0.label == "task 3 3" }
        #expect(try !store.explain(byLabel).contains("unfinished"))
        try store.rebuild()
        #expect(
          try store.explain(byLabel) == """
            all records
              filter <String> == "task 3 3"
              index label is incomplete: rebuild() names the records that it misses
            """)
        // No plan would use these.
        for query in [Task.where { $0.number == 3 }, Task.where { $0.name == "task 3" }] {
          #expect(try !store.explain(query).contains("unfinished"))
        }
        for _ in 0..<3 { _ = try store.count(Task.where { $0.label == "task 3 3" && $0.id < 4 }) }
        #expect(told(.fieldUnnamed).isEmpty)
        #expect(try store.count(Task.where { $0.number == 3 }) == 1)
        for _ in 0..<3 { _ = caught { _ = try store.fetch(byLabel) } }
        #expect(told(.fieldUnnamed).isEmpty)
        #expect(told(.indexUnfinished).map(\.context.index) == ["label"])
        #expect(told(.indexUnfinished).first?.context.collection == "Task")
      }
    }
  }

  /// Of a stored field the plan said only `all records`.
  @Test("An unfinished index over a stored field is named too")
  func storedField() throws {
    try withScratchPath { path throws in
      try Store.using(path, OldShelf.self) { store throws in
        for number in 1...10 {
          var shelf = OldShelf(code: "c\(number)", kind: number == 4 ? .odd : .open)
          try store.insert(&shelf)
        }
      }
      try Store.using(path, Shelf.self) { store throws in
        #expect(
          try store.explain(Shelf.where { $0.code == "c3" }).hasPrefix("index code_label"))
        try store.rebuild()
        #expect(
          try store.explain(Shelf.where { $0.code == "c3" }).hasSuffix(
            "\n  index code_label is incomplete: rebuild() names the records that it misses"))
        #expect(try !store.explain(Shelf.where { $0.kind == .open }).contains("unfinished"))
      }
    }
  }

  struct OldShelf: Record {
    var id = RecordID<OldShelf>()
    var code: String
    var kind: UndecodableRecordTests.OldKind
    var label: String { "\(code) \(kind)" }
    static let collectionName = "Shelf"
    static let schema = Schema<OldShelf> { Index(\.code, \.label, name: "code_label") }
  }

  struct Shelf: Record {
    var id = RecordID<Shelf>()
    var code: String
    var kind: UndecodableRecordTests.Kind
    var label: String { "\(code) \(kind)" }
    static let collectionName = "Shelf"
    static let schema = Schema<Shelf> { Index(\.code, \.label, name: "code_label") }
  }
}
