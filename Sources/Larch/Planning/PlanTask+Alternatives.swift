extension PlanTask {
  /// The plan of a candidate, with an alternative that limits its cost if it could be much higher.
  ///
  /// A plan that stops at the last wanted row is cheap if such rows are spread over the order. If
  /// all of them are at the other end, it reads everything. And the other way round: where one that
  /// reads all its rows seems cheaper, the wanted rows may still be the first of an order. So a part
  /// of the cost is first spent on that.
  func plan(_ best: Int, of candidates: [Candidate], _ results: Double) -> Plan {
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
      : cost(candidates[sure].atWorst, results, upToLimit: false, leavingAllKeys: true)
    var trial: (candidate: Candidate, cost: Double)?
    for (place, other) in candidates.enumerated()
    where other.isInOrder && place != best && place != sure && !other.asksRelated {
      guard
        (self.least(other, wanted) + Cost.query) * PlanTask.worthTrying < least + Cost.query
      else { continue }
      let expected = cost(other, results)
      if expected < trial?.cost ?? .infinity { trial = (other, expected) }
    }
    // Rows in the same order end at the same row.
    guard let trial, !first.isInOrder || !candidates[sure].isInOrder else { return plan(first) }
    return plan(
      trial.candidate, upTo: bound * PlanTask.trialPart, then: candidates[sure], costing: bound)
  }

  /// For rows in any order: a plan that takes turns with those that are expected to be next best.
  private func plan(
    _ first: Candidate, inTurnsWith candidates: [Candidate], but best: Int, _ results: Double,
    _ whole: Double
  ) -> Plan {
    let expected = cost(first, results)
    let budget = min(
      PlanTask.turn * expected + Cost.few, max(PlanTask.firstTurn, PlanTask.slack * expected))
    guard budget * PlanTask.bearable < whole else { return plan(first) }
    var rest = candidates.indices.filter { $0 != best }.map { place in
      (candidate: candidates[place], cost: cost(candidates[place], results))
    }
    rest.sort { $0.cost < $1.cost }
    // Those that read the same entries in another order, or more than these, come last.
    var bounds = first.source.isOfOneIndex ? [first.used] : []
    var distinct: [(candidate: Candidate, cost: Double)] = []
    var similar: [(candidate: Candidate, cost: Double)] = []
    for way in rest {
      let used = way.candidate.used
      if used != 0, bounds.contains(where: { used & ~$0 == 0 }) {
        similar.append(way)
      } else {
        distinct.append(way)
        if way.candidate.source.isOfOneIndex { bounds.append(used) }
      }
    }
    var ways = Array((distinct + similar).prefix(PlanTask.mostTurns - 1))
    // An intersection costs nothing until it begins.
    if !ways.contains(where: \.candidate.source.isIntersection) {
      ways += rest.filter(\.candidate.source.isIntersection)
    }
    let others = ways.map { otherwise($0.candidate, upTo: budget, after: first, costing: $0.cost) }
    var plan = plan(first)
    plan.otherwise = others.first
    plan.others = Array(others.dropFirst())
    return plan
  }

  /// The cost if all wanted rows come first.
  private func least(_ candidate: Candidate, _ wanted: Int) -> Double {
    cost(candidate, max(candidate.passing, Double(wanted)))
  }

  private func plan(
    _ first: Candidate, upTo bound: Double, then other: Candidate, costing work: Double
  ) -> Plan {
    var plan = plan(first)
    plan.otherwise = otherwise(other, upTo: bound, after: first, costing: work)
    return plan
  }

  private func otherwise(
    _ other: Candidate, upTo bound: Double, after first: Candidate, costing work: Double
  ) -> Plan.Otherwise {
    Plan.Otherwise(
      source: other.source, residue: other.residue, order: other.order,
      records: Int(bound) / first.source.rowWork, entries: Int(bound), work: work)
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
  /// The most that is spent on a first plan before that, unless it is expected to cost so much.
  private static let firstTurn = 512.0
  private static let slack = 1.25
  /// The number of plans that take turns.
  private static let mostTurns = 4
}

extension Candidate {
  /// Whether rows are tested by related records, which costs more than a test of their own fields.
  fileprivate var asksRelated: Bool { residue.contains(where: \.asksRelated) }
}

extension Plan.Source {
  fileprivate var isIntersection: Bool {
    if case .intersection = self { return true }
    return false
  }

  /// Whether it reads the entries of one scan, which others with the same bounds read too.
  fileprivate var isOfOneIndex: Bool {
    switch self {
    case .union, .intersection: false
    case .nothing, .records, .index, .list, .search: true
    }
  }
}
