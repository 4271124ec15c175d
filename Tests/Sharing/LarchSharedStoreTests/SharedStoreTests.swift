import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A shared store")
struct SharedStoreTests {
  @Test("What one copy writes, every copy reads")
  func basics() throws {
    let server = MemoryServer()
    try withCopies(3, of: server, Account.self) { stores in
      var ada = Account(owner: "ada", balance: 1)
      try stores[0].write { tx in try tx.save(&ada) }
      try stores[1].environment.catchUpWithLog()
      #expect(try stores[1].find(Account.self, ada.id) == ada)
      var bo = Account(owner: "bo", balance: 2)
      try stores[1].write { tx in try tx.save(&bo) }
      try stores[2].write { tx in
        ada.balance += 10
        try tx.update(ada)
      }
      try expectEqual(stores, server)
      #expect(try stores[0].everything(Account.self).map(\.balance).sorted() == [2, 11])
    }
  }

  @Test("A closure runs again on what came between, and its result is that of the last run")
  func runsAgain() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      var ada = Account(owner: "ada", balance: 0)
      try stores[0].write { tx in try tx.save(&ada) }
      try stores[1].environment.catchUpWithLog()
      let id = ada.id
      var runs = 0
      let seen = try stores[0].write { tx -> Int in
        runs += 1
        var account = try #require(try tx.find(Account.self, id))
        if runs == 1 {
          // Another server is faster.
          try onThreads(1) { _ in
            try stores[1].write { tx in
              var account = try #require(try tx.find(Account.self, id))
              account.balance += 100
              try tx.update(account)
            }
          }
        }
        account.balance += 1
        try tx.update(account)
        return account.balance
      }
      #expect(runs == 2 && seen == 101)
      try expectEqual(stores, server)
      #expect(try stores[1].find(Account.self, id)?.balance == 101)
    }
  }

  /// The calls that writes of a store have made.
  private func calls(of store: Store) throws -> Int {
    let copy = try #require(store.companions.withLock { $0.sharedCopy })
    return try #require(copy.order.log as? MemoryLog).calls
  }

  @Test("Reads ask no server, a write asks once, and twice after a lost place")
  func calls() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      let store = stores[0]
      func count(_ body: () throws -> Void) throws -> Int {
        let before = try calls(of: store)
        try body()
        return try calls(of: store) - before
      }
      var ada = Account(owner: "ada", balance: 0)
      try store.write { tx in try tx.save(&ada) }
      #expect(try count { _ = try store.fetch(Account.all) } == 0)
      #expect(try count { try store.write { tx in try tx.save(&ada) } } == 0)
      for number in 1...100 {
        #expect(
          try count {
            try store.write { tx in
              ada.balance = number
              try tx.save(&ada)
              // Ids too cost nothing, since the next block is claimed with a commit before.
              var other = Account(owner: "other \(number)", balance: 0)
              try tx.save(&other)
            }
          } == 1)
      }
      // The append that loses, then a turn with what came between, and the append in it.
      var runs = 0
      let lost = try count {
        try store.write { tx in
          runs += 1
          if runs == 1 {
            try onThreads(1) { _ in
              try stores[1].environment.catchUpWithLog()
              try stores[1].saveAll([Account(owner: "faster", balance: 0)])
            }
          }
          ada.balance += 1
          try tx.save(&ada)
        }
      }
      #expect(lost == 1 + 2 && runs == 2)
      // While it takes turns, a write is two calls.
      #expect(
        try count {
          ada.balance += 1
          try store.write { tx in try tx.save(&ada) }
        } == 2)
    }
  }

  @Test("The thread that follows asks for nothing when its own copy has committed")
  func ownCommits() throws {
    let server = MemoryServer()
    try withCopies(1, of: server, Account.self) { stores in
      try stores[0].saveAll([Account(owner: "first", balance: 0)])
      Thread.sleep(forTimeInterval: 0.1)
      let before = server.calls
      for number in 0..<100 { try stores[0].saveAll([Account(owner: "\(number)", balance: 0)]) }
      Thread.sleep(forTimeInterval: 0.1)
      // On a busy machine some of them may look like another's.
      #expect(server.calls - before < 100 + 50)
    }
  }

  @Test("Writes of many tasks share an append, and each is kept or undone by itself")
  func groups() async throws {
    let server = MemoryServer()
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let stores = try paths.map {
      try Store(sharing: server.serverLog, copy: $0, for: Account.self, options: .quick)
    }
    defer { stores.forEach { $0.close() } }
    struct Undo: Error {}
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          let store = stores[number % 2]
          do {
            try await store.write { tx in
              var account = Account(owner: "\(number)", balance: number)
              try tx.save(&account)
              if number % 7 == 0 { throw Undo() }
            }
          } catch is Undo {}
        }
      }
      try await group.waitForAll()
    }
    try expectEqual(stores, server)
    let owners = Set(try stores[0].everything(Account.self).map(\.owner))
    #expect(owners == Set((0..<400).filter { $0 % 7 != 0 }.map { "\($0)" }))
    #expect(try stores[0].position < 350, "no append was shared")
  }

  @Test("A store of its own becomes a shared one, with its records")
  func conversion() throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try Store.using(path, Account.self) { store throws in
      try store.saveAll([Account(owner: "ada", balance: 7)])
    }
    let first = try Store(
      sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
    defer { first.close() }
    try withCopies(1, of: server, Account.self) { stores in
      #expect(try stores[0].everything(Account.self).map(\.balance) == [7])
      try stores[0].saveAll([Account(owner: "bo", balance: 8)])
      try expectEqual([first] + stores, server)
    }
  }

  @Test("A second store of its own is refused, and stays as it was")
  func secondStore() throws {
    let server = MemoryServer()
    try withCopies(1, of: server, Account.self) { _ in
      let path = ScratchFile.freshPath()
      defer { ScratchFile.remove(path) }
      try Store.using(path, Account.self) { store throws in
        try store.saveAll([Account(owner: "own", balance: 1)])
      }
      let error = caught {
        _ = try Store(sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
      }
      #expect(error?.code == .fileExists)
      try Store.using(path, Account.self) { store throws in
        try store.saveAll([Account(owner: "again", balance: 2)])
        #expect(try store.count(Account.all) == 2)
      }
    }
  }

  @Test("A copy that is opened without its log can be read, and refuses writes")
  func withoutLog() throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
    try store.saveAll([Account(owner: "ada", balance: 1)])
    store.close()
    try Store.using(path, Account.self) { store throws in
      #expect(try store.count(Account.all) == 1)
      #expect(
        caught { try store.saveAll([Account(owner: "bo", balance: 1)]) }?.code == .readOnly)
    }
  }

  @Test("Observers on each copy see the commits of all")
  func observers() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      let seen = Locked<[[Int]]>([])
      let token = stores[1].observe(Account.all.sorted(by: \.balance)) { rows in
        seen.withLock { $0.append(rows.value.map(\.balance)) }
      }
      defer { token.cancel() }
      for number in 1...5 { try stores[0].saveAll([Account(owner: "\(number)", balance: number)]) }
      try stores[1].saveAll([Account(owner: "6", balance: 6)])
      for _ in 0..<500 where seen.withLock({ $0.last }) != [1, 2, 3, 4, 5, 6] {
        Thread.sleep(forTimeInterval: 0.01)
      }
      #expect(seen.withLock { $0.last } == [1, 2, 3, 4, 5, 6])
    }
  }
}
