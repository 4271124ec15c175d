import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A nightly import matched its elements by a unique field. One stored record had a case of an enum
/// that the program did not know. The import decoded the record that it was about to replace, so no
/// element could replace this one.
@Suite("Imports and exports of a store with records that cannot be decoded")
struct UndecodableImportTests {
  enum NewKind: String, Codable, IndexKey { case open, closed, paused }
  enum Kind: String, Codable, CaseIterable, IndexKey { case open, closed }

  struct NewTask: Record {
    var id = RecordID<NewTask>()
    var name: String
    var kind: NewKind
    var note: String?
    static let collectionName = "Task"
    static let schema = Schema<NewTask> {
      Unique(\.name)
      Index(\.kind)
    }
  }

  struct Task: Record, Equatable {
    var id = RecordID<Task>()
    var name: String
    var kind: Kind
    var note: String?
    static let collectionName = "Task"
    static let schema = Schema<Task> {
      Unique(\.name)
      Index(\.kind)
    }
  }

  struct FoldedTask: Record {
    var id = RecordID<FoldedTask>()
    var name: String
    var kind: Kind
    var note: String?
    static let collectionName = "Task"
    static let schema = Schema<FoldedTask> { Unique(\.name, options: .caseInsensitive) }
  }

  /// Got its version after the records were stored.
  struct VersionedTask: Record {
    var id = RecordID<VersionedTask>()
    var name: String
    var kind: Kind
    var note: String?
    var version = 1
    static let collectionName = "Task"
    static let schema = Schema<VersionedTask> {
      Unique(\.name)
      Versioned(\.version)
      Default(\.version, 1)
    }
  }

  /// Four tasks, of which the second has a kind that `Task` does not know.
  private static func withTasks(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, NewTask.self) { store throws in
        try store.saveAll(
          (1...4).map {
            NewTask(name: "task \($0)", kind: $0 == 2 ? .paused : .open, note: "note \($0)")
          })
      }
      try body(path)
    }
  }

  private static let elements = """
    {"name": "task 1", "kind": "closed"}
    {"name": "task 2", "kind": "closed"}
    {"name": "task 5", "kind": "open"}
    """

  @Test(
    "An element replaces such a record, matched by id or by a field",
    arguments: [ImportErrorPolicy.stop, .skip])
  func replacing(policy: ImportErrorPolicy) throws {
    try Self.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        let report = try store.importJSON(
          Task.self, from: .text(Self.elements), matching: \.name, onError: policy)
        #expect(report.description == "1 inserted, 2 updated, 0 unchanged, 0 skipped")
        #expect(
          try store.find(Task.self, 2) == Task(id: 2, name: "task 2", kind: .closed, note: nil))
        #expect(try store.verify().isClean)
      }
    }
    try Self.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        let report = try store.importJSON(
          Task.self, from: .text(#"{"id": 2, "name": "task 2", "kind": "open"}"#), onError: policy)
        #expect(report.updated == 1)
        #expect(try store.find(Task.self, 2)?.kind == .open)
        #expect(try store.verify().isClean)
      }
    }
  }

  @Test("The same for a case-insensitive unique field, and for records without a version")
  func otherDeclarations() throws {
    try Self.withTasks { path throws in
      try Store.using(path, FoldedTask.self) { store throws in
        let report = try store.importJSON(
          FoldedTask.self, from: .text(#"{"name": "TASK 2", "kind": "open"}"#), matching: \.name)
        #expect(report.updated == 1)
        #expect(try store.find(FoldedTask.self, 2)?.name == "TASK 2")
      }
    }
    try Self.withTasks { path throws in
      try Store.using(path, VersionedTask.self) { store throws in
        let report = try store.importJSON(
          VersionedTask.self, from: .text(Self.elements), matching: \.name)
        #expect(report.updated == 2 && report.inserted == 1)
        #expect(try store.find(VersionedTask.self, 2)?.kind == .closed)
      }
    }
  }

  /// The error advised to declare the field unique, but it was.
  @Test("A unique index that misses such a record cannot match elements, and the error says why")
  func incomplete() throws {
    struct Labelled: Record {
      var id = RecordID<Labelled>()
      var name: String
      var kind: Kind
      var label: String { name + " " + kind.rawValue }
      static let collectionName = "Task"
      static let schema = Schema<Labelled> { Unique(\.label, name: "label") }
    }
    try Self.withTasks { path throws in
      try Store.using(path, Labelled.self) { store throws in
        let error = caught {
          try store.importJSON(Labelled.self, from: .text(Self.elements), matching: \.label)
        }
        #expect(error?.code == .unsuitableMatch)
        #expect(error?.message.contains("incomplete") == true, "\(error?.message ?? "")")
        try store.delete(Labelled.self, 2)
        try store.rebuild()
        let report = try store.importJSON(
          Labelled.self, from: .text(#"{"name": "task 1", "kind": "open"}"#), matching: \.label)
        #expect(report.unchanged == 1)
      }
    }
  }

  @Test("An element cannot be merged into such a record: its line and the id are reported")
  func merging() throws {
    try Self.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        let report = try store.importJSON(
          Task.self, from: .text(Self.elements), matching: \.name, existing: .merge, onError: .skip)
        #expect(report.description == "1 inserted, 1 updated, 0 unchanged, 1 skipped")
        let failure = try #require(report.failures.first)
        #expect(failure.line == 2 && failure.keyword == "decoding_failed")
        #expect(failure.field == "kind")
        #expect((failure.reason as? LarchError)?.context.id == "2")
        #expect(try store.find(Task.self, 1)?.note == "note 1")
        let error = caught {
          try store.importJSON(
            Task.self, from: .text(#"{"id": 2, "note": "new"}"#), existing: .merge)
        }
        #expect(error?.code == .importStopped)
        let cause = try #require(error?.underlying as? ImportFailure)
        #expect(cause.line == 1 && (cause.reason as? LarchError)?.context.id == "2")
      }
    }
  }

  @Test("An export names the record that it cannot write, unless the query excludes it")
  func exporting() throws {
    try Self.withTasks { path throws in
      try Store.using(path, Task.self) { store throws in
        let file = path + ".json"
        defer { unlink(file) }
        let error = caught { try store.exportJSON(Task.self, to: .file(file)) }
        #expect(error?.code == .decodingFailed && error?.context.id == "2")
        #expect(error?.context.collection == "Task" && error?.context.field == "kind")
        #expect(access(file, F_OK) != 0, "a part of an export is there")
        let known = Task.where { Kind.allCases.contains($0.kind) }
        #expect(try store.exportJSON(known, to: .file(file)) == 3)
        #expect(try store.importJSON(Task.self, from: .file(file)).unchanged == 3)
      }
    }
  }
}
