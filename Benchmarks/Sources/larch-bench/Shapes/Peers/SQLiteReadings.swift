import Workload

final class SQLiteReadings: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS reading (id INTEGER PRIMARY KEY, sensor INTEGER NOT NULL,
      at REAL NOT NULL, value REAL NOT NULL);
    CREATE INDEX IF NOT EXISTS reading_sensor ON reading (sensor, at, value);
    """

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT id, sensor, at, value FROM reading NOT INDEXED", "iidd")])
  }

  func fingerprint() throws -> QueryResult { try scan() }

  func prepare(_ step: ReadingStep) throws -> () throws -> QueryResult {
    let inSpan = "FROM reading WHERE sensor = ? AND at >= ? AND at < ?"
    switch step {
    case .insert(let readings): return try insert(readings, each: false)
    case .insertEach(let readings): return try insert(readings, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT id, sensor, at, value FROM reading WHERE id = ?", "1iidd",
        ids.lazy.map { [.id($0)] })
    case .page(let spans, let limit):
      return try tables.read(
        "SELECT id, sensor, at, value FROM reading WHERE sensor = ? AND at < ?"
          + " ORDER BY at DESC LIMIT ?", "iidd",
        spans.lazy.map { [.integer($0.sensor), .real($0.to), .integer(limit)] })
    case .range(let spans):
      return try tables.read(
        "SELECT id, sensor, at, value \(inSpan)", "iidd", spans.lazy.map(cells))
    case .count(let spans):
      return try tables.read("SELECT count(*) \(inSpan)", "1i", spans.lazy.map(cells))
    case .countsBySensor:
      return try tables.read("SELECT sensor, count(*) FROM reading GROUP BY sensor", "ii")
    case .sum(let spans):
      return try tables.read("SELECT total(value) \(inSpan)", "1d", spans.lazy.map(cells))
    case .highest(let spans):
      return try tables.read(
        "SELECT ifnull(max(value), 0.0) \(inSpan)", "1d", spans.lazy.map(cells))
    case .update(let changes):
      let get = try tables.statement(
        "SELECT id, sensor, at, value FROM reading WHERE id = ?", "1iidd")
      let set = try tables.statement("UPDATE reading SET value = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2) { script, change in
        script.call(get, [.id(change.id)])
        script.call(set, [.real(change.value), .id(change.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM reading WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.id($1)]) }
    }
  }

  private func cells(_ span: SensorSpan) -> [Cell] {
    [.integer(span.sensor), .real(span.from), .real(span.to)]
  }

  private func insert(
    _ readings: [WorkloadReading], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement(
      "INSERT INTO reading (sensor, at, value) VALUES (?, ?, ?)", "#")
    return try tables.write(readings, each: each) { script, reading in
      script.call(insert, [.integer(reading.sensor), .real(reading.at), .real(reading.value)])
    }
  }
}
