import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct SharedCopyTests {
  @Test func `of two stores on one copy one applies, and the other takes over`() async throws {
    let sharing = try Sharing()
    let first = try sharing.follow()
    await eventually { first.follower?.status.newestPosition != nil }
    let second = try sharing.follow()
    defer { second.close() }
    await eventually { second.follower?.status.activity == .waiting }
    for step in 0..<10 {
      try sharing.writer.saveAllBlocking([Note(title: "n\(step)", stars: 1)])
      try sharing.ship()
      let version = try sharing.writer.version
      #expect(
        try await second.read(.atLeast(version)) { tx in try tx.count(Note.all) } == step + 1)
    }
    #expect(first.follower?.status.activity == .following)
    await eventually { second.follower?.status.commitsBehind == 0 }
    first.close()
    try sharing.writer.saveAllBlocking([Note(title: "last", stars: 1)])
    try sharing.ship()
    try await sharing.expectEqualSoon(second)
    #expect(second.follower?.status.activity == .following)
  }

  #if os(Linux)
    @Test func `whoever looks on goes on with the file that another process has put there`()
      async throws
    {
      let sharing = try Sharing([Entry.self])
      func save(_ id: String) throws -> UInt64 {
        try sharing.writer.saveAllBlocking([Entry(id: id, owner: 1, text: id, value: nil)])
        try sharing.ship()
        return try #require(try sharing.writer.environment.outboxHeader()).place.position
      }
      _ = try save("one")
      try sharing.follow([Entry.self]).close()
      // Another process applies the log, and then another file is in the place of the copy.
      var applying = try FollowClaim(sharing.copyPath)
      #expect(applying != nil)
      let follower = try sharing.follow([Entry.self])
      defer { follower.close() }
      await eventually { follower.follower?.status.activity == .waiting }
      let child = try Child(["commit-once", sharing.copyPath, "compact"], in: sharing.directory)
      #expect(try child.wait() == .exit(0), "\(child.output)")
      applying = nil
      // Nobody reads it, which would show that it was replaced.
      let newest = try save("two")
      await eventually { follower.follower?.status.position == newest }
      #expect(try follower.count(Entry.all) == 2)
      #expect(follower.follower?.status.activity == .following)
    }
  #endif

  @Test func `the entry of a promotion may have been applied by another process`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let environment = follower.environment
    let entry = LogEntry(
      after: try environment.followedPlace(), random: 3, changes: ChangeRecord.nothing)
    try environment.applyMissing([entry])
    try environment.becomeWriter(with: entry)
    let header = try #require(try environment.outboxHeader())
    #expect(header.role == .writer && header.place == entry.place)
    // Not if another one was promoted after it.
    let next = LogEntry(after: entry.place, random: 4, changes: ChangeRecord.nothing)
    try environment.setOutboxRole(.follower)
    try environment.applyMissing([next])
    #expect(caught { try environment.becomeWriter(with: entry) }?.code == .diverged)
  }

  @Test func `only one of two has the claim on a file, and each file has its own`() throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    follower.close()
    let other = sharing.directory + "/other.larch"
    try sharing.follow(at: other).close()
    var first = try FollowClaim(sharing.copyPath)
    #expect(first != nil)
    #if os(Linux)
      #expect(try FollowClaim(sharing.copyPath) == nil)
    #endif
    #expect(try FollowClaim(other) != nil)
    first = nil
    #expect(try FollowClaim(sharing.copyPath) != nil)
  }

  @Test func `an entry that another one has applied is not applied twice`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    let header = try #require(try sharing.writer.environment.outboxHeader())
    guard
      case .entries(let entries) = try sharing.writer.environment.outboxEntries(
        after: header.shipped.position, limit: .max)
    else {
      Issue.record("no entries")
      return
    }
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let before = try follower.dump()
    #expect(caught { _ = try follower.environment.apply(entries) }?.code == .diverged)
    #expect(try follower.dump() == before)
    #expect(try follower.version == sharing.writer.version)
  }

  /// Two processes may have one copy open. When both read the same entries of the log and the other one was faster, a
  /// write or an opening threw `.diverged`, though nothing had been lost.
  @Test func `entries that another process has applied meanwhile are no other past`() throws {
    let server = MemoryServer()
    let lie = Locked<LyingLog.Lie?>(nil)
    let paths = (ScratchFile.freshPath(), ScratchFile.freshPath())
    func open(_ log: ServerLog, _ path: String) throws -> Store {
      try Store(
        sharing: log, copy: path, types: [Note.self, Shelf.self], options: .quick,
        isTemporary: true)
    }
    let other = try open(server.serverLog, paths.0)
    defer { other.close() }
    let store = try open(LyingLog.server(server, lie), paths.1)
    defer { store.close() }
    let faster = Locked(0)
    lie.withLock {
      $0 = { [environment = store.environment] entries in
        if (try? environment.apply(entries)) != nil { faster.withLock { $0 += 1 } }
        return entries
      }
    }
    for number in 0..<40 {
      try other.saveAll([Note(title: "other \(number)", stars: 1)])
      try store.saveAll([Note(title: "own \(number)", stars: 2)])
    }
    #expect(faster.withLock { $0 } > 0)
    lie.withLock { $0 = nil }
    for store in [store, other] { try store.environment.catchUpWithLog() }
    #expect(try store.count(Note.all) == 80)
    #expect(try store.digest() == other.digest())
    #expect(try store.verify().isClean)
  }
}
