import Foundation
import Larch
import LarchInspection
import LarchTestSupport
import Testing

@testable import LarchPostgres

private struct Address: Codable, Equatable {
  var city: String
  var isHome: Bool
}

private struct Customer: Record {
  var id = RecordID<Customer>()
  var name: String
  var age: Int
  var score: Double
  var big: UInt64
  var price: Decimal
  var born: Date
  var key: UUID
  var isActive: Bool
  var tags: [String] = []
  var address: Address
  var note: String?
}

private struct Tag: Record {
  var id: String
  var text: String
}

/// Records as tables on a real server.
@Suite(needsServer, .serialized) struct RecordTablesTests {
  /// A writer whose log is in memory, and tables in a schema of their own.
  private final class Setting {
    let memory = MemoryServer()
    let writer: Store
    let schema = freshName("t")
    let tables: PostgresRecordTables
    let log: any SharedLog
    let feed: TablesFeed
    let server: PostgresServer

    init(_ types: [any Record.Type] = [Customer.self, Tag.self]) throws {
      server = try PostgresServer.shared.get()
      writer = try Store.temporary(types: types, options: .quick)
      log = try memory.serverLog.open()
      tables = try PostgresRecordTables(server.url, of: "main", schema: schema)
      try writer.startMirror(memory.serverLog)
      feed = TablesFeed(writer, log, into: tables)
    }

    deinit {
      tables.close()
      writer.close()
    }

    /// Ships, and brings everything over.
    func bring() async throws {
      try await writer.mirror?.settled()
      while try feed.step() != .current {}
    }

    func text(_ query: String) throws -> String {
      try server.text(query.replacing("SCHEMA", with: "\"\(schema)\""))
    }
  }

  private func customer(_ number: Int) -> Customer {
    Customer(
      name: "c\(number)", age: number, score: Double(number) / 4, big: .max, price: 12.5,
      born: Date(timeIntervalSinceReferenceDate: Double(number)),
      key: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID(),
      isActive: number % 2 == 0, tags: ["a", "b"],
      address: Address(city: "Oslo", isHome: true))
  }

  @Test func `without the right to make a schema there is an error, and the next call works`()
    throws
  {
    let server = try PostgresServer.shared.get()
    let role = "plain_\(UInt32.random(in: .min ... .max))"
    try server.run("CREATE ROLE \(role) LOGIN")
    let tables = try PostgresRecordTables(
      server.url(user: role), of: "main", schema: freshName("t"))
    defer { tables.close() }
    let error = caught { _ = try tables.update(from: nil, to: .start) { _ in } }
    #expect(error?.code == .serverRefused)
    #expect(try tables.place() == nil)
  }

  @Test func `records are rows that SQL reads, with a column for each field`() async throws {
    let setting = try Setting()
    try await setting.writer.write { tx in
      for number in 1...20 {
        var customer = self.customer(number)
        try tx.save(&customer)
      }
    }
    try await setting.bring()
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "20")
    #expect(try setting.text("SELECT sum(age) FROM SCHEMA.customer WHERE isactive") == "110")
    #expect(try setting.text("SELECT max(big) FROM SCHEMA.customer") == "18446744073709551615")
    #expect(try setting.text("SELECT sum(price) FROM SCHEMA.customer") == "250.0")
    #expect(try setting.text("SELECT avg(score) FROM SCHEMA.customer") == "2.625")
    #expect(try setting.text("SELECT DISTINCT address_city FROM SCHEMA.customer") == "Oslo")
    #expect(try setting.text("SELECT bool_and(address_ishome) FROM SCHEMA.customer") == "true")
    #expect(
      try setting.text(
        "SELECT extract(epoch FROM max(born) - '2001-01-01T00:00:00Z'::timestamptz)::int FROM SCHEMA.customer"
      )
        == "20")
    #expect(try setting.text("SELECT count(DISTINCT key) FROM SCHEMA.customer") == "1")
    #expect(try setting.text("SELECT tags ->> 1 FROM SCHEMA.customer LIMIT 1") == "b")
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer WHERE note IS NULL") == "20")
    #expect(
      try setting.text("SELECT record ->> 'name' FROM SCHEMA.customer_records WHERE id = '7'")
        == "c7")
    // Changes, deletions, and all at once.
    try await setting.writer.write { tx in
      try tx.update(Customer.where { $0.age == 7 }) { $0.name = "seven" }
      try tx.delete(Customer.where { $0.age > 10 })
    }
    try await setting.bring()
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "10")
    #expect(try setting.text("SELECT name FROM SCHEMA.customer WHERE age = 7") == "seven")
    try await setting.writer.write { tx in try tx.erase(Customer.self) }
    try await setting.bring()
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "0")
  }

  @Test func `values that JSON or SQL do not have are null or replaced, and never an error`()
    async throws
  {
    let setting = try Setting()
    let tiny = Double.leastNonzeroMagnitude
    let scores = [
      .nan, .infinity, -.infinity, tiny, -tiny, .greatestFiniteMagnitude, 0.1, -0.0, tiny * 1e9,
    ]
    let dates = [-1e15, 1e15, .infinity, -63_113_904_000, 252_423_993_599.5, 0.123_456_789]
    try await setting.writer.write { tx in
      for (number, score) in scores.enumerated() {
        var customer = self.customer(number)
        customer.score = score
        customer.born = Date(timeIntervalSinceReferenceDate: dates[number % dates.count])
        customer.name = "a\0b\\u0000\\\0\"ä'\u{1F600}"
        try tx.save(&customer)
      }
      var tag = Tag(id: "x\0y", text: "'; DROP TABLE x; --")
      try tx.save(&tag)
    }
    try await setting.bring()
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "\(scores.count)")
    #expect(try setting.text("SELECT count(score) FROM SCHEMA.customer") == "\(scores.count)")
    #expect(
      try setting.text("SELECT count(*) FROM SCHEMA.customer WHERE score = 'infinity'") == "1")
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer WHERE score = 'nan'") == "1")
    #expect(
      try setting.text("SELECT DISTINCT name FROM SCHEMA.customer")
        == "a\u{FFFD}b\\u0000\\\u{FFFD}\"ä'\u{1F600}")
    #expect(try setting.text("SELECT id FROM SCHEMA.tag") == "x\u{FFFD}y")
    #expect(try setting.text("SELECT text FROM SCHEMA.tag") == "'; DROP TABLE x; --")
    _ = try setting.text("SELECT count(born) FROM SCHEMA.customer")
    #expect(
      try setting.text("SELECT count(*) FROM SCHEMA.customer WHERE born = 'infinity'") == "2")
  }

  @Test func `the place is kept with the rows, so the next process goes on behind them`()
    async throws
  {
    let setting = try Setting()
    try await setting.writer.write { tx in
      var customer = self.customer(1)
      try tx.save(&customer)
    }
    try await setting.bring()
    let place = try #require(try setting.tables.place())
    #expect(place == (try setting.writer.version.place))
    // An update that fails in its middle changes nothing.
    struct Stop: Error {}
    let customers = try #require(try number(setting))
    let next = LogPlace(position: place.position + 1, token: LogToken(random: 1, checksum: 1))
    #expect(throws: Stop.self) {
      try setting.tables.update(from: place, to: next) { writer in
        try writer.empty(customers)
        throw Stop()
      }
    }
    #expect(try setting.tables.place() == place)
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "1")
    // Who believes that they have another place is refused.
    #expect(try !setting.tables.update(from: next, to: next) { _ in })
    #expect(try !setting.tables.update(from: nil, to: next) { _ in })
    // Another process, which knows nothing.
    try await setting.writer.write { tx in
      var customer = self.customer(2)
      try tx.save(&customer)
    }
    try await setting.writer.mirror?.settled()
    let other = TablesFeed(setting.writer, setting.log, into: setting.tables)
    #expect(try other.step() == .applied(entries: 1, rows: 1))
    #expect(try setting.text("SELECT count(*) FROM SCHEMA.customer") == "2")
  }

  private func number(_ setting: Setting) throws -> UInt32? {
    try setting.writer.inspect { inspector in
      try inspector.recordTables().first { $0.name == "Customer" }?.number
    }
  }

  @Test func `tables follow names and fields, and leave everything else in the schema alone`()
    throws
  {
    let server = try PostgresServer.shared.get()
    let schema = freshName("t")
    let tables = try PostgresRecordTables(server.url, of: "main", schema: schema)
    defer { tables.close() }
    func column(_ name: String, _ kind: CollectionTable.Kind) -> CollectionTable.Column {
      CollectionTable.Column(path: [name], kind: kind)
    }
    func place(_ position: UInt64) -> LogPlace {
      LogPlace(position: position, token: LogToken(random: position, checksum: 1))
    }
    func text(_ query: String) throws -> String {
      try server.text(query.replacing("SCHEMA", with: schema))
    }
    let first = [
      CollectionTable(number: 1, name: "Order", columns: [column("total", .integer)]),
      CollectionTable(number: 2, name: "order", columns: [column("ID", .text)]),
      CollectionTable(
        number: 3, name: "larch_tables" + String(repeating: "x", count: 90) + "ä\"'",
        columns: [column("record", .json), column("a.b \"c\"'", .double)]),
    ]
    #expect(
      try tables.update(from: nil, to: place(1)) { writer in
        try writer.set(first)
        try writer.upsert([RecordRow(id: "a", json: #"{"total":3}"#)], into: 1)
        try writer.upsert([RecordRow(id: "b", json: #"{"ID":"x"}"#)], into: 2)
        try writer.upsert([RecordRow(id: "c", json: #"{"a.b \"c\"'":1.5}"#)], into: 3)
      })
    try server.run(
      """
      CREATE TABLE \(schema).mine (x int); INSERT INTO \(schema).mine VALUES (7);
      CREATE VIEW \(schema).totals AS SELECT total FROM \(schema)."order"
      """)
    #expect(try text("SELECT total FROM SCHEMA.order") == "3")
    #expect(try text("SELECT id_2 FROM SCHEMA.order_2") == "x")
    // The two exchange their names, one gets a field, and the third one goes.
    let second = [
      CollectionTable(
        number: 2, name: "Order", columns: [column("ID", .text), column("n", .integer)]),
      CollectionTable(number: 1, name: "order", columns: [column("total", .integer)]),
    ]
    #expect(try tables.update(from: place(1), to: place(2)) { try $0.set(second) })
    #expect(try text("SELECT id_2 FROM SCHEMA.order") == "x")
    #expect(try text("SELECT total FROM SCHEMA.order_2") == "3")
    #expect(try text("SELECT x FROM SCHEMA.mine") == "7")
    #expect(
      try text(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'SCHEMA' AND table_name LIKE '%xxx%'"
      )
        == "0")
    // What does not change keeps the views of others.
    try server.run(
      "CREATE VIEW \(schema).again AS SELECT total FROM \(schema).order_2")
    #expect(try tables.update(from: place(2), to: place(3)) { try $0.set(second) })
    #expect(try text("SELECT total FROM SCHEMA.again") == "3")
  }

  @Test func `tables of another store, and what Larch did not make, are refused and stay`() throws {
    let server = try PostgresServer.shared.get()
    let table = CollectionTable(number: 1, name: "Order", columns: [])
    func place(_ position: UInt64) -> LogPlace {
      LogPlace(position: position, token: LogToken(random: position, checksum: 1))
    }
    func fill(_ tables: PostgresRecordTables, from old: LogPlace?) throws -> Bool {
      try tables.update(from: old, to: place(9)) { writer in
        try writer.set([table])
        try writer.upsert([RecordRow(id: "a", json: "{}")], into: 1)
      }
    }
    let schema = freshName("t")
    let tables = try PostgresRecordTables(server.url, of: "one", schema: schema)
    let others = try PostgresRecordTables(server.url, of: "two", schema: schema)
    defer {
      tables.close()
      others.close()
    }
    #expect(try fill(tables, from: nil))
    #expect(caught { _ = try others.place() }?.code == .conflict)
    for known in [nil, place(9)] {
      #expect(caught { _ = try fill(others, from: known) }?.code == .conflict)
    }
    #expect(try server.text("SELECT id FROM \(schema).order_records") == "a")

    let mine = [
      "TABLE order_records (x int)", "TABLE \"order\" (x int)", "VIEW \"order\" AS SELECT 7 AS x",
      "TABLE larch_place (x int)", "TABLE larch_tables (x int)",
    ]
    for made in mine {
      let schema = freshName("t")
      // In one transaction, after which the path is as it was.
      try server.run("CREATE SCHEMA \(schema); SET LOCAL search_path = \(schema); CREATE \(made)")
      let tables = try PostgresRecordTables(server.url, of: "one", schema: schema)
      defer { tables.close() }
      let error = caught { _ = try fill(tables, from: try tables.place()) }
      #expect(error?.code == .conflict, "\(made): \(String(describing: error))")
      #expect(
        try server.text(
          "SELECT count(*) FROM information_schema.columns WHERE table_schema = '\(schema)' AND column_name = 'x'"
        ) == "1", "\(made)")
    }
  }

  @Test func `a record of an older type never makes a column fail`() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName("t")
    let tables = try PostgresRecordTables(server.url, of: "main", schema: schema)
    defer { tables.close() }
    let kinds = CollectionTable.Kind.allCases
    let table = CollectionTable(
      number: 1, name: "any",
      columns: kinds.map { CollectionTable.Column(path: ["x", $0.rawValue], kind: $0) })
    let values = [
      "null", "true", "1", "1.5", "-0", "1e400", "1e-400", "99999999999999999999", "\"\"",
      "\"text\"", "\"2020-02-30T00:00:00Z\"", "\"2020-02-20T10:00:00.5Z\"", "[]", "{}", "[1]",
      #"{"$double":"nan"}"#, #"{"$double":7}"#, #"{"$date":1e300}"#, #"{"$date":"inf"}"#,
      #"{"$date":{"x":1}}"#, "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"",
      "\"0000-01-01T00:00:00Z\"", "\"9999-99-99T99:99:99Z\"",
    ]
    #expect(
      try tables.update(
        from: nil, to: LogPlace(position: 1, token: LogToken(random: 1, checksum: 1))
      ) { writer in
        try writer.set([table])
        try writer.upsert(
          values.enumerated().map { number, value in
            let members = kinds.map { "\"\($0.rawValue)\":\(value)" }.joined(separator: ",")
            return RecordRow(id: "\(number)", json: "{\"x\":{\(members)}}")
          }, into: 1)
      })
    for kind in kinds {
      _ = try server.text("SELECT count(x_\(kind.rawValue)) FROM \(schema).any")
      _ = try server.text("SELECT max(x_\(kind.rawValue)::text) FROM \(schema).any")
    }
    #expect(try server.text("SELECT count(x_uuid) FROM \(schema).any") == "1")
    #expect(try server.text("SELECT count(x_boolean) FROM \(schema).any") == "1")
    #expect(try server.text("SELECT count(x_time) FROM \(schema).any") == "2")
  }

  @Test func `wrong schemas are refused, and a password is in no text`() throws {
    let server = try PostgresServer.shared.get()
    for schema in ["", "larch", "a\0b", String(repeating: "x", count: 64)] {
      #expect(
        caught { _ = try PostgresRecordTables(server.url, of: "main", schema: schema) }?.code
          == .invalidAddress)
    }
    let secret = "verysecret"
    let tables = try PostgresRecordTables(
      server.url(user: "nobody", "&password=\(secret)"), of: "main", schema: freshName())
    #expect(!tables.name.contains(secret))
    let error = caught { _ = try tables.place() }
    #expect(error != nil && !"\(String(describing: error))".contains(secret))
  }

  @Test func `the zero character is replaced in JSON only where it is escaped`() {
    #expect(#"{"a":"\u0000"}"#.withoutEscapedZero == #"{"a":"\ufffd"}"#)
    #expect(#"{"a":"\\u0000"}"#.withoutEscapedZero == #"{"a":"\\u0000"}"#)
    #expect(#"{"a":"\\\u0000\n"}"#.withoutEscapedZero == #"{"a":"\\\ufffd\n"}"#)
    #expect(#"{"a":"u0000"}"#.withoutEscapedZero == #"{"a":"u0000"}"#)
    #expect("a\0b".withoutZero == "a\u{FFFD}b")
    // The last digit is one character with the accent.
    #expect(
      "{\"a\":\"\\u0000\u{301}\"}".withoutEscapedZero == "{\"a\":\"\\ufffd\u{301}\"}")
    #expect("it'\u{301}s".quoted("'") == "'it''\u{301}s'")
    #expect("a\"\u{301}b\"".quoted("\"") == "\"a\"\"\u{301}b\"\"\"")
  }
}
