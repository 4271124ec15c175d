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
      // Its thread that follows may not have come to ada yet, and the update would find no record.
      try stores[2].environment.catchUpWithLog()
      try stores[2].write { tx in
        // Not `+=`: the closure may run again.
        ada.balance = 11
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
      let start = MonotonicTime.now.nanoseconds
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
      let taking = try count {
        ada.balance += 1
        try store.write { tx in try tx.save(&ada) }
      }
      let isOver = MonotonicTime.now.nanoseconds - start >= CommitOrder.turnTime
      #expect(taking == 2 || isOver && taking == 1)
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

  @Test("Writes that come while the first waits for its turn share its append")
  func groupsInTurns() async throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
    defer { store.close() }
    let otherPath = ScratchFile.freshPath()
    defer { ScratchFile.remove(otherPath) }
    let other = try Store(
      sharing: server.serverLog, copy: otherPath, for: Account.self, options: .quick)
    defer { other.close() }
    // From a lost place on, the store takes turns for a second.
    let runs = Locked(0)
    try await store.write { tx in
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      if run == 1 {
        try onThreads(1) { _ in try other.saveAll([Account(owner: "faster", balance: 0)]) }
      }
      var account = Account(owner: "first", balance: 0)
      try tx.save(&account)
    }
    // The first one waits for its turn until the others have come.
    let (begun, turns) = (Locked(0), Locked(0))
    server.atTurn = {
      turns.withLock { $0 += 1 }
      for _ in 0..<60_000 where begun.withLock({ $0 }) < 60 { usleep(1000) }
      usleep(30_000)
    }
    let before = try store.position
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          begun.withLock { $0 += 1 }
          try await store.write { tx in
            var account = Account(owner: "\(number)", balance: number)
            try tx.save(&account)
          }
        }
      }
      try await group.waitForAll()
    }
    // Two at once would be thirty. On a machine that stood still, the second was over before the first one.
    #expect(try store.position - before < 20 || turns.withLock { $0 } == 0)
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
  func observers() async throws {
    let server = MemoryServer()
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let stores = try paths.map {
      try Store(sharing: server.serverLog, copy: $0, for: Account.self, options: .quick)
    }
    defer { stores.forEach { $0.close() } }
    let writing = Task {
      for number in 1...5 {
        try await stores[0].write { tx in
          var account = Account(owner: "\(number)", balance: number)
          try tx.save(&account)
        }
      }
      try await stores[1].write { tx in
        var account = Account(owner: "6", balance: 6)
        try tx.save(&account)
      }
    }
    for try await seen in stores[1].observe(Account.all.sorted(by: \.balance)) {
      if seen.value.map(\.balance) == [1, 2, 3, 4, 5, 6] { break }
    }
    try await writing.value
  }

  @Test("A write that takes in what others wrote, and changes nothing itself, hides no later write")
  func writesNothing() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      let request = Account.all.sorted(by: \.balance)
      let observer = try stores[0].observe(request).makeAsyncIterator().observer.get()
      var last = try #require(try observer.poll()).value
      // The thread that follows may be faster than some of the writes that change nothing.
      for number in 0..<40 {
        try stores[1].saveAll([Account(owner: "other \(number)", balance: 2 * number)])
        try stores[0].write { _ in }
        try stores[0].saveAll([Account(owner: "own \(number)", balance: 2 * number + 1)])
        last = try observer.poll()?.value ?? last
        #expect(last == (try stores[0].fetch(request)))
      }
    }
  }

  @Test(
    "A version means the same on every copy, and a fresh read sees what any server has committed")
  func versions() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      for number in 0..<20 {
        let (writer, reader) = (stores[number % 2], stores[1 - number % 2])
        try writer.saveAll([Account(owner: "\(number)", balance: 0)])
        let version = try #require(StoreVersion(try writer.version.description))
        let seen =
          number < 10
          ? try reader.read(.atLeast(version)) { tx in try tx.count(Account.all) }
          : try reader.read(.fresh) { tx in try tx.count(Account.all) }
        #expect(seen == number + 1)
        #expect(try reader.version == version)
      }
    }
  }

  @Test("A copy is not compacted, since it would differ from the others")
  func compaction() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      try stores[0].saveAll([Account(owner: "ada", balance: 1)])
      #expect(caught { _ = try stores[0].compact() }?.code == .unsuitableFile)
      try stores[0].saveAll([Account(owner: "bo", balance: 1)])
      try expectEqual(stores, server)
    }
  }

  @Test("A thousand stores can be open at once")
  func thousand() throws {
    let count =
      ProcessInfo.processInfo.environment["LARCH_SHARED_STORES"].flatMap(Int.init) ?? 50
    func memory() -> Int {
      let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
      return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
    let before = memory()
    let start = ContinuousClock.now
    let paths = (0..<count).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    // Their maps take addresses.
    let options = Store.Options.quick.with { $0.initialMapSize = 1 << 20 }
    let stores = try paths.map { path in
      try Store(
        sharing: MemoryServer().serverLog, copy: path, for: Account.self, options: options)
    }
    defer { stores.forEach { $0.close() } }
    let opened = ContinuousClock.now - start
    for store in stores { try store.saveAll([Account(owner: "ada", balance: 1)]) }
    print(
      "\(count) shared stores: opened in \(opened), \((memory() - before) / max(1, count)) bytes each"
    )
    for store in stores { #expect(try store.count(Account.all) == 1) }
  }

  /// The list of open reads named a snapshot by the number of a transaction of the file, which equals no version
  /// of a store with a log: nobody could find the snapshot that keeps the space.
  @Test("An open snapshot is listed with its own version, however many commits follow")
  func openReads() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      try stores[1].saveAll([Account(owner: "ada", balance: 1)])
      try stores[0].environment.catchUpWithLog()
      let snapshot = try stores[0].snapshot()
      defer { snapshot.end() }
      for number in 0..<600 {
        try stores[0].saveAll([Account(owner: "\(number)", balance: number)])
      }
      let later = try stores[0].snapshot()
      defer { later.end() }
      let versions = try stores[0].openReads().filter { $0.kind == .snapshot }.map(\.version)
      #expect(versions == [snapshot.version, later.version])
      try stores[0].read { tx in
        let here = try tx.version
        #expect(try stores[0].openReads().contains { $0.kind == .read && $0.version == here })
      }
    }
  }
}
