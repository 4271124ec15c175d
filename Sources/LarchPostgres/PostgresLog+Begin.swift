internal import Foundation
package import Larch

extension PostgresLog {
  package func begin(
    at place: LogPlace, expecting expected: LogPlace?, for use: LogUse,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool {
    guard place.position < Self.positionLimit else { throw beyond }
    try makeTablesIfMissing()
    let isDone = try transaction(.copying, lock: storeLock) { connection -> Bool? in
      let old = try era(connection)
      guard old?.newest == expected else { return nil }
      // Nobody knows of the rows before the commit, and others append to the old era meanwhile.
      let era = Int64.random(in: 1 ... .max)
      let writer = PostgresStateWriter(era: era, tables, connection)
      try fill(writer)
      try writer.end()
      try connection.run(
        """
        INSERT INTO \(tables("log")) (era, position, part, parts, total, token, before, changes)
        VALUES ($1, $2, 0, 0, 0, $3, '', '')
        """, [.int(era), .int(Int64(place.position)), .bytes(place.token.bytes)])
      if let old, try !fence(old, connection) { return nil }
      try connection.run(
        """
        INSERT INTO \(tables("store")) (era, name, format, folded, shared)
        VALUES ($1, $2, $3, $4, $5 <> 0)
        """,
        [
          .int(era), .text(store), .int(Int64(PostgresTables.format)), .int(Int64(place.position)),
          .int(use == .shared ? 1 : 0),
        ])
      return true
    }
    // What remains of old eras is in nobody's way; a later begin or fold removes it.
    if isDone == true { try? removeOldEras() }
    return isDone == true
  }

  /// What no two transactions do at once with one store: a new era, and a step of a fold.
  var storeLock: String { "store \(tables.schema) \(store)" }

  struct Era {
    let era: Int64
    var newest: LogPlace
    var folded: LogPlace
  }

  /// The era of the store, with its newest entry; nil if the log was never begun.
  func era(_ connection: PostgresConnection) throws -> Era? {
    let rows = try connection.run(
      """
      \(tables.here)
      SELECT h.format, h.era, n.position, n.token, f.position, f.token FROM here h
      LEFT JOIN \(tables("log")) f ON f.era = h.era AND f.position = h.folded AND f.part = 0
      LEFT JOIN LATERAL (
        SELECT * FROM \(tables("log")) WHERE era = h.era AND part = 0 ORDER BY position DESC LIMIT 1
      ) n ON true
      """, [.text(store)])
    guard rows.count > 0 else { return nil }
    try checkFormat(rows, 0)
    return Era(
      era: Int64(try rows.int(0, 1)), newest: try place(rows, 2, 3), folded: try place(rows, 4, 5))
  }

  /// Ends an era by taking the place after its newest entry. Whoever appends there at the same moment waits
  /// for this transaction, and then finds the place taken; who was faster has it, and this returns false.
  private func fence(_ old: Era, _ connection: PostgresConnection) throws -> Bool {
    let fence = try connection.run(
      """
      INSERT INTO \(tables("log")) (era, position, part, parts, total, token, before, changes)
      VALUES ($1, $2, 0, 0, 0, '', '', '') \(PostgresTables.ifFree)
      """, [.int(old.era), .int(Int64(old.newest.position) + 1)])
    guard fence.changed == 1 else { return false }
    let ended = try connection.run(
      "UPDATE \(tables("store")) SET ended = now() WHERE era = $1 AND ended IS NULL",
      [.int(old.era)])
    guard ended.changed == 1 else { throw damage("The store of the log has gone.") }
    return true
  }

  private func makeTablesIfMissing() throws {
    try call { connection in
      let isThere = try connection.runOnTables(
        "SELECT FROM \(tables("store")) WHERE name = $1", [.text(store)])
      if isThere != nil { return }
      do {
        try tables.create(connection)
      } catch let failure as PostgresFailure where failure.state == "42501" {
        // "You may not" would not say what to do.
        throw PostgresFailure(.server("42P01"), failure.text)
      }
    }
  }

  /// Deletes the rows of eras that have ended, in steps.
  ///
  /// The row that fences an era goes last and late: an append that began before the end of its era may still
  /// be about to look for its place.
  func removeOldEras() throws {
    let ended = try call { connection -> [Int64] in
      let rows = try connection.run(
        "SELECT era FROM \(tables("store")) WHERE name = $1 AND ended IS NOT NULL", [.text(store)])
      return try (0..<rows.count).map { Int64(try rows.int($0, 0)) }
    }
    for era in ended {
      for table in ["cell", "pair", "log", "tree"] {
        let rows =
          "SELECT ctid FROM \(tables(table)) WHERE era = $1"
          + (table == "log" ? " AND token <> ''" : "")
        while try call({
          try $0.run(
            "DELETE FROM \(tables(table)) WHERE ctid = ANY (ARRAY(\(rows) LIMIT 10000))",
            [.int(era)]
          ).changed
        }) > 0 {}
      }
      _ = try call {
        try $0.run(
          """
          WITH gone AS (
            DELETE FROM \(tables("store")) WHERE era = $1 AND ended < now() - interval '1 day' RETURNING era
          )
          DELETE FROM \(tables("log")) USING gone WHERE \(tables("log")).era = gone.era
          """, [.int(era)])
      }
    }
  }
}

/// Sends the pairs of a state by `COPY`.
private final class PostgresStateWriter: LogStateWriter {
  private let era: Int64
  private let tables: PostgresTables
  private let connection: PostgresConnection
  private var trees: [LogTree] = []
  /// The table that is being copied to.
  private var table: String?
  private var buffer: [UInt8] = []
  /// What each row begins with: four columns, and the first two of them.
  private var start: [UInt8] = []

  private static let bufferSize = 64 << 10
  /// The most that a row may have, with room for what PostgreSQL adds.
  private static let pairLimit = 512 << 20

  init(era: Int64, _ tables: PostgresTables, _ connection: PostgresConnection) {
    self.era = era
    self.tables = tables
    self.connection = connection
    buffer.reserveCapacity(Self.bufferSize + 2048)
  }

  func begin(_ tree: LogTree) throws {
    trees.append(tree)
    start =
      [UInt8](bigEndian: Int16(4)) + [UInt8](bigEndian: Int32(8)) + [UInt8](bigEndian: era)
      + [UInt8](bigEndian: Int32(4)) + [UInt8](bigEndian: Int32(trees.count))
    let wanted = tree.hasDuplicates ? "pair" : "cell"
    if table == wanted { return }
    try endTable()
    try connection.beginCopy(
      "COPY \(tables(wanted)) (era, tree, key, value) FROM STDIN (FORMAT binary)",
      LibPQ.ResultStatus.copyIn)
    table = wanted
    buffer.append(contentsOf: CopyFormat.signature)
    // Flags, and the length of an extension.
    buffer.append(contentsOf: [UInt8](repeating: 0, count: 8))
  }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    guard value.count <= Self.pairLimit else {
      throw LarchError(
        .recordTooLarge,
        "A record of more than 512 MB cannot be kept in a log on a server. Split it, or leave it out of the store."
      )
    }
    buffer.append(contentsOf: start)
    for bytes in [key, value] {
      withUnsafeBytes(of: Int32(bytes.count).bigEndian) { buffer.append(contentsOf: $0) }
      buffer.append(contentsOf: bytes)
    }
    if buffer.count >= Self.bufferSize { try send() }
  }

  func end() throws {
    try endTable()
    try connection.run(
      """
      INSERT INTO \(tables("tree")) (era, tree, name, flags)
      SELECT $1, n, name, flags FROM unnest($2, $3) WITH ORDINALITY AS t(name, flags, n)
      """,
      [
        .int(era), .texts(trees.map(\.name)), .ints(trees.map { Int64($0.flags) }),
      ])
  }

  private func endTable() throws {
    guard table != nil else { return }
    buffer.append(contentsOf: CopyFormat.end)
    try send()
    try connection.endCopy()
    table = nil
  }

  private func send() throws {
    try connection.copy(buffer)
    buffer.removeAll(keepingCapacity: true)
  }
}

/// The binary form of `COPY`.
enum CopyFormat {
  static let signature = [UInt8]("PGCOPY\n".utf8) + [0xFF] + [UInt8]("\r\n".utf8) + [0]
  /// A row of -1 columns.
  static let end: [UInt8] = [0xFF, 0xFF]
}
