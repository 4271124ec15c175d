/// Tiny records: two numbers.
package struct Scores: Shape {
  package static let number: UInt64 = 5

  /// Points are a level and, so that no two records have the same, the index.
  static let levels = 1 << 20

  package let count: Int

  package init(size: Int) {
    count = size
  }

  package var players: Int { max(1, count / 20) }

  package func record(_ index: Int) -> WorkloadScore {
    var stream = RandomStream(shape: Self.number, record: index)
    return WorkloadScore(
      id: Int64(index), player: stream.below(players),
      points: stream.below(Self.levels) << 25 | index << 1)
  }

  package func ids(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  package func players(_ number: Int, _ operation: UInt64) -> [Int] {
    var stream = stream(operation)
    return (0..<number).map { _ in stream.below(players) }
  }

  /// Ranges of points that hold so many of the records.
  package func ranges(_ number: Int, scores: Int, _ operation: UInt64) -> [Range<Int>] {
    var stream = stream(operation)
    let width = min(Self.levels, max(1, Self.levels / count * scores))
    return (0..<number).map { _ in
      let from = stream.below(Self.levels - width + 1)
      return (from << 25)..<(from + width) << 25
    }
  }

  package func changes(_ number: Int, _ operation: UInt64) -> [(id: Int64, points: Int)] {
    distinctIndexes(number, operation).map { (Int64($0), record($0).points + 1) }
  }
}

package struct WorkloadScore: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var player: Int
  package var points: Int

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(player)
    row.add(points)
    result.add(row)
  }
}

package enum ScoreStep {
  case insert([WorkloadScore])
  case insertEach([WorkloadScore])
  case find([Int64])
  /// The most points below the end of each range.
  case page([Range<Int>], limit: Int)
  case range([Range<Int>])
  case count([Range<Int>])
  case countsByPlayer
  /// The number of scores of each player, their sum, and the best.
  case totalsByPlayer
  /// The points of each player.
  case sum([Int])
  case update([(id: Int64, points: Int)])
  case delete([Int64])
}
