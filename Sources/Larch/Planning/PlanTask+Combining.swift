extension PlanTask {
  /// The rows of all branches of an `or`, if each branch is bounded; nil if not.
  func union(_ total: Double, _ statistics: some PlanStatistics) throws -> Candidate? {
    var best: Candidate?
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .any(let branches) = conjunct.node else { continue }
      var others = conjuncts
      others.remove(at: place)
      let rest = others.map(\.node)
      guard let found = try union(of: branches, and: rest, total, statistics) else { continue }
      if best.map({ found.rows < $0.rows }) ?? true { best = found }
    }
    return best
  }

  private func union(
    of branches: [FilterNode], and rest: [FilterNode], _ total: Double,
    _ statistics: some PlanStatistics
  ) throws -> Candidate? {
    var sources: [Plan.Source] = []
    var isExact = true
    var rows = 0.0
    var rangeCount = 0
    for branch in branches {
      let filter = try FilterNode.all([branch] + rest).normalized()
      if filter.isNever { continue }
      let nodes: [FilterNode]
      if case .all(let list) = filter { nodes = list } else { nodes = [filter] }
      let task = PlanTask(partOf: self, nodes.map { Conjunct($0) })
      guard let found = try task.fewest(total, statistics) else { return nil }
      if case .nothing = found.source { continue }
      sources.append(found.source)
      isExact = isExact && found.residue.isEmpty
      rows += found.rows
      rangeCount += found.rangeCount
    }
    guard let first = sources.first else {
      return Candidate(
        source: .nothing, residue: [], order: .any, isCovering: true, isInOrder: true,
        used: .max, checked: .max, rangeCount: 0)
    }
    let residue = isExact ? [] : conjuncts.map(\.node)
    return Candidate(
      source: sources.count == 1 ? first : .union(sources), residue: residue,
      order: order(isInOrder: false),
      isCovering: areDecidedByID(residue) && isByID && needsOnlyIDs, isInOrder: order.isAny,
      used: .max,
      checked: isExact ? .max : 0,
      rangeCount: rangeCount, rows: rows)
  }

  /// The bounded source with the fewest rows.
  private func fewest(_ total: Double, _ statistics: some PlanStatistics) throws -> Candidate? {
    var best: Candidate?
    if let ids = boundsOfID() {
      var candidate = records(ids.ranges, used: ids.used)
      candidate.rows =
        ids.isPoints
        ? Double(ids.ranges.count) : Double(try statistics.estimate(ids: ids.ranges))
      if ids.isPoints { return candidate }
      best = candidate
    }
    for match in matches(among: usable & promising) where match.used != 0 {
      guard var candidate = scan(match) else { continue }
      if case .index(let scan) = candidate.source {
        candidate.rows = Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
      }
      if best.map({ candidate.rows < $0.rows }) ?? true { best = candidate }
    }
    for var candidate in lists {
      candidate.rows = try rows(of: candidate.source, total, statistics)
      if best.map({ candidate.rows < $0.rows }) ?? true { best = candidate }
    }
    return best
  }

  /// The rows that are in two indexes, if neither alone is selective enough.
  func intersection(_ candidates: [Candidate], _ total: Double) -> Candidate? {
    var scans: [Candidate] = []
    for candidate in candidates {
      switch candidate.source {
      case .index where candidate.used != 0, .list, .search: scans.append(candidate)
      default: break
      }
    }
    guard scans.count > 1, total > 0 else { return nil }
    scans.sort { $0.passing < $1.passing }
    let first = scans[0]
    let second = scans.dropFirst().first {
      $0.used & ~first.used != 0 && !$0.source.isSame(as: first.source)
    }
    guard let second else { return nil }
    let checked = first.checked | second.checked
    var residue: [FilterNode] = []
    for (place, conjunct) in conjuncts.enumerated() where !checked.hasBit(place) {
      residue.append(conjunct.node)
    }
    return Candidate(
      source: .intersection([first.source, second.source]), residue: residue,
      order: order(isInOrder: false),
      isCovering: areDecidedByID(residue) && isByID && needsOnlyIDs,
      isInOrder: isByID, used: first.used | second.used, checked: checked, rangeCount: 2,
      rows: first.entries + second.entries,
      shared: first.passing * second.passing / total)
  }
}

extension Plan.Source {
  /// Whether both are the same entries: of two equal conditions, one adds nothing to the other.
  fileprivate func isSame(as other: Plan.Source) -> Bool {
    guard case .index(let a) = self, case .index(let b) = other else { return false }
    return a.index == b.index && a.ranges == b.ranges
  }
}
