internal import Foundation
internal import Larch

/// The tables of the logs in one schema.
///
/// - `store`: a row for each *era* of a store: from one first copy to the next. One of them has no end. `shared`
///   says who appends: all copies of a shared store, or one mirrored store.
/// - `log`: the entries, in parts of 8 MiB at most; before the first entry a row without parts, which has the
///   place only. `total` is the number of bytes of the changes up to an entry.
/// - `tree`, `cell` and `pair`: the state, at the place `folded`. Trees with one value for each key have cells,
///   those with sorted duplicates have pairs.
///
/// The primary key of `log` decides who has a place; see `PostgresLog+Append.swift`.
struct PostgresTables: Sendable {
  /// The form of the tables. A log of a higher one is refused.
  static let format = 1
  /// The maximum of one row's changes.
  static let partSize = 8 << 20

  /// The schema, as it stands in a statement.
  let schema: String
  /// The schema by its name.
  let name: String

  init(schema: String) {
    name = schema
    self.schema = schema.quoted("\"")
  }

  /// A table by name, as it stands in a statement.
  func callAsFunction(_ table: String) -> String { "\(schema).\(table)" }

  /// Large values are not compressed: a large commit would keep the server busy for longer than anybody waits.
  private var creation: String {
    """
    CREATE SCHEMA IF NOT EXISTS \(schema);
    COMMENT ON SCHEMA \(schema) IS 'Logs of Larch stores';
    CREATE TABLE \(self("store")) (
      era bigint PRIMARY KEY, name text NOT NULL, format integer NOT NULL, folded bigint NOT NULL,
      shared boolean NOT NULL, begun timestamptz NOT NULL DEFAULT now(), ended timestamptz);
    CREATE UNIQUE INDEX store_name ON \(self("store")) (name) WHERE ended IS NULL;
    CREATE TABLE \(self("log")) (
      era bigint NOT NULL, position bigint NOT NULL, part integer NOT NULL, parts integer NOT NULL,
      total bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(), token bytea NOT NULL,
      before bytea NOT NULL, changes bytea NOT NULL, PRIMARY KEY (era, position, part));
    ALTER TABLE \(self("log")) ALTER changes SET STORAGE EXTERNAL;
    CREATE TABLE \(self("tree")) (
      era bigint NOT NULL, tree integer NOT NULL, name text NOT NULL, flags integer NOT NULL,
      PRIMARY KEY (era, tree), UNIQUE (era, name));
    CREATE TABLE \(self("cell")) (
      era bigint NOT NULL, tree integer NOT NULL, key bytea NOT NULL, value bytea NOT NULL,
      PRIMARY KEY (era, tree, key));
    ALTER TABLE \(self("cell")) ALTER value SET STORAGE EXTERNAL;
    CREATE TABLE \(self("pair")) (
      era bigint NOT NULL, tree integer NOT NULL, key bytea NOT NULL, value bytea NOT NULL,
      PRIMARY KEY (era, tree, key, value));
    """
  }

  /// Makes the tables as whoever is connected, all in one transaction, unless they are there.
  func create(_ connection: PostgresConnection) throws(PostgresFailure) {
    // One at a time: PostgreSQL's catalog has an error for the second. And nothing is asked of tables that
    // are there, since even a question takes locks for which those who use them would have to wait.
    connection.isInTransaction = true
    try connection.script(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '30s';
      SELECT pg_advisory_xact_lock(\(Self.lock("tables " + schema)))
      """)
    // The rows of the catalog are those of now. Its functions may know from before the wait that nothing
    // is there, until a table is opened, as these are.
    let isThere = try connection.run(
      """
      SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = $1 AND relname = 'store')
      """, [.text(name)])
    try connection.script(try isThere.bool(0, 0) ? "COMMIT" : creation + "COMMIT")
    connection.isInTransaction = false
  }

  /// How a row of `log` is inserted at a place that must be free. The key is named, so that the server refuses
  /// the statement where the key is missing, as after a restoration of the rows alone: without it two
  /// writers would both get a place, and nobody would know.
  static let ifFree = "ON CONFLICT (era, position, part) DO NOTHING"

  /// Lets a role use the logs, or only read them.
  func grant(
    _ role: String, readsOnly: Bool, _ connection: PostgresConnection
  ) throws(PostgresFailure) {
    let role = role.quoted("\"")
    let tables = ["store", "log", "tree", "cell", "pair"].map { self($0) }.joined(separator: ", ")
    let rights = readsOnly ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE"
    // Statements that are sent together are one transaction.
    try connection.script(
      "GRANT USAGE ON SCHEMA \(schema) TO \(role); GRANT \(rights) ON \(tables) TO \(role)")
  }

  /// The number of a lock that a transaction holds: the same for the same purpose, and for few others.
  static func lock(_ purpose: String) -> Int64 { Int64(bitPattern: checksum(of: purpose)) }

  /// The same for the same text, in each program.
  static func checksum(of text: String) -> UInt64 {
    var sum = LogChecksum(seed: 0x4C61_7263_68)
    var text = text
    text.withUTF8 { sum.add(UnsafeRawBufferPointer($0)) }
    return sum.value
  }

  /// The common beginning of statements about a store: its era that has no end. `$1` is its name.
  var here: String { here("$1") }

  /// The same with the name as it stands in the statement.
  func here(_ name: String) -> String {
    "WITH here AS (SELECT era, format, folded, shared FROM \(self("store")) WHERE name = \(name) AND ended IS NULL)"
  }
}

extension String {
  /// The text between quotes, as it stands in a statement: each quote in it twice. By scalars, since
  /// a quote may be one character with an accent that follows it.
  func quoted(_ quote: Unicode.Scalar) -> String {
    var result = String.UnicodeScalarView([quote])
    for scalar in unicodeScalars {
      result.append(scalar)
      if scalar == quote { result.append(quote) }
    }
    result.append(quote)
    return String(result)
  }
}
