import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A mirror")
struct MirrorTests {
  @Test("The log has what the store has, after random writes and failures of the server")
  func random() async throws {
    for seed in 0..<6 as Range<UInt64> {
      let server = MemoryServer(seed: seed, faults: .each(8))
      try await withMirrored(server) { store, _ in
        var shopping = RandomShopping(seed: seed)
        for round in 0..<150 {
          try shopping.write(to: store)
          if round % 40 == 0 { try await store.mirror?.settled() }
        }
        try await store.mirror?.settled()
        server.set(MemoryServer.Faults())
        #expect(try MemoryLog(server).everything() == store.everyPair(), "seed \(seed)")
        let status = try #require(try store.mirror?.status)
        #expect(status.waiting == 0 && status.shipped == status.committed)
      }
    }
  }

  @Test("Commits of a time without a server are shipped later, in the next opening too")
  func absent() async throws {
    let server = MemoryServer()
    server.isUnreachable = true
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var shopping = RandomShopping(seed: 3)
    func open() throws -> Store {
      try Store(
        at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
        options: .quick)
    }
    for _ in 0..<3 {
      let store = try open()
      for _ in 0..<20 { try shopping.write(to: store) }
      while true {
        if case .waiting(let error)? = try store.mirror?.status.activity {
          #expect(error.code == .unavailable)
          break
        }
        try await Task.sleep(for: .milliseconds(5))
      }
      store.close()
    }
    server.isUnreachable = false
    let store = try open()
    defer { store.close() }
    try await store.mirror?.settled()
    #expect(try MemoryLog(server).everything() == store.everyPair())
  }

  @Test("Writes without `mirror:` are recorded, and shipped at the next opening with it")
  func withoutMirror() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, path in
      var shopping = RandomShopping(seed: 5)
      for _ in 0..<20 { try shopping.write(to: store) }
      try await store.mirror?.settled()
      store.close()
      try Store.using(path, Shop.self, Order.self, Label.self) { store throws in
        for _ in 0..<20 { try shopping.write(to: store) }
      }
      let again = try Store(
        at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
        options: .quick)
      defer { again.close() }
      try await again.mirror?.settled()
      #expect(try MemoryLog(server).everything() == again.everyPair())
    }
  }

  @Test("An opening without a server knows from the file what the server has")
  func knownFromFile() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, path in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      let settled = try #require(try store.mirror?.status)
      store.close()
      server.isUnreachable = true
      let again = try Store(
        at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
        options: .quick)
      defer { again.close() }
      let status = try #require(try again.mirror?.status)
      #expect(status.shipped == settled.shipped && status.waiting == 0)
      try again.saveAll([Shop(name: "b")])
      #expect(try again.mirror?.status.waiting == 1)
      if case .shipping? = try again.mirror?.status.activity {
        Issue.record("a mirror that has not reached its server says that it ships")
      }
    }
  }

  @Test(
    "A first copy whose reply is lost is not sent again", .timeLimit(.minutes(5)),
    arguments: [false, true])
  func lostReplyOfCopy(startsOver: Bool) async throws {
    let server = MemoryServer()
    let copies = Locked(0)
    let options = Store.Options.quick.with { options in
      options.log = { if $0.event == .mirrorCopying { copies.withLock { $0 += 1 } } }
    }
    var faults = MemoryServer.Faults()
    faults.lostBegins = 1
    if !startsOver { server.set(faults) }
    try await withMirrored(server, options: options) { store, _ in
      try store.saveAll([Shop(name: "a")])
      if startsOver {
        try await store.mirror?.settled()
        server.isUnreachable = true
        try store.saveAll([Shop(name: "c")])
        try store.mirror?.startOver()
        server.set(faults)
        server.isUnreachable = false
      }
      try store.saveAll([Shop(name: "b")])
      try await store.mirror?.settled()
      #expect(copies.withLock { $0 } == (startsOver ? 2 : 1))
      #expect(try store.environment.outboxHeader()?.needsFirstCopy == false)
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("`startOver` sends the store again where sending it broke", .timeLimit(.minutes(5)))
  func brokenCopy() async throws {
    let server = MemoryServer()
    let copies = Locked(0)
    let options = Store.Options.quick.with { options in
      options.log = { if $0.event == .mirrorCopying { copies.withLock { $0 += 1 } } }
    }
    try await withMirrored(server, options: options) { store, _ in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      var faults = MemoryServer.Faults()
      faults.brokenBegins = 1
      server.set(faults)
      // The log ends where the new state begins, so its place says nothing.
      try store.mirror?.startOver()
      while copies.withLock({ $0 }) < 4 { try await Task.sleep(for: .milliseconds(5)) }
      server.set(MemoryServer.Faults())
      try await store.mirror?.settled()
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("A first copy whose reply is lost is known after a long outage", .timeLimit(.minutes(5)))
  func lostReplyAndOutage() async throws {
    let server = MemoryServer()
    var faults = MemoryServer.Faults()
    faults.lostBegins = 1
    server.set(faults)
    try await withMirrored(server) { store, _ in
      while try MemoryLog(server).head() == nil { try await Task.sleep(for: .milliseconds(1)) }
      server.isUnreachable = true
      store.environment.outbox.limit = 1000
      func fillOutbox() throws {
        var shop = Shop(name: "a")
        try store.save(&shop)
        // More waits than half of the file has.
        for number in 0..<1000 where try store.environment.outboxHeader()?.isPaused == false {
          shop.name = "\(number)" + String(repeating: "a", count: 12_000)
          try store.update(&shop)
        }
      }
      try fillOutbox()
      #expect(try store.environment.outboxHeader()?.isPaused == true)
      server.set(MemoryServer.Faults())
      server.isUnreachable = false
      try await store.mirror?.settled()
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("A server that lost confirmed commits gets the whole store again")
  func lostByServer() async throws {
    let server = MemoryServer()
    let losses = Locked(0)
    let options = Store.Options.quick.with { options in
      options.log = { if $0.event == .serverLostCommits { losses.withLock { $0 += 1 } } }
    }
    try await withMirrored(server, options: options) { store, _ in
      var shopping = RandomShopping(seed: 7)
      for _ in 0..<30 { try shopping.write(to: store) }
      try await store.mirror?.settled()
      // So that the outbox has no copy of them any more.
      try await Task.sleep(for: .milliseconds(1200))
      try shopping.write(to: store)
      try await store.mirror?.settled()
      try await Task.sleep(for: .milliseconds(300))
      #expect(losses.withLock { $0 } == 0)
      server.forget(10)
      while try MemoryLog(server).head()?.newest.position != store.mirror?.status.committed {
        try shopping.write(to: store)
        try await Task.sleep(for: .milliseconds(5))
      }
      try await store.mirror?.settled()
      #expect(losses.withLock { $0 } == 1)
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("A wrong name does not move a mirror to a new log or to one that it had; `startOver` does")
  func anotherLog() async throws {
    let (first, second) = (MemoryServer(name: "first"), MemoryServer(name: "second"))
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    func mirrored<T>(
      to server: MemoryServer, _ body: (Store, StoreMirror) async throws -> T
    ) async throws -> T {
      let store = try Store(
        at: path, mirror: server.serverLog, for: Shop.self, Order.self, Label.self,
        options: .quick)
      defer { store.close() }
      try store.saveAll([Shop(name: "\(store.fetch(Shop.all).count)")])
      return try await body(store, try #require(store.mirror))
    }
    try await mirrored(to: first) { try await $1.settled() }
    try await mirrored(to: second) { store, mirror in
      let error = await #expect(throws: LarchError.self) { try await mirror.settled() }
      #expect(error?.code == .diverged && error?.context.detail?.contains("to first") == true)
      let untouched = try MemoryLog(second).head()
      #expect(untouched == nil)
    }
    try await mirrored(to: first) { store, mirror in
      try await mirror.settled()
      #expect(try MemoryLog(first).everything() == store.everyPair())
    }
    try await mirrored(to: second) { store, mirror in
      try mirror.startOver()
      try await mirror.settled()
      #expect(try MemoryLog(second).everything() == store.everyPair())
    }
    let head = try MemoryLog(first).head()
    try await mirrored(to: first) { store, mirror in
      let error = await #expect(throws: LarchError.self) { try await mirror.settled() }
      #expect(error?.code == .diverged && error?.context.detail?.contains("to second") == true)
      let untouched = try MemoryLog(first).head()
      #expect(untouched == head)
    }
    try await mirrored(to: second) { try await $1.settled() }
    // A log that the store has left is not overwritten when all pairs are needed, either.
    try Store.using(path, Shop.self, Order.self, Label.self) {
      try $0.environment.restartOutbox(isPaused: true)
    }
    try await mirrored(to: first) { store, mirror in
      await #expect(throws: LarchError.self) { try await mirror.settled() }
      let untouched = try MemoryLog(first).head()
      #expect(untouched == head)
    }
  }

  @Test(
    "A mirror stops when another program has moved it, and the move stays", .timeLimit(.minutes(5)))
  func movedMeanwhile() async throws {
    let (first, second) = (MemoryServer(name: "first"), MemoryServer(name: "second"))
    // The one that ships to the first log has time to find out.
    second.atState = { usleep(500_000) }
    for savesFirst in [false, true] {
      try await withMirrored(first) { store, _ in
        try store.mirror?.startOver()
        try store.saveAll([Shop(name: "a")])
        try await store.mirror?.settled()
        let head = try MemoryLog(first).head()
        let mover = MirrorShipper(store.environment, second.serverLog) { _ in }
        try mover.startOver()
        mover.start()
        if savesFirst {
          try await Task.sleep(for: .milliseconds(200))
          try store.saveAll([Shop(name: "b")])
        }
        while try !mover.hasShipped(mover.newestPosition()) {
          try await Task.sleep(for: .milliseconds(5))
        }
        mover.end()
        while true {
          if case .stopped(let error)? = try store.mirror?.status.activity {
            #expect(error.code == .diverged)
            #expect(error.context.detail?.contains("to second") == true)
            break
          }
          try await Task.sleep(for: .milliseconds(5))
        }
        #expect(try store.environment.outboxHeader()?.log == "second")
        #expect(try MemoryLog(first).head() == head)
        #expect(try MemoryLog(second).everything() == store.everyPair())
      }
    }
  }

  private func transaction(of store: Store) throws -> UInt64 {
    let reader = try store.environment.beginRead(at: CodePlace())
    defer { store.environment.endRead(reader) }
    return reader.transaction.id
  }

  @Test(
    "Programs that ship to one log by two addresses write nothing while nothing happens",
    .timeLimit(.minutes(5)))
  func twoAddresses() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      let other = MirrorShipper(
        store.environment, ServerLog(name: "elsewhere") { MemoryLog(server) }, tell: { _ in })
      other.start()
      try store.saveAll([Shop(name: "b")])
      let place = try other.newestPosition()
      while try !other.hasShipped(place) || !other.hasNoted(place) {
        try await Task.sleep(for: .milliseconds(5))
      }
      try await store.mirror?.settled()
      // Each looks at the file once a second, and may still have something to note the first time.
      var version: UInt64
      repeat {
        version = try transaction(of: store)
        try await Task.sleep(for: .milliseconds(2500))
      } while try transaction(of: store) != version
      other.end()
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("Ending a mirror is the cure for a damaged outbox")
  func damaged() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, path in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      try store.environment.upkeep { transaction in
        let tree = try #require(try OutboxTree.open(in: transaction, path: path))
        try [UInt8](repeating: 0, count: OutboxTree.keySize).withUnsafeBytes { key in
          try [UInt8](repeating: 7, count: 100).withUnsafeBytes { value in
            _ = try tree.database.put(key, value, in: transaction)
          }
        }
      }
      store.close()
      let again = try Store(at: path, for: Shop.self, Order.self, Label.self, options: .quick)
      defer { again.close() }
      #expect(caught { try again.saveAll([Shop(name: "b")]) }?.code == .corrupted)
      try again.endMirror()
      try again.saveAll([Shop(name: "b")])
      #expect(caught { try again.endMirror() }?.code == .unsuitableFile)
    }
  }

  @Test("A mirror goes on where its log is at another address", .timeLimit(.minutes(5)))
  func anotherAddress() async throws {
    let server = MemoryServer(name: "old")
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    for name in ["old", "new"] {
      let log = ServerLog(name: name) { MemoryLog(server) }
      let store = try Store(
        at: path, mirror: log, for: Shop.self, Order.self, Label.self, options: .quick)
      defer { store.close() }
      try store.saveAll([Shop(name: name)])
      try await store.mirror?.settled()
      while try store.environment.outboxHeader()?.log != name {
        try await Task.sleep(for: .milliseconds(5))
      }
      #expect(try MemoryLog(server).everything() == store.everyPair())
    }
  }

  @Test("A log of another store is not touched")
  func foreign() async throws {
    let server = MemoryServer()
    try await withMirrored(server) { store, _ in
      try store.saveAll([Shop(name: "a")])
      try await store.mirror?.settled()
      let before = try MemoryLog(server).everything()
      try await withMirrored(server) { other, _ in
        await #expect(throws: LarchError.self) { try await other.mirror?.settled() }
        guard case .stopped(let error)? = try other.mirror?.status.activity else {
          Issue.record("the mirror goes on")
          return
        }
        #expect(error.code == .diverged)
        // An embedded store works on: it never had that log.
        try other.saveAll([Shop(name: "b")])
        #expect(try MemoryLog(server).everything() == before)
        try other.mirror?.startOver()
        try await other.mirror?.settled()
        #expect(try MemoryLog(server).everything() == other.everyPair())
      }
    }
  }

  @Test(
    "A wrong log leaves the store a writer, or lets it be one again", .timeLimit(.minutes(15)),
    arguments: [false, true])
  func wrongLog(isFolded: Bool) async throws {
    let (right, wrong) = (MemoryServer(), MemoryServer())
    try await withMirrored(wrong) { other, _ in
      for number in 0..<30 { try other.saveAll([Shop(name: "other \(number)")]) }
      try await other.mirror?.settled()
      // Then nobody can say whether the log ever had what this store has shipped.
      if isFolded { _ = try MemoryLog(wrong).everything() }
      let before = try MemoryLog(wrong).head()
      try await withMirrored(right) { store, path in
        try store.saveAll([Shop(name: "a")])
        try await store.mirror?.settled()
        // As `larch mirror` with another name, while the program works.
        let mistaken = MirrorShipper(store.environment, wrong.serverLog) { _ in }
        mistaken.start()
        while true {
          if case .stopped(let error) = try mistaken.status().activity {
            #expect(error.code == .diverged)
            break
          }
          try await Task.sleep(for: .milliseconds(5))
        }
        mistaken.end()
        while try store.environment.outboxHeader()?.role != .writer {
          try await Task.sleep(for: .milliseconds(20))
        }
        try store.saveAll([Shop(name: "b")])
        try await store.mirror?.settled()
        #expect(try MemoryLog(right).everything() == store.everyPair())
        #expect(try MemoryLog(wrong).head() == before)
      }
    }
  }
}
