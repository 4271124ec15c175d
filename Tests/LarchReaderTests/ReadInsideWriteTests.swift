import LarchTestSupport
import Testing

@testable import Larch

/// Reading through the store inside a write gave the state before it without a word: `store.count`
/// said 1 where `tx.count` said 2.
@Suite("Reading through the store inside a write")
struct ReadInsideWriteTests {
  private struct Undone: Error {}

  private static func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    let store = try Store.temporary(for: Note.self, options: .quick.with(change))
    try store.add(1...3)
    return store
  }

  @Test("Every way of reading sees what the write did", arguments: [false, true])
  func ways(isLogged: Bool) throws {
    let store = try Self.store {
      if isLogged {
        $0.log = { _ in }
        $0.slowRead = .zero
      }
    }
    try store.write { tx throws in
      var fourth = Note(4)
      try tx.save(&fourth)
      try tx.delete(Note.self, 1)
      let query = Note.where { $0.number >= 2 }
      #expect(try store.count(Note.all) == 3)
      #expect(try store.count(query) == 3)
      #expect(try query.count(in: store) == 3)
      #expect(try query.count(in: tx) == 3)
      #expect(try store.find(Note.self, fourth.id) == fourth)
      #expect(try store.find(Note.self, 1) == nil)
      #expect(try store.find(Note.self, [1, fourth.id]) == [fourth])
      #expect(try store.exists(Note.self, fourth.id))
      #expect(try store.fetch(query).map(\.number) == [2, 3, 4])
      #expect(try store.first(Note.where { $0.number == 4 }) == fourth)
      #expect(try store.find(Note.self, by: \.number, equals: 4) == fourth)
      #expect(try store.ids(query) == tx.ids(query))
      #expect(try store.sum(\.number, of: query) == 9)
      #expect(try store.explain(query).description == tx.explain(query).description)
      var seen = 0
      try store.forEach(query) { _ in seen += 1 }
      #expect(seen == 3)
      try store.read { inner throws in
        #expect(inner === tx)
        #expect(try inner.count(Note.all) == 3)
        // Without a store it is the same transaction.
        #expect(try query.count() == 3)
      }
      try Store.with(store) { () throws in #expect(try store.count(Note.all) == 3) }
    }
    #expect(try store.count(Note.all) == 3)
  }

  @Test("An undone part is not seen, and a part is while it runs")
  func savepoints() throws {
    let store = try Self.store()
    try store.write { tx throws in
      try? tx.savepoint {
        var fourth = Note(4)
        try tx.save(&fourth)
        #expect(try store.count(Note.all) == 4)
        throw Undone()
      }
      #expect(try store.count(Note.all) == 3)
    }
  }

  @Test("An error of the closure is passed on, and the write continues")
  func errors() throws {
    let store = try Self.store()
    try store.write { tx throws in
      var fourth = Note(4)
      try tx.save(&fourth)
      #expect(throws: Undone.self) { () throws in try store.read { _ in throw Undone() } }
      #expect(try store.count(Note.all) == 4)
    }
    #expect(try store.count(Note.all) == 4)
  }

  @Test("A write of another store in between does not matter, nor does a read of it")
  func otherStore() throws {
    let (store, other) = (try Self.store(), try Self.store())
    try store.write { tx throws in
      var fourth = Note(4)
      try tx.save(&fourth)
      try other.write { _ throws in
        #expect(try store.count(Note.all) == 4)
        #expect(try other.count(Note.all) == 3)
        try store.read { inner throws in
          #expect(inner === tx)
          #expect(try Note.all.count() == 4)
        }
        #expect(try Note.all.count() == 3)
      }
      try other.read { _ throws in #expect(try store.count(Note.all) == 4) }
    }
  }

  @Test("A snapshot, another store of the file and the version are of what is committed")
  func committed() throws {
    try Store.scratch(Note.self) { store throws in
      try store.add(1...3)
      let other = try Store(
        path: store.path, types: [Note.self], options: .quick, isTemporary: false)
      defer { other.close() }
      let version = try store.version
      try store.write { tx throws in
        var fourth = Note(4)
        try tx.save(&fourth)
        let snapshot = try store.snapshot()
        defer { snapshot.end() }
        #expect(try snapshot.count(Note.all) == 3)
        #expect(try other.count(Note.all) == 3)
        #expect(try store.version == version)
        #expect(try tx.version == version)
        // Inside of a use of the snapshot, too, the store means its write.
        try snapshot.read { _ throws in #expect(try store.count(Note.all) == 4) }
      }
    }
  }

  @Test("A task that is started in the write is not inside of it")
  func tasks() async throws {
    let store = try Self.store()
    let task = try store.writeBlocking { tx throws in
      var fourth = Note(4)
      try tx.save(&fourth)
      let inside = try store.count(Note.all)
      #expect(inside == 4)
      return Task.detached { try store.count(Note.all) }
    }
    let count = try await task.value
    #expect(count == 3 || count == 4)
    #expect(try store.count(Note.all) == 4)
  }

  @Test("An asynchronous write sees its own changes through the store as well")
  func asynchronous() async throws {
    let store = try Self.store()
    try await store.write { tx throws in
      var fourth = Note(4)
      try tx.save(&fourth)
      #expect(try store.count(Note.all) == 4)
    }
  }
}
