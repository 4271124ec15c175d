import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// The index of words of a follower: it comes with the commits of the writer, and nothing is cut into words again.
@Suite struct FollowedSearchTests {
  static let writes = amount("LARCH_FOLLOWED_SEARCHES", 100)

  /// Random writes on the texts of the writer.
  private struct Writes {
    var state = TextState(seed: 0, owner: 0)
    var random: SeededGenerator

    mutating func write(to store: Store) throws {
      let before = self
      self = try store.write { tx throws in
        var run = before
        let steps = run.state.next(&run.random)
        try run.state.apply(steps, to: tx)
        return run
      }
    }
  }

  @Test(arguments: [1, 2, 3])
  func `the answers of a follower are those of its own records, at each position`(
    seed: UInt64
  ) async throws {
    let sharing = try Sharing(Texts.types, seed: seed, faults: .each(40))
    var writes = Writes(random: SeededGenerator(seed: seed))
    var random = SeededGenerator(seed: seed &+ 100)
    var tally = TextTally()
    var follower = try sharing.follow(Texts.types)
    defer { follower.close() }
    for step in 0..<Self.writes {
      try writes.write(to: sharing.writer)
      if random.below(3) == 0 { continue }
      try sharing.ship()
      let version = try sharing.writer.version
      // The threads of tasks are needed by other tests.
      try await follower.read(.atLeast(version), within: .seconds(60)) { _ in }
      try check(follower, writes.state, &tally, &random)
      let (mine, other) = (try sharing.writer.digest(), try follower.digest())
      guard mine == other else {
        Issue.record("seed \(seed), step \(step): \(mine.difference(other))")
        return
      }
      if step % 20 == 0 { #expect(try follower.isSound, "seed \(seed), step \(step)") }
      if random.below(40) == 0 {
        follower.close()
        follower = try sharing.follow(Texts.types)
      }
    }
    try sharing.ship()
    try await sharing.expectEqualSoon(follower)
    #expect(try follower.isSound && sharing.writer.isSound, "seed \(seed)")
    let found = tally
    #expect(found.found > 100 && found.searched > 20, "seed \(seed): \(found)")
  }

  private func check(
    _ store: Store, _ state: TextState, _ tally: inout TextTally, _ random: inout SeededGenerator
  ) throws {
    try store.read { tx throws in
      #expect(try TextState.read(0, seed: 0, in: tx).contents == state.contents)
      try Texts.check(tx, queries: 1, &tally, &random)
    }
  }

  private final class Seen<R: Written>: Sendable {
    let query: TextQuery
    let values = Locked<[(position: UInt64, rows: [R])]>([])
    /// What `TextQuery.matches` finds in the records of the writer at each position.
    let expected = Locked<[UInt64: [R]]>([:])

    init(_ query: TextQuery) { self.query = query }

    func observe(_ store: Store) -> ObservationToken {
      store.observe(R.found(query)) { [values] value in
        values.withLock { $0.append((value.version.position ?? 0, value.rows)) }
      }
    }

    func note(_ writer: Store) throws {
      let position = try #require(try writer.version.position)
      let rows = try writer.everything(R.self).filter {
        query.matches($0.writing.title, $0.writing.body)
      }
      expected.withLock { $0[position] = rows }
    }

    /// - Returns: how many values came.
    func expectRight(_ follower: Store) async throws -> Int {
      let last = try follower.fetch(R.found(query))
      await eventually { self.values.withLock { $0.last?.rows } == last }
      let values = self.values.withLock { $0 }
      let expected = self.expected.withLock { $0 }
      #expect(values.allSatisfy { expected[$0.position] == $0.rows }, "\(query)")
      #expect(zip(values, values.dropFirst()).allSatisfy { $0.position < $1.position })
      return values.count
    }
  }

  @Test(arguments: [4, 5])
  func `what an observer of a follower finds is what the writer has at its version`(
    seed: UInt64
  ) async throws {
    let sharing = try Sharing(Texts.types, seed: seed)
    var writes = Writes(random: SeededGenerator(seed: seed))
    let follower = try sharing.follow(Texts.types)
    defer { follower.close() }
    let texts = ["larch", "tree* -pine", "\"object store\" OR cafe", "only*", "the and"]
    let essays = texts.map { Seen<Essay>(TextQuery($0)) }
    let letters = texts.map { Seen<Letter>(TextQuery($0)) }
    let tokens = essays.map { $0.observe(follower) } + letters.map { $0.observe(follower) }
    defer { tokens.forEach { $0.cancel() } }
    func note() throws {
      for seen in essays { try seen.note(sharing.writer) }
      for seen in letters { try seen.note(sharing.writer) }
    }
    try note()
    for step in 0..<Self.writes {
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
    var count = 0
    for seen in essays { count += try await seen.expectRight(follower) }
    for seen in letters { count += try await seen.expectRight(follower) }
    // More than the first ones; on a busy machine one value may stand for many commits.
    #expect(count > 3 * tokens.count, "seed \(seed)")
  }
}
