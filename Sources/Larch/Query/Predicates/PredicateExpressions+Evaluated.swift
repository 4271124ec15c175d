internal import Foundation

// Parts that only the predicate evaluates. What is said of them here is whether they may fail: the
// parts before and after one that cannot fail may use indexes.

extension PredicateExpressions.Filter: MappedExpression {
  var mayFail: Bool { sequence.isFailing || filter.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(sequence.operand(in: scope)).filter { value in \(filter.code(in: scope)) }"
  }
}

extension PredicateExpressions.SequenceMaximum: MappedExpression {
  var mayFail: Bool { elements.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String { "\(elements.operand(in: scope)).max()" }
}

extension PredicateExpressions.SequenceMinimum: MappedExpression {
  var mayFail: Bool { elements.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String { "\(elements.operand(in: scope)).min()" }
}

extension PredicateExpressions.StringContainsRegex: MappedExpression {
  var mayFail: Bool { subject.isFailing || regex.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(subject.operand(in: scope)).contains(/…/)"
  }
}

// MARK: Subscripts

extension PredicateExpressions.DictionaryKeySubscript: MappedExpression {
  var mayFail: Bool { wrapped.isFailing || key.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(wrapped.operand(in: scope))[\(key.code(in: scope))]"
  }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: MappedExpression {
  var mayFail: Bool { wrapped.isFailing || key.isFailing || `default`.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(wrapped.operand(in: scope))[\(key.code(in: scope)), default: \(`default`.code(in: scope))]"
  }
}

extension PredicateExpressions.CollectionIndexSubscript: MappedExpression {
  var mayFail: Bool { true }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(wrapped.operand(in: scope))[\(index.code(in: scope))]"
  }
}

extension PredicateExpressions.CollectionRangeSubscript: MappedExpression {
  var mayFail: Bool { true }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(wrapped.operand(in: scope))[\(range.code(in: scope))]"
  }
}

// MARK: Types

extension PredicateExpressions.TypeCheck: MappedExpression {
  var mayFail: Bool { input.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(input.operand(in: scope)) is \(Desired.self)"
  }
}

extension PredicateExpressions.ConditionalCast: MappedExpression {
  var mayFail: Bool { input.isFailing }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(input.operand(in: scope)) as? \(Desired.self)"
  }
}

extension PredicateExpressions.ForceCast: MappedExpression {
  var mayFail: Bool { true }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(input.operand(in: scope)) as! \(Desired.self)"
  }
}
