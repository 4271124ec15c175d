package import Larch

/// A store whose log a database has.
package struct StoreOnServer: Equatable, Sendable {
  package let name: String
  package let use: LogUse
  /// The commits that it can be restored to.
  package let positions: ClosedRange<UInt64>
  /// When the oldest and the newest one came, in seconds since 1970 by the clock of the server.
  package let times: ClosedRange<Double>
}

extension PostgresLog {
  /// The stores whose logs are in the same tables, by name; nil where nobody has made the tables.
  ///
  /// - Complexity: one call of the server, which finds the newest entry of each store by the key.
  package func stores() throws -> [StoreOnServer]? {
    try call { connection in
      let rows = try connection.runOnTables(
        """
        SELECT s.name, s.shared, s.folded, n.position, extract(epoch FROM f.at)::float8,
          extract(epoch FROM n.at)::float8
        FROM \(tables("store")) s
        LEFT JOIN \(tables("log")) f ON f.era = s.era AND f.position = s.folded AND f.part = 0
        CROSS JOIN LATERAL (
          SELECT * FROM \(tables("log")) WHERE era = s.era AND part = 0 ORDER BY position DESC LIMIT 1
        ) n WHERE s.ended IS NULL ORDER BY s.name
        """, [])
      guard let rows else { return nil }
      return try (0..<rows.count).map { row in
        let (folded, newest) = (try position(rows, row, 2), try position(rows, row, 3))
        guard folded <= newest else {
          throw damage("The newest entry of the log is before its state.")
        }
        let (oldest, latest) = (try rows.double(row, 4), try rows.double(row, 5))
        return StoreOnServer(
          name: try rows.text(row, 0), use: try rows.bool(row, 1) ? .shared : .mirrored,
          positions: folded...newest, times: oldest...max(oldest, latest))
      }
    }
  }
}
