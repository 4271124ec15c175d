import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct CopiedAnewTests {
  private func files(_ sharing: Sharing) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: sharing.directory)
      .filter { $0.hasPrefix("copy") && !$0.hasSuffix("-lock") }.sorted()
  }

  @Test func `a copy that was away for longer than the log keeps is made again in place`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let first = try sharing.follow()
    try sharing.expectEqual(first)
    let old = try first.version
    first.close()
    try sharing.cutBehindFollowers([Note(title: "two", stars: 2), Note(title: "three", stars: 3)])
    let messages = Locked<[LogMessage]>([])
    let follower = try sharing.follow(
      options: .quick.with { $0.log = { message in messages.withLock { $0.append(message) } } })
    defer { follower.close() }
    try sharing.expectEqual(follower)
    #expect(try follower.version > old)
    #expect(try files(sharing) == ["copy.larch"])
    #expect(messages.withLock { $0.contains { $0.event == .copiedAnew && $0.level == .notice } })
    #expect(follower.follower?.status.keptAside == nil)
    #expect(try follower.verify().isClean)
    // It goes on from there.
    try sharing.writer.saveAll([Note(title: "four", stars: 4)])
    try sharing.ship()
    try sharing.expectEqual(follower)
  }

  @Test func `a copy with another past is kept aside, and made again under open stores`() throws {
    let sharing = try Sharing()
    let behind = sharing.directory + "/behind.larch"
    try sharing.writer.saveAll([Note(title: "shared", stars: 1)])
    try sharing.ship()
    let other = try sharing.follow(at: behind)
    try sharing.expectEqual(other)
    other.close()
    for number in 0..<3 { try sharing.writer.saveAll([Note(title: "lost \(number)", stars: 1)]) }
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let lost = try follower.version
    let snapshot = try follower.snapshot()
    // The server's standby took over without the newest entries, and another copy is promoted.
    sharing.server.forget(3)
    let promoted = try sharing.follow(at: behind)
    try promoted.promote()
    let heir = try Store(
      path: behind, types: [Note.self, Shelf.self], options: .quick, isTemporary: false)
    defer { heir.close() }
    let log = try sharing.server.serverLog.open()
    for number in 0..<6 {
      try heir.saveAll([Note(title: "new \(number)", stars: 2)])
      #expect(try Sharing.ship(heir, log))
    }
    try follower.wait(for: try heir.version, within: .seconds(20))
    #expect(try follower.dump() == heir.dump())
    let aside = try #require(follower.follower?.status.keptAside)
    #expect(try files(sharing) == ["copy.larch", (aside as NSString).lastPathComponent].sorted())
    try Store.using(
      aside, Note.self, Shelf.self, options: .quick.with { $0.isReadOnly = true }
    ) { copy throws in
      #expect(try copy.count(Note.where { $0.title.hasPrefix("lost") }) == 3)
    }
    // A session whose commit was lost gets an error.
    #expect(caught { try follower.read(.atLeast(lost)) { _ in } }?.code == .diverged)
    #expect(caught { _ = try snapshot.count(Note.all) }?.code == .snapshotEnded)
    // The old writer has lost its place.
    try sharing.writer.saveAll([Note(title: "late", stars: 1)])
    #expect(try !Sharing.ship(sharing.writer, log))
  }

  @Test func `attempts that fail do not end the making of a new copy`() throws {
    let sharing = try Sharing()
    for number in 0..<3 { try sharing.writer.saveAll([Note(title: "n\(number)", stars: 1)]) }
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    // Something that cannot be removed has the name of the new copy.
    let obstacle = sharing.copyPath + "-next"
    try FileManager.default.createDirectory(
      atPath: obstacle + "/inside", withIntermediateDirectories: true)
    sharing.server.forget(2)
    while follower.follower?.status.error == nil { usleep(1000) }
    // As many attempts as the pauses allow.
    usleep(1_500_000)
    #expect(follower.follower?.status.error?.code != .damagedLog)
    #expect(try follower.count(Note.all) == 3)
    try FileManager.default.removeItem(atPath: obstacle)
    while follower.follower?.status.keptAside == nil { usleep(1000) }
    #expect(try follower.count(Note.all) == 1)
    #expect(try files(sharing).count == 2)
  }

  @Test func `copies are made again with a server that fails, again and again`() throws {
    let sharing = try Sharing(seed: 5)
    var writes = RandomWrites(seed: 5)
    for round in 0..<8 {
      sharing.server.set(MemoryServer.Faults())
      for _ in 0..<10 { try writes.write(to: sharing.writer) }
      try sharing.ship()
      if round > 0 { _ = try sharing.server.serverLog.open().fold(through: .max, olderThan: -60) }
      sharing.server.set(.each(8))
      let follower = try sharing.follow()
      try sharing.expectEqual(follower, "round \(round)")
      follower.close()
    }
    #expect(try files(sharing) == ["copy.larch"])
  }

  @Test func `what a kill left beside the copy is removed`() throws {
    let sharing = try Sharing()
    try sharing.follow().close()
    // Half of a new copy, and a whole one that did not get its place.
    try Store.using(sharing.copyPath + "-next", Note.self, Shelf.self) {
      try $0.saveAll([Note(title: "never", stars: 1)])
    }
    try sharing.cutBehindFollowers([Note(title: "one", stars: 1)])
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    #expect(try files(sharing) == ["copy.larch"])
  }
}
