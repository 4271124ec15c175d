import Foundation
import LarchTestSupport
import Testing

@testable import Larch

struct LMDBCreationTests {
  private func create(_ path: String, maker: UInt64) throws -> LMDBEnvironment {
    try LMDBEnvironment.open(path: path, options: .quick) { transaction in
      let catalog = try LMDBDatabase.open("catalog", .create, in: transaction)
      try catalog?.put(0, maker, in: transaction)
    }
  }

  private func maker(of environment: LMDBEnvironment) throws -> UInt64? {
    let catalog = try environment.openDatabases { try LMDBDatabase.open("catalog", in: $0) }
    return try environment.read { try catalog?.number(0, in: $0) }
  }

  @Test("A new store has its first entries before anyone can see it, and no other files remain")
  func firstEntries() throws {
    let scratch = try ScratchDirectory()
    let environment = try create(scratch.store, maker: 7)
    defer { environment.close() }
    #expect(try maker(of: environment) == 7)
    #expect(scratch.names == ["test.larch", "test.larch-lock"])
    let again = try create(scratch.store, maker: 8)
    #expect(try maker(of: again) == 7)
    again.close()
  }

  @Test("A failure while the first entries are written leaves no file")
  func failure() throws {
    struct Refusal: Error {}
    let scratch = try ScratchDirectory()
    #expect(throws: Refusal.self) {
      _ = try LMDBEnvironment.open(path: scratch.store, options: .quick) { _ in throw Refusal() }
    }
    #expect(scratch.names == [])
  }

  @Test("First entries that do not fit into a small map are written again to a larger one")
  func growth() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small()) {
      let database = try LMDBDatabase.open("a", .create, in: $0)
      for key in UInt64(0)..<20_000 { try database?.put(key, key, in: $0) }
    }
    defer { environment.close() }
    let database = try environment.database("a")
    #expect(try environment.read { try database.statistics(in: $0).entries } == 20_000)
  }

  @Test("Threads that create one store at once all get the first one")
  func threads() async throws {
    for _ in 0..<10 {
      let scratch = try ScratchDirectory()
      let makers = try await withThrowingTaskGroup(of: UInt64?.self) { group in
        for number in UInt64(0)..<6 {
          group.addTask {
            try await onThread {
              let environment = try create(scratch.store, maker: number)
              defer { environment.close() }
              return try maker(of: environment)
            }
          }
        }
        return try await group.reduce(into: Set<UInt64?>()) { $0.insert($1) }
      }
      #expect(makers.count == 1)
      #expect(!makers.contains(nil))
      #expect(scratch.names == ["test.larch", "test.larch-lock"])
    }
  }

  @Test("Processes that create one store at once all write to the first one")
  func processes() async throws {
    let scratch = try ScratchDirectory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in UInt64(1)...4 {
        group.addTask {
          await #expect(processExitsWith: .success) {
            [path = scratch.store as String, number = number as UInt64] in
            let environment = try LMDBEnvironment.open(path: path, options: .quick)
            let database = try environment.database("a")
            for key in UInt64(0)..<200 {
              try environment.write { try database.put(number * 1_000 + key, key, in: $0) }
            }
            environment.close()
          }
        }
      }
      try await group.waitForAll()
    }
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    #expect(try environment.read { try database.statistics(in: $0).entries } == 800)
    #expect(scratch.names == ["test.larch", "test.larch-lock"])
  }

  @Test("Files of a dead creator are removed, those of a living one are not")
  func leftovers() async throws {
    let scratch = try ScratchDirectory()
    // Resolved as the store does, so that both name the directory alike.
    let directory = try StoreLocation(scratch.store).directory
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = scratch.store as String] in
      _ = try LMDBEnvironment.open(path: path, options: .quick) { _ in kill(getpid(), SIGKILL) }
    }
    #expect(scratch.names.count == 2)
    #expect(!scratch.names.contains("test.larch"))
    let living = try TemporaryFile(in: directory, for: scratch.store)
    let lonely = directory + "/.larch-new-gone-lock"
    _ = FileManager.default.createFile(atPath: lonely, contents: Data())

    let environment = try create(scratch.store, maker: 1)
    defer { environment.close() }
    #expect(try maker(of: environment) == 1)
    let livingName = (living.path as NSString).lastPathComponent
    #expect(scratch.names == ["test.larch", "test.larch-lock", livingName])
    living.discard()
    #expect(scratch.names == ["test.larch", "test.larch-lock"])
  }

  /// LMDB keeps the number of the newest snapshot in the lock file. With the lock file of another
  /// store, a new store shows its older header or none, depending on whether that number is odd.
  @Test(
    "A new store shares no lock file with a removed one that another process has open",
    arguments: [3, 4])
  func staleLockFile(commits: Int) async throws {
    let scratch = try ScratchDirectory()
    let (store, ready, done) = (scratch.store, scratch.path + "/ready", scratch.path + "/done")
    // Not a task: waiting for a process blocks one of the few threads that tasks have.
    let outcome = Outcome()
    Thread {
      while !FileManager.default.fileExists(atPath: ready) { usleep(1_000) }
      outcome.seen.withLock { seen in
        seen = Result {
          try FileManager.default.removeItem(atPath: store)
          let environment = try create(store, maker: 9)
          defer { environment.close() }
          return [try maker(of: environment), try environment.info().lastTransactionID]
        }
      }
      _ = FileManager.default.createFile(atPath: done, contents: nil)
    }.start()
    await #expect(processExitsWith: .success) {
      [
        store = store as String, ready = ready as String, done = done as String,
        commits = commits as Int
      ] in
      let environment = try LMDBEnvironment.open(path: store, options: .quick)
      let database = try environment.database("a")
      for key in 0..<commits { try environment.write { try database.put(UInt64(key), 0, in: $0) } }
      _ = FileManager.default.createFile(atPath: ready, contents: nil)
      while !FileManager.default.fileExists(atPath: done) { usleep(1_000) }
      environment.close()
    }
    #expect(try outcome.seen.withLock { try $0?.get() } == [9, 1])
  }

  private final class Outcome: Sendable {
    let seen = Locked<Result<[UInt64?], any Error>?>(nil)
  }
}

struct LMDBCopyTests {
  @Test(
    "A copy holds one snapshot under writes, a compacting one is smaller", arguments: [false, true])
  func copying(compacting: Bool) async throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { transaction in
      for key in UInt64(0)..<20_000 { try database.put(key, key, in: transaction) }
    }
    try environment.write { transaction in
      for key in UInt64(1_000)..<20_000 { _ = try database.delete(key, in: transaction) }
    }
    async let writes: Void = onThread {
      for key in UInt64(0)..<200 {
        try environment.write { transaction in
          try database.put(100_000 + key, key, in: transaction)
          _ = try database.delete(key, in: transaction)
        }
      }
    }
    let path = scratch.path + "/copy.larch"
    try environment.copy(to: path, compacting: compacting)
    try await writes
    #expect(code { try environment.copy(to: path, compacting: compacting) } == .fileExists)

    let copy = try LMDBEnvironment.open(path: path, options: .quick)
    defer { copy.close() }
    let copied = try copy.database("a")
    #expect(try copy.read { try copied.statistics(in: $0).entries } == 1_000)
    let sizes = (try copy.info().fileSize, try environment.info().fileSize)
    #expect(compacting ? sizes.0 < sizes.1 / 2 : sizes.0 <= sizes.1)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(
      scratch.names == ["test.larch", "test.larch-lock", "copy.larch", "copy.larch-lock"])
  }

  @Test("A copy inside a write is refused, since it would wait for itself")
  func insideWrite() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let answer = try environment.write { _ in
      code { try environment.copy(to: scratch.path + "/copy", compacting: false) }
    }
    #expect(answer == .nestedWrite)
  }
}
