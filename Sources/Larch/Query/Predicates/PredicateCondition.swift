internal import Foundation

/// When a condition of a predicate is true, as filters of Larch.
struct PredicateCondition {
  /// True for each record for which the condition is true. Exact, if the condition cannot fail.
  let holds: FilterNode
  /// True for each record for which the condition is false.
  let denied: FilterNode
  /// True for each record on which the condition may fail; nil if there is none.
  let fails: FilterNode?
  /// The variables of optional values without which `holds` is false.
  let needs: Set<PredicateExpressions.VariableID>

  /// A condition that cannot fail.
  init(_ node: FilterNode, needs: Set<PredicateExpressions.VariableID> = []) {
    holds = node
    denied = node.negated
    fails = nil
    self.needs = needs
  }

  /// - Parameter fails: where it may fail. The others are then true for more records.
  init(holds: FilterNode, denied: FilterNode, fails: FilterNode) {
    self.holds = holds
    self.denied = denied
    self.fails = fails
    needs = []
  }

  /// A condition that only the predicate can evaluate, and that may fail on any record.
  static var unknown: PredicateCondition {
    PredicateCondition(holds: .always, denied: .always, fails: .always)
  }

  /// The records that the predicate must see: those for which it is true, and those on which it
  /// fails.
  var seen: FilterNode { (fails.map { $0.or(holds) } ?? holds).withoutRecordTests() }

  // The right side is evaluated only where the left one does not decide.

  func and(_ other: PredicateCondition) -> PredicateCondition {
    guard fails != nil || other.fails != nil else {
      return PredicateCondition(holds.and(other.holds), needs: needs.union(other.needs))
    }
    return PredicateCondition(
      holds: holds.and(other.holds), denied: denied.or(holds.and(other.denied)),
      fails: (fails ?? .never).or(holds.and(other.fails ?? .never)))
  }

  func or(_ other: PredicateCondition) -> PredicateCondition {
    guard fails != nil || other.fails != nil else {
      return PredicateCondition(holds.or(other.holds), needs: needs.intersection(other.needs))
    }
    return PredicateCondition(
      holds: holds.or(denied.and(other.holds)), denied: denied.and(other.denied),
      fails: (fails ?? .never).or(denied.and(other.fails ?? .never)))
  }

  var negated: PredicateCondition {
    guard let fails else { return PredicateCondition(denied) }
    return PredicateCondition(holds: denied, denied: holds, fails: fails)
  }
}

/// When an optional `Bool` is true, false and nil; nil where that is not known.
struct PredicateChoice {
  let isTrue: PredicateCondition?
  let isFalse: PredicateCondition?
  let isNone: PredicateCondition?

  func isEqual(to value: Bool?) -> PredicateCondition? {
    switch value {
    case true?: isTrue
    case false?: isFalse
    case nil: isNone
    }
  }
}

extension FilterNode {
  /// The filter with each test of the decoded record replaced by the answer that lets most records
  /// through.
  fileprivate func withoutRecordTests(isNegated: Bool = false) -> FilterNode {
    switch self {
    case .all(let nodes):
      nodes.reduce(.always) { $0.and($1.withoutRecordTests(isNegated: isNegated)) }
    case .any(let nodes):
      nodes.reduce(.never) { $0.or($1.withoutRecordTests(isNegated: isNegated)) }
    case .not(let node): node.withoutRecordTests(isNegated: !isNegated).negated
    case .record: isNegated ? .never : .always
    case .field, .pair, .words, .related: self
    }
  }
}
