#if BENCH_GRDB
  import GRDB
  import Workload

  private struct Score: Codable, GRDBRecord {
    static let databaseTableName = "score"

    var id: Int64?
    var player: Int
    var points: Int

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    init(_ score: WorkloadScore) { (player, points) = (score.player, score.points) }

    func add(to result: inout QueryResult, _ depth: HashDepth) {
      var row = RowHash()
      row.add(id ?? 0)
      row.add(player)
      row.add(points)
      result.add(row)
    }
  }

  final class GRDBScores: GRDBShape {
    let queue: DatabaseQueue

    init(path: String) throws {
      queue = try DatabaseQueue(benchmark: path, SQLiteScores.schema)
    }

    func scan() throws -> QueryResult { try queue.scan(Score.self) }
    func fingerprint() throws -> QueryResult { try queue.scan(Score.self, .bytes) }

    func prepare(_ step: ScoreStep) throws -> () throws -> QueryResult {
      let points = Column("points")
      switch step {
      case .insert(let scores):
        return queue.change(scores.map(Score.init)) { db, score in _ = try score.inserted(db) }
      case .insertEach(let scores):
        return queue.change(scores.map(Score.init), each: true) { db, score in
          _ = try score.inserted(db)
        }
      case .find(let ids): return queue.find(Score.self, ids)
      case .page(let ranges, let limit):
        return queue.fetch(ranges) {
          Score.filter(points < $0.upperBound).order(points.desc).limit(limit)
        }
      case .range(let ranges):
        return queue.fetch(ranges) {
          Score.filter(points >= $0.lowerBound && points < $0.upperBound)
        }
      case .count(let ranges):
        return queue.each(ranges) { db, range, result in
          let scores = Score.filter(points >= range.lowerBound && points < range.upperBound)
          result.add(number: try scores.fetchCount(db))
        }
      case .countsByPlayer:
        return queue.groups("SELECT player, count(*) FROM score GROUP BY player")
      case .totalsByPlayer:
        return queue.each([()]) { db, _, result in
          let rows = try Row.fetchCursor(
            db,
            sql:
              "SELECT player, count(*), sum(points), max(points) FROM score GROUP BY player")
          while let row = try rows.next() {
            var hash = RowHash()
            for place in 0..<4 { hash.add(row[place] as Int) }
            result.add(hash)
          }
        }
      case .sum(let players):
        return queue.each(players) { db, player, result in
          let sum = Score.filter(Column("player") == player).select(sum(points), as: Int.self)
          result.add(number: try sum.fetchOne(db) ?? 0)
        }
      case .update(let changes):
        return queue.update(Score.self, changes.map { ($0.id, $0.points) }) { $0.points = $1 }
      case .delete(let ids): return queue.delete(Score.self, ids)
      }
    }
  }
#endif
