import Foundation
import Larch
import LarchTestSupport
import Testing

@testable import LarchPostgres

/// Whoever can write the tables can write anything into them.
@Suite("Rows that Larch did not write", needsServer)
struct HostileRowTests {
  /// A log in a schema of its own, with a state and five entries, and what it answers.
  private struct Subject {
    let server: PostgresServer
    let schema: String
    let log: PostgresLog
    let entries: [LogEntry]

    init() throws {
      server = try PostgresServer.shared.get()
      schema = freshName()
      let schema = schema
      log = try server.log("main") { $0.schema = schema }
      try #require(try log.beginSome(at: .start))
      entries = LarchPostgresTests.entries(5, after: .start)
      try #require(try log.append(entries))
    }

    func close() {
      log.close()
      try? server.run("DROP SCHEMA \(schema) CASCADE")
    }

    /// Asks everything. Each answer is the one of the log as it was, or says that the log is not whole.
    func ask(_ what: String, mayChangeState: Bool) {
      let codes: Set<LarchError.Code> = [.damagedLog, .newerLog, .serverRefused, .logNotFound]
      func attempt(_ name: String, _ body: () throws -> Void) {
        do { try body() } catch {
          #expect(
            (error as? LarchError).map { codes.contains($0.code) } == true,
            "\(what): \(name): \(error)")
        }
      }
      attempt("head") { _ = try log.head() }
      attempt("wait") { try log.wait(after: 3, seconds: 0) }
      for place in [.start, entries[1].place, entries[3].place] {
        attempt("tail") {
          guard case .entries(let found) = try log.tail(after: place, limit: 1 << 20) else {
            return
          }
          let right = entries.drop { $0.place.position <= place.position }
          #expect(
            found.map(\.place) == right.prefix(found.count).map(\.place)
              && found.map(\.changes) == right.prefix(found.count).map(\.changes), "\(what)")
        }
      }
      attempt("state") {
        var pairs = 0
        _ = try log.state { _, key, _ in
          pairs += 1
          #expect((1...511).contains(key.count))
        }
        #expect(mayChangeState || pairs == 60, "\(what)")
      }
      attempt("fold") { _ = try log.fold(through: .max) }
      attempt("append") {
        _ = try log.append(LarchPostgresTests.entries(1, after: entries[4].place))
      }
      attempt("append elsewhere") {
        let isDone = try log.append(LarchPostgresTests.entries(2, after: entries[1].place))
        #expect(!isDone, "\(what)")
      }
    }
  }

  static let changes = [
    "UPDATE log SET token = '\\x00' WHERE position = 3",
    "UPDATE log SET token = decode('00112233445566778899aabbccddeeff', 'hex') WHERE position = 3",
    "UPDATE log SET token = '' WHERE position = 5",
    "UPDATE log SET before = '' WHERE position = 3",
    "UPDATE log SET before = decode('00112233445566778899aabbccddeeff', 'hex') WHERE position = 3",
    "UPDATE log SET changes = changes || '\\x00' WHERE position = 3",
    "UPDATE log SET changes = '' WHERE position = 1",
    "UPDATE log SET changes = set_byte(changes, 9, 77) WHERE position = 2",
    "UPDATE log SET parts = 2 WHERE position = 3",
    "UPDATE log SET parts = 0 WHERE position = 3",
    "UPDATE log SET parts = -1 WHERE position = 5",
    "UPDATE log SET parts = 2147483647 WHERE position = 3",
    "UPDATE log SET part = 1 WHERE position = 3",
    "UPDATE log SET part = -1 WHERE position = 3",
    "UPDATE log SET part = 1 WHERE position = 5",
    "INSERT INTO log SELECT era, position, 1, 1, total, at, token, before, changes FROM log WHERE position = 2",
    "INSERT INTO log SELECT era, 9, 0, 1, total, at, token, before, changes FROM log WHERE position = 5",
    "INSERT INTO log SELECT era, -3, 0, 1, total, at, token, before, changes FROM log WHERE position = 2",
    "DELETE FROM log WHERE position = 3",
    "DELETE FROM log WHERE position = 0",
    "DELETE FROM log WHERE position = 5",
    "DELETE FROM log",
    "UPDATE log SET position = CASE position WHEN 2 THEN 103 ELSE 102 END WHERE position IN (2, 3);"
      + "UPDATE log SET position = position - 100 WHERE position > 100",
    "UPDATE log SET position = -1 WHERE position = 5",
    "UPDATE log SET position = 9223372036854775807 WHERE position = 5",
    "UPDATE log SET position = -9223372036854775808 WHERE position = 0",
    "UPDATE log SET total = -9223372036854775808",
    "UPDATE log SET total = 9223372036854775807",
    "UPDATE log SET total = 9223372036854775807 WHERE position = 5",
    "UPDATE log SET total = -9223372036854775808 WHERE position = 5",
    "UPDATE log SET at = 'infinity'",
    "UPDATE log SET at = '-infinity'",
    "UPDATE log SET era = era + 1 WHERE position = 4",
    "UPDATE store SET folded = -1",
    "UPDATE store SET folded = 99",
    "UPDATE store SET folded = 4",
    "UPDATE store SET folded = 9223372036854775807",
    "UPDATE store SET format = 0",
    "UPDATE store SET format = -1",
    "UPDATE store SET era = 1",
    "UPDATE store SET ended = now()",
    "DELETE FROM store",
    "UPDATE tree SET flags = 3",
    "UPDATE tree SET flags = -1",
    "UPDATE tree SET flags = 0",
    "UPDATE tree SET flags = 4",
    "UPDATE tree SET name = '' WHERE tree = 1",
    "DELETE FROM tree",
    "DELETE FROM tree WHERE tree = 1",
    "UPDATE tree SET tree = 2147483647 WHERE tree = 2",
    "UPDATE tree SET tree = -tree",
    "UPDATE cell SET tree = 1",
    "UPDATE pair SET tree = 2",
    "UPDATE cell SET key = '' WHERE key = decode('0000000000000003', 'hex')",
    "UPDATE cell SET key = decode(repeat('aa', 600), 'hex') WHERE key = decode('0000000000000003', 'hex')",
    "UPDATE pair SET value = '' WHERE key = decode('0000000000000003', 'hex')",
    "UPDATE pair SET value = decode(repeat('aa', 600), 'hex') WHERE key = decode('0000000000000003', 'hex')",
    // Other tables of these names.
    "ALTER TABLE log ALTER token TYPE text USING token::text",
    "ALTER TABLE log ALTER position TYPE numeric",
    "ALTER TABLE log ALTER position TYPE text",
    "ALTER TABLE log ALTER parts TYPE smallint",
    "ALTER TABLE log ALTER changes DROP NOT NULL; UPDATE log SET changes = NULL",
    "ALTER TABLE log ALTER token DROP NOT NULL; UPDATE log SET token = NULL",
    "ALTER TABLE log ALTER at TYPE text",
    "ALTER TABLE log DROP COLUMN changes",
    "ALTER TABLE log DROP COLUMN total",
    "ALTER TABLE log ADD COLUMN more int NOT NULL DEFAULT 1",
    "ALTER TABLE log ADD CONSTRAINT c CHECK (position < 6)",
    "ALTER TABLE log DROP CONSTRAINT log_pkey; INSERT INTO log SELECT * FROM log",
    "DROP TABLE log; CREATE TABLE log (id int)",
    "DROP TABLE log; CREATE VIEW log AS SELECT 1 AS position",
    "DROP TABLE log",
    "DROP TABLE store; CREATE TABLE store (name text, ended int)",
    "DROP TABLE store",
    "ALTER TABLE store ALTER format TYPE text",
    "ALTER TABLE store ALTER era TYPE uuid USING gen_random_uuid()",
    "DROP INDEX store_name; INSERT INTO store SELECT era + 1, name, format, folded, shared FROM store",
    "DROP TABLE cell; CREATE TABLE cell (tree int, key text, value text, era bigint)",
    "ALTER TABLE cell ALTER key TYPE text USING encode(key, 'hex')",
    "ALTER TABLE cell ALTER tree TYPE bigint",
    "DROP TABLE pair",
    "ALTER TABLE tree ALTER name TYPE bytea USING convert_to(name, 'UTF8')",
    "CREATE RULE r AS ON INSERT TO log DO INSTEAD NOTHING",
  ]

  @Test("Each is an error that says so, never a trap and never a wrong answer", arguments: changes)
  func each(change: String) throws {
    let subject = try Subject()
    defer { subject.close() }
    try subject.server.run("SET search_path = \(subject.schema); \(change)")
    let isOfState = ["tree", "cell", "pair", "DROP INDEX", "folded"].contains(
      where: change.contains)
    subject.ask(change, mayChangeState: isOfState)
  }

  @Test(
    "Keys that a tree has twice, or in another order, are not passed on",
    arguments: ["cell", "pair"])
  func doubled(table: String) throws {
    let subject = try Subject()
    defer { subject.close() }
    let name = "\(subject.schema).\(table)"
    try subject.server.run(
      """
      ALTER TABLE \(name) DROP CONSTRAINT \(table)_pkey;
      INSERT INTO \(name) SELECT * FROM \(name) WHERE key = decode('0000000000000003', 'hex')
      """)
    #expect(caught { _ = try subject.log.state { _, _, _ in } }?.code == .damagedLog)
  }

  @Test("Random damage of any column", arguments: 0..<UInt64(4))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let columns: [(table: String, columns: [String])] = [
      ("log", ["token", "before", "changes", "position", "part", "parts", "total", "era"]),
      ("store", ["format", "folded", "era"]), ("tree", ["tree", "flags", "era"]),
      ("cell", ["tree", "key", "value"]), ("pair", ["tree", "key", "value"]),
    ]
    for _ in 0..<8 {
      let subject = try Subject()
      defer { subject.close() }
      var done: [String] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let table = columns.randomElement(using: &random)!
        let column = table.columns.randomElement(using: &random)!
        let isBytes = ["token", "before", "changes", "key", "value"].contains(column)
        let bytes = (0..<[0, 1, 15, 16, 17, 40].randomElement(using: &random)!).map { _ in
          let byte = UInt8.random(in: 0...255, using: &random)
          return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let number = [-1, 0, 1, 2, 3, 7, 2_147_483_647, -2_147_483_648].randomElement(
          using: &random)!
        let value = isBytes ? "decode('\(bytes)', 'hex')" : "\(number)"
        let row = Int.random(in: 0..<6, using: &random)
        done.append(
          "UPDATE \(table.table) SET \(column) = \(value) WHERE ctid = '(0,\(row + 1))'")
      }
      let change = done.joined(separator: "; ")
      // Some contradict a key of the tables.
      guard (try? subject.server.run("SET search_path = \(subject.schema); \(change)")) != nil
      else {
        continue
      }
      subject.ask("seed \(seed): \(change)", mayChangeState: true)
    }
  }

  @Test("A newer format is refused by every call, and nothing is changed")
  func newer() throws {
    let subject = try Subject()
    defer { subject.close() }
    let log = subject.log
    try subject.server.run("UPDATE \(subject.schema).store SET format = 2")
    let last = subject.entries[4].place
    let errors: [LarchError?] = [
      caught { _ = try log.head() },
      caught { _ = try log.append(entries(1, after: last)) },
      caught { _ = try log.append(entries(2, after: last)) },
      caught { _ = try log.tail(after: .start, limit: 1) },
      caught { _ = try log.state { _, _, _ in } },
      caught { _ = try log.fold(through: 3) },
      caught { _ = try log.beginSome(expecting: last) },
    ]
    for (number, error) in errors.enumerated() {
      #expect(error?.code == .newerLog, "call \(number)")
    }
    #expect(errors[0]?.context.detail == "format 2")
    #expect(try subject.server.text("SELECT count(*) FROM \(subject.schema).log") == "6")
  }

  @Test("An entry whose changes cannot be applied stops the fold before it")
  func contradiction() throws {
    let server = try PostgresServer.shared.get()
    let log = try server.log(freshName())
    defer { log.close() }
    try #require(try log.beginSome())
    let good = entries(2, after: .start)
    var record = ChangeRecordBytes()
    record.add(.put, LogTree(name: records.name, flags: 0x04), [1], [1])
    let bad = LogEntry(after: good[1].place, random: 1, changes: record.bytes)
    let noise = LogEntry(after: bad.place, random: 1, changes: [1, 2, 3])
    try #require(try log.append(good + [bad, noise]))
    #expect(caught { _ = try log.fold(through: 4) }?.code == .damagedLog)
    #expect(try log.fold(through: 2) == good[1].place)
    #expect(caught { _ = try log.fold(through: 4) }?.code == .damagedLog)
    #expect(try log.head()?.folded == good[1].place)
  }
}
