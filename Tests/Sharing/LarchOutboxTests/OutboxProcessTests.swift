import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Processes that are killed, and processes that do not know yet that the store is mirrored.
@Suite("The outbox of several processes", .serialized)
struct OutboxProcessTests {
  @Test("After a kill at any moment, the outbox and the data agree")
  func killed() throws {
    let files = try OutboxDirectory()
    try makeStore(files.writer)
    var random = SeededGenerator(seed: runSeed)
    let rounds = amount("LARCH_OUTBOX_KILLS", 12)
    do {
      let writer = try files.open(files.writer)
      defer { writer.close() }
      try writer.makeOutbox(role: .writer, identity: nil, place: .start)
      try files.makeFollower(of: writer, at: files.follower)
    }
    let follower = try files.open(files.follower)
    defer { follower.close() }
    for round in 0..<rounds {
      // Two processes share the file in every second round.
      let children = try (0...(round % 2)).map { owner in
        try Child(
          ["outbox-writer", files.writer, "\(runSeed &+ UInt64(round * 2 + owner))", "\(owner)"],
          in: files.path)
      }
      let before = try #require(try follower.outboxHeader()).place.position
      try wait(files, for: before + 20)
      usleep(UInt32(random.below(20_000)))
      for child in children { try child.killHard() }
      let writer = try files.open(files.writer)
      defer { writer.close() }
      let entries = try writer.waiting(after: before)
      #expect(entries.count >= 20)
      try follower.apply(entries)
      try expectEqual(writer, follower, "round \(round), seed \(runSeed)")
      try writer.read { try writer.checkOutbox(in: $0) }
      if round % 3 == 0, let last = entries.last { try writer.trimOutbox(through: last.place) }
    }
  }

  @Test("A process that had the store open before records its commits too")
  func begunElsewhere() throws {
    for round in 0..<4 {
      let files = try OutboxDirectory()
      try makeStore(files.writer)
      let children = try (0..<2).map { owner in
        try Child(
          ["outbox-writer", files.writer, "\(runSeed &+ UInt64(round * 2 + owner))", "\(owner)"],
          in: files.path)
      }
      let writer = try files.open(files.writer)
      defer { writer.close() }
      let number = try writer.info().lastTransactionID
      try waitUntil { try writer.info().lastTransactionID > number + 50 }
      try writer.makeOutbox(role: .writer, identity: nil, place: .start)
      try files.makeFollower(of: writer, at: files.follower)
      let reached = try #require(try writer.outboxHeader()).place.position
      try waitUntil { try writer.outboxHeader()?.place.position ?? 0 > reached + 50 }
      for child in children { try child.killHard() }
      // A child may die after its commit is in the file, but before the lock file says so. Readers then miss
      // the commit until another write begins.
      try writer.write { _ in }
      let follower = try files.open(files.follower)
      defer { follower.close() }
      let place = try #require(try follower.outboxHeader()).place
      try follower.apply(try writer.waiting(after: place.position))
      try expectEqual(writer, follower, "round \(round), seed \(runSeed)")
    }
  }

  private func makeStore(_ path: String) throws {
    let store = try Store(at: path, for: Entry.self)
    store.close()
  }

  private func wait(_ files: OutboxDirectory, for position: UInt64) throws {
    let writer = try files.open(files.writer)
    defer { writer.close() }
    try waitUntil { try writer.outboxHeader()?.place.position ?? 0 >= position }
  }

  private func waitUntil(_ condition: () throws -> Bool) throws {
    for _ in 0..<60_000 {
      if try condition() { return }
      usleep(1000)
    }
    throw Mismatch("nothing was written")
  }
}
