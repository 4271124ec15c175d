/// The expected cost of a plan, in steps from one key of an index to the next.
struct PlanCost {
  /// The number of rows that are read.
  var rows: Double
  /// The number of these that are in the result.
  var results: Double
  var work: Double
}

extension Plan {
  /// The expected cost of the plan, to compare a part of a query with another.
  func expectedCost(_ statistics: some PlanStatistics) throws -> PlanCost {
    let rows = try entries(of: source, statistics)
    var results = rows * PlanTask.share(of: residue)
    if case .index(let scan) = source { results *= PlanTask.share(of: scan.keyFilter) }
    var read = rows
    if let limit, isInOrder {
      let wanted = Double(limit) + Double(offset)
      // Nothing is read after the last wanted row.
      read = min(rows, rows * wanted / max(results, 1))
      results = min(results, wanted)
    }
    let step: Double
    switch source {
    case .nothing: step = 0
    case .records: step = isCovering ? 1 : 3
    case .index, .list, .search, .union, .intersection: step = isCovering ? 1 : 11
    }
    var work = 10 + read * step
    // In the worst case, the first plan up to its limit, and then the alternative.
    if let otherwise { work = min(work, 10 + Double(otherwise.entries) + otherwise.work) }
    return PlanCost(rows: read, results: results, work: work)
  }

  /// Whether rows come in the required order, so that nothing is read after the last one.
  var isInOrder: Bool {
    switch (order, source) {
    case (.sorted, _), (_, .intersection): false
    case (.byID, .search): false
    case (.any, _), (.byIndex, _), (.byID, .nothing), (.byID, .records): true
    case (.byID, .index(let scan)): scan.isPoints && scan.ranges.count <= 1
    case (.byID, .list(let scan)): scan.ids.count <= 1
    case (.byID, .union): false
    }
  }

  private func entries(of source: Source, _ statistics: some PlanStatistics) throws -> Double {
    switch source {
    case .nothing: return 0
    case .records(let ranges):
      let total = Double(try statistics.recordCount())
      if ranges.count == 1, ranges[0].isEverything { return total }
      let arePoints = ranges.allSatisfy { $0.upper == $0.lower + [0] }
      return arePoints
        ? min(total, Double(ranges.count)) : Double(try statistics.estimate(ids: ranges))
    case .index(let scan):
      return Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
    case .list(let scan): return Double(try statistics.estimate(scan))
    case .search(let scan): return Double(try statistics.estimate(scan))
    case .union(let parts): return try parts.reduce(0) { try $0 + entries(of: $1, statistics) }
    case .intersection(let parts):
      return try parts.reduce(.infinity) { try min($0, entries(of: $1, statistics)) }
    }
  }
}

extension Plan.Source {
  /// The cost of a row with its record, and of the test of a filter.
  var rowWork: Int {
    switch self {
    case .nothing, .records: 3
    case .index, .list, .search, .union, .intersection: 12
    }
  }
}
