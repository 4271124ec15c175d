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
  /// An id that is sorted, digit by digit.
  static let sortedID = 1.0
  /// A query, beside its rows.
  static let query = 256.0
  /// So little that it is not noticed beside the query.
  static let few = 64.0
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
    if after != nil, isByID, ids == nil { results *= candidates[0].rows / max(total, 1) }
    var best = 0
    var bestCost = cost(candidates[0], results)
    for place in candidates.indices.dropFirst() {
      let cost = cost(candidates[place], results)
      if cost < bestCost
        || (cost == bestCost && isPreferred(candidates[place], candidates[best]))
      {
        (best, bestCost) = (place, cost)
      }
    }
    if wanted != nil { best = surest(best, bestCost, candidates, results) }
    // The product of two estimates must promise much.
    if let both, 2 * cost(both, min(results, both.shared)) < bestCost {
      return plan(both)
    }
    return bounded(
      plan(best, of: both.map { candidates + [$0] } ?? candidates, results), by: candidates, total)
  }

  /// Of candidates that cost about as little as the best one, the one that costs least if all wanted
  /// rows come last: a few steps more are nothing beside the query, and a wrong guess may be much.
  private func surest(
    _ best: Int, _ bestCost: Double, _ candidates: [Candidate], _ results: Double
  ) -> Int {
    var surest = best
    var least = most(candidates[best], results)
    for place in candidates.indices where place != best {
      guard cost(candidates[place], results) <= bestCost + Cost.few else { continue }
      let most = most(candidates[place], results)
      if most < least { (surest, least) = (place, most) }
    }
    return surest
  }

  /// The plan of a candidate, with an alternative that limits its cost if it could be much higher.
  ///
  /// A plan that stops at the last wanted row is cheap if such rows are spread over the order. If
  /// all of them are at the other end, it reads everything. And the other way round: where one that
  /// reads all its rows seems cheaper, the wanted rows may still be the first of an order. So a part
  /// of the cost is first spent on that.
  private func plan(_ best: Int, of candidates: [Candidate], _ results: Double) -> Plan {
    let first = candidates[best]
    guard let wanted else { return plan(first) }
    var sure = best
    let whole = most(first, results)
    var bound = whole
    for place in candidates.indices {
      let cost = most(candidates[place], results)
      if cost < bound { (sure, bound) = (place, cost) }
    }
    if order.isAny {
      return plan(first, inTurnsWith: candidates, but: best, results, whole)
    }
    if first.isInOrder {
      if bound * PlanTask.bearable < whole {
        return plan(
          first, upTo: bound * PlanTask.turnPart, then: candidates[sure], costing: bound)
      }
      // It is expected to stop early itself.
      if cost(first, results) * PlanTask.bearable < bound { return plan(first) }
    }
    let least =
      first.isInOrder
      ? self.least(first, wanted)
      : cost(candidates[sure], results, upToLimit: false, leavingAllKeys: true)
    var trial: (candidate: Candidate, cost: Double)?
    for (place, other) in candidates.enumerated()
    where other.isInOrder && place != best && place != sure && !other.asksRelated {
      guard
        (self.least(other, wanted) + Cost.query) * PlanTask.worthTrying < least + Cost.query
      else { continue }
      let expected = cost(other, results)
      if expected < trial?.cost ?? .infinity { trial = (other, expected) }
    }
    guard let trial else { return plan(first) }
    return plan(
      trial.candidate, upTo: bound * PlanTask.trialPart, then: candidates[sure], costing: bound)
  }

  /// For rows in any order: a plan that takes turns with the one that is expected to be next best.
  private func plan(
    _ first: Candidate, inTurnsWith others: [Candidate], but best: Int, _ results: Double,
    _ whole: Double
  ) -> Plan {
    let expected = cost(first, results)
    let budget = PlanTask.turn * expected + Cost.few
    guard budget * PlanTask.bearable < whole else { return plan(first) }
    var next: (candidate: Candidate, cost: Double)?
    for (place, other) in others.enumerated() where place != best {
      let cost = cost(other, results)
      if cost < next?.cost ?? .infinity { next = (other, cost) }
    }
    guard let next else { return plan(first) }
    return plan(first, upTo: budget, then: next.candidate, costing: next.cost)
  }

  /// The cost if all wanted rows come first.
  private func least(_ candidate: Candidate, _ wanted: Int) -> Double {
    cost(candidate, max(candidate.rows, Double(wanted)))
  }

  /// The cost if all wanted rows come last. If each row is one of them, they are the first ones.
  private func most(_ candidate: Candidate, _ results: Double) -> Double {
    var isExact = candidate.isInOrder && candidate.residue.isEmpty
    if case .index(let scan) = candidate.source {
      isExact = isExact && scan.keyFilter.isEmpty && isInOrderOfKeys(candidate, scan)
    }
    return isExact
      ? cost(candidate, candidate.rows) : cost(candidate, results, upToLimit: false)
  }

  /// Whether no rows of several keys are put into order.
  private func isInOrderOfKeys(_ candidate: Candidate, _ scan: Plan.IndexScan) -> Bool {
    guard case .byIndex(let components, _, _) = candidate.order else { return true }
    return components == schema.indexes[scan.index].fields.count
  }

  private func plan(
    _ first: Candidate, upTo bound: Double, then other: Candidate, costing work: Double
  ) -> Plan {
    var plan = plan(first)
    plan.otherwise = Plan.Otherwise(
      source: other.source, residue: other.residue, order: other.order,
      records: Int(bound) / first.source.rowWork, entries: Int(bound), work: work)
    return plan
  }

  /// A plan is abandoned when it may cost this many times as much as the alternative.
  private static let bearable = 2.0
  /// The part of the cost of the alternative after which it has its turn: with all of it, both would
  /// cost more than twice as much as the alternative alone.
  private static let turnPart = 0.8
  /// How many times as much as the first rows of an order a plan may cost before these are tried.
  private static let worthTrying = 3.5
  /// The part of the cost of the other plan that is spent on that.
  private static let trialPart = 0.33
  /// How many times as much as expected a plan may cost before another one has its turn.
  private static let turn = 2.0

  /// Every candidate except intersections, with its number of rows.
  private func candidates(
    _ matches: [IndexMatch], _ lists: [Candidate], _ ids: IDRanges?, _ total: Double,
    _ statistics: some PlanStatistics
  ) throws -> [Candidate] {
    var candidates: [Candidate] = []
    if let ids {
      var candidate = records(ids.ranges, used: ids.used)
      candidate.rows =
        ids.isPoints
        ? min(total, Double(ids.ranges.count)) : Double(try statistics.estimate(ids: ids.ranges))
      candidates.append(candidate)
    } else {
      var candidate = records(nil, used: 0)
      candidate.rows = total
      candidates.append(candidate)
    }
    // Of rows in the order of ids, only those behind the token are read.
    if after != nil, isByID, case .records(let ranges) = candidates[0].source {
      candidates[0].rows = Double(try statistics.estimate(ids: ranges))
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
  ///   - allKeys: whether the filter on the keys leaves all of them, at worst.
  private func cost(
    _ candidate: Candidate, _ results: Double, upToLimit endsEarly: Bool = true,
    leavingAllKeys allKeys: Bool = false
  ) -> Double {
    let wanted = wanted.map(Double.init) ?? .infinity
    let part = candidate.isInOrder && endsEarly ? min(1, wanted / max(results, 0.5)) : 1
    var read = candidate.rows * part
    // A group of keys is put into order before its first row is known; how many there are is not.
    if part < 1, case .index(let scan) = candidate.source, !isInOrderOfKeys(candidate, scan) {
      read = max(read, candidate.rows.squareRoot())
    }
    var cost = Double(candidate.rangeCount) * Cost.range
    var keysLeft = read
    switch candidate.source {
    case .nothing: return 0
    case .records(let ranges):
      if candidate.isCovering, ranges.count == 1, ranges[0].isEverything, order.isAny { return 1 }
      cost += read * Cost.nextRecord
    case .index(let scan):
      cost += read
      keysLeft =
        allKeys ? read : max(results * part, read * PlanTask.share(of: scan.keyFilter))
    case .list, .union: cost += read
    case .intersection(let parts):
      // The ids of each part are sorted, except those of one whole key.
      cost += candidate.rows * (parts.allSatisfy { $0.isPoint } ? 1 : 1 + Cost.sort * 16)
      keysLeft = results
    }
    let found = results * part
    // Ids are sorted before their records are read, so not all of these are read.
    if isByID, !candidate.isInOrder, endsEarly { keysLeft *= min(1, wanted / max(results, 0.5)) }
    if !candidate.residue.isEmpty { cost += keysLeft * Cost.check }
    if case .records = candidate.source {
      if !candidate.isInOrder { cost += min(found, wanted) * Cost.record }
    } else if !candidate.isCovering {
      let isReadLate =
        !candidate.isInOrder && candidate.residue.isEmpty
        && (isByID || isSorted(byKeysOf: candidate))
      cost += (isReadLate ? min(keysLeft, wanted) : keysLeft) * Cost.record
    }
    if !candidate.isInOrder {
      cost += isByID ? found * Cost.sortedID : found * log2(min(found, wanted) + 2) * Cost.sort
    }
    return cost
  }

  /// Whether the keys of the index have all fields of the order, so that only wanted rows are read.
  private func isSorted(byKeysOf candidate: Candidate) -> Bool {
    guard case .index(let scan) = candidate.source, case .terms(let terms, _) = order else {
      return false
    }
    return terms.allSatisfy { term in
      schema.indexes[scan.index].fields.contains {
        $0.form.isSingle && !$0.isMultiple && $0.isFolded == term.ignoresCase
          && $0.holds(term.field)
      }
    }
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

extension Candidate {
  /// Whether rows are tested by related records, which costs more than a test of their own fields.
  fileprivate var asksRelated: Bool { residue.contains(where: \.asksRelated) }
}
