import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A later version of a program stored a case of an enum that this one does not know, in a record
/// that this one still had in memory. To ask for the state of the record threw `decoding_failed`, and
/// so did a guarded save, though both only have to know that something else is stored.
@Suite("The state of a record of which something undecodable is stored")
struct UndecodableStateTests {
  enum NewKind: String, Codable { case open, closed, paused }
  enum Kind: String, Codable { case open, closed }

  struct NewTask: Record {
    var id = RecordID<NewTask>()
    var name: String
    var kind: NewKind
    static let collectionName = "Task"
  }

  struct Task: Record, Equatable {
    var id = RecordID<Task>()
    var name: String
    var kind: Kind
    static let collectionName = "Task"
  }

  struct NewVersioned: Record {
    var id = RecordID<NewVersioned>()
    var name: String
    var kind: NewKind
    var version = 0
    static let collectionName = "Versioned"
    static let schema = Schema<NewVersioned> { Versioned(\.version) }
  }

  struct VersionedTask: Record, Equatable {
    var id = RecordID<VersionedTask>()
    var name: String
    var kind: Kind
    var version = 0
    static let collectionName = "Versioned"
    static let schema = Schema<VersionedTask> { Versioned(\.version) }
  }

  /// A task that was read as it was, and of which a kind that `Task` does not know is stored now.
  private static func withTask(
    _ body: (_ store: Store, _ known: Task, _ tracked: Tracked<Task>) throws -> Void
  ) throws {
    try withScratchPath { path throws in
      var task = Task(name: "first", kind: .open)
      var tracked: Tracked<Task>?
      try Store.using(path, Task.self) { store throws in
        try store.save(&task)
        tracked = try store.tracked(Task.self, task.id)
      }
      try Store.using(path, NewTask.self) { store throws in
        var task = NewTask(id: 1, name: "second", kind: .paused)
        try store.save(&task)
      }
      let form = try #require(tracked)
      try Store.using(path, Task.self) { store throws in try body(store, task, form) }
    }
  }

  private static func expectUndecodable(_ error: LarchError?, _ collection: String = "Task") {
    #expect(error?.code == .decodingFailed, "\(String(describing: error))")
    #expect(error?.context.collection == collection && error?.context.id == "1")
    #expect(error?.context.field == "kind")
  }

  @Test("Its state is changed; the fields that differ cannot be told")
  func state() throws {
    try Self.withTask { store, known, _ throws in
      #expect(try store.state(of: known) == .changed)
      #expect(try store.write { tx in try tx.state(of: known) } == .changed)
      Self.expectUndecodable(caught { _ = try store.changes(of: known) })
    }
  }

  @Test("A save that wants it unchanged is a conflict, which names it; nothing is changed")
  func guardedSave() throws {
    try Self.withTask { store, known, _ throws in
      var task = known
      task.name = "third"
      let error = caught { try store.save(&task, ifUnchanged: known) }
      #expect(error?.code == .conflict)
      #expect(error?.context.collection == "Task" && error?.context.id == "1")
      #expect(error?.context.detail == "the stored record cannot be decoded")
      Self.expectUndecodable(error?.underlying as? LarchError)
      // Nothing was saved.
      Self.expectUndecodable(caught { _ = try store.find(Task.self, 1) })
      try store.save(&task)
      #expect(try store.find(Task.self, 1) == task)
    }
  }

  @Test("A tracked record has nothing to merge its fields into; deleting and saving it work")
  func tracked() throws {
    try Self.withTask { store, _, tracked throws in
      var form = tracked
      #expect(try form.persist(in: store) == nil, "nothing was changed in it")
      form.name = "third"
      Self.expectUndecodable(caught { try form.persist(in: store) })
      #expect(form.name == "third" && form.state == .changed && form.stored?.name == "first")
      Self.expectUndecodable(caught { try form.reload(in: store) })
      #expect(form.name == "third" && form.state == .changed)
      var task = form.value
      try store.save(&task)
      #expect(try form.persist(in: store) == nil, "what is stored is the same now")
      #expect(form.state == .unchanged)
    }
    try Self.withTask { store, _, tracked throws in
      var form = tracked
      form.markDeleted()
      #expect(try form.persist(in: store) == .deleted)
      #expect(try store.count(Task.all) == 0)
    }
  }

  /// It needs no field of what is stored, since it is a conflict or replaces all of it.
  @Test("A tracked record with a version gets the conflict, or replaces what has its version")
  func versioned() throws {
    for isRaised in [true, false] {
      try withScratchPath { path throws in
        var task = VersionedTask(name: "first", kind: .open)
        var tracked: Tracked<VersionedTask>?
        try Store.using(path, VersionedTask.self) { store throws in
          try store.save(&task)
          tracked = try store.tracked(VersionedTask.self, task.id)
        }
        try Store.using(path, NewVersioned.self) { store throws in
          var other = try #require(try store.find(NewVersioned.self, 1))
          other.kind = .paused
          try store.save(&other)
        }
        var form = try #require(tracked)
        try Store.using(path, VersionedTask.self) { store throws in
          form.name = "third"
          if !isRaised { form.version += 1 }
          if isRaised {
            let error = caught { try form.persist(in: store) }
            #expect(error?.code == .conflict && error?.context.id == "1")
            #expect(form.state == .changed)
          } else {
            #expect(try form.persist(in: store) == .updated)
            #expect(try store.find(VersionedTask.self, 1)?.name == "third")
          }
        }
      }
    }
  }
}
