internal import Foundation
package import Larch
package import LarchInspection

/// The records of a store as tables on a PostgreSQL server, for tools that speak SQL.
///
/// A schema of their own has, for each collection, a table `…_records` with `id` and `record` (jsonb), and a
/// view with a column for each field. Names are in lower case, so that nobody has to quote them. Two tables
/// that begin with `larch_` say which store's they are, which entry of its log the rest has, and which
/// collection is where.
///
/// Everything else in the schema belongs to whoever made it: only what is noted in `larch_tables` is ever
/// changed, and tables of another store are refused. When the fields of a collection change, its view is made
/// again, and views that others have made of it are dropped with it.
package final class PostgresRecordTables: RecordTables {
  private let server: PostgresLog
  private let names: PostgresTables
  /// The log that the tables follow: its schema in this database, and the name of the store there.
  private let source: String

  package var name: String { "\(server.name), tables in \(names.schema)" }

  /// - Parameters:
  ///   - store: the name of the store whose log, in the same database, the tables follow.
  ///   - schema: where the tables are; it is made if it is missing.
  package init(
    _ address: String, of store: String, schema: String,
    _ options: PostgresOptions = PostgresOptions()
  ) throws {
    guard !schema.isEmpty, schema.utf8.count <= 63, !schema.contains("\0") else {
      throw LarchError(
        .invalidAddress, "The name of a schema has 1 to 63 bytes, of which none is zero."
      ) { $0.detail = schema }
    }
    // The tables of the log would be taken for those of records.
    guard schema != options.schema else {
      throw LarchError(
        .invalidAddress, "The schema has the logs of stores; name another one for the tables."
      ) { $0.detail = schema }
    }
    server = try PostgresLog(address, store: nil, options)
    names = PostgresTables(schema: schema)
    source = "\(options.schema)/\(store)"
  }

  package func close() { server.close() }

  private var placeTable: String { names("larch_place") }
  private var listTable: String { names("larch_tables") }

  package func place() throws -> LogPlace? {
    try explained {
      try server.call { connection in
        try connection.runOnTables(placeQuery, []).flatMap(place)
      }
    }
  }

  private var placeQuery: String { "SELECT position, token, store FROM \(placeTable)" }

  private func place(_ rows: PostgresRows) throws -> LogPlace? {
    guard rows.count > 0 else { return nil }
    let other = try rows.text(0, 2)
    guard other == source else {
      throw LarchError(
        .conflict,
        "The schema has the tables of another store. Name another schema (`--into`), or drop this one first."
      ) { $0.detail = "schema \(names.schema) has those of \(other), not of \(source)" }
    }
    return try server.place(rows, 0, 1)
  }

  /// The server's error says that a name has another meaning, and not what to do.
  private func explained<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as LarchError where Self.taken.contains(error.serverState ?? "") {
      throw LarchError(
        .conflict,
        "The schema has a table or a view that Larch did not make, under a name that it needs. Rename that, or name another schema (`--into`).",
        underlying: error.underlying
      ) {
        $0.path = name
        $0.detail = error.context.detail
      }
    }
  }

  /// A relation of this name exists, has no such column, does not exist any more, or is of another kind.
  private static let taken: Set<String> = ["42P07", "42703", "42P01", "42809"]

  package func update(
    from expected: LogPlace?, to place: LogPlace,
    _ body: (any RecordTableWriter) throws -> Void
  ) throws -> Bool {
    try explained {
      if expected == nil { try prepare() }
      let isDone = try server.transaction(.copying, lock: "tables \(names.schema)") {
        connection -> Bool? in
        guard try self.place(connection.run(placeQuery)) == expected else { return nil }
        try body(PostgresTableWriter(names, connection))
        try connection.run("DELETE FROM \(placeTable)")
        try connection.run(
          "INSERT INTO \(placeTable) (position, token, store) VALUES ($1, $2, $3)",
          [.int(Int64(place.position)), .bytes(place.token.bytes), .text(source)])
        return true
      }
      return isDone == true
    }
  }

  /// Makes the schema and the two tables about the others.
  private func prepare() throws {
    try server.call { connection in
      // Statements that are sent together are one transaction, which also ends with an error.
      try connection.script(
        """
        SELECT pg_advisory_xact_lock(\(PostgresTables.lock("tables \(names.schema)")));
        CREATE SCHEMA IF NOT EXISTS \(names.schema);
        CREATE TABLE IF NOT EXISTS \(placeTable) (position bigint NOT NULL, token bytea NOT NULL, store text NOT NULL);
        CREATE TABLE IF NOT EXISTS \(listTable)
          (number bigint PRIMARY KEY, collection text NOT NULL, name text NOT NULL UNIQUE,
          columns text NOT NULL);
        COMMENT ON TABLE \(placeTable) IS 'The entry of the log of a Larch store that the tables have'
        """)
    }
  }
}

/// Changes the tables inside of a transaction.
private final class PostgresTableWriter: RecordTableWriter {
  private let names: PostgresTables
  private let connection: PostgresConnection
  /// The tables by the numbers of their collections.
  private var tables: [UInt32: String] = [:]
  /// What their views select.
  private var columns: [UInt32: String] = [:]

  init(_ names: PostgresTables, _ connection: PostgresConnection) throws {
    self.names = names
    self.connection = connection
    let rows = try connection.run("SELECT number, name, columns FROM \(names("larch_tables"))")
    for row in 0..<rows.count {
      guard let number = UInt32(exactly: try rows.int(row, 0)) else { continue }
      tables[number] = try rows.text(row, 1)
      columns[number] = try rows.text(row, 2)
    }
  }

  private func records(_ name: String) -> String { names.quoted(name + SQLNames.suffix) }

  func set(_ wanted: [CollectionTable]) throws {
    var used = SQLNames()
    var found: [UInt32: (name: String, columns: String)] = [:]
    for table in wanted {
      found[table.number] = (used.name(for: table.name), SQLColumns(table.columns).list)
    }
    let isSame = { (number: UInt32, name: String) in
      found[number]?.name == name && found[number]?.columns == self.columns[number]
    }
    // Views name the columns, so they go first. One that does not change stays: others may use it.
    for (number, name) in tables where !isSame(number, name) {
      try connection.run("DROP VIEW IF EXISTS \(names.quoted(name)) CASCADE")
      if found[number] == nil {
        try connection.run("DROP TABLE IF EXISTS \(records(name)) CASCADE")
      } else if found[number]?.name != name {
        // Under a name that nobody has, since two may have exchanged theirs.
        try rename(records(name), "larch_moving_\(number)")
      }
    }
    for table in wanted {
      guard let (name, columns) = found[table.number] else { continue }
      if let old = tables[table.number] {
        if isSame(table.number, old) { continue }
        if old != name {
          try rename(names.quoted("larch_moving_\(table.number)"), name + SQLNames.suffix)
        }
      } else {
        // One that is there already is somebody else's, and this an error.
        try connection.run(
          "CREATE TABLE \(records(name)) (id text PRIMARY KEY, record jsonb NOT NULL)")
      }
      try connection.run(
        "CREATE VIEW \(names.quoted(name)) AS SELECT \(columns) FROM \(records(name))")
    }
    try connection.run("DELETE FROM \(names("larch_tables"))")
    for table in wanted {
      guard let (name, columns) = found[table.number] else { continue }
      try connection.run(
        "INSERT INTO \(names("larch_tables")) (number, collection, name, columns) VALUES ($1, $2, $3, $4)",
        [.int(Int64(table.number)), .text(table.name.withoutZero), .text(name), .text(columns)])
    }
    tables = found.mapValues(\.name)
    columns = found.mapValues(\.columns)
  }

  private func rename(_ table: String, _ name: String) throws {
    try connection.run("ALTER TABLE \(table) RENAME TO \(names.quotedAlone(name))")
  }

  private func table(_ number: UInt32) throws -> String {
    guard let name = tables[number] else {
      throw LarchError(
        .damagedLog,
        "The schema has no table for a collection; remove the schema, so that it is filled again.")
    }
    return records(name)
  }

  func empty(_ table: UInt32) throws {
    let table = try self.table(table)
    try connection.deleteInSteps(from: table, "SELECT ctid FROM \(table)")
  }

  func upsert(_ rows: [RecordRow], into table: UInt32) throws {
    // Two ids that differ only in what a text cannot have are one row: the last one.
    var last: [String: String] = [:]
    for row in rows { last[row.id.withoutZero] = row.json.withoutEscapedZero }
    try connection.run(
      """
      INSERT INTO \(try self.table(table)) (id, record)
      SELECT id, record::jsonb FROM unnest($1, $2) AS r(id, record)
      ON CONFLICT (id) DO UPDATE SET record = excluded.record
      """, [.texts(Array(last.keys)), .texts(Array(last.values))])
  }

  func delete(_ ids: [String], from table: UInt32) throws {
    try connection.run(
      "DELETE FROM \(try self.table(table)) WHERE id = ANY ($1)", [.texts(ids.map(\.withoutZero))])
  }
}

extension PostgresTables {
  /// A name of the schema with any characters, as it stands in a statement.
  func quoted(_ name: String) -> String { self(quotedAlone(name)) }

  /// The same without the schema.
  func quotedAlone(_ name: String) -> String { name.quoted("\"") }
}

extension String {
  /// PostgreSQL has no text with the character zero; it becomes the sign for an unknown one.
  var withoutZero: String { contains("\0") ? replacing("\0", with: "\u{FFFD}") : self }

  /// The same for JSON, in which the character is written as `\u0000`.
  var withoutEscapedZero: String {
    // Bytes: for characters, the last digit may be one with what follows it.
    guard utf8.contains(#"\u0000"#.utf8) else { return self }
    var bytes = utf8[...]
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    while let byte = bytes.popFirst() {
      result.append(byte)
      guard byte == UInt8(ascii: "\\") else { continue }
      if bytes.starts(with: "u0000".utf8) {
        bytes = bytes.dropFirst(5)
        result += "ufffd".utf8
      } else if let escaped = bytes.popFirst() {
        result.append(escaped)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
