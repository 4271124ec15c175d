import Foundation
import Testing

@testable import Larch

struct LMDBEnvironmentTests {
  @Test("The data of a write is read after reopening")
  func reopening() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .init())
    let database = try environment.database("a")
    try environment.write { try database.put("key", "value", in: $0) }
    #expect(try environment.read { try database.string("key", in: $0) } == "value")
    environment.close()
    #expect(scratch.names == ["test.larch", "test.larch-lock"])

    let again = try LMDBEnvironment.open(path: scratch.store, options: .init())
    defer { again.close() }
    let found = try again.openDatabases { try LMDBDatabase.open("a", in: $0) }
    let reopened = try #require(found)
    #expect(try again.read { try reopened.string("key", in: $0) } == "value")
    #expect(try again.openDatabases { try LMDBDatabase.open("b", in: $0) } == nil)
  }

  @Test("Both files belong to their owner alone, whatever the umask")
  func permissions() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    for path in [scratch.store, scratch.store + "-lock"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(path)")
    }
  }

  @Test("A thrown error undoes the write")
  func rollback() throws {
    struct Refusal: Error {}
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    #expect(throws: Refusal.self) {
      try environment.write { transaction in
        try database.put("key", "value", in: transaction)
        throw Refusal()
      }
    }
    #expect(try environment.read { try database.string("key", in: $0) } == nil)
  }

  @Test("A read sees the snapshot of its beginning")
  func snapshots() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put("key", "old", in: $0) }
    try environment.read { old in
      try environment.write { try database.put("key", "new", in: $0) }
      #expect(try database.string("key", in: old) == "old")
      #expect(try environment.read { try database.string("key", in: $0) } == "new")
    }
  }

  @Test("A child that is aborted leaves the parent's changes, one that commits adds its own")
  func children() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { parent in
      try database.put("parent", "1", in: parent)
      let dropped = try parent.beginChild()
      try database.put("dropped", "2", in: dropped)
      try database.put("parent", "3", in: dropped)
      dropped.abortChild()
      let kept = try parent.beginChild()
      try database.put("kept", "4", in: kept)
      try kept.commitChild()
    }
    let found = try environment.read { transaction in
      try ["parent", "dropped", "kept"].map { try database.string($0, in: transaction) }
    }
    #expect(found == ["1", nil, "4"])
  }
}
