package import Larch

extension PostgresLog {
  /// The maximum of entries that one call reads, so that the server looks at no more rows.
  private static let entriesAtOnce = 4096

  package func tail(after place: LogPlace, limit: Int) throws -> LogTail {
    guard place.position < Self.positionLimit else { return .diverged }
    endTurnIfPooled()
    return try call { connection in
      guard let rows = try tailRows(after: place, limit, connection) else { return .diverged }
      return try readTail(rows, after: place, limit, connection)
    }
  }

  private func tailRows(
    after place: LogPlace, _ limit: Int, _ connection: PostgresConnection
  ) throws -> PostgresRows? {
    try connection.runOnTables(
      tailStatement(.parameters),
      [
        .text(store), .int(Int64(place.position)), .bytes(place.token.bytes),
        .int(Self.usable(limit)),
      ])
  }

  private static func usable(_ limit: Int) -> Int64 { Int64(max(0, min(limit, 1 << 40))) }

  /// What a statement that reads entries is asked for.
  struct TailValues {
    let store: String
    let position: String
    let token: String
    let limit: String

    /// `$1` to `$4`.
    static let parameters = TailValues(store: "$1", position: "$2", token: "$3", limit: "$4")

    /// The values themselves, for a statement that cannot have parameters. As hexadecimal digits they cannot
    /// end a literal.
    static func literals(_ store: String, _ place: LogPlace, _ limit: Int) -> TailValues {
      func bytes(_ bytes: some Sequence<UInt8>) -> String {
        "'\\x\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'::bytea"
      }
      return TailValues(
        store: "convert_from(\(bytes(store.utf8)), 'UTF8')",
        position: "\(place.position)::bigint", token: bytes(place.token.bytes),
        limit: "\(usable(limit))::bigint")
    }
  }

  func tailStatement(_ values: TailValues) -> String {
    """
    \(tables.here(values.store)), anchor AS (
      SELECT token, total FROM here JOIN \(tables("log")) USING (era)
      WHERE position = \(values.position) AND part = 0
    )
    SELECT h.format, h.folded, a.token,
      (SELECT max(position) FROM \(tables("log")) m WHERE m.era = h.era),
      l.position, l.part, l.parts, l.token, l.before, l.changes, extract(epoch FROM l.at)::float8
    FROM here h LEFT JOIN anchor a ON true
    LEFT JOIN \(tables("log")) l ON l.era = h.era AND a.token = \(values.token)
      AND l.position > \(values.position)
      AND l.position <= \(values.position) + \(Self.entriesAtOnce)
      AND (l.position = \(values.position) + 1 OR l.total - a.total <= \(values.limit))
    ORDER BY l.position, l.part
    """
  }

  /// The answer to `tailStatement`. A statement stops before the entry that goes beyond the limit; so the rest is asked
  /// for, until the limit is reached or the log ends.
  func readTail(
    _ rows: PostgresRows, after place: LogPlace, _ limit: Int, _ connection: PostgresConnection
  ) throws -> LogTail {
    let first = try readTail(rows, after: place)
    guard case .entries(var all) = first else { return first }
    var rows = rows
    var left = limit - all.reduce(0) { $0 + $1.changes.count }
    while left > 0, let last = all.last?.place, try position(rows, 0, 3) > last.position {
      // What was folded or lost meanwhile is found by whoever asks for what follows these.
      guard let more = try tailRows(after: last, left, connection),
        case .entries(let entries) = try readTail(more, after: last)
      else { break }
      all += entries
      left -= entries.reduce(0) { $0 + $1.changes.count }
      rows = more
    }
    return .entries(all)
  }

  private func readTail(_ rows: PostgresRows, after place: LogPlace) throws -> LogTail {
    guard rows.count > 0 else { return .diverged }
    try checkFormat(rows, 0)
    let folded = try position(rows, 0, 1)
    if place.position < folded { return .cut }
    guard !rows.isNull(0, 2) else {
      // The place may be newer than the newest entry. Otherwise an entry is missing: positions have no gaps.
      if try rows.isNull(0, 3) || place.position > position(rows, 0, 3) { return .diverged }
      throw damage("An entry of the log is missing.", "position \(place.position)")
    }
    guard try token(rows, 0, 2) == place.token else { return .diverged }
    guard try position(rows, 0, 3) > place.position else { return .entries([]) }
    let entries = try readEntries(rows, after: place, from: 4)
    // There is a newest entry after the place, so the first one cannot be missing.
    guard !entries.isEmpty else {
      throw damage("An entry of the log is missing.", "position \(place.position + 1)")
    }
    return .entries(entries)
  }

  /// The entries in rows, each checked: that it follows the one before, and is what its maker made.
  ///
  /// - Parameter first: the column of the position. The others follow it.
  func readEntries(
    _ rows: PostgresRows, after place: LogPlace, from first: Int
  ) throws -> [LogEntry] {
    var entries: [LogEntry] = []
    var place = place
    var row = 0
    if rows.count > 0, rows.isNull(0, first) { return [] }
    while row < rows.count {
      let position = try position(rows, row, first)
      let parts = try rows.int(row, first + 2)
      guard position == place.position + 1, parts > 0,
        parts <= Self.entryLimit / PostgresTables.partSize,
        parts <= rows.count - row
      else { throw damage("An entry of the log is missing.", "position \(place.position + 1)") }
      let before = try token(rows, row, first + 4)
      let token = try token(rows, row, first + 3)
      let time = try rows.double(row, first + 6)
      var changes: [UInt8] = []
      for part in 0..<parts {
        guard try self.position(rows, row, first) == position, try rows.int(row, first + 1) == part,
          try rows.int(row, first + 2) == parts
        else { throw damage("A part of an entry is missing.", "position \(position)") }
        changes.append(contentsOf: try rows.bytes(row, first + 5))
        guard changes.count <= Self.entryLimit else {
          throw damage("An entry of the log is too large.", "position \(position)")
        }
        row += 1
      }
      let entry = LogEntry(
        place: LogPlace(position: position, token: token), before: before, changes: changes,
        time: time)
      guard before == place.token, entry.isWhole else {
        throw damage("An entry of the log was altered.", "position \(position)")
      }
      entries.append(entry)
      place = entry.place
    }
    return entries
  }
}
