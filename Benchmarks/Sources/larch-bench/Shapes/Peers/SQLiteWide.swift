import Workload

final class SQLiteWide: SQLiteShape {
  private static let numbers = (0..<WideRecords.numbers).map { "n\($0)" }
  private static let reals = (0..<WideRecords.reals).map { "r\($0)" }
  private static let texts = (0..<WideRecords.texts).map { "t\($0)" }
  static let schema =
    "CREATE TABLE IF NOT EXISTS wide (id INTEGER PRIMARY KEY, "
    + (numbers.map { $0 + " INTEGER NOT NULL" } + reals.map { $0 + " REAL NOT NULL" }
    + texts.map { $0 + " TEXT NOT NULL" }).joined(separator: ", ")
    + "); CREATE INDEX IF NOT EXISTS wide_region ON wide (t0, n0, n1);"
  private static let fields = (["id"] + numbers + reals + texts).joined(separator: ", ")

  private static func columns(_ text: String) -> String {
    "i" + String(repeating: "i", count: numbers.count) + String(repeating: "d", count: reals.count)
      + String(repeating: text, count: texts.count)
  }

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM wide", Self.columns("t"))])
  }

  func fingerprint() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM wide", Self.columns("h"))])
  }

  func prepare(_ step: WideStep) throws -> () throws -> QueryResult {
    let inPlace = "FROM wide WHERE t0 = ? AND n0 >= ? AND n0 < ?"
    switch step {
    case .insert(let records): return try insert(records, each: false)
    case .insertEach(let records): return try insert(records, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT \(Self.fields) FROM wide WHERE id = ?", "1" + Self.columns("t"),
        ids.lazy.map { [.id($0)] })
    case .page(let places, let limit):
      return try tables.read(
        "SELECT \(Self.fields) FROM wide WHERE t0 = ? AND n0 >= ? ORDER BY n0, n1, id LIMIT ?",
        Self.columns("t"),
        places.lazy.map { [.text($0.region), .integer($0.grade), .integer(limit)] })
    case .range(let places):
      return try tables.read("SELECT t0, n0, n1 \(inPlace)", "tii", places.lazy.map(cells))
    case .count(let places):
      return try tables.read("SELECT count(*) \(inPlace)", "1i", places.lazy.map(cells))
    case .countsByRegion:
      return try tables.read("SELECT t0, count(*) FROM wide GROUP BY t0", "hi")
    case .sum(let places):
      return try tables.read(
        "SELECT ifnull(sum(n1), 0) \(inPlace)", "1i", places.lazy.map(cells))
    case .filter(let limit):
      return try tables.read(
        "SELECT t0, n0, n1 FROM wide WHERE n2 < ?", "tii", [[.integer(limit)]])
    case .update(let changes):
      let get = try tables.statement(
        "SELECT \(Self.fields) FROM wide WHERE id = ?", "1" + Self.columns("t"))
      let set = try tables.statement("UPDATE wide SET n0 = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2) { script, change in
        script.call(get, [.id(change.id)])
        script.call(set, [.integer(change.grade), .id(change.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM wide WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.id($1)]) }
    }
  }

  private func cells(_ place: WidePlace) -> [Cell] {
    [.text(place.region), .integer(place.grade), .integer(place.grade + 10)]
  }

  private func insert(
    _ records: [WorkloadWide], each: Bool
  ) throws -> () throws -> QueryResult {
    let names = Self.numbers + Self.reals + Self.texts
    let insert = try tables.statement(
      "INSERT INTO wide (\(names.joined(separator: ", ")))"
        + " VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))", "#")
    return try tables.write(records, each: each) { script, record in
      script.call(
        insert,
        record.numbers.map(Cell.integer) + record.reals.map(Cell.real)
          + record.texts.map(Cell.text))
    }
  }
}
