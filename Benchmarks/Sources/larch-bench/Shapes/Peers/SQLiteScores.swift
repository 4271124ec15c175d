import Workload

final class SQLiteScores: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS score (id INTEGER PRIMARY KEY, player INTEGER NOT NULL,
      points INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS score_player ON score (player, points);
    CREATE INDEX IF NOT EXISTS score_points ON score (points);
    """

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT id, player, points FROM score NOT INDEXED", "iii")])
  }

  func fingerprint() throws -> QueryResult { try scan() }

  func prepare(_ step: ScoreStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let scores): return try insert(scores, each: false)
    case .insertEach(let scores): return try insert(scores, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT id, player, points FROM score WHERE id = ?", "1iii", ids.lazy.map { [.id($0)] })
    case .page(let ranges, let limit):
      return try select(
        "WHERE points < ? ORDER BY points DESC LIMIT ?",
        ranges.lazy.map { [.integer($0.upperBound), .integer(limit)] })
    case .range(let ranges):
      return try select("WHERE points >= ? AND points < ?", ranges.lazy.map(cells))
    case .count(let ranges):
      return try tables.read(
        "SELECT count(*) FROM score WHERE points >= ? AND points < ?", "1i",
        ranges.lazy.map(cells))
    case .countsByPlayer:
      return try tables.read("SELECT player, count(*) FROM score GROUP BY player", "ii")
    case .totalsByPlayer:
      return try tables.read(
        "SELECT player, count(*), sum(points), max(points) FROM score GROUP BY player", "iiii")
    case .sum(let players):
      return try tables.read(
        "SELECT ifnull(sum(points), 0) FROM score WHERE player = ?", "1i",
        players.lazy.map { [.integer($0)] })
    case .update(let changes):
      let get = try tables.statement("SELECT id, player, points FROM score WHERE id = ?", "1iii")
      let set = try tables.statement("UPDATE score SET points = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2) { script, change in
        script.call(get, [.id(change.id)])
        script.call(set, [.integer(change.points), .id(change.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM score WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.id($1)]) }
    }
  }

  private func cells(_ range: Range<Int>) -> [Cell] {
    [.integer(range.lowerBound), .integer(range.upperBound)]
  }

  private func select(
    _ rest: String, _ values: some Sequence<[Cell]>
  ) throws -> () throws -> QueryResult {
    try tables.read("SELECT id, player, points FROM score \(rest)", "iii", values)
  }

  private func insert(
    _ scores: [WorkloadScore], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement("INSERT INTO score (player, points) VALUES (?, ?)", "#")
    return try tables.write(scores, each: each) { script, score in
      script.call(insert, [.integer(score.player), .integer(score.points)])
    }
  }
}
