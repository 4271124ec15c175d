import Foundation
import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch

/// Tables in memory, which fail when a test says so.
private final class MemoryTables: RecordTables {
  struct Rows: Equatable {
    var tables: [CollectionTable] = []
    var rows: [UInt32: [String: String]] = [:]
    var place: LogPlace?
  }

  struct Failure: Error {}

  private(set) var state = Rows()
  /// Fails after so many changes of an update; nil for never.
  var failsAfter: Int?
  /// Whether an update happens, but is told as failed.
  var losesReply = false
  /// Whether an update fails at first, and its rows arrive after the next look.
  var isLate = false
  private var onTheWay: Rows?

  var name: String { "memory" }
  func place() -> LogPlace? {
    defer { arrive() }
    return state.place
  }

  private func arrive() {
    if let onTheWay { state = onTheWay }
    onTheWay = nil
  }

  func update(
    from expected: LogPlace?, to place: LogPlace,
    _ body: (any RecordTableWriter) throws -> Void
  ) throws -> Bool {
    guard expected == state.place else { return false }
    let writer = Writer(state, failsAfter)
    try body(writer)
    writer.state.place = place
    if isLate {
      onTheWay = writer.state
      throw Failure()
    }
    state = writer.state
    if losesReply { throw Failure() }
    return true
  }

  private final class Writer: RecordTableWriter {
    var state: Rows
    private var left: Int?

    init(_ state: Rows, _ left: Int?) { (self.state, self.left) = (state, left) }

    private func change() throws {
      guard let left else { return }
      if left == 0 { throw Failure() }
      self.left = left - 1
    }

    func set(_ tables: [CollectionTable]) throws {
      try change()
      state.tables = tables
      let numbers = Set(tables.map(\.number))
      state.rows = state.rows.filter { numbers.contains($0.key) }
    }

    func empty(_ table: UInt32) throws {
      try change()
      state.rows[table] = [:]
    }

    func upsert(_ rows: [RecordRow], into table: UInt32) throws {
      try change()
      for row in rows { state.rows[table, default: [:]][row.id] = row.json }
    }

    func delete(_ ids: [String], from table: UInt32) throws {
      try change()
      for id in ids { state.rows[table, default: [:]][id] = nil }
    }
  }
}

@Suite struct TablesFeedTests {
  /// The records of a store as they must be in tables.
  private func expected(_ store: Store) throws -> [String: [String: String]] {
    try store.inspect { inspector in
      var found: [String: [String: String]] = [:]
      for collection in inspector.collections {
        var rows: [String: String] = [:]
        try inspector.forEachRecord(in: collection) { rows[$0] = $1 }
        found[collection.name] = rows
      }
      return found
    }
  }

  private func rows(_ tables: MemoryTables) -> [String: [String: String]] {
    Dictionary(
      uniqueKeysWithValues: tables.state.tables.map {
        ($0.name, tables.state.rows[$0.number] ?? [:])
      })
  }

  @Test(arguments: [1, 2, 3])
  func `tables are equal to the store after random writes, whatever fails`(seed: UInt64) throws {
    let sharing = try Sharing(seed: seed)
    var writes = RandomWrites(seed: seed)
    var random = SeededGenerator(seed: seed)
    let follower = try sharing.follow()
    defer { follower.close() }
    let tables = MemoryTables()
    let log = try sharing.server.serverLog.open()
    var feed = TablesFeed(follower, log, into: tables)
    var steps = 0
    for round in 0..<120 {
      for _ in 0..<3 { try writes.write(to: sharing.writer) }
      if round == 60 { try sharing.writer.write { tx in try tx.erase(Note.self) } }
      try sharing.ship()
      if round % 30 == 29 {
        try sharing.expectEqual(follower)
        _ = try log.fold(through: .max, olderThan: -60)
      }
      tables.failsAfter = Int.random(in: 0..<3, using: &random) == 0 ? 1 : nil
      tables.losesReply = Int.random(in: 0..<4, using: &random) == 0
      let before = tables.state
      do {
        _ = try feed.step()
      } catch is MemoryTables.Failure {
        if tables.failsAfter != nil, !tables.losesReply { #expect(tables.state == before) }
        // The process is gone; the next one has only the tables.
        feed = TablesFeed(follower, log, into: tables)
      }
      guard round % 4 == 3 else { continue }
      (tables.failsAfter, tables.losesReply) = (nil, false)
      while try feed.step() != .current { steps += 1 }
      #expect(try rows(tables) == expected(sharing.writer), "round \(round)")
    }
    #expect(steps > 3)
    #expect(tables.state.place == (try sharing.writer.version.place))
  }

  @Test func `a step that arrives late is not taken for that of another program`() throws {
    let sharing = try Sharing()
    let follower = try sharing.follow()
    defer { follower.close() }
    let tables = MemoryTables()
    let log = try sharing.server.serverLog.open()
    let feed = TablesFeed(follower, log, into: tables)
    while try feed.step() != .current {}
    for _ in 0..<3 {
      try sharing.writer.saveAll([Note(title: "one", stars: 1, tags: ["a"])])
      try sharing.ship()
      tables.isLate = true
      #expect(throws: MemoryTables.Failure.self) { try feed.step() }
      tables.isLate = false
      #expect(try feed.step() == .current)
      #expect(try rows(tables) == expected(sharing.writer))
    }
    // Another program has done the same meanwhile.
    try sharing.writer.saveAll([Note(title: "two", stars: 2, tags: [])])
    try sharing.ship()
    tables.isLate = true
    #expect(throws: MemoryTables.Failure.self) {
      try TablesFeed(follower, log, into: tables).step()
    }
    tables.isLate = false
    #expect(try feed.step() == .overtaken)
  }

  @Test func `the columns are the fields, and follow the schema`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1, tags: ["a"])])
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let tables = MemoryTables()
    let feed = TablesFeed(follower, try sharing.server.serverLog.open(), into: tables)
    #expect(try feed.step() == .filled(rows: 1))
    let note = try #require(tables.state.tables.first { $0.name == "Note" })
    let kinds = Dictionary(
      uniqueKeysWithValues: note.columns.map { ($0.path.joined(separator: "."), $0.kind) })
    #expect(kinds == ["title": .text, "stars": .integer, "tags": .json, "shelfID": .integer])
    // Another program adds a collection to the writer's file.
    struct Extra: Record {
      var id: String
      var at: Date
      var ratio: Double
      var key: UUID
      var big: UInt64
      var inner: Inner
      struct Inner: Codable { var on: Bool }
    }
    let path = sharing.writer.path
    let extended = try Store(
      path: path, types: [Note.self, Shelf.self, Extra.self], options: .quick, isTemporary: false)
    try extended.write { tx in
      var extra = Extra(
        id: "x", at: Date(timeIntervalSinceReferenceDate: 1), ratio: 0.5, key: UUID(), big: .max,
        inner: .init(on: true))
      try tx.save(&extra)
    }
    extended.close()
    try sharing.ship()
    while try feed.step() != .current {}
    let extra = try #require(tables.state.tables.first { $0.name == "Extra" })
    #expect(
      Dictionary(
        uniqueKeysWithValues: extra.columns.map { ($0.path.joined(separator: "."), $0.kind) })
        == [
          "at": .time, "ratio": .double, "key": .uuid, "big": .number, "inner.on": .boolean,
        ])
    #expect(tables.state.rows[extra.number]?.keys.sorted() == ["x"])
  }

  @Test func `tables that somebody else has brought further are left alone`() throws {
    let sharing = try Sharing()
    try sharing.writer.saveAll([Note(title: "one", stars: 1)])
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    let tables = MemoryTables()
    let log = try sharing.server.serverLog.open()
    let (first, second) = (
      TablesFeed(follower, log, into: tables), TablesFeed(follower, log, into: tables)
    )
    #expect(try first.step() == .filled(rows: 1))
    #expect(try second.step() == .current)
    try sharing.writer.saveAll([Note(title: "two", stars: 1)])
    try sharing.ship()
    #expect(try first.step() == .applied(entries: 1, rows: 1))
    #expect(try second.step() == .current)
    #expect(try rows(tables) == expected(sharing.writer))
  }

  @Test func `a store without a log has no tables`() throws {
    let server = MemoryServer()
    let own = try Store.temporary(for: Note.self, Shelf.self)
    let feed = TablesFeed(own, try server.serverLog.open(), into: MemoryTables())
    #expect(caught { _ = try feed.step() }?.code == .unsuitableFile)
  }
}
