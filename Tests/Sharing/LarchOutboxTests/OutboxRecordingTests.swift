import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Whatever a file is changed by, the entries of its outbox make the same file from an older copy.
@Suite("Recording in the outbox")
struct OutboxRecordingTests {
  @Test(
    "Random writes with savepoints, some undone, give a follower the same trees",
    arguments: [UInt64(1), 2, 3, 4])
  func random(seed: UInt64) throws {
    let files = try OutboxDirectory()
    // So small that it grows in the middle of commits; in every second run, commits are logged too.
    let writer = try files.open(
      files.writer, mapSize: 256 << 10, logsCommits: seed.isMultiple(of: 2))
    defer { writer.close() }
    var work = RandomWrites(seed: seed)
    for _ in 0..<20 { try work.run(writer) }
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    for _ in 0..<20 { try work.run(writer) }
    try files.makeFollower(of: writer, at: files.follower)
    let follower = try files.open(files.follower, mapSize: 256 << 10, logsCommits: seed > 2)
    defer { follower.close() }
    try expectEqual(writer, follower, "the copy")
    for step in 0..<60 {
      for _ in 0..<4 { try work.run(writer) }
      let place = try #require(try follower.outboxHeader()).place
      let entries = try writer.waiting(after: place.position)
      if step.isMultiple(of: 3) {
        for entry in entries { try follower.apply([entry]) }
      } else {
        try follower.apply(entries)
      }
      try expectEqual(writer, follower, "seed \(seed), step \(step)")
      #expect(try follower.outboxHeader()?.place == writer.outboxHeader()?.place)
      if step.isMultiple(of: 7), let last = entries.last {
        try writer.trimOutbox(through: last.place)
        #expect(try writer.waiting().isEmpty)
        #expect(try writer.outboxHeader()?.bytes == 0)
      }
    }
    #expect(work.undone > 20)
  }

  @Test("A write that changes nothing, or whose changes were undone, adds no entry")
  func nothing() throws {
    let files = try OutboxDirectory()
    let writer = try files.open(files.writer)
    defer { writer.close() }
    try writer.put("a", "1")
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    try writer.write { _ in }
    try writer.write { transaction in
      let child = try transaction.beginChild()
      let database = try #require(try writer.openDatabase("a", in: child))
      try database.put(Array("b".utf8), Array("2".utf8), in: child)
      child.abortChild()
      // It is there already.
      _ = try writer.openDatabase("a", .create, in: transaction)
    }
    try? writer.write { transaction in
      let database = try #require(try writer.openDatabase("a", in: transaction))
      try database.put(Array("b".utf8), Array("2".utf8), in: transaction)
      throw Mismatch("undo")
    }
    #expect(try writer.waiting().isEmpty)
    #expect(try writer.outboxHeader()?.place == .start)
    try writer.put("b", "2")
    #expect(try writer.waiting().map(\.place.position) == [1])
  }
}

/// Changes trees at random.
struct RandomWrites {
  private var random: SeededGenerator
  private(set) var undone = 0
  /// Trees with one value a key, with sorted values, and with values of one length.
  private let trees: [(name: String, flags: LMDBDatabase.Flags)] = [
    ("records.1", []), ("records.2", []), ("index.3", [.duplicates]),
    ("index.4", [.duplicates, .fixedDuplicates]),
  ]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func run(_ environment: LMDBEnvironment) throws {
    // The closure of a write may run again, from the same state.
    let start = random
    let (undone, next) = try environment.write { transaction in
      var copy = self
      copy.random = start
      try copy.fill(environment, transaction, depth: 0)
      return (copy.undone, copy.random)
    }
    self.undone = undone
    random = next
  }

  private mutating func fill(
    _ environment: LMDBEnvironment, _ transaction: LMDBTransaction, depth: Int
  ) throws {
    for _ in 0..<random.below(12) {
      if depth < 3, random.below(5) == 0 {
        let child = try transaction.beginChild()
        do {
          try fill(environment, child, depth: depth + 1)
        } catch {
          child.abortChild()
          throw error
        }
        if random.below(2) == 0 {
          child.abortChild()
          undone += 1
        } else {
          try child.commitChild()
        }
      } else {
        try change(environment, transaction)
      }
    }
  }

  private mutating func change(
    _ environment: LMDBEnvironment, _ transaction: LMDBTransaction
  ) throws {
    let tree = trees[random.below(trees.count)]
    guard
      let database = try environment.openDatabase(
        tree.name, tree.flags.union(.create), in: transaction)
    else { return }
    let key = Array("key\(random.below(200))".utf8)
    let isFixed = tree.flags.contains(.fixedDuplicates)
    let size = tree.flags.isEmpty ? random.below(random.below(8) == 0 ? 9000 : 300) : 40
    let value =
      isFixed
      ? withUnsafeBytes(of: random.next()) { [UInt8]($0) }
      : (0..<size).map { UInt8(truncatingIfNeeded: $0) } + [UInt8(random.below(250))]
    switch random.below(20) {
    case 0 where random.below(6) == 0: try database.empty(in: transaction)
    case 1...4: _ = try key.withUnsafeBytes { try database.delete($0, in: transaction) }
    case 5 where !tree.flags.isEmpty:
      _ = try key.withUnsafeBytes { key in
        try value.withUnsafeBytes { try database.delete(key, value: $0, in: transaction) }
      }
    case 6...8 where tree.flags.isEmpty:
      let room = try key.withUnsafeBytes {
        try database.reserve($0, size: value.count, in: transaction)
      }
      room?.copyBytes(from: value)
    case 9: try database.put(key, value, in: transaction, mode: .ifAbsent)
    case 10 where !tree.flags.isEmpty:
      try database.put(key, value, in: transaction, mode: .ifPairAbsent)
    default: try database.put(key, value, in: transaction)
    }
  }
}
