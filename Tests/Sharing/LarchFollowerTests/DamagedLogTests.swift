import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct DamagedLogTests {
  /// Ways to spoil an entry that follows the newest one of the log.
  enum Spoiling: CaseIterable {
    case alteredChanges
    case randomChanges
    case noChangesAtAll
    case outboxTree
    case foreignFlags
    case newerForm
    case cutShort
  }

  private func entry(_ spoiling: Spoiling, after place: LogPlace, good: [UInt8]) -> LogEntry {
    var random = SeededGenerator(seed: 7)
    func made(_ changes: [UInt8]) -> LogEntry {
      LogEntry(after: place, random: 99, changes: changes)
    }
    func record(tree: String, flags: UInt32) -> [UInt8] {
      var bytes: [UInt8] = [1, 0, 1, 0, 1, 0, 0, 0]
      withUnsafeBytes(of: flags.littleEndian) { bytes += $0 }
      withUnsafeBytes(of: UInt16(tree.utf8.count).littleEndian) { bytes += $0 }
      return bytes + Array(tree.utf8) + [4, 0, 0, 0, 0, 0, 0, 0, 0]
    }
    switch spoiling {
    case .alteredChanges:
      let whole = made(good)
      var changes = good
      changes[changes.count - 1] ^= 1
      return LogEntry(place: whole.place, before: whole.before, changes: changes)
    case .randomChanges:
      return made([1, 0] + (0..<200).map { _ in .random(in: 0...255, using: &random) })
    case .noChangesAtAll: return made([])
    case .outboxTree: return made(record(tree: "larch.outbox", flags: 0))
    case .foreignFlags: return made(record(tree: "larch", flags: 4))
    case .newerForm: return made([2, 0, 0, 0, 0, 0, 0, 0])
    case .cutShort: return made(Array(good.dropLast(3)))
    }
  }

  @Test(arguments: Spoiling.allCases)
  func `a damaged or hostile entry is reported, and the copy stays as it is`(
    spoiling: Spoiling
  ) async throws {
    let sharing = try Sharing()
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    let header = try #require(try sharing.writer.environment.outboxHeader())
    guard
      case .entries(let entries) = try sharing.writer.environment.outboxEntries(
        after: header.shipped.position, limit: .max), let good = entries.last
    else {
      Issue.record("no entry")
      return
    }
    try sharing.ship()
    let messages = Locked<[LogMessage]>([])
    let follower = try sharing.follow(
      options: .quick.with { $0.log = { message in messages.withLock { $0.append(message) } } })
    defer { follower.close() }
    try await sharing.expectEqualSoon(follower)
    let before = try follower.dump()
    let log = try sharing.server.serverLog.open()
    let bad = entry(spoiling, after: header.place, good: good.changes)
    #expect(try log.append([bad]))
    let code: LarchError.Code = spoiling == .newerForm ? .newerLog : .damagedLog
    await eventually { follower.follower?.status.error?.code == code }
    #expect(follower.follower?.status.activity == .interrupted)
    #expect(try follower.dump() == before)
    #expect(try follower.version == sharing.writer.version)
    #expect(messages.withLock { $0.contains { $0.event == .followingInterrupted } })
    // The server is repaired, and the copy goes on by itself.
    sharing.server.forget(1)
    try sharing.writer.saveAllBlocking([Note(title: "two", stars: 2)])
    try sharing.ship()
    try await sharing.expectEqualSoon(follower)
    #expect(follower.follower?.status.error == nil)
  }

  @Test func `entries of another log are refused as another past`() async throws {
    let (sharing, other) = (try Sharing(), try Sharing())
    try sharing.writer.saveAllBlocking([Note(title: "one", stars: 1)])
    try sharing.ship()
    let first = try sharing.follow()
    try await sharing.expectEqualSoon(first)
    first.close()
    try other.writer.saveAllBlocking([Note(title: "other", stars: 1)])
    try other.ship()
    // The wrong address: the copy becomes one of the other log, and the old one is kept.
    let follower = try Store(
      following: other.server.serverLog, copy: sharing.copyPath,
      types: [Note.self, Shelf.self], options: .quick)
    defer { follower.close() }
    await eventually { follower.follower?.status.keptAside != nil }
    try await eventually { try follower.dump() == other.writer.dump() }
  }
}
