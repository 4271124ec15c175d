extension PlanTask {
  /// The share of records for which each conjunct is true: that of an index that it alone bounds, or
  /// else estimated from its kind.
  func shares(_ candidates: [Candidate], _ total: Double) -> [Double] {
    var shares = conjuncts.map { PlanTask.share(of: $0.node) }
    if total == 0 { return shares }
    for candidate in candidates where candidate.used.nonzeroBitCount == 1 {
      let place = candidate.used.trailingZeroBitCount
      if place < shares.count { shares[place] = min(1, candidate.rows / total) }
    }
    return shares
  }

  func share(of places: UInt64, _ shares: [Double]) -> Double {
    var share = 1.0
    for (place, part) in shares.enumerated() where places.hasBit(place) { share *= part }
    return share
  }

  /// The number of records for which the whole filter is true. Of the statistics about parts of the
  /// filter, that about the most conditions leaves the least to guess, and each holds for all plans.
  func results(
    _ candidates: [Candidate], _ total: Double, _ shares: [Double]
  ) -> Double {
    var best: (count: Int, results: Double) = (-1, total)
    var most = total
    for candidate in candidates {
      let count = candidate.used.nonzeroBitCount
      let results = candidate.rows * share(of: ~candidate.used, shares)
      if count > best.count || (count == best.count && results < best.results) {
        best = (count, results)
      }
      most = min(most, candidate.rows)
    }
    return min(most, best.results)
  }

  static func share(of nodes: [FilterNode]) -> Double {
    nodes.reduce(1) { $0 * PlanTask.share(of: $1) }
  }

  private static func share(of node: FilterNode) -> Double {
    switch node {
    case .all(let nodes): nodes.reduce(1) { $0 * share(of: $1) }
    case .any(let nodes): 1 - nodes.reduce(1) { $0 * (1 - share(of: $1)) }
    case .not(let node): 1 - share(of: node)
    case .field(let filter):
      switch filter.test {
      case .equal(let values):
        if case .bool? = values.first { 0.5 } else { 0.1 }
      case .oneOf(let list): min(0.5, 0.1 * Double(list.count))
      case .within(let lower, let upper):
        lower == nil && upper == nil ? 0.9 : lower == nil || upper == nil ? 0.33 : 0.1
      case .text: 0.1
      }
    case .pair(let filter):
      if case .equal = filter.comparison { 0.1 } else { 0.33 }
    case .words: 0.1
    case .record, .related: 0.33
    }
  }
}
