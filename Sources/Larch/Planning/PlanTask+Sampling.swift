extension PlanTask {
  /// What a sample of rows tells.
  struct Sampled {
    /// The estimated number of records for which the whole filter is true.
    let results: Double
    fileprivate let sample: PlanSample
    /// The source of the sample.
    fileprivate let source: Candidate

    /// The estimated number of rows that are in both sources of an intersection.
    func rows(of both: Candidate?, _ results: Double) -> Double {
      guard let both else { return results }
      let places = both.checked & ~source.checked & sample.decided
      return max(
        results, min(both.shared, source.passing * sample.share(of: places, guess: 1)))
    }
  }

  /// A query that costs less at most is not worth a sample, in steps.
  static var worthSampling: Double { 512 }
  /// The same for the most that a query costs which is expected to cost less.
  private static var riskWorthSampling: Double { 1_500 }
  /// A row of a sample costs about this many steps, and the cost of the query is the multiple.
  private static var costOfRow: Double { 64 }
  private static var sampledRows: ClosedRange<Double> { 8...24 }
  /// How many times more or fewer results than expected there may be.
  private static var doubt: Double { 10 }

  /// Samples the keys of scans, and the rows of the source with the fewest, if that may change the
  /// choice.
  ///
  /// Conditions depend on each other, and how often they are true is not known without an index. A
  /// few rows tell it well enough where a wrong guess would cost much.
  ///
  /// - Returns: nil if nothing was sampled.
  func sampled(
    _ candidates: inout [Candidate], and both: Candidate?, _ results: Double, _ best: Int,
    _ shares: [Double], _ statistics: some PlanStatistics
  ) throws -> Sampled? {
    guard candidates.count > 1 else { return nil }
    let expected = cost(candidates[best], results)
    if expected < PlanTask.worthSampling {
      // Plans that take turns cost little more than the best of them.
      guard wanted != nil, !order.isAny,
        candidates.allSatisfy({ most($0, results) >= PlanTask.riskWorthSampling })
      else { return nil }
    }
    var isSampled = false
    for place in candidates.indices {
      guard let facts = try facts(of: candidates[place], shares, statistics) else { continue }
      candidates[place].keys = facts
      isSampled = true
    }
    var fewest: Candidate?
    for candidate in candidates {
      switch candidate.source {
      case .index, .records: break
      case .nothing, .list, .search, .union, .intersection: continue
      }
      if candidate.passing < fewest?.passing ?? .infinity { fewest = candidate }
    }
    guard let fewest else { return nil }
    var found = min(results, fewest.passing)
    var sample = PlanSample()
    let rest = allPlaces & ~fewest.checked
    if rest != 0, isSensitive(candidates, both, found, fewest, rest.nonzeroBitCount) {
      let count = expected / PlanTask.costOfRow
      let bounds = PlanTask.sampledRows
      guard
        let rows = try statistics.sample(
          fewest.source, conjuncts.map(\.node),
          rows: Int(min(max(count, bounds.lowerBound), bounds.upperBound)))
      else { return nil }
      isSampled = true
      sample = rows
      found =
        fewest.passing
        * sample.share(
          of: rest, guess: share(of: rest & sample.decided & ~fewest.used, shares))
        * share(of: rest & ~sample.decided, shares)
    }
    for candidate in candidates { found = min(found, candidate.passing) }
    return isSampled ? Sampled(results: found, sample: sample, source: fewest) : nil
  }

  /// What the keys of a scan, or of the scans of a union, are; nil if that is known or not worth a
  /// sample.
  private func facts(
    of candidate: Candidate, _ shares: [Double], _ statistics: some PlanStatistics
  ) throws -> KeyFacts? {
    switch candidate.source {
    case .index(let scan) where !scan.keyFilter.isEmpty:
      let sample = try statistics.sample(candidate.source, [], rows: 0)
      return sample?.facts(
        entries: candidate.rows, guess: share(of: candidate.checked & ~candidate.used, shares))
    case .union(let parts):
      var facts = KeyFacts(refused: 0, passing: 0, mostPassing: 0)
      var isSampled = false
      for part in parts {
        if case .records(let ranges) = part {
          facts.add(entries: Double(try statistics.estimate(ids: ranges)))
          continue
        }
        guard case .index(let scan) = part else { return nil }
        let entries = Double(try statistics.estimate(index: scan.index, ranges: scan.ranges))
        guard !scan.keyFilter.isEmpty, let sample = try statistics.sample(part, [], rows: 0) else {
          facts.add(entries: entries)
          continue
        }
        let found = sample.facts(entries: entries, guess: PlanTask.share(of: scan.keyFilter))
        facts.refused += found.refused
        facts.passing += found.passing
        facts.mostPassing += found.mostPassing
        isSampled = true
      }
      return isSampled ? facts : nil
    case .nothing, .records, .index, .list, .search, .intersection: return nil
    }
  }

  /// Whether another plan would be chosen if there were many more results, or fewer.
  private func isSensitive(
    _ candidates: [Candidate], _ both: Candidate?, _ results: Double, _ fewest: Candidate,
    _ guessed: Int
  ) -> Bool {
    if wanted == nil { return both != nil }
    var most = results
    for _ in 0..<guessed { most = min(most * PlanTask.doubt, fewest.passing) }
    let few = least(of: candidates, results / PlanTask.doubt).place
    let many = least(of: candidates, most).place
    return few != many || both != nil
  }

  private var allPlaces: UInt64 {
    conjuncts.count >= UInt64.bitWidth ? .max : 1 << UInt64(conjuncts.count) - 1
  }
}
