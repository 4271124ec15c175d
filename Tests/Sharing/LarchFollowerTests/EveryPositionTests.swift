import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A copy is byte for byte its writer at each position: every pair of every tree.
@Suite struct EveryPositionTests {
  /// `LARCH_LONG=1` runs the long form.
  static let steps =
    ProcessInfo.processInfo.environment["LARCH_LONG"] == nil ? 1_500 : 50_000

  @Test(arguments: [1, 2])
  func `a follower has exactly what the writer has, at each position`(seed: UInt64) async throws {
    let sharing = try Sharing(seed: seed, faults: .each(40))
    var writes = RandomWrites(seed: seed)
    var random = SeededGenerator(seed: seed &+ 1000)
    var follower = try sharing.follow()
    defer { follower.close() }
    for step in 0..<Self.steps {
      try writes.writeBlocking(to: sharing.writer, 2)
      // The store stays small, so that it can be compared as a whole.
      if step % 100 == 99 {
        try sharing.writer.thin()
      }
      try sharing.ship()
      let version = try sharing.writer.version
      // The threads of tasks are needed by other tests.
      try await follower.read(.atLeast(version), within: .seconds(60)) { _ in }
      guard try follower.version == version else {
        Issue.record("at \(try follower.version), not \(version)")
        return
      }
      let (mine, other) = (try sharing.writer.digest(), try follower.digest())
      guard mine == other else {
        Issue.record("step \(step): \(mine.difference(other))")
        return
      }
      if Int.random(in: 0..<200, using: &random) == 0 {
        follower.close()
        follower = try sharing.follow()
      }
    }
    #expect(try follower.isSound)
  }
}

/// A checksum of each tree of a store that has any pairs.
struct StoreDigest: Equatable {
  fileprivate(set) var trees: [String: UInt64] = [:]

  func difference(_ other: Self) -> String {
    Set(trees.keys).union(other.trees.keys).filter { trees[$0] != other.trees[$0] }.sorted()
      .joined(separator: ", ")
  }
}

private final class DigestWriter: LogStateWriter {
  private(set) var digest = StoreDigest()
  private var name = ""

  func begin(_ tree: LogTree) { name = tree.name }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    var sum = LogChecksum(seed: digest.trees[name] ?? 1)
    sum.add(UInt64(key.count))
    sum.add(key)
    sum.add(value)
    digest.trees[name] = sum.value
  }
}

extension RandomWrites {
  /// `write`, from an asynchronous test.
  mutating func writeBlocking(to store: Store, _ count: Int) throws { try write(to: store, count) }
}

extension Store {
  /// Deletes most of the notes.
  fileprivate func thin() throws {
    try write { tx in try tx.delete(Note.where { $0.stars < 4 }) }
  }

  var isSound: Bool { get throws { try verify().isClean } }

  func digest() throws -> StoreDigest {
    let writer = DigestWriter()
    try environment.withPairs { _, copy in try copy(writer) }
    return writer.digest
  }
}
