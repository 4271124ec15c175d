import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Backups")
struct BackupTests {
  @Test("A backup has the contents of the store without its free pages, and is valid")
  func whole() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let target = directory.path + "/backup.larch"
    let steps = Steps()
    try store.backup(to: target) { steps.take($0) }
    steps.expectWhole(fileSize(target))
    #expect(fileSize(target) < fileSize(directory.store))
    #expect(try FileCheck.verify(path: target).freePages == 0)
    let copy = try Store(at: target, for: IndexedBook.self)
    defer { copy.close() }
    #expect(try copy.verify().isClean)
    #expect(try copy.dump() == store.dump())
    #expect(directory.names.filter { $0.hasPrefix(".larch-new") } == [])
  }

  @Test("A backup is one snapshot while others write")
  func whileWriting() throws {
    let directory = try CrashDirectory()
    try Bank.make(at: directory.store)
    let store = try Bank.open(at: directory.store)
    defer { store.close() }
    let isOver = Locked(false)
    let writer = Work {
      var number = 0
      while !isOver.withLock({ $0 }) {
        number += 1
        try store.write { tx throws in
          for (id, change) in [
            (number % Bank.accountCount, 7), ((number + 1) % Bank.accountCount, -7),
          ] {
            guard var account = try tx.find(Account.self, id) else { throw Mismatch("\(id)") }
            account.balance += change
            try tx.update(account)
          }
        }
      }
      return number
    }
    for number in 0..<20 {
      let target = directory.path + "/backup-\(number).larch"
      try store.backup(to: target)
      let copy = try Bank.open(at: target)
      try copy.read { try Bank.check($0) }
      #expect(try copy.verify().isClean)
      copy.close()
    }
    isOver.withLock { $0 = true }
    #expect(try writer.wait() > 0)
  }

  @Test("An existing file stays, unless it may be replaced and nobody uses it")
  func targets() throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store)
    defer { store.close() }
    let target = directory.path + "/backup.larch"
    try Data("notes".utf8).write(to: URL(fileURLWithPath: target))
    #expect(code { try store.backup(to: target) } == .fileExists)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "notes")
    try store.backup(to: target, replacing: true)
    #expect(code { try store.backup(to: target) } == .fileExists)
    let copy = try Store(at: target, for: IndexedBook.self)
    #expect(code { try store.backup(to: target, replacing: true) } == .busy)
    #expect(code { try store.backup(to: directory.store, replacing: true) } == .busy)
    #expect(try copy.verify().isClean)
    copy.close()
    try store.backup(to: target, replacing: true)
    #expect(code { try store.backup(to: directory.path + "/none/x.larch") } == .fileNotFound)
    #expect(code { try store.write { _ in try store.backup(to: target + "2") } } == .nestedWrite)
    #expect(try store.read { _ in code { try store.backup(to: target + "3") } } == nil)
  }

  @Test("A backup that another process has open is not replaced")
  func openElsewhere() throws {
    let directory = try CrashDirectory()
    try Bank.make(at: directory.store)
    let store = try Bank.open(at: directory.store)
    defer { store.close() }
    let target = directory.path + "/backup.larch"
    try store.backup(to: target)
    let beacon = try Beacon(path: directory.beacon)
    let child = try Child(["bank-reader", target, directory.beacon, "0", "0"], in: directory.path)
    try child.waitUntilStarted(beacon, 0)
    #expect(code { try store.backup(to: target, replacing: true) } == .busy)
    try child.killHard()
    try store.backup(to: target, replacing: true)
  }

  @Test(
    "An error of the progress closure stops a backup at once, and no file is left",
    arguments: [1, 2, 4])
  func stopped(step: Int) throws {
    let directory = try CrashDirectory()
    let store = try makeHollowStore(at: directory.store, count: 12_000)
    defer { store.close() }
    let before = directory.names
    var calls = 0
    #expect(throws: Stopped.self) {
      try store.backup(to: directory.path + "/backup.larch") { _ in
        calls += 1
        if calls == step { throw Stopped() }
      }
    }
    #expect(calls == step)
    #expect(directory.names == before)
    // The copy that was stopped keeps no space any more.
    try store.compact()
    try store.backup(to: directory.path + "/backup.larch")
  }

  @Test("Tasks wait for a backup without blocking, and a cancelled one leaves nothing")
  func tasks() async throws {
    let directory = try CrashDirectory()
    let store = try await Work { try makeHollowStore(at: directory.store, count: 12_000) }.value
    let target = directory.path + "/backup.larch"
    let steps = Steps()
    try await store.backup(to: target) { steps.take($0) }
    steps.expectWhole(fileSize(target))
    let before = directory.names
    let task = Task {
      try await store.backup(to: directory.path + "/other.larch") { _ in
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(directory.names == before)
    store.close()
  }
}

extension Work {
  /// The result for a task, which does not block while it waits.
  var value: T {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try self.wait() }) }
      }
    }
  }
}
