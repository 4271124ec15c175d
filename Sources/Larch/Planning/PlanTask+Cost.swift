internal import Foundation

// Costs are in steps from one key of an index to the next. They were measured with a million
// records and rounded: only large differences decide.
private enum Cost {
  /// A look-up of a record by its id.
  static let record = 10.0
  /// A step to the next record of the collection.
  static let nextRecord = 2.0
  /// A check of a filter on a record.
  static let check = 1.0
  /// A look-up in an index.
  static let range = 10.0
  /// A step of a sort, taken n log n times.
  static let sort = 0.3
}

extension PlanTask {
  /// The cheapest of all plans, by statistics.
  func cheapest(
    _ matches: [IndexMatch], _ lists: [Candidate], _ ids: IDRanges?,
    _ statistics: some PlanStatistics
  ) throws -> Plan {
    let total = Double(try statistics.recordCount())
    let candidates = try candidates(matches, lists, ids, total, statistics)
    let both = intersection(candidates, total)
    // A statistic about a part of the filter holds for every plan.
    var results = total
    for candidate in candidates {
      results = min(results, candidate.rows * share(of: ~candidate.used))
    }
    var best = candidates[0]
    var bestCost = cost(best, results)
    for candidate in candidates.dropFirst() {
      let cost = cost(candidate, results)
      if cost < bestCost || (cost == bestCost && isPreferred(candidate, best)) {
        best = candidate
        bestCost = cost
      }
    }
    // The product of two estimates must promise much.
    if let both, 2 * cost(both, min(results, both.shared)) < bestCost {
      return plan(both)
    }
    return plan(best, or: candidates, results)
  }

  /// The plan of a candidate, with an alternative that limits its cost if it could be much higher.
  ///
  /// A plan that stops at the last wanted row is cheap if such rows are spread over the order. If
  /// all of them are at the other end, it reads everything.
  private func plan(_ best: Candidate, or others: [Candidate], _ results: Double) -> Plan {
    var plan = plan(best)
    guard wanted != nil, best.isInOrder, !best.isCovering, !order.isAny else { return plan }
    let whole = cost(best, results, upToLimit: false)
    var bound = Double.infinity
    for other in others {
      let cost = cost(other, results, upToLimit: false)
      if cost * PlanTask.bearable < whole, cost < bound {
        bound = cost
        plan.otherwise = Plan.Otherwise(
          source: other.source, residue: other.residue, order: other.order, records: 0, entries: 0)
      }
    }
    let record =
      if case .records = best.source { Cost.nextRecord + Cost.check } else {
        1 + Cost.record + Cost.check
      }
    plan.otherwise?.records = Int(bound / record)
    plan.otherwise?.entries = Int(bound)
    return plan
  }

  /// A plan is abandoned when it may cost this many times as much as the alternative.
  private static let bearable = 3.0

  /// Every candidate except intersections, with its number of rows.
  private func candidates(
    _ matches: [IndexMatch], _ lists: [Candidate], _ ids: IDRanges?, _ total: Double,
    _ statistics: some PlanStatistics
  ) throws -> [Candidate] {
    var candidates: [Candidate] = []
    if let ids {
      var candidate = records(ids.ranges, used: ids.used)
      candidate.rows =
        ids.isPoints ? min(total, Double(ids.ranges.count)) : total * share(of: ids.used)
      candidates.append(candidate)
    } else {
      var candidate = records(nil, used: 0)
      candidate.rows = total
      candidates.append(candidate)
    }
    for match in matches {
      guard var candidate = scan(match) else { continue }
      candidate.rows = try rows(of: candidate.source, total, statistics)
      candidates.append(candidate)
    }
    for var candidate in lists {
      candidate.rows = try rows(of: candidate.source, total, statistics)
      candidates.append(candidate)
    }
    if let union = try union(total, statistics) { candidates.append(union) }
    return candidates
  }

  private func isPreferred(_ a: Candidate, _ b: Candidate) -> Bool {
    if a.rangeCount != b.rangeCount { return a.rangeCount < b.rangeCount }
    guard case .index(let first) = a.source, case .index(let second) = b.source else {
      return false
    }
    return schema.indexes[first.index].name < schema.indexes[second.index].name
  }

  private func rows(
    of source: Plan.Source, _ total: Double, _ statistics: some PlanStatistics
  ) throws -> Double {
    switch source {
    case .nothing: 0
    case .records: total
    case .index(let scan):
      scan.ranges.count == 1 && scan.ranges[0].isEverything
        ? total : Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
    case .list(let scan): Double(try statistics.estimate(scan))
    case .union(let parts):
      try parts.reduce(0) { try $0 + rows(of: $1, total, statistics) }
    case .intersection(let parts):
      try parts.reduce(total) { try min($0, rows(of: $1, total, statistics)) }
    }
  }

  /// - Parameters:
  ///   - results: the number of records for which the whole filter is true.
  ///   - endsEarly: whether reading stops after the wanted rows, if rows come in order.
  private func cost(
    _ candidate: Candidate, _ results: Double, upToLimit endsEarly: Bool = true
  ) -> Double {
    let wanted = wanted.map(Double.init) ?? .infinity
    let part = candidate.isInOrder && endsEarly ? min(1, wanted / max(results, 0.5)) : 1
    let read = candidate.rows * part
    var cost = Double(candidate.rangeCount) * Cost.range
    var keysLeft = read
    switch candidate.source {
    case .nothing: return 0
    case .records(let ranges):
      if candidate.isCovering, ranges.count == 1, ranges[0].isEverything, order.isAny { return 1 }
      cost += read * Cost.nextRecord
    case .index(let scan):
      cost += read
      keysLeft = max(results * part, read * PlanTask.share(of: scan.keyFilter))
    case .list, .union: cost += read
    case .intersection(let parts):
      // The ids of each part are sorted, except those of one whole key.
      cost += candidate.rows * (parts.allSatisfy { $0.isPoint } ? 1 : 1 + Cost.sort * 16)
      keysLeft = results
    }
    let found = results * part
    if !candidate.residue.isEmpty { cost += keysLeft * Cost.check }
    if case .records = candidate.source {
      if !candidate.isInOrder { cost += min(found, wanted) * Cost.record }
    } else if !candidate.isCovering {
      let isReadLate = !candidate.isInOrder && candidate.residue.isEmpty && isByID
      cost += (isReadLate ? min(keysLeft, wanted) : keysLeft) * Cost.record
    }
    if !candidate.isInOrder {
      cost += found * log2(min(found, wanted) + 2) * Cost.sort
    }
    return cost
  }

  // MARK: Shares

  /// The share of records for which the conjuncts are true, estimated from their kind alone.
  private func share(of places: UInt64) -> Double {
    var share = 1.0
    for (place, conjunct) in conjuncts.enumerated() where places.hasBit(place) {
      share *= PlanTask.share(of: conjunct.node)
    }
    return share
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
    case .record, .related: 0.33
    }
  }
}

extension Plan.Source {
  /// One whole key, whose ids are in order.
  fileprivate var isPoint: Bool {
    switch self {
    case .index(let scan): scan.isPoints && scan.ranges.count == 1
    case .list(let scan): scan.ids.count == 1
    case .nothing, .records, .union, .intersection: false
    }
  }
}
