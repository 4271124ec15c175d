import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// What whoever ships the entries does with them, and what happens when nobody does.
@Suite("The upkeep of the outbox")
struct OutboxUpkeepTests {
  private let files: OutboxDirectory
  private let writer: LMDBEnvironment

  init() throws {
    files = try OutboxDirectory()
    writer = try files.open(files.writer)
    try writer.put("first", "1")
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
  }

  @Test("A read whose process has not opened an outbox without entries finds that there is none")
  func ended() throws {
    defer { writer.close() }
    try writer.removeOutbox()
    writer.outboxDatabase.withLock { $0 = nil }
    try writer.read { transaction throws in
      #expect(try writer.outboxHeader(in: transaction) == nil)
    }
  }

  @Test("Entries are read in pieces, removed up to a place, and counted")
  func trimming() throws {
    defer { writer.close() }
    for number in 0..<30 {
      // Some need several parts.
      try writer.put("k", String(repeating: "x", count: number % 5 == 0 ? 150_000 : 50))
    }
    let all = try writer.waiting()
    #expect(all.map(\.place.position) == Array(1...30))
    #expect(all.allSatisfy { $0.isWhole })
    let header = try #require(try writer.outboxHeader())
    #expect(Int(header.bytes) == all.reduce(0) { $0 + $1.changes.count })
    #expect(header.needsFirstCopy)
    guard case .entries(let piece) = try writer.outboxEntries(after: 5, limit: 200_000) else {
      throw Mismatch("no entries")
    }
    #expect(piece.map(\.place.position) == Array(6...11))
    try writer.trimOutbox(through: all[10].place, isFirstCopy: true)
    let rest = try writer.waiting()
    #expect(rest.map(\.place) == all.dropFirst(11).map(\.place))
    let left = try #require(try writer.outboxHeader())
    #expect(Int(left.bytes) == rest.reduce(0) { $0 + $1.changes.count })
    #expect(left.shipped == all[10].place && left.place == header.place)
    #expect(!left.needsFirstCopy)
    let wrong = LogPlace(position: all[20].place.position, token: all[19].place.token)
    #expect(code { try writer.trimOutbox(through: wrong) } == .diverged)
    #expect(
      code { try writer.trimOutbox(through: LogPlace(position: 31, token: .start)) } == .diverged)
    // What is gone is told, as is what never was.
    guard case .cut = try writer.outboxEntries(after: 3, limit: 1),
      case .diverged = try writer.outboxEntries(after: 31, limit: 1),
      case .entries(let none) = try writer.outboxEntries(after: 30, limit: 1)
    else { throw Mismatch("another answer") }
    #expect(none.isEmpty)
    // Removing them again, or fewer, changes nothing, and writes nothing.
    let number = try writer.info().lastTransactionID
    try writer.trimOutbox(through: all[4].place)
    #expect(try writer.outboxHeader() == left)
    #expect(try writer.info().lastTransactionID == number)
    try writer.trimOutbox(through: all[29].place)
    #expect(try writer.outboxHeader()?.bytes == 0)
    try writer.read { try writer.checkOutbox(in: $0) }
    try writer.put("after", "1")
    #expect(try writer.waiting().map(\.before) == [all[29].place.token])
  }

  @Test("A commit that is too large is refused as a whole, and smaller ones go on")
  func tooLarge() throws {
    defer { writer.close() }
    writer.outbox.entryLimit = 10_000
    let (pairs, header) = (try writer.pairs(), try writer.outboxHeader())
    let text = String(repeating: "x", count: 20_000)
    do {
      try writer.put("large", text)
      Issue.record("it was written")
    } catch let error as LarchError {
      #expect(error.code == .commitTooLarge)
      #expect(error.message.contains("smaller"))
    }
    #expect(try writer.pairs() == pairs)
    #expect(try writer.outboxHeader() == header)
    // What was too large and undone does not count.
    try writer.write { transaction in
      let child = try transaction.beginChild()
      let database = try #require(try writer.openDatabase("a", in: child))
      try database.put(Array("large".utf8), Array(text.utf8), in: child)
      child.abortChild()
      try database.put(Array("small".utf8), Array("1".utf8), in: transaction)
    }
    #expect(try writer.waiting().count == 1)
  }

  @Test("Work that cannot be divided drops the entries, and asks for a copy of the store")
  func indivisible() throws {
    defer { writer.close() }
    try writer.put("before", "1")
    try writer.trimOutbox(through: try #require(try writer.waiting().last).place, isFirstCopy: true)
    writer.outbox.entryLimit = 10_000
    let text = String(repeating: "x", count: 20_000)
    try writer.write(isIndivisible: true) { transaction in
      let database = try #require(try writer.openDatabase("a", in: transaction))
      try database.put(Array("large".utf8), Array(text.utf8), in: transaction)
    }
    let header = try #require(try writer.outboxHeader())
    #expect(header.needsFirstCopy && header.isPaused && header.place.position == 2)
    // The flag was for that write only.
    #expect(code { try writer.put("large", text + "x") } == nil)
    #expect(try writer.outboxHeader()?.place.position == 3)
    #expect(try writer.waiting().isEmpty)
    try writer.restartOutbox()
    #expect(code { try writer.put("large", text + "y") } == .commitTooLarge)
    try files.makeFollower(of: writer, at: files.follower)
    try writer.put("after", "1")
    let follower = try files.open(files.follower)
    defer { follower.close() }
    try follower.apply(try writer.waiting())
    try expectEqual(writer, follower)
  }

  @Test("What nobody ships is dropped when it is larger than the store, and this is told")
  func limit() throws {
    writer.close()
    let messages = Locked<[LogMessage]>([])
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.log = { message in messages.withLock { $0.append(message) } }
    let writer = try LMDBEnvironment.open(path: files.writer, options: options)
    defer { writer.close() }
    writer.outbox.limit = 100_000
    var number = 0
    while try writer.outboxHeader()?.isPaused == false {
      number += 1
      try writer.put("k", String(repeating: "x", count: 10_000))
      try #require(number < 1000)
    }
    #expect(number > 9)
    let header = try #require(try writer.outboxHeader())
    #expect(header.needsFirstCopy && header.bytes == 0)
    #expect(header.place.position == UInt64(number))
    #expect(messages.withLock { $0.contains { $0.event == .outboxDropped } })
    // A copy that was taken before a commit that is not recorded does not count as the first one.
    let early = header.place
    try writer.put("k", "2")
    try writer.trimOutbox(through: early, isFirstCopy: true)
    #expect(try writer.outboxHeader()?.needsFirstCopy == true)
    #expect(try writer.outboxHeader()?.isPaused == true)
    try writer.restartOutbox()
    let place = try #require(try writer.outboxHeader()).place
    try writer.put("k", "3")
    try writer.trimOutbox(through: place, isFirstCopy: true)
    let last = try #require(try writer.outboxHeader())
    #expect(!last.needsFirstCopy && !last.isPaused)
    #expect(try writer.waiting().count == 1)
  }

  @Test("Beginning again keeps the place of the same store, and another store begins from its own")
  func beginning() throws {
    defer { writer.close() }
    try writer.put("a", "1")
    let header = try #require(try writer.outboxHeader())
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    try writer.makeOutbox(role: .writer, identity: header.identity, place: .start)
    #expect(try writer.outboxHeader() == header)
    let place = LogPlace(position: 9, token: LogToken(random: 1, checksum: 2))
    try writer.makeOutbox(
      role: .writer, identity: OutboxHeader.newIdentity(), place: place)
    let other = try #require(try writer.outboxHeader())
    #expect(other.place == place && other.identity != header.identity && other.bytes == 0)
    try writer.removeOutbox()
    #expect(try writer.outboxHeader() == nil)
    try writer.put("b", "1")
    #expect(code { try writer.trimOutbox(through: place) } == .unsuitableFile)
    #expect(code { try writer.apply([]) } == .unsuitableFile)
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    try writer.put("c", "1")
    #expect(try writer.waiting().map(\.place.position) == [1])
  }

  @Test("A read tells the place of its own state, also if it began before anybody knew the outbox")
  func placeOfRead() throws {
    try writer.put("a", "1")
    writer.close()
    // Its reads know no handle of the outbox.
    let again = try files.open(files.writer)
    defer { again.close() }
    let early = try again.beginRead()
    defer { again.endRead(early) }
    #expect(try again.outboxHeader(in: early.transaction)?.place.position == 1)
    try again.put("a", "2")
    #expect(try again.outboxHeader(in: early.transaction)?.place.position == 1)
    #expect(try again.outboxHeader()?.place.position == 2)
    let later = try again.read { try again.outboxHeader(in: $0) }
    #expect(later?.place.position == 2)
    let inWrite = try again.write { try again.outboxHeader(in: $0) }
    #expect(inWrite == later)
  }

  @Test("A commit that fails after its record leaves neither data nor an entry")
  func failedCommits() throws {
    writer.close()
    var options = LMDBEnvironment.Options()
    options.logsCommits = true
    options.logLimits.faults = .failedCommits
    let writer = try LMDBEnvironment.open(path: files.writer, options: options)
    defer { writer.close() }
    try files.makeFollower(of: writer, at: files.follower)
    let follower = try files.open(files.follower)
    defer { follower.close() }
    var failed = 0
    for number in 0..<40 {
      if code({ try writer.put("k\(number)", "v") }) != nil { failed += 1 }
    }
    #expect(failed > 3)
    let entries = try writer.waiting()
    #expect(entries.count == 40 - failed)
    try follower.apply(entries)
    try expectEqual(writer, follower)
  }
}
