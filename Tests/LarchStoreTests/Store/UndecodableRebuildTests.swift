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
    try store.explain(Task.where { $0.label == "task 3 3" }).description.contains("index label")
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
}
