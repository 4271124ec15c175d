import Foundation
import LarchCrashSupport
import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch

/// Everything that a program can do with a store, when the store has an outbox.
@Suite("Stores with an outbox", .serialized)
struct OutboxStoreTests {
  @Test(
    "A follower has the same trees after whatever changes a store",
    arguments: [Store.Options.Durability.logged, .relaxed])
  func everything(_ durability: Store.Options.Durability) throws {
    for number in 0..<amount("LARCH_OUTBOX_CASES", 3) {
      let seed = runSeed &+ UInt64(number) &* 7919
      let files = try OutboxDirectory()
      var work = try LogWork(files.writer, seed: seed, durability: durability)
      defer { work.store.close() }
      try work.store.environment.beginOutbox(role: .writer, place: .start)
      try files.makeFollower(of: work.store.environment, at: files.follower)
      let follower = try files.open(files.follower)
      defer { follower.close() }
      for step in 0..<40 {
        try work.step()
        let environment = work.store.environment
        let place = try #require(try follower.outboxHeader()).place
        try follower.apply(try environment.waiting(after: place.position))
        try expectEqual(environment, follower, "seed \(seed), step \(step)")
        if step % 9 == 8 {
          let report = try work.store.verify()
          #expect(report.isClean, "\(report)")
          try environment.trimOutbox(through: try #require(try environment.outboxHeader()).place)
        }
      }
    }
  }

  @Test("Async writes that share a commit are one entry")
  func groups() async throws {
    let files = try OutboxDirectory()
    let store = try Store(at: files.writer, for: Entry.self)
    defer { store.close() }
    try store.environment.beginOutbox(role: .writer, place: .start)
    try files.makeFollower(of: store.environment, at: files.follower)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          try await store.write { tx in
            var entry = Entry(id: "e\(number)", owner: 1, text: "text \(number)", value: number)
            try tx.save(&entry)
            if number % 7 == 0 { throw Mismatch("undone") }
          }
        }
      }
      while let result = await group.nextResult() {
        if case .failure(let error) = result, !(error is Mismatch) { throw error }
      }
    }
    let entries = try store.environment.waiting()
    #expect((1...55).contains(entries.count))
    let follower = try files.open(files.follower)
    defer { follower.close() }
    try follower.apply(entries)
    try expectEqual(store.environment, follower)
  }

  @Test("A backup on a mirrored store waits to be told that its state is the new one of the log")
  func restoration() async throws {
    let files = try OutboxDirectory()
    let backup = files.path + "/backup.larch"
    let store = try Store(at: files.writer, for: Entry.self)
    func save(_ id: String) throws {
      try store.writeBlocking { tx in
        var entry = Entry(id: id, owner: 1, text: "text \(id)", value: nil)
        try tx.save(&entry)
      }
    }
    try save("a")
    try store.environment.beginOutbox(role: .writer, place: .start)
    try await store.backup(to: backup)
    try save("b")
    try save("c")
    // Commits that nobody else has are not thrown away.
    await #expect(throws: LarchError.self) {
      try await Store.restore(from: backup, to: files.writer, replacing: true)
    }
    let before = try #require(try store.environment.outboxHeader())
    try store.environment.trimOutbox(through: before.place, isFirstCopy: true)
    try await Store.restore(from: backup, to: files.writer, replacing: true)
    #expect(try store.count(Entry.all) == 1)
    let after = try #require(try store.environment.outboxHeader())
    #expect(after.identity == before.identity)
    #expect(after.place.position == before.place.position + 1)
    #expect(after.place.token != before.place.token)
    #expect(after.needsFirstCopy && after.isRestored)
    #expect(try store.environment.waiting().isEmpty)
    try save("d")
    #expect(try store.environment.waiting().count == 1)
    #expect(try await store.verify().isClean)
    store.close()

    // A follower has nothing but what its log has.
    let environment = try files.open(files.writer)
    defer { environment.close() }
    try files.makeFollower(of: environment, at: files.follower)
    await #expect(throws: LarchError.self) {
      try await Store.restore(from: backup, to: files.follower, replacing: true)
    }
    let follower = try files.open(files.follower)
    defer { follower.close() }
    try expectEqual(environment, follower)
  }

  @Test("An older program refuses the store until its mirror is ended")
  func format() throws {
    let files = try OutboxDirectory()
    let store = try Store(at: files.writer, for: Entry.self)
    defer { store.close() }
    #expect(try store.fileFormat().oldestReader == 1)
    try store.environment.beginOutbox(role: .writer, place: .start)
    #expect(try store.fileFormat().oldestReader == 2)
    try store.writeBlocking { tx in
      var entry = Entry(id: "a", owner: 1, text: "text", value: 1)
      try tx.save(&entry)
    }
    try store.environment.endOutbox()
    #expect(try store.fileFormat().oldestReader == 1)
    #expect(try store.count(Entry.all) == 1)
  }

  @Test("Statistics name the outbox, verification finds its damage, salvage leaves it out")
  func others() async throws {
    let files = try OutboxDirectory()
    let store = try Store(at: files.writer, for: Entry.self)
    defer { store.close() }
    try store.environment.beginOutbox(role: .writer, place: .start)
    for number in 0..<10 {
      try store.writeBlocking { tx in
        var entry = Entry(
          id: "e\(number)", owner: 1, text: "\(number)" + String(repeating: "x", count: 9000),
          value: nil)
        try tx.save(&entry)
      }
    }
    let part = try #require(try store.statistics().parts.first { $0.name == "outbox" })
    #expect(part.tree.bytes > 90_000)
    #expect(try store.statistics().otherPages == 0)
    try store.environment.upkeep { transaction in
      let database = try #require(try LMDBDatabase.open(OutboxTree.name, in: transaction))
      try database.put(
        [0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0], [UInt8](repeating: 1, count: 50), in: transaction)
    }
    let report = try await store.verify()
    #expect(report.faults.map(\.kind) == [.outbox])
    let typeless = try store.verifyWithoutTypes()
    #expect(typeless.report.faults.map(\.kind) == [.outbox])
    // Also in a program that has only opened it.
    store.close()
    var options = Store.Options()
    options.isReadOnly = true
    let reading = try Store(at: files.writer, for: Entry.self, options: options)
    defer { reading.close() }
    #expect(try reading.environment.outboxHeader()?.place.position == 10)
    #expect(try await reading.verify().faults.map(\.kind) == [.outbox])
    let salvaged = files.path + "/salvaged.larch"
    #expect(try Store.salvage(files.writer, to: salvaged).recordCount == 10)
    let other = try Store(at: salvaged, for: Entry.self)
    defer { other.close() }
    #expect(try other.environment.outboxHeader() == nil)
    #expect(try other.fileFormat().oldestReader == 1)
    #expect(try other.count(Entry.all) == 10)
  }
}
