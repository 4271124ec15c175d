import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A store with a log has threads that need the write lock, and `close()` ends them. A write may have the
/// lock then, and may wait for the call or have made it.
@Suite("A store with a log is closed while a write runs")
struct ClosingTests {
  enum Kind: CaseIterable { case shared, mirrored }

  private let server = MemoryServer()
  private let path = ScratchFile.freshPath()

  private func open(_ kind: Kind) throws -> Store {
    switch kind {
    case .shared:
      try Store(sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
    case .mirrored:
      try Store(at: path, mirror: server.serverLog, for: Account.self, options: .quick)
    }
  }

  private func save(_ owner: String, in tx: WriteTransaction) throws {
    var account = Account(owner: owner, balance: 1)
    try tx.save(&account)
  }

  /// Lets the thread of the store wait for the write lock, which this thread has.
  private func giveWork(_ store: Store, _ kind: Kind) throws {
    if kind == .shared {
      try onThreads(1) { _ in
        let other = try Store(
          sharing: server.serverLog, copy: ScratchFile.freshPath(), types: [Account.self],
          options: .quick, isTemporary: true)
        try other.saveAll([Account(owner: "other", balance: 2)])
        other.close()
      }
    }
    // A mirror has the commits before, and removes them from the file when they are shipped.
    let end = Date(timeIntervalSinceNow: 2)
    while store.environment.writeQueue.waitingCount == 0, Date() < end { usleep(1000) }
  }

  private func expectOwners(_ owners: [String], _ kind: Kind) throws {
    let again = try open(kind)
    defer { again.close() }
    if kind == .shared { try again.environment.catchUpWithLog() }
    #expect(try again.everything(Account.self).map(\.owner).sorted() == owners)
  }

  @Test(
    "by the write itself, which is committed", .timeLimit(.minutes(15)), arguments: Kind.allCases)
  func byItself(_ kind: Kind) throws {
    defer { ScratchFile.remove(path) }
    let store = try open(kind)
    try store.write { tx in try save("before", in: tx) }
    var runs = 0
    do {
      try store.write { tx in
        runs += 1
        try save("own \(runs)", in: tx)
        if kind == .mirrored { try giveWork(store, kind) }
        store.close()
      }
    } catch let error as LarchError where error.code == .closed {
      Issue.record("the write was not committed")
    }
    #expect(throws: LarchError.self) { try store.write { _ in } }
    try expectOwners(["before", "own 1"], kind)
  }

  @Test(
    "and a write that has lost its place is not run again", .timeLimit(.minutes(15)))
  func lostPlace() throws {
    defer { ScratchFile.remove(path) }
    let store = try open(.shared)
    try store.write { tx in try save("before", in: tx) }
    #expect {
      try store.write { tx in
        try save("own", in: tx)
        try giveWork(store, .shared)
        store.close()
      }
    } throws: {
      ($0 as? LarchError)?.code == .closed
    }
    try expectOwners(["before", "other"], .shared)
  }

  @Test(
    "by a caller for which the write waits", .timeLimit(.minutes(15)), arguments: Kind.allCases)
  func byAnother(_ kind: Kind) throws {
    defer { ScratchFile.remove(path) }
    let store = try open(kind)
    try store.write { tx in try save("before", in: tx) }
    let (began, closed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let outcome = Locked<Result<Void, any Error>?>(nil)
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let result = Result {
        try store.write { tx in
          try save("own", in: tx)
          began.signal()
          closed.wait()
        }
      }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    began.wait()
    if kind == .mirrored { try giveWork(store, kind) }
    store.close()
    closed.signal()
    ended.wait()
    try outcome.withLock { $0 }?.get()
    try expectOwners(["before", "own"], kind)
  }

  @Test("Without one, everything has ended when `close()` returns", arguments: Kind.allCases)
  func nothingRuns(_ kind: Kind) throws {
    defer { ScratchFile.remove(path) }
    for round in 0..<40 {
      let store = try open(kind)
      try store.write { tx in try save("round \(round)", in: tx) }
      store.close()
      // Other options are refused while anything has the file open.
      let plain = try LMDBEnvironment.open(path: path, options: LMDBEnvironment.Options())
      plain.close()
    }
  }
}
