import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Failures of a shared store's server")
struct SharedFailureTests {
  /// A server whose next appends lose their replies, or never happen.
  private func faults(lost: Double = 0, refused: Double = 0) -> MemoryServer.Faults {
    var faults = MemoryServer.Faults()
    (faults.lostReplies, faults.refused) = (lost, refused)
    return faults
  }

  private var impatient: Store.Options { .quick.with { $0.commitTimeout = .milliseconds(20) } }

  @Test("Without a server, reads go on, a write throws after its time, and nothing has happened")
  func unreachable() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self, options: impatient) { stores in
      try stores[0].saveAll([Account(owner: "ada", balance: 1)])
      try stores[1].environment.catchUpWithLog()
      server.isUnreachable = true
      let error = caught { try stores[0].saveAll([Account(owner: "bo", balance: 2)]) }
      #expect(error?.code == .unavailable)
      #expect(try stores.map { try $0.count(Account.all) } == [1, 1])
      server.isUnreachable = false
      try stores[1].saveAll([Account(owner: "cy", balance: 3)])
      try expectEqual(stores, server)
      #expect(try stores[0].everything(Account.self).map(\.owner) == ["ada", "cy"])
    }
  }

  @Test("A copy opens and is read without its server")
  func opensWithoutServer() throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    func open() throws -> Store {
      try Store(sharing: server.serverLog, copy: path, for: Account.self, options: impatient)
    }
    let first = try open()
    try first.saveAll([Account(owner: "ada", balance: 1)])
    first.close()
    server.isUnreachable = true
    let store = try open()
    defer { store.close() }
    #expect(try store.count(Account.all) == 1)
    #expect(caught { try store.saveAll([Account(owner: "bo", balance: 1)]) }?.code == .unavailable)
    server.isUnreachable = false
    try store.saveAll([Account(owner: "bo", balance: 1)])
    #expect(try store.count(Account.all) == 2)
  }

  @Test("A lost reply is asked for again, and the write happens once")
  func lostReplies() throws {
    let server = MemoryServer(seed: 3)
    try withCopies(2, of: server, Account.self) { stores in
      server.set(faults(lost: 0.5))
      for number in 0..<60 {
        try stores[number % 2].saveAll([Account(owner: "\(number)", balance: number)])
      }
      server.set(MemoryServer.Faults())
      try expectEqual(stores, server)
      let owners = try stores[0].everything(Account.self).map(\.owner)
      #expect(Set(owners).count == 60 && owners.count == 60)
    }
  }

  @Test("The outcome of a write is never that of another entry")
  func outcomeOfNothing() throws {
    let server = MemoryServer()
    try withCopies(1, of: server, Account.self, options: impatient) { stores in
      var ada = Account(owner: "ada", balance: 1)
      try stores[0].write { tx in try tx.save(&ada) }
      // Of all calls, or the copy would see the write before the server has lost it.
      server.set(faults(lost: 1))
      ada.balance = 2
      let error = try #require(caught { try stores[0].write { tx in try tx.update(ada) } })
      #expect(error.code == .commitUnknown)
      server.forget(1)
      var appendsOnly = MemoryServer.Faults()
      appendsOnly.lostAppends = 1
      server.set(appendsOnly)
      // An entry that changes nothing takes its place, and has no reply either. A program that asked about that one
      // would learn that it was committed.
      #expect(caught { _ = try stores[0].outcome(of: error) }?.code == .unavailable)
      server.set(MemoryServer.Faults())
      #expect(try stores[0].outcome(of: error) == .notCommitted)
      try stores[0].environment.catchUpWithLog()
      #expect(try stores[0].find(Account.self, ada.id)?.balance == 1)
    }
  }

  @Test("The outcome of a write without a reply is learnt from the log", arguments: [true, false])
  func outcomes(happens: Bool) throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self, options: impatient) { stores in
      var ada = Account(owner: "ada", balance: 1)
      try stores[0].write { tx in try tx.save(&ada) }
      server.set(faults(lost: 1))
      ada.balance = 2
      let error = try #require(caught { try stores[0].write { tx in try tx.update(ada) } })
      #expect(error.code == .commitUnknown)
      // The reply was lost. That the message was lost, too, looks the same to the writer.
      if !happens { server.forget(1) }
      #expect(
        caught { _ = try stores[0].outcome(of: error) }?.code == .unavailable,
        "the server still loses replies")
      server.set(MemoryServer.Faults())
      #expect(try stores[0].outcome(of: error) == (happens ? .committed : .notCommitted))
      #expect(try stores[0].outcome(of: error) == (happens ? .committed : .notCommitted))
      #expect(try stores[0].find(Account.self, ada.id)?.balance == (happens ? 2 : 1))
      // Another copy can tell, too.
      #expect(try stores[1].outcome(of: error) == (happens ? .committed : .notCommitted))
      try expectEqual(stores, server)
    }
  }

  @Test("An error without a commit has no outcome")
  func otherErrors() throws {
    let server = MemoryServer()
    try withCopies(1, of: server, Account.self) { stores in
      let error = LarchError(.busy, "Something else.")
      #expect(caught { _ = try stores[0].outcome(of: error) }?.code == .invalidQuery)
    }
  }

  @Test("A commit that is in the log, but finds the map of its copy full, happens once")
  func fullMaps() throws {
    var takenIn = 0
    for seed in 0..<12 as Range<UInt64> {
      let server = MemoryServer(seed: seed)
      // So small that it grows often.
      let options = Store.Options.quick.with { $0.initialMapSize = 64 << 10 }
      try withCopies(1, of: server, Account.self, options: options) { stores in
        var random = SeededGenerator(seed: seed)
        var ada = Account(owner: "ada", balance: 0)
        try stores[0].write { tx in try tx.save(&ada) }
        let id = ada.id
        for number in 0..<120 {
          let size = Int.random(in: 0..<3000, using: &random)
          try stores[0].write { tx in
            var account = try #require(try tx.find(Account.self, id))
            account.balance += 1
            try tx.update(account)
            var other = Account(
              owner: "\(number)", balance: 0, note: String(repeating: "x", count: size))
            try tx.save(&other)
          }
        }
        #expect(try stores[0].find(Account.self, id)?.balance == 120, "seed \(seed)")
        takenIn += stores[0].environment.sharedOrder?.takenIn ?? 0
        try expectEqual(stores, server, "seed \(seed)")
      }
    }
    print("\(takenIn) commits were taken in from the log")
  }

  @Test("A place is announced only when the copy has it, even if the map was full")
  func arrivalsOfFullMaps() throws {
    var takenIn = 0
    let told = Locked(0)
    for seed in 0..<4 as Range<UInt64> {
      let server = MemoryServer(seed: seed)
      let options = Store.Options.quick.with { $0.initialMapSize = 64 << 10 }
      try withCopies(1, of: server, Account.self, options: options) { stores in
        let environment = stores[0].environment
        let order = try #require(environment.sharedOrder)
        let watched = CommitOrder(
          log: order.log, patience: order.patience, claimIDs: order.claimIDs,
          firstUnclaimedID: order.firstUnclaimedID
        ) { places in
          let place = try? environment.outboxHeader()?.place
          #expect(place == places.last)
          told.withLock { $0 += 1 }
          order.reached(places)
        }
        environment.outbox.order = watched
        var random = SeededGenerator(seed: seed)
        for number in 0..<120 {
          let size = Int.random(in: 0..<3000, using: &random)
          try stores[0].saveAll([
            Account(owner: "\(number)", balance: 0, note: String(repeating: "x", count: size))
          ])
        }
        takenIn += watched.takenIn
        try expectEqual(stores, server, "seed \(seed)")
      }
    }
    #expect(takenIn > 0 && told.withLock { $0 } >= 480)
  }

  @Test("A copy that was away for longer than the log's history is made anew")
  func cut() throws {
    let server = MemoryServer()
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    func open() throws -> Store {
      try Store(sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
    }
    try open().close()
    try withCopies(1, of: server, Account.self) { stores in
      for number in 0..<20 { try stores[0].saveAll([Account(owner: "\(number)", balance: 0)]) }
      _ = try MemoryLog(server).fold(through: .max, olderThan: 0)
      let store = try open()
      defer { store.close() }
      #expect(try store.count(Account.all) == 20)
      #expect(store.movedAside == nil)
      try store.saveAll([Account(owner: "more", balance: 0)])
      try expectEqual(stores + [store], server)
    }
  }

  @Test("A copy with commits that the server has lost is kept aside, and the store goes on")
  func diverged() throws {
    let server = MemoryServer()
    try withCopies(2, of: server, Account.self, options: .quick) { stores in
      for number in 0..<10 { try stores[0].saveAll([Account(owner: "\(number)", balance: 0)]) }
      for store in stores { try store.environment.catchUpWithLog() }
      stores[1].close()
      server.forget(3)
      // It notices by itself, and is made anew while it is open.
      var keptAside: String?
      for _ in 0..<1000 where keptAside == nil {
        Thread.sleep(forTimeInterval: 0.01)
        keptAside = stores[0].follower?.status.keptAside
      }
      let aside = try #require(keptAside)
      defer { ScratchFile.remove(aside) }
      #expect(try stores[0].count(Account.all) == 7)
      try stores[0].saveAll([Account(owner: "new", balance: 0)])
      // The other one was closed, and has the lost commits too.
      let again = try Store(
        sharing: server.serverLog, copy: stores[1].path, for: Account.self, options: .quick)
      defer { again.close() }
      let other = try #require(again.movedAside)
      defer { ScratchFile.remove(other) }
      try expectEqual([stores[0], again], server)
      #expect(try again.count(Account.all) == 8)
      let kept = try Store(
        at: aside, for: Account.self, options: .quick.with { $0.isReadOnly = true })
      defer { kept.close() }
      #expect(try kept.count(Account.all) == 10)
    }
  }

  @Test("The log that is lost begins again with the copy that is made a store of its own")
  func endSharing() throws {
    let lost = MemoryServer()
    try withCopies(1, of: lost, Account.self) { stores in
      try stores[0].saveAll([Account(owner: "ada", balance: 1)])
      let empty = MemoryServer()
      stores[0].close()
      let path = stores[0].path
      func open(_ server: MemoryServer) throws -> Store {
        try Store(sharing: server.serverLog, copy: path, for: Account.self, options: .quick)
      }
      #expect(caught { _ = try open(empty) }?.code == .diverged)
      lost.isUnreachable = true
      try open(lost).endSharing()
      let store = try open(empty)
      defer { store.close() }
      try store.saveAll([Account(owner: "bo", balance: 2)])
      try withCopies(1, of: empty, Account.self) { others in
        let count = try others[0].count(Account.all)
        #expect(count == 2)
      }
    }
  }
}
