import Larch
package import Workload

struct Score: Record {
  var id = RecordID<Score>()
  var player: Int
  var points: Int

  static let schema = Schema<Score> {
    Index(\.player, \.points)
    Index(\.points)
  }
}

package final class ScoreStore: ShapeStore {
  package static var peer: String { LarchPeer.name }

  private let store: Store

  package init(path: String) throws {
    store = try Store(at: path, for: Score.self, options: LarchPeer.options)
  }

  package func close() { store.close() }
  package func scan() throws -> QueryResult { try store.scan(Score.self) }
  package func fingerprint() throws -> QueryResult { try store.scan(Score.self, .bytes) }

  package func prepare(_ step: ScoreStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let scores): return store.insert(scores.map(Score.init))
    case .insertEach(let scores): return store.insertEach(scores.map(Score.init))
    case .find(let ids): return store.find(Score.self, ids.map { RecordID($0) })
    case .page(let ranges, let limit):
      return store.fetch(ranges) { range in
        Score.where { $0.points < range.upperBound }
          .sorted(by: \.points, .descending).limit(limit)
      }
    case .range(let ranges):
      return store.fetch(ranges) { range in Score.where { range.contains($0.points) } }
    case .count(let ranges):
      return store.each(ranges) { tx, range, result in
        result.add(number: try tx.count(Score.where { range.contains($0.points) }))
      }
    case .countsByPlayer:
      return store.each([()]) { tx, _, result in
        for group in try tx.counts(by: \Score.player) {
          result.add(group: group.value, count: group.count)
        }
      }
    case .totalsByPlayer:
      let totals = Score.all.grouped(by: \.player).select(.count, .sum(\.points), .max(\.points))
      return store.each([()]) { tx, _, result in
        for (player, count, sum, best) in try tx.fetch(totals) {
          var row = RowHash()
          row.add(player)
          row.add(count)
          row.add(sum)
          row.add(best ?? 0)
          result.add(row)
        }
      }
    case .sum(let players):
      return store.each(players) { tx, player, result in
        result.add(number: try tx.sum(\.points, of: Score.where { $0.player == player }))
      }
    case .update(let changes):
      return store.update(Score.self, changes.map { (RecordID<Score>($0.id), $0.points) }) {
        $0.points = $1
      }
    case .delete(let ids): return store.delete(Score.self, ids.map { RecordID($0) })
    }
  }
}

extension Score {
  init(_ score: WorkloadScore) {
    player = score.player
    points = score.points
  }
}

extension Score: HashedRow {
  @inline(__always)
  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id.rawValue)
    row.add(player)
    row.add(points)
    result.add(row)
  }
}
