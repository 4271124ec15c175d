package import Larch

extension PostgresLog {
  /// The bytes of changes that one step applies, about, and of one statement.
  private static let step = 4 << 20

  package func fold(through position: UInt64, olderThan seconds: Double) throws -> LogPlace {
    let age = Int64(min(max(seconds, 0), 1e9) * 1000)
    try? removeOldEras()
    // A step at a time, so that a long fold holds nothing up, and what was done stays done.
    while true {
      let step = try transaction(.changing, lock: storeLock) {
        try fold(through: position, age: age, $0)
      }
      guard let step else { throw neverBegun }
      if step.isLast { return step.place }
    }
  }

  /// - Parameter age: in milliseconds; newer entries stay.
  /// - Returns: the place of the state; nil if the log was never begun.
  private func fold(
    through position: UInt64, age: Int64, _ connection: PostgresConnection
  ) throws -> (place: LogPlace, isLast: Bool)? {
    guard let era = try knownEra(connection) else { return nil }
    let folded = era.folded
    let end = min(position, era.newest.position)
    guard end > folded.position else { return (folded, true) }
    let clock = try connection.run(
      """
      SELECT extract(epoch FROM clock_timestamp() - $3 * interval '1 millisecond')::float8,
        extract(epoch FROM at)::float8
      FROM \(tables("log")) WHERE era = $1 AND position = $2 AND part = 0
      """, [.int(era.era), .int(Int64(folded.position) + 1), .int(age)])
    guard clock.count == 1 else {
      throw damage("An entry of the log is missing.", "position \(folded.position + 1)")
    }
    // Most calls find nothing that is old enough, and read no more than this.
    let limit = try clock.double(0, 0)
    guard try clock.double(0, 1) <= limit else { return (folded, true) }
    let rows = try connection.run(
      """
      SELECT l.position, l.part, l.parts, l.token, l.before, l.changes, extract(epoch FROM l.at)::float8
      FROM \(tables("log")) a JOIN \(tables("log")) l ON l.era = a.era AND l.position > a.position
      WHERE a.era = $1 AND a.position = $2 AND a.part = 0 AND l.position <= least($3, $2 + 4096)
        AND (l.position = $2 + 1 OR l.total - a.total <= \(Self.step))
      ORDER BY l.position, l.part
      """, [.int(era.era), .int(Int64(folded.position)), .int(Int64(end))])
    let read = try readEntries(rows, after: folded, from: 0)
    let entries = read.prefix { ($0.time ?? 0) <= limit }
    guard let last = entries.last else {
      throw damage("An entry of the log is missing.", "position \(folded.position + 1)")
    }
    var changes = StateChanges(try trees(of: era.era, connection))
    for entry in entries {
      do {
        try entry.changes.withUnsafeBytes { try changes.add($0) }
      } catch {
        throw damage(
          "The changes of an entry cannot be applied: they are none, or not those of this state.",
          "position \(entry.place.position)")
      }
    }
    try apply(changes, to: era.era, connection)
    try connection.run(
      "UPDATE \(tables("store")) SET folded = $2 WHERE era = $1",
      [.int(era.era), .int(Int64(last.place.position))])
    // The entry of the state stays: the next one is compared with it.
    try connection.run(
      "DELETE FROM \(tables("log")) WHERE era = $1 AND position < $2",
      [.int(era.era), .int(Int64(last.place.position))])
    return (last.place, last.place.position >= end || entries.count < read.count)
  }

  private func knownEra(_ connection: PostgresConnection) throws -> Era? {
    let rows = try connection.runOnTables(
      "SELECT FROM \(tables("store")) WHERE name = $1 AND ended IS NULL", [.text(store)])
    guard let rows, rows.count > 0 else { return nil }
    return try era(connection)
  }

  /// First what goes as a whole, then what goes, then what comes.
  private func apply(
    _ changes: StateChanges, to era: Int64, _ connection: PostgresConnection
  ) throws {
    let gone = changes.emptied.union(changes.dropped).map(Int64.init)
    if !gone.isEmpty {
      for table in ["cell", "pair"] {
        try connection.deleteInSteps(
          from: tables(table),
          "SELECT ctid FROM \(tables(table)) WHERE era = $1 AND tree = ANY ($2)",
          [.int(era), .ints(gone)])
      }
    }
    if !changes.dropped.isEmpty {
      try connection.run(
        "DELETE FROM \(tables("tree")) WHERE era = $1 AND tree = ANY ($2)",
        [.int(era), .ints(changes.dropped.map(Int64.init))])
    }
    let trees = changes.newTrees
    if !trees.isEmpty {
      try connection.run(
        """
        INSERT INTO \(tables("tree")) (era, tree, name, flags)
        SELECT $1, number, name, flags FROM unnest($2, $3, $4) AS t(number, name, flags)
        """,
        [
          .int(era), .ints(trees.map { Int64($0.number) }), .texts(trees.map(\.name)),
          .ints(trees.map { Int64($0.flags) }),
        ])
    }
    // A key may have had millions of values.
    try inParts(changes.cleared.map { ($0.tree, $0.key, []) }, era, hasValues: false) {
      try connection.deleteInSteps(
        from: tables("pair"),
        """
        SELECT p.ctid FROM \(tables("pair")) p, unnest($2, $3) AS t(tree, key)
        WHERE p.era = $1 AND p.tree = t.tree AND p.key = t.key
        """, $0)
    }
    try apply(
      changes.cells.filter { $0.value == nil }.map { ($0.key.tree, $0.key.key, []) }, era,
      connection,
      """
      DELETE FROM \(tables("cell")) c USING unnest($2, $3) AS t(tree, key)
      WHERE c.era = $1 AND c.tree = t.tree AND c.key = t.key
      """, hasValues: false)
    try apply(
      changes.pairs.filter { !$0.value }.map { ($0.key.tree, $0.key.key, $0.key.value) }, era,
      connection,
      """
      DELETE FROM \(tables("pair")) p USING unnest($2, $3, $4) AS t(tree, key, value)
      WHERE p.era = $1 AND p.tree = t.tree AND p.key = t.key AND p.value = t.value
      """)
    try apply(
      changes.cells.compactMap { cell in cell.value.map { (cell.key.tree, cell.key.key, $0) } },
      era,
      connection,
      """
      INSERT INTO \(tables("cell")) (era, tree, key, value)
      SELECT $1, tree, key, value FROM unnest($2, $3, $4) AS t(tree, key, value)
      ON CONFLICT (era, tree, key) DO UPDATE SET value = excluded.value
      """)
    try apply(
      changes.pairs.filter(\.value).map { ($0.key.tree, $0.key.key, $0.key.value) }, era,
      connection,
      """
      INSERT INTO \(tables("pair")) (era, tree, key, value)
      SELECT $1, tree, key, value FROM unnest($2, $3, $4) AS t(tree, key, value)
      ON CONFLICT DO NOTHING
      """)
  }

  private typealias Row = (tree: Int32, key: [UInt8], value: [UInt8])

  /// Runs a statement for rows, as often as their size needs it.
  private func apply(
    _ rows: [Row], _ era: Int64, _ connection: PostgresConnection, _ statement: String,
    hasValues: Bool = true
  ) throws {
    try inParts(rows, era, hasValues: hasValues) { try connection.run(statement, $0) }
  }

  /// Calls with the rows as values of a statement, as many at a time as one statement takes.
  private func inParts(
    _ rows: [Row], _ era: Int64, hasValues: Bool, _ body: ([PostgresValue]) throws -> Void
  ) throws {
    var start = 0
    while start < rows.count {
      var end = start
      var size = 0
      repeat {
        size += rows[end].key.count + rows[end].value.count
        end += 1
      } while end < rows.count && size < Self.step && end - start < 65536
      let part = rows[start..<end]
      try body(
        [
          .int(era), .ints(part.map { Int64($0.tree) }), .byteses(part.map { $0.key[...] }),
        ] + (hasValues ? [.byteses(part.map { $0.value[...] })] : []))
      start = end
    }
  }
}
