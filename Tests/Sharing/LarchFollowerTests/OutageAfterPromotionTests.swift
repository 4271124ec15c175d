import LarchTestSupport
import Testing

@testable import Larch

/// After a long outage nothing is recorded, and the mirror sends all pairs: to the log that it knows by the place at
/// which it had ended.
@Suite struct OutageAfterPromotionTests {
  /// What the mirror does when more waits than the file may keep.
  private func outlast(_ store: Store) throws {
    try store.environment.restartOutbox(isPaused: true)
    for _ in 0..<3 { try store.saveBlocking() }
  }

  private func open(_ path: String, mirror: ServerLog) throws -> Store {
    try Store(at: path, mirror: mirror, for: Note.self, Shelf.self, options: .quick)
  }

  @Test(.timeLimit(.minutes(15)), arguments: [false, true])
  func `a promoted store knows the log that it has taken over, and has shipped nothing to`(
    isOpenedAgain: Bool
  ) async throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    try sharing.writer.saveAllBlocking([Note(title: "first", stars: 1)])
    try sharing.ship()
    try await sharing.expectEqualSoon(follower)
    try await follower.promote()
    sharing.server.isUnreachable = true
    let heir = try open(sharing.copyPath, mirror: sharing.server.serverLog)
    try outlast(heir)
    var store = heir
    defer { store.close() }
    if isOpenedAgain {
      heir.close()
      store = try open(sharing.copyPath, mirror: sharing.server.serverLog)
    }
    sharing.server.isUnreachable = false
    try await #require(store.mirror).settled()
    let log = try sharing.server.serverLog.open()
    #expect(try log.head()?.newest == store.environment.outboxHeader()?.place)
    #expect(try store.environment.outboxHeader()?.left == nil)
    let copy = try sharing.follow(at: sharing.directory + "/second.larch")
    defer { copy.close() }
    try copy.wait(for: try store.version, within: .seconds(20))
    #expect(try copy.dump() == store.dump())
    #expect(try copy.count(Note.all) == 4)
  }

  @Test(.timeLimit(.minutes(15)))
  func `the old writer notices after a long outage that another store continues its log`()
    async throws
  {
    let sharing = try Sharing()
    try outlast(sharing.writer)
    let follower = try sharing.follow()
    try await follower.promote()
    let log = try sharing.server.serverLog.open()
    let heir = try open(sharing.copyPath, mirror: sharing.server.serverLog)
    defer { heir.close() }
    try heir.saveAllBlocking([Note(title: "new", stars: 1)])
    try await #require(heir.mirror).settled()
    let end = try log.head()?.newest
    try sharing.writer.startMirror(sharing.server.serverLog)
    let error = await #expect(throws: LarchError.self) {
      try await sharing.writer.mirror?.settled()
    }
    #expect(error?.code == .diverged)
    #expect(caught { try sharing.writer.saveBlocking() }?.code == .diverged)
    // It keeps what nobody else has, and has not touched the log.
    #expect(try sharing.writer.count(Note.all) == 3)
    #expect(try log.head()?.newest == end)
  }

  @Test(.timeLimit(.minutes(15)))
  func `a log of another store is not taken after a long outage`() async throws {
    let (sharing, other) = (try Sharing(), try Sharing(seed: 2))
    // Both logs begin at one place here.
    try sharing.writer.saveAllBlocking([Note(title: "shipped", stars: 1)])
    try sharing.ship()
    try outlast(sharing.writer)
    try other.writer.saveAllBlocking([Note(title: "other", stars: 1)])
    try other.ship()
    let log = try other.server.serverLog.open()
    let end = try log.head()?.newest
    try sharing.writer.startMirror(other.server.serverLog)
    let error = await #expect(throws: LarchError.self) {
      try await sharing.writer.mirror?.settled()
    }
    #expect(error?.code == .diverged)
    #expect(try log.head()?.newest == end)
    // It works on: another store has nothing to do with its log.
    try sharing.writer.saveAllBlocking([Note(title: "own", stars: 1)])
  }
}
