import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Ids of a shared store")
struct SharedIDTests {
  @Test("An id that an undone run has left in the program is never given to another server")
  func undoneRuns() throws {
    struct Undo: Error {}
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      var ada = Account(owner: "ada", balance: 1)
      #expect(throws: Undo.self) {
        try stores[0].write { tx in
          try tx.save(&ada)
          throw Undo()
        }
      }
      #expect(ada.id.isAssigned)
      for number in 0..<300 {
        try stores[1].saveAll([Account(owner: "other \(number)", balance: 0)])
      }
      try stores[0].write { tx in try tx.save(&ada) }
      try expectEqual(stores, server)
      #expect(try stores[1].count(Account.all) == 301)
    }
  }

  @Test("A block that an undone part of a shared commit has claimed gives no ids")
  func undonePart() async throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(
      sharing: server.serverLog, copy: path, for: Account.self, Team.self, Player.self,
      options: .quick)
    defer { store.close() }
    try onThreads(1) { _ in try store.saveAll([Account(owner: "first", balance: 0)]) }
    let (mayEnd, hasBegun) = (DispatchSemaphore(value: 0), Locked(false))
    let holder = Task.detached {
      try onThreads(1) { _ in
        try store.write { _ in
          hasBegun.withLock { $0 = true }
          mayEnd.wait()
        }
      }
    }
    while !hasBegun.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    async let nothing: Void = store.write { _ in }
    async let some: Void = store.write { tx in
      for number in 0..<60 {
        var account = Account(owner: "\(number)", balance: 0)
        try tx.save(&account)
      }
      // The first id of this collection needs a block, and the closure hides the error that says so.
      var team = Team(name: "a")
      try? tx.save(&team)
    }
    while store.asyncWriter.waitingCount < 2 { try await Task.sleep(for: .milliseconds(1)) }
    mayEnd.signal()
    _ = try await (nothing, some)
    try await holder.value
    try onThreads(1) { _ in
      let unclaimed = try store.read { tx in
        let accounts = try tx.context.collection(of: Account.self)
        return (
          try tx.context.catalog.storage.firstUnclaimedID(
            accounts.stored.id, in: tx.context.transaction()), accounts.stored.id
        )
      }
      for block in store.environment.ids.left(unclaimed.1) {
        #expect(block.upperBound <= unclaimed.0)
      }
    }
  }

  @Test("Four servers that save, undo and save again overwrite nothing")
  func random() throws {
    struct Undo: Error {}
    let server = MemoryServer(seed: 4)
    try withCopies(4, of: server, Account.self) { stores in
      let kept = Locked<[Int64: String]>([:])
      try onThreads(4) { place in
        var random = SeededGenerator(seed: UInt64(place))
        var waiting: [Account] = []
        for number in 0..<400 {
          var account = Account(owner: "\(place) \(number)", balance: 0)
          if Int.random(in: 0..<3, using: &random) == 0 {
            do {
              try stores[place].write { tx in
                try tx.save(&account)
                throw Undo()
              }
            } catch is Undo { waiting.append(account) }
            continue
          }
          let count = Int.random(in: 0...min(3, waiting.count), using: &random)
          let again = Array(waiting.suffix(count))
          waiting.removeLast(count)
          let saved = try stores[place].write { tx in
            var saved: [Account] = []
            for item in again + [account] {
              var item = item
              try tx.save(&item)
              saved.append(item)
            }
            return saved
          }
          kept.withLock { kept in
            for item in saved {
              if let other = kept[item.id.rawValue] {
                Issue.record("\(item.owner) has the id of \(other)")
              }
              kept[item.id.rawValue] = item.owner
            }
          }
        }
      }
      try expectEqual(stores, server)
      let stored = try stores[0].everything(Account.self)
      let pairs = Dictionary(uniqueKeysWithValues: stored.map { ($0.id.rawValue, $0.owner) })
      #expect(pairs == kept.withLock { $0 })
    }
  }

  @Test(
    "A write that needs more ids than a block has runs a few times, and not once for each block")
  func manyIDs() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      var runs = 0
      try stores[0].write { tx in
        runs += 1
        for number in 0..<5000 {
          var account = Account(owner: "\(number)", balance: 0)
          try tx.save(&account)
        }
      }
      #expect(runs <= 9)
      try expectEqual(stores, server)
      #expect(try stores[1].count(Account.all) == 5000)
    }
  }

  @Test("Ids that programs choose inside of another server's block are passed over")
  func chosenIDs() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self) { stores in
      var first = Account(owner: "first", balance: 0)
      try stores[0].write { tx in try tx.save(&first) }
      try stores[1].environment.catchUpWithLog()
      // These ids belong to the block of the first copy.
      for number in [3, 4, 9, 40] {
        let chosen = Account(
          id: RecordID(first.id.rawValue + Int64(number)), owner: "chosen \(number)", balance: 0)
        try stores[1].saveAll([chosen])
      }
      let gone = Account(id: RecordID(first.id.rawValue + 50), owner: "gone", balance: 0)
      try stores[1].saveAll([gone])
      try stores[1].write { tx in try tx.delete(gone) }
      try stores[0].environment.catchUpWithLog()
      for number in 0..<200 {
        var account = Account(owner: "own \(number)", balance: 0)
        try stores[0].write { tx in try tx.save(&account) }
        #expect(account.id != gone.id)
      }
      try expectEqual(stores, server)
      #expect(try stores[0].count(Account.all) == 205)
    }
  }

  @Test("Blocks that a part of a group claims in vain are not used")
  func undoneParts() async throws {
    struct Undo: Error {}
    let server = MemoryServer()
    let paths = [ScratchFile.freshPath(), ScratchFile.freshPath()]
    defer { paths.forEach(ScratchFile.remove) }
    let stores = try paths.map {
      try Store(
        sharing: server.serverLog, copy: $0, for: Account.self,
        options: .quick.with { $0.runsWritesTwice = true })
    }
    defer { stores.forEach { $0.close() } }
    let kept = Locked<[Int64: String]>([:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<300 {
        group.addTask {
          let store = stores[number % 2]
          do {
            let saved = try await store.write { tx in
              var saved: [Account] = []
              for part in 0..<20 {
                var account = Account(owner: "\(number) \(part)", balance: 0)
                try tx.save(&account)
                saved.append(account)
              }
              if number % 3 == 0 { throw Undo() }
              return saved
            }
            kept.withLock { kept in
              for item in saved {
                if kept[item.id.rawValue] != nil { Issue.record("an id twice") }
                kept[item.id.rawValue] = item.owner
              }
            }
          } catch is Undo {}
        }
      }
      try await group.waitForAll()
    }
    try expectEqual(stores, server)
    let stored = try stores[0].everything(Account.self)
    let pairs = Dictionary(uniqueKeysWithValues: stored.map { ($0.id.rawValue, $0.owner) })
    #expect(pairs == kept.withLock { $0 })
  }
}
