import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct FollowerObservingTests {
  private static let starred = Note.where { $0.stars >= 3 }.sorted(by: \.title)

  @Test(arguments: [1, 2])
  func `each value that an observer of a follower gets is that of the writer at its version`(
    seed: UInt64
  ) async throws {
    let sharing = try Sharing(seed: seed)
    var writes = RandomWrites(seed: seed)
    let follower = try sharing.follow()
    defer { follower.close() }
    let seen = Locked<[(UInt64, [Note])]>([])
    let counts = Locked<[(UInt64, Int)]>([])
    let tokens = [
      follower.observe(Self.starred) { value in
        let position = value.version.position ?? 0
        seen.withLock { $0.append((position, value.rows)) }
      },
      follower.observe { tx in
        try tx.count(Note.where { $0.tags.contains("elm") })
      } onChange: { value in
        counts.withLock { $0.append((value.version.position ?? 0, value.value)) }
      },
    ]
    defer { for token in tokens { token.cancel() } }
    // What the writer has at each position.
    var expected: [UInt64: [Note]] = [:]
    var expectedCounts: [UInt64: Int] = [:]
    func note() throws {
      let position = try #require(try sharing.writer.version.position)
      expected[position] = try sharing.writer.fetch(Self.starred)
      expectedCounts[position] = try sharing.writer.count(
        Note.where { $0.tags.contains("elm") })
    }
    try note()
    for step in 0..<200 {
      try writes.write(to: sharing.writer)
      try note()
      guard step % 2 == 0 else { continue }
      try sharing.ship()
      let version = try sharing.writer.version
      try await follower.read(.atLeast(version)) { _ in }
      if step % 8 == 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
    try sharing.ship()
    try await sharing.expectEqualSoon(follower)
    let last = try follower.fetch(Self.starred)
    await eventually { seen.withLock { $0.last?.1 } == last }
    let lastCount = try follower.count(Note.where { $0.tags.contains("elm") })
    await eventually { counts.withLock { $0.last?.1 } == lastCount }
    let values = seen.withLock { $0 }
    // Many, since each applied entry is a change.
    #expect(values.count > 20)
    #expect(values.allSatisfy { expected[$0.0] == $0.1 })
    #expect(counts.withLock { $0 }.allSatisfy { expectedCounts[$0.0] == $0.1 })
    #expect(zip(values, values.dropFirst()).allSatisfy { $0.0 < $1.0 })
  }

  @Test func `an applied entry is a change of this process, and needs no watch of the file`()
    async throws
  {
    let sharing = try Sharing()
    let follower = try sharing.follow(
      options: .quick.with { $0.observesOtherProcesses = false })
    defer { follower.close() }
    let counts = Locked<[Int]>([])
    let token = follower.observe { tx in
      try tx.count(Note.all)
    } onChange: { value in
      counts.withLock { $0.append(value.value) }
    }
    defer { token.cancel() }
    await eventually { counts.withLock { $0 == [0] } }
    for step in 1...5 {
      try sharing.writer.saveAllBlocking([Note(title: "n", stars: 1)])
      try sharing.ship()
      await eventually { counts.withLock { $0.last == step } }
    }
  }

  @Test func `an observer goes on when the copy is made again`() async throws {
    let sharing = try Sharing()
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 5)])
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try await sharing.expectEqualSoon(follower)
    let titles = Locked<[String]>([])
    let token = follower.observe(Self.starred) { value in
      titles.withLock { $0 = value.rows.map(\.title) }
    }
    defer { token.cancel() }
    await eventually { titles.withLock { $0 } == ["one"] }
    // The copy cannot follow any more: the log begins after its place.
    sharing.server.isUnreachable = true
    await eventually { follower.follower?.status.activity == .interrupted }
    try sharing.cutBehindFollowers([Note(title: "two", stars: 4)])
    try await sharing.expectEqualSoon(follower)
    await eventually { titles.withLock { $0 } == ["one", "two"] }
    try sharing.writer.saveAllBlocking([Note(title: "three", stars: 4)])
    try sharing.ship()
    await eventually { titles.withLock { $0 } == ["one", "three", "two"] }
  }
}

extension Sharing {
  /// Saves and ships records while nobody follows, folds the log up to its newest entry, and lets
  /// followers reach the server again.
  func cutBehindFollowers(_ notes: [Note]) throws {
    for note in notes { try writer.saveAll([note]) }
    server.isUnreachable = false
    // In one step for followers, which are in a pause after their failures.
    try ship()
    let log = try server.serverLog.open()
    _ = try log.fold(through: .max, olderThan: -60)
  }
}
