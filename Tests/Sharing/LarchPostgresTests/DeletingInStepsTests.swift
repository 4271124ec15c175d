import LarchInspection
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchPostgres

@Suite("What deletes millions of rows on PostgreSQL", needsServer)
struct DeletingInStepsTests {
  /// Lets no statement delete more rows of a table than a step has.
  private func limit(_ schema: String, _ table: String, _ server: PostgresServer) throws {
    try server.run(
      """
      CREATE OR REPLACE FUNCTION \(schema).larch_step() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF (SELECT count(*) FROM gone) > 10000 THEN RAISE EXCEPTION 'too many at once'; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER step AFTER DELETE ON \(schema).\(table) REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION \(schema).larch_step()
      """)
  }

  enum Way: CaseIterable { case empty, drop, clear }

  @Test("A fold never waits for one statement that deletes them all", arguments: Way.allCases)
  func fold(way: Way) throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName("steps")
    let log = try server.log("s") { $0.schema = schema }
    defer { log.close() }
    let count = 25_000
    try #require(
      try log.begin(at: .start, expecting: nil) { writer in
        for tree in [index, records] {
          try writer.begin(tree)
          for number in 0..<count {
            try [UInt8](bigEndian: Int64(number)).withUnsafeBytes { bytes in
              try [UInt8(7)].withUnsafeBytes { one in
                // All values of one key, in the tree that has such.
                try tree == index ? writer.add(one, bytes) : writer.add(bytes, one)
              }
            }
          }
        }
      })
    for table in ["cell", "pair"] { try limit(schema, table, server) }
    var changes = ChangeRecordBytes()
    for tree in [index, records] {
      switch way {
      case .empty: changes.add(.empty, tree)
      case .drop: changes.add(.drop, tree)
      case .clear where tree == index: changes.add(.deleteKey, tree, [7])
      case .clear: changes.add(.deleteKey, tree, [UInt8](bigEndian: Int64(5)))
      }
    }
    let entry = LogEntry(after: .start, random: 1, changes: changes.bytes)
    try #require(try log.append([entry]))
    #expect(try log.fold(through: .max, olderThan: 0) == entry.place)
    let left = try log.stateText().count { $0.hasPrefix("index") || $0.hasPrefix("records") }
    #expect(left == (way == .clear ? count - 1 : 0))
  }

  @Test("Neither does a table of records that is filled again")
  func recordTable() throws {
    let server = try PostgresServer.shared.get()
    let schema = freshName("steps")
    let tables = try PostgresRecordTables(server.url, of: "s", schema: schema)
    defer { tables.close() }
    let table = CollectionTable(number: 1, name: "note", columns: [])
    let full = entry(after: .start).place
    let isFilled = try tables.update(from: nil, to: full) { writer in
      try writer.set([table])
      try writer.upsert(
        (0..<25_000).map { RecordRow(id: "\($0)", json: "{}") }, into: table.number)
    }
    try #require(isFilled)
    try limit(schema, "note_records", server)
    let isEmptied = try tables.update(from: full, to: entry(after: full).place) { writer in
      try writer.set([table])
      try writer.empty(table.number)
    }
    #expect(isEmptied)
    #expect(try server.text("SELECT count(*) FROM \(schema).note_records") == "0")
  }
}
