import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// The version of a store changes exactly if somebody has committed.
@Suite("Versions of a store")
struct StoreVersionTests {
  private static func change(_ store: Store, by amount: Int = 1) throws {
    try store.writeBlocking { tx throws in
      var account = try #require(try tx.find(Account.self, 0))
      account.balance += amount
      try tx.update(account)
    }
  }

  private static func make() throws -> (CrashDirectory, Store) {
    let directory = try CrashDirectory()
    try SharedBank(seed: 1).make(at: directory.store)
    return (directory, try SharedBank.open(at: directory.store))
  }

  @Test("Each commit makes a later one; reading, failing and changing nothing make none")
  func commits() throws {
    let (directory, store) = try Self.make()
    defer { withExtendedLifetime(directory) { store.close() } }
    let first = try store.version
    #expect(try store.version == first)
    #expect(try store.read { try $0.version } == first)
    try store.write { _ in }
    #expect(throws: Mismatch.self) {
      try store.write { tx throws in
        var account = try #require(try tx.find(Account.self, 0))
        account.balance = 3
        try tx.update(account)
        throw Mismatch("undone")
      }
    }
    #expect(try store.version == first)
    var last = first
    for _ in 0..<20 {
      try Self.change(store)
      #expect(try store.version > last)
      last = try store.version
    }
    let base = try store.write { tx throws in
      var account = try #require(try tx.find(Account.self, 0))
      account.balance = 3
      try tx.update(account)
      return try tx.savepoint { try tx.version }
    }
    #expect(base == last)
    #expect(try store.version > base)
  }

  @Test("A read keeps its version while others commit")
  func snapshot() throws {
    let (directory, store) = try Self.make()
    defer { withExtendedLifetime(directory) { store.close() } }
    let reading = try SharedBank.open(at: store.path)
    defer { reading.close() }
    let changed = DispatchSemaphore(value: 0)
    try reading.read { tx throws in
      let before = try tx.version
      Thread.detachNewThread {
        try? Self.change(store)
        changed.signal()
      }
      changed.wait()
      #expect(try tx.version == before)
      #expect(try reading.version > before)
    }
  }

  @Test("A commit of another process changes the version, and a read does not")
  func otherProcess() throws {
    let (directory, store) = try Self.make()
    defer { withExtendedLifetime(directory) { store.close() } }
    let first = try store.version
    let none = try Child(["version-writer", directory.store, "0"], in: directory.path)
    #expect(try none.wait() == .exit(0), "\(none.output)")
    #expect(try store.version == first)
    var last = first
    for _ in 0..<3 {
      let child = try Child(["version-writer", directory.store, "5"], in: directory.path)
      #expect(try child.wait() == .exit(0), "\(child.output)")
      #expect(try store.version > last)
      last = try store.version
      // A snapshot of this version has the committed data.
      let seen = try store.read { tx throws in
        (try tx.version, try #require(try tx.find(Account.self, 1)).balance)
      }
      #expect(seen.0 == last)
    }
    #expect(try store.read { try $0.find(Account.self, 1)?.balance } == 1015)
  }

  @Test("It stays the same when the store is reopened, and starts again in a new store")
  func reopened() throws {
    let (directory, store) = try Self.make()
    try Self.change(store)
    let version = try store.version
    store.close()
    #expect(throws: LarchError.self) { () throws in try store.version }
    let again = try SharedBank.open(at: store.path)
    defer { again.close() }
    #expect(try again.version == version)
    try Self.change(again)
    #expect(try again.version > version)
    withExtendedLifetime(directory) {}
  }

  @Test("Nobody sees a version before its state can be read")
  func neverEarly() throws {
    let (directory, store) = try Self.make()
    defer { withExtendedLifetime(directory) { store.close() } }
    // It writes until it has been watched for long enough, however rarely this thread gets its turn.
    let child = try Child(["version-writer", directory.store, "\(Int.max)"], in: directory.path)
    var last = try store.version
    var changes = 0
    while changes < 50 {
      guard child.isRunning else { throw Mismatch("the writer ended: \(child.output)") }
      let version = try store.version
      if version == last { continue }
      last = version
      changes += 1
      let read = try store.read { try $0.version }
      #expect(read >= version)
    }
    try child.killHard()
  }

  @Test("A task gets versions until it is cancelled or the store is closed")
  func sequence() async throws {
    let (directory, store) = try Self.make()
    let first = try store.version
    var versions = store.versions(every: .milliseconds(1)).makeAsyncIterator()
    #expect(await versions.next() == first)
    try Self.change(store)
    let second = try #require(await versions.next())
    #expect(second > first)
    let sequence = store.versions(every: .milliseconds(1))
    let waiting = Task {
      var count = 0
      for await _ in sequence { count += 1 }
      return count
    }
    waiting.cancel()
    #expect(await waiting.value <= 1)
    withExtendedLifetime(directory) { store.close() }
    #expect(await versions.next() == nil)
  }

  @Test("It takes tens of nanoseconds")
  func speed() throws {
    let (directory, store) = try Self.make()
    defer { withExtendedLifetime(directory) { store.close() } }
    let count = 100_000
    let start = DispatchTime.now().uptimeNanoseconds
    var last = try store.version
    for _ in 0..<count { last = max(last, try store.version) }
    let time = DispatchTime.now().uptimeNanoseconds - start
    print("version: \(time / UInt64(count)) ns each")
    #expect(try last == store.version)
  }
}
