import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A follower takes the entries that follow its state, all or none, and nothing else.
@Suite("A store that follows another one")
struct OutboxFollowerTests {
  private let files: OutboxDirectory
  private let writer: LMDBEnvironment
  private let follower: LMDBEnvironment

  init() throws {
    files = try OutboxDirectory()
    writer = try files.open(files.writer)
    try writer.put("first", "1")
    try writer.makeOutbox(role: .writer, identity: nil, place: .start)
    try files.makeFollower(of: writer, at: files.follower)
    follower = try files.open(files.follower)
  }

  @Test("refuses every write, and says what to do")
  func refusesWrites() throws {
    defer { close() }
    do {
      try follower.put("mine", "2")
      Issue.record("it was written")
    } catch let error as LarchError {
      #expect(error.code == .readOnly)
      #expect(error.message.contains("promote"))
    }
    try expectEqual(writer, follower)
    let before = try follower.outboxHeader()
    #expect(code { try follower.put("mine", "2") } == .readOnly)
    #expect(try follower.outboxHeader() == before)
  }

  @Test("refuses entries that do not follow, were altered or are foreign, and stays as it was")
  func refusesEntries() throws {
    defer { close() }
    for number in 0..<6 { try writer.put("key \(number)", "value") }
    let entries = try writer.waiting()
    let (before, header) = (try follower.pairs(), try follower.outboxHeader())
    func refused(_ wrong: [LogEntry], _ expected: LarchError.Code, line: Int = #line) throws {
      #expect(code { try follower.apply(wrong) } == expected, "line \(line)")
      #expect(try follower.pairs() == before, "line \(line)")
      #expect(try follower.outboxHeader() == header, "line \(line)")
    }
    try refused([entries[1]], .diverged)
    try refused([entries[0], entries[2]], .diverged)
    try refused([entries[1], entries[0]], .diverged)
    try refused([entries[0], entries[0]], .diverged)
    try refused([altered(entries[0])], .damagedLog)
    // The last one is wrong, so the first ones are undone.
    try refused([entries[0], entries[1], altered(entries[2])], .damagedLog)
    let place = LogPlace.start
    // Their tokens are right, since a server may make them.
    func made(_ changes: [UInt8], after: LogPlace = place) -> LogEntry {
      LogEntry(after: after, random: 7, changes: changes)
    }
    try refused([made([])], .damagedLog)
    try refused([made([1, 0])], .damagedLog)
    try refused([made([9, 0] + entries[0].changes.dropFirst(2))], .newerLog)
    try refused([made(Array(entries[0].changes.dropLast()))], .damagedLog)
    try refused([made(entries[0].changes + [0])], .damagedLog)
    try refused(
      [entries[0], made(try record(of: OutboxTree.name), after: entries[0].place)], .damagedLog)
    try refused([made(try record(of: ReplacementMark.databaseName))], .damagedLog)
    try refused([made(try record(of: OutboxTree.name + "\0"))], .damagedLog)
    try refused([made(try record(of: "a", flags: 4))], .damagedLog)
    try refused([LogEntry(after: entries[0].place, random: 3, changes: [])], .diverged)
    // The right position, in a log with another past.
    let elsewhere = LogPlace(position: 0, token: LogToken(random: 1, checksum: 2))
    try refused([made(entries[0].changes, after: elsewhere)], .diverged)
    try follower.apply(entries)
    try expectEqual(writer, follower)
    #expect(code { try follower.apply(entries) } == .diverged)
  }

  @Test("refuses or takes changes with any byte altered, and never both")
  func anyByte() throws {
    defer { close() }
    try writer.put("key", "value")
    let entry = try #require(try writer.waiting().first)
    let (before, header) = (try follower.pairs(), try follower.outboxHeader())
    for place in entry.changes.indices {
      for value: UInt8 in [0x00, 0x01, 0x7F, 0xFF] {
        var changes = entry.changes
        if changes[place] == value { continue }
        changes[place] = value
        // With a token that fits, as a server that means harm would make it.
        let made = LogEntry(after: .start, random: 7, changes: changes)
        do {
          try follower.apply([made])
          try follower.changeOutbox { header, _, _, _ in
            header?.place = .start
            header?.shipped = .start
          }
          try restore(before)
        } catch let error as LarchError {
          #expect([.damagedLog, .newerLog].contains(error.code), "byte \(place): \(error)")
          #expect(try follower.pairs() == before)
          #expect(try follower.outboxHeader() == header)
        }
      }
    }
  }

  @Test("takes more trees than it had handles for when it was opened")
  func manyTrees() throws {
    defer { close() }
    follower.close()
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.maxDatabases = 8
    options.countDatabases = { try FileCheck.databaseCount(path: $0) }
    let small = try LMDBEnvironment.open(path: files.follower, options: options)
    defer { small.close() }
    for number in 0..<30 {
      try writer.put("key", "value", into: "tree \(number)")
      let place = try #require(try small.outboxHeader()).place
      try small.apply(try writer.waiting(after: place.position))
    }
    #expect(small.generation > 1)
    writer.close()
    let again = try files.open(files.writer)
    defer { again.close() }
    try expectEqual(again, small)
  }

  @Test("takes one commit that makes more trees than it has handles for")
  func manyTreesAtOnce() throws {
    defer { close() }
    writer.close()
    var options = LMDBEnvironment.Options()
    options.durability = .none
    options.maxDatabases = 3000
    let large = try LMDBEnvironment.open(path: files.writer, options: options)
    defer { large.close() }
    try large.openOutboxHandle()
    try large.write { transaction in
      for number in 0..<2500 {
        let made = try LMDBDatabase.open("tree \(number)", .create, in: transaction)
        let key = [UInt8]("key".utf8)
        try made?.put(key, key, in: transaction)
      }
    }
    try follower.apply(try large.waiting())
    try large.put("later", "1", into: "tree 2000")
    let place = try #require(try follower.outboxHeader()).place.position
    try follower.apply(try large.waiting(after: place))
    let names = try follower.read { try LMDBEnvironment.treeNames(in: $0) }
    #expect(names.filter { $0.hasPrefix("tree ") }.count == 2500)
    try expectEqual(large, follower)
  }

  @Test("becomes a writer whose entries continue the log")
  func promotion() throws {
    defer { close() }
    try writer.put("a", "1")
    try follower.apply(try writer.waiting())
    try follower.setOutboxRole(.writer)
    try follower.put("b", "2")
    try writer.put("c", "3")
    let (mine, other) = (try #require(try follower.waiting().last), try writer.waiting())
    #expect(mine.before == other[0].place.token)
    #expect(mine.place.position == other[1].place.position)
    #expect(mine.place.token != other[1].place.token)
    #expect(code { try follower.apply([other[1]]) } == .unsuitableFile)
    // Its own commit would be lost.
    #expect(code { try follower.setOutboxRole(.follower) } == .diverged)
    #expect(code { try follower.trimOutbox(through: other[1].place) } == .diverged)
    try follower.trimOutbox(through: mine.place)
    try follower.setOutboxRole(.follower)
    #expect(code { try follower.put("d", "4") } == .readOnly)
    #expect(try follower.outboxHeader()?.needsFirstCopy == false)
  }

  @Test("Those who observe a follower see each apply")
  func observed() async throws {
    defer { close() }
    let path = files.path + "/records.larch"
    let copy = files.path + "/copy.larch"
    let store = try Store(at: path, for: Entry.self, Item.self)
    defer { store.close() }
    try store.environment.beginOutbox(role: .writer, place: .start)
    try files.makeFollower(of: store.environment, at: copy)
    let reading = try Store(at: copy, for: Entry.self, Item.self)
    defer { reading.close() }
    let query = Entry.where { $0.owner == 3 }.sorted(by: \.id)
    let seen = reading.observe(query).makeAsyncIterator()
    #expect(try await seen.next()?.map(\.id) == [])
    for number in 0..<5 {
      try store.writeBlocking { tx in
        var (entry, other) = (
          Entry(id: "e\(number)", owner: 3, text: "e \(number)", value: number),
          Entry(id: "o\(number)", owner: 4, text: "o \(number)", value: nil)
        )
        try tx.save(&entry)
        try tx.save(&other)
      }
      let place = try #require(try reading.environment.outboxHeader()).place
      try reading.environment.apply(try store.environment.waiting(after: place.position))
      #expect(try await seen.next()?.map(\.id) == (0...number).map { "e\($0)" })
    }
    #expect(code { try reading.writeBlocking { _ = try $0.delete(Entry.self, "e1") } } == .readOnly)
    _ = try await reading.compact()
    #expect(try reading.count(Entry.all) == 10)
    #expect(try reading.environment.outboxHeader()?.role == .follower)
    #expect(try await reading.verify().isClean)
  }

  private func close() {
    writer.close()
    follower.close()
  }

  private func altered(_ entry: LogEntry) -> LogEntry {
    var changes = entry.changes
    changes[changes.count - 1] ^= 1
    return LogEntry(place: entry.place, before: entry.before, changes: changes)
  }

  /// A record that creates a tree.
  private func record(of name: String, flags: UInt32 = 0) throws -> [UInt8] {
    let recorder = WriteRecorder { _ in (name, flags) }
    recorder.begin(limit: 1 << 20, observer: nil)
    recorder.didCreate(9)
    return try #require(recorder.changes())
  }

  /// Gives the follower these pairs again.
  private func restore(_ pairs: [LogTree: [Pair]]) throws {
    try follower.upkeep { transaction in
      for name in try LMDBEnvironment.treeNames(in: transaction)
      where !LMDBEnvironment.isOwn(name) {
        try LMDBDatabase.open(name, in: transaction)?.empty(in: transaction)
      }
      for (tree, pairs) in pairs {
        let database = try #require(try LMDBDatabase.open(tree.name, .create, in: transaction))
        for pair in pairs { try database.put(pair.key, pair.value, in: transaction) }
      }
    }
  }
}
