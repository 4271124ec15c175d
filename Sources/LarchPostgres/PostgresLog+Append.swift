package import Larch

extension PostgresLog {
  /// The maximum of the changes of one entry.
  static let entryLimit = 256 << 20

  package func append(_ entries: [LogEntry], mayBeThere: Bool) throws -> Bool {
    defer { endTurn() }
    guard let first = entries.first, let last = entries.last else { return true }
    for entry in entries where entry.changes.count > Self.entryLimit {
      throw LarchError(
        .recordTooLarge,
        "A commit changes more than 256 MB, which is the most that a log on a server takes. Write less in one transaction; `import` writes in batches."
      ) { $0.path = name }
    }
    // A gap would be found by others, when it is too late.
    for (entry, next) in zip(entries, entries.dropFirst())
    where next.before != entry.place.token || next.place.position != entry.place.position &+ 1 {
      throw damage("The entries do not follow each other.", "position \(next.place.position)")
    }
    guard last.place.position < Self.positionLimit, first.place.position > 0 else { throw beyond }
    let batches = Batch.of(entries)
    // The place after which they follow; the look at it is part of the statement.
    let before: [PostgresValue] = [
      .text(store), .int(Int64(first.place.position - 1)), .bytes(first.before.bytes),
    ]
    var calls = mayBeThere ? 1 : 0
    let isDone = inTurn(&calls) { try append(batches, before, $0) }
    if let isDone { return try isDone || calls > 1 && isSafelyThere(last.place, mayBeThere) }
    for _ in 0..<Self.attempts {
      do {
        if try appendOnce(batches, before, &calls) { return true }
        return try calls > 1 && isSafelyThere(last.place, mayBeThere)
      } catch let failure as LarchError where failure.isConflict {
        // Only where the database has another isolation than PostgreSQL's own default.
        continue
      }
    }
    return try isSafelyThere(last.place, mayBeThere)
  }

  /// - Parameter mayBeThere: whether the caller looks itself, if this says no.
  private func isSafelyThere(_ place: LogPlace, _ mayBeThere: Bool) throws -> Bool {
    guard let isThere = try isThere(place) else {
      if mayBeThere { return false }
      throw LarchError(
        .damagedLog, "The log has cut what was just appended; nobody can say what became of it."
      ) { $0.path = name }
    }
    guard isThere else { return false }
    // The entry is there, whatever comes of this.
    try confirm(followsAttempt: true)
    return true
  }

  package func share(with entry: LogEntry) throws -> Bool {
    let isDone = try transaction(.changing, lock: storeLock) { connection -> Bool? in
      let place: [PostgresValue] = [
        .text(store), .int(Int64(entry.place.position) - 1), .bytes(entry.before.bytes),
      ]
      guard try appendFirst(Batch.of([entry])[0], place, connection) else { return nil }
      let marked = try connection.run(
        "UPDATE \(tables("store")) SET shared = true WHERE name = $1 AND ended IS NULL",
        [.text(store)])
      return marked.changed == 1 ? true : nil
    }
    return isDone == true
  }

  package func confirm() throws { try confirm(followsAttempt: false) }

  private func confirm(followsAttempt: Bool) throws {
    // A commit waits until the standbys that the server waits for have everything before it. The message is for
    // nobody; it makes a commit of something that changes no table.
    _ = try call(followsAttempt: followsAttempt) {
      try $0.run("SELECT pg_logical_emit_message(true, 'larch', '')")
    }
  }

  /// - Parameter calls: counts what is sent. A call that finds its connection dead is sent again by itself, and
  ///   may have succeeded before.
  private func appendOnce(
    _ batches: [Batch], _ before: [PostgresValue], _ calls: inout Int
  ) throws -> Bool {
    if batches.count == 1 {
      return try call(followsAttempt: calls > 0) {
        calls += 1
        return try appendFirst(batches[0], before, $0)
      }
    }
    defer { calls += 1 }
    let isDone = try transaction(.changing, followsAttempt: calls > 0) {
      try append(batches, before, $0) ? true : nil
    }
    return isDone == true
  }

  /// Appends inside of a transaction.
  private func append(
    _ batches: [Batch], _ before: [PostgresValue], _ connection: PostgresConnection
  ) throws -> Bool {
    guard try appendFirst(batches[0], before, connection) else { return false }
    for batch in batches.dropFirst() { try appendRest(batch, connection) }
    return true
  }

  private static let attempts = 5

  /// Appends if the log ends at the place before. It is one statement: the primary key lets one of two win,
  /// and the look at the entry before refuses whoever does not continue this log.
  private func appendFirst(
    _ batch: Batch, _ before: [PostgresValue], _ connection: PostgresConnection
  ) throws -> Bool {
    let newest = """
      \(tables.here), newest AS (
        SELECT l.era, l.total, \(Self.time) AS at FROM here JOIN \(tables("log")) l USING (era)
        WHERE format = \(PostgresTables.format) AND position = $2 AND part = 0 AND token = $3
      )
      """
    if batch.positions.count == 1 {
      // The usual case by itself, since the server needs a fourth of the time for it.
      let rows = try connection.runOnTables(
        """
        \(newest) \(insertion)
        SELECT era, $4, $5, $6, total + $7, at, $8, $9, $10 FROM newest \(PostgresTables.ifFree)
        """, before + batch.singleValues, often: true)
      return rows?.changed == 1
    }
    let rows = try connection.runOnTables(
      """
      \(newest), piece AS (\(Batch.pieces(from: 4))), first AS (
        \(insertion) SELECT newest.era, \(Self.values) FROM newest, piece p WHERE p.n = 1
        \(PostgresTables.ifFree) RETURNING era
      ), rest AS (
        \(insertion) SELECT newest.era, \(Self.values) FROM first, newest, piece p WHERE p.n > 1
        RETURNING era
      )
      SELECT (SELECT count(*) FROM first), (SELECT count(*) FROM rest)
      """, before + batch.values, often: true)
    return try rows?.int(0, 0) == 1
  }

  private var insertion: String {
    "INSERT INTO \(tables("log")) (era, position, part, parts, total, at, token, before, changes)"
  }
  private static let values =
    "p.position, p.part, p.parts, newest.total + p.total, newest.at, p.token, p.before, p.changes"
  /// The time of a new entry, of which `l` is the newest before it. That of the transaction would be earlier: it may have
  /// waited for its turn since. And a restoration by time needs times that do not go back.
  private static let time = "greatest(clock_timestamp(), l.at)"

  /// Appends further rows to those that the transaction appended.
  private func appendRest(_ batch: Batch, _ connection: PostgresConnection) throws {
    try connection.run(
      """
      \(tables.here), newest AS (
        SELECT era, (SELECT total FROM \(tables("log")) l WHERE l.era = here.era AND position = $2 AND part = 0)
          AS total, (SELECT \(Self.time) FROM \(tables("log")) l WHERE l.era = here.era
          ORDER BY position DESC, part DESC LIMIT 1) AS at FROM here
      )
      \(insertion) SELECT newest.era, \(Self.values) FROM newest, (\(Batch.pieces(from: 3))) p
      """, [.text(store), .int(batch.origin)] + batch.values)
  }

  /// Whether the log has an entry, after an attempt to append it. Its token stands for all entries before it. Nil if
  /// the log begins after its place by now.
  func isThere(_ place: LogPlace) throws -> Bool? {
    try call(followsAttempt: true) { connection in
      let rows = try connection.runOnTables(
        """
        \(tables.here)
        SELECT format, token, folded FROM here
        LEFT JOIN \(tables("log")) l ON l.era = here.era AND position = $2 AND part = 0
        """, [.text(store), .int(Int64(place.position))])
      guard let rows, rows.count > 0 else { return false }
      try checkFormat(rows, 0)
      guard !rows.isNull(0, 1) else {
        return try place.position < position(rows, 0, 2) ? nil : false
      }
      return try token(rows, 0, 1) == place.token
    }
  }
}

/// Rows for the log, of 8 MiB of changes about: what one statement carries.
private struct Batch {
  /// The position before the first of all rows, of all batches.
  let origin: Int64
  var positions: [Int64] = []
  var parts: [Int64] = []
  var counts: [Int64] = []
  /// The bytes of all changes after `origin`, up to and with this entry.
  var totals: [Int64] = []
  var tokens: [ArraySlice<UInt8>] = []
  var befores: [ArraySlice<UInt8>] = []
  var changes: [ArraySlice<UInt8>] = []
  var size = 0

  static func of(_ entries: [LogEntry]) -> [Batch] {
    let origin = Int64(entries[0].place.position - 1)
    var batches: [Batch] = []
    var batch = Batch(origin: origin)
    var total = 0
    for entry in entries {
      let count = max(
        1, (entry.changes.count + PostgresTables.partSize - 1) / PostgresTables.partSize)
      total += entry.changes.count
      for part in 0..<count {
        let start = part * PostgresTables.partSize
        let piece = entry.changes[start..<min(entry.changes.count, start + PostgresTables.partSize)]
        if batch.size > 0, batch.size + piece.count > PostgresTables.partSize {
          batches.append(batch)
          batch = Batch(origin: origin)
        }
        batch.size += piece.count
        batch.positions.append(Int64(entry.place.position))
        batch.parts.append(Int64(part))
        batch.counts.append(Int64(count))
        batch.totals.append(Int64(total))
        batch.tokens.append(entry.place.token.bytes[...])
        batch.befores.append(entry.before.bytes[...])
        batch.changes.append(piece)
      }
    }
    return batches + [batch]
  }

  /// The values of the only row.
  var singleValues: [PostgresValue] {
    [
      .int(positions[0]), .int(parts[0]), .int(counts[0]), .int(totals[0]),
      .bytes([UInt8](tokens[0])), .bytes([UInt8](befores[0])), .bytes([UInt8](changes[0])),
    ]
  }

  var values: [PostgresValue] {
    [
      .ints(positions), .ints(parts), .ints(counts), .ints(totals), .byteses(tokens),
      .byteses(befores),
      .byteses(changes),
    ]
  }

  /// The rows as a query.
  static func pieces(from number: Int) -> String {
    let parameters = (number..<number + 7).map { "$\($0)" }.joined(separator: ", ")
    return """
      SELECT * FROM unnest(\(parameters)) WITH ORDINALITY
        AS p(position, part, parts, total, token, before, changes, n)
      """
  }
}
