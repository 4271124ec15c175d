import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct PromotionTests {
  private func open(_ path: String) throws -> Store {
    try Store(path: path, types: [Note.self, Shelf.self], options: .quick, isTemporary: false)
  }

  @Test(arguments: [0, 2, 3])
  func `a promoted copy has the whole log, writes, and the old writer has lost its place`(
    faults: Int
  ) throws {
    let sharing = try Sharing(seed: UInt64(faults))
    var writes = RandomWrites(seed: 4)
    let follower = try sharing.follow()
    for _ in 0..<20 { try writes.write(to: sharing.writer) }
    try sharing.ship()
    let whole = try sharing.writer.dump()
    let version = try sharing.writer.version
    // The old writer has one more commit, which nobody gets.
    try sharing.writer.saveAll([Note(title: "not shipped", stars: 1)])
    if faults > 0 { sharing.server.set(.each(faults)) }
    try follower.promote()
    sharing.server.set(MemoryServer.Faults())
    #expect(caught { _ = try follower.count(Note.all) }?.code == .closed)
    let log = try sharing.server.serverLog.open()
    #expect(try !Sharing.ship(sharing.writer, log))
    let heir = try open(sharing.copyPath)
    defer { heir.close() }
    #expect(try heir.dump() == whole)
    #expect(try heir.version > version)
    for _ in 0..<20 { try writes.write(to: heir) }
    #expect(try Sharing.ship(heir, log))
    let second = try sharing.follow(at: sharing.directory + "/second.larch")
    defer { second.close() }
    try second.wait(for: try heir.version, within: .seconds(20))
    #expect(try second.dump() == heir.dump())
    #expect(try second.verify().isClean)
  }

  @Test func `a copy that is no follower any more refuses to follow, and says what to do`() throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    try follower.promote()
    let error = caught { _ = try sharing.follow() }
    #expect(error?.code == .unsuitableFile)
    #expect(error?.message.contains("mirror:") == true)
    let own = try Store.temporary(for: Note.self, Shelf.self)
    #expect(caught { try own.promote() }?.code == .unsuitableFile)
  }

  @Test func `a promotion that the server does not answer leaves a follower`() async throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    defer { follower.close() }
    try await sharing.expectEqualSoon(follower)
    sharing.server.isUnreachable = true
    do {
      try await follower.promote(within: .milliseconds(50))
      Issue.record("it must not succeed")
    } catch let error as LarchError {
      #expect(error.code == .unavailable)
      #expect(error.underlying != nil)
    }
    sharing.server.isUnreachable = false
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    try sharing.ship()
    try await sharing.expectEqualSoon(follower)
    #expect(throws: LarchError.self) { try follower.saveBlocking() }
  }

  @Test func `a copy is promoted although the old writer ships all the time`() throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    let stop = Locked(false)
    let log = try sharing.server.serverLog.open()
    let done = DispatchSemaphore(value: 0)
    let writer = sharing.writer
    let kept = Locked(0)
    Thread {
      while !stop.withLock({ $0 }) {
        guard (try? writer.saveBlocking()) != nil,
          (try? Sharing.ship(writer, log)) == true
        else { break }
        kept.withLock { $0 += 1 }
      }
      done.signal()
    }.start()
    Thread.sleep(forTimeInterval: 0.02)
    try follower.promote()
    // The loop ends by itself: its shipment was refused.
    #expect(done.wait(timeout: .now() + 20) == .success)
    stop.withLock { $0 = true }
    let heir = try open(sharing.copyPath)
    defer { heir.close() }
    // All that was shipped is there: nothing is lost between the two.
    #expect(try heir.count(Note.all) == kept.withLock { $0 })
  }

  @Test func `of two copies that are promoted at once, the second is told`() async throws {
    for seed in UInt64(0)..<6 {
      let sharing = try Sharing(seed: seed)
      sharing.server.set(.each(4))
      let stores = [
        try sharing.follow(at: sharing.directory + "/a.larch"),
        try sharing.follow(at: sharing.directory + "/b.larch"),
      ]
      defer { for store in stores { store.close() } }
      let results = await withTaskGroup(of: (Int, LarchError.Code?).self) { group in
        for (number, store) in stores.enumerated() {
          group.addTask {
            do {
              try await store.promote()
              return (number, nil)
            } catch { return (number, (error as? LarchError)?.code ?? .storage) }
          }
        }
        return await group.reduce(into: [Int: LarchError.Code?]()) { $0[$1.0] = .some($1.1) }
      }
      sharing.server.set(MemoryServer.Faults())
      // Either one was told, or the second one took the place of the first.
      let winners = results.filter { $0.value == nil }.map(\.key)
      #expect(!winners.isEmpty)
      #expect(results.values.allSatisfy { $0 == nil || $0 == .diverged })
      // The log has one end: only one of them can ship.
      let log = try sharing.server.serverLog.open()
      let shipped = try winners.filter { number in
        let heir = try open(sharing.directory + (number == 0 ? "/a.larch" : "/b.larch"))
        defer { heir.close() }
        try heir.saveBlocking()
        return try Sharing.ship(heir, log)
      }
      #expect(shipped.count == 1)
    }
  }
}

extension Store {
  func saveBlocking() throws {
    try write { tx in
      var note = Note(title: "x", stars: 1)
      try tx.save(&note)
    }
  }
}
