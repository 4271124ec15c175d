import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

/// `LARCH_SHARED_TRANSACTIONS` is the number of transfers, 400; above it, rates are printed.
@Suite("Shared stores on PostgreSQL", needsServer)
struct SharedOnPostgresTests {
  private struct Account: Record, Equatable {
    var id = RecordID<Account>()
    var owner: String
    var balance: Int
    static let schema = Schema<Account> {
      Unique(\.owner)
      Index(\.balance)
    }
  }

  private static let transactions =
    ProcessInfo.processInfo.environment["LARCH_SHARED_TRANSACTIONS"].flatMap(Int.init) ?? 400

  private func withStores<T>(_ count: Int, _ body: ([Store]) async throws -> T) async throws -> T {
    let server = try PostgresServer.shared.get()
    let log = ServerLog.postgres(server.url, store: freshName())
    let paths = (0..<count).map { _ in ScratchFile.freshPath() }
    var stores: [Store] = []
    defer {
      stores.forEach { $0.close() }
      paths.forEach(ScratchFile.remove)
    }
    for path in paths {
      stores.append(try Store(sharing: log, copy: path, for: Account.self, options: .quick))
    }
    return try await body(stores)
  }

  /// Runs a body on a thread for each store.
  private func onThreads(
    _ stores: [Store], _ body: @escaping @Sendable (Int, Store) throws -> Void
  ) throws {
    let failures = Locked<[any Error]>([])
    let group = DispatchGroup()
    for (place, store) in stores.enumerated() {
      group.enter()
      Thread {
        do { try body(place, store) } catch { failures.withLock { $0.append(error) } }
        group.leave()
      }.start()
    }
    group.wait()
    if let failure = failures.withLock({ $0.first }) { throw failure }
  }

  @Test("Four servers move money, and none of it is lost or made at any moment")
  func bank() async throws {
    try await withStores(4) { stores in
      let total = 8 * 100
      try stores[0].saveAll((0..<8).map { Account(owner: "\($0)", balance: 100) })
      let start = ContinuousClock.now
      let moved = Locked(0)
      try onThreads(stores) { place, store in
        var random = SeededGenerator(seed: UInt64(place))
        for number in 0..<Self.transactions / 4 {
          let isMoved = try store.write { tx in
            let accounts = try tx.fetch(Account.all)
            guard var from = accounts.randomElement(using: &random), from.balance > 0,
              var to = accounts.randomElement(using: &random), from.id != to.id
            else { return false }
            let amount = Int.random(in: 1...from.balance, using: &random)
            from.balance -= amount
            to.balance += amount
            try tx.update(from)
            try tx.update(to)
            return true
          }
          if isMoved { moved.withLock { $0 += 1 } }
          // A race for a unique owner: one of the four gets it.
          if number % 10 == 0 {
            do { try store.saveAll([Account(owner: "race \(number)", balance: 0)]) } catch let error
              as LarchError where error.code == .uniqueConflict
            {}
          }
          let sum = try store.read { tx in
            try tx.fetch(Account.all).reduce(0) { $0 + $1.balance }
          }
          if sum != total { Issue.record("the sum is \(sum)") }
        }
      }
      let time = (ContinuousClock.now - start).inSeconds
      for store in stores { try await store.follower?.settled(within: .seconds(30)) }
      let first = try stores[0].everything(Account.self)
      for store in stores {
        #expect(try store.everything(Account.self) == first)
        #expect(try await store.verify().isClean)
      }
      let races = (Self.transactions / 4 + 9) / 10
      let count = moved.withLock { $0 }
      #expect(first.count == 8 + races && count > 0)
      if Self.transactions > 400 {
        let lost = stores.reduce(0) { $0 + ($1.environment.sharedOrder?.lostPlaces ?? 0) }
        print("bank: \(Double(Self.transactions) / time) transactions/s, \(lost) places lost")
      }
    }
  }

  @Test("64 tasks of one server share appends")
  func tasks() async throws {
    try await withStores(2) { stores in
      let count = Self.transactions * 2
      let start = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<64 {
          group.addTask {
            for number in stride(from: task, to: count, by: 64) {
              try await stores[0].write { tx in
                var account = Account(owner: "\(number)", balance: number)
                try tx.save(&account)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let time = (ContinuousClock.now - start).inSeconds
      #expect(try await stores[1].read(.fresh) { tx in try tx.count(Account.all) } == count)
      var times: [Double] = []
      for number in 0..<min(400, count) {
        let begin = ContinuousClock.now
        try await stores[0].write { tx in
          var account = Account(owner: "one \(number)", balance: number)
          try tx.save(&account)
        }
        times.append((ContinuousClock.now - begin).inSeconds)
      }
      times.sort()
      if Self.transactions > 400 {
        print(
          "64 tasks: \(Double(count) / time) saves/s; one write: median \(times[times.count / 2]) s"
        )
      }
    }
  }

  @Test("A server that cannot be reached has not got the write")
  func unreachable() async throws {
    let server = try PostgresServer()
    let log = ServerLog.postgres(server.url, store: freshName())
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      sharing: log, copy: path, for: Account.self,
      options: .quick.with { $0.commitTimeout = .seconds(3) })
    defer { store.close() }
    try store.saveAll([Account(owner: "ada", balance: 1)])
    try server.order("kill")
    // The first attempt finds out that the connection is gone, and the others that there is no server.
    let failed = caught { try store.saveAll([Account(owner: "bo", balance: 1)]) }
    let first = try #require(failed)
    #expect([.unavailable, .commitUnknown].contains(first.code))
    let second = caught { try store.saveAll([Account(owner: "cy", balance: 1)]) }
    #expect(second?.code == .unavailable)
    #expect(try store.count(Account.all) == 1)
    try server.order("start")
    if first.code == .commitUnknown {
      var outcome: Store.CommitOutcome?
      for _ in 0..<100 where outcome == nil { outcome = try? await store.outcome(of: first) }
      #expect(outcome == .notCommitted)
    }
    for _ in 0..<100 {
      do {
        try await store.write { tx in
          var account = Account(owner: "di", balance: 1)
          try tx.save(&account)
        }
        break
      } catch let error as LarchError where error.code == .unavailable {}
    }
    #expect(try store.everything(Account.self).map(\.owner) == ["ada", "di"])
  }

  @Test("A copy opens while the server hangs, and tells that it is interrupted")
  func opensWhileHanging() async throws {
    let server = try PostgresServer()
    let log = ServerLog.postgres(server.url, store: freshName())
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    func open() throws -> Store {
      try Store(sharing: log, copy: path, for: Account.self, options: .quick)
    }
    let first = try open()
    try first.saveAll([Account(owner: "ada", balance: 1)])
    first.close()
    try server.order("pause")
    // A call of the client alone may take 10 and 30 seconds.
    let start = ContinuousClock.now
    let store = try open()
    defer { store.close() }
    #expect(ContinuousClock.now - start < .seconds(25))
    #expect(try store.count(Account.all) == 1)
    for _ in 0..<600 where store.follower?.status.activity != .interrupted {
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(store.follower?.status.activity == .interrupted)
    #expect(store.follower?.status.error?.code == .unavailable)
    try server.order("resume")
    try store.saveAll([Account(owner: "bo", balance: 1)])
    for _ in 0..<600 where store.follower?.status.activity != .following {
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(store.follower?.status.activity == .following)
  }

  @Test("A server that hangs is waited for as long as the options say")
  func hanging() async throws {
    let server = try PostgresServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      sharing: .postgres(server.url, store: freshName()), copy: path, for: Account.self,
      options: .quick.with { $0.commitTimeout = .seconds(2) })
    defer { store.close() }
    try store.saveAll([Account(owner: "ada", balance: 1)])
    try server.order("pause")
    // A call of the client alone may take 10 and 30 seconds.
    let start = ContinuousClock.now
    let failed = caught { try store.saveAll([Account(owner: "bo", balance: 1)]) }
    let second = caught { try store.saveAll([Account(owner: "cy", balance: 1)]) }
    #expect(ContinuousClock.now - start < .seconds(16))
    let first = try #require(failed)
    #expect([.unavailable, .commitUnknown].contains(first.code))
    #expect(second?.code == .unavailable)
    if first.code == .commitUnknown {
      let unasked = caught { _ = try store.outcome(of: first) }
      #expect(unasked?.code == .unavailable)
      #expect(unasked?.message.contains("not known") == true)
      #expect(!"\(first)".contains("LogPlace"))
    }
    try server.order("resume")
    for _ in 0..<100 {
      do {
        try store.saveAll([Account(owner: "di", balance: 1)])
        break
      } catch let error as LarchError where error.code == .unavailable {}
    }
    #expect(try store.exists(Account.where { $0.owner == "di" }))
  }
}
