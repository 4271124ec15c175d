internal import Foundation

// MARK: Logic

extension PredicateExpressions.Conjunction: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  var conjuncts: [any PredicateExpression<Bool>] { lhs.parts + rhs.parts }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let left = lhs.isTrue(in: scope), let right = rhs.isTrue(in: scope) else { return nil }
    return left.and(right)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) && \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.Disjunction: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let left = lhs.isTrue(in: scope), let right = rhs.isTrue(in: scope) else { return nil }
    return left.or(right)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) || \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.Negation: MappedExpression {
  var mayFail: Bool { wrapped.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    wrapped.isTrue(in: scope)?.negated
  }

  func text<R>(in scope: PredicateScope<R>) -> String { "!\(wrapped.operand(in: scope))" }
}

extension PredicateExpressions.Conditional: MappedExpression {
  var mayFail: Bool { test.isFailing || trueBranch.isFailing || falseBranch.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let yes = trueBranch as? any PredicateExpression<Bool>,
      let no = falseBranch as? any PredicateExpression<Bool>,
      let test = test.isTrue(in: scope), let yes = yes.isTrue(in: scope),
      let no = no.isTrue(in: scope)
    else { return nil }
    return test.and(yes).or(test.negated.and(no))
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    let branches = [trueBranch.operand(in: scope), falseBranch.operand(in: scope)]
    return "\(test.operand(in: scope)) ? \(branches.joined(separator: " : "))"
  }
}

// MARK: Equality and order

extension PredicateExpressions.Equal: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    lhs.isEqual(to: rhs, in: scope)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) == \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.NotEqual: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    lhs.isEqual(to: rhs, in: scope)?.negated
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) != \(rhs.operand(in: scope))"
  }
}

extension PredicateExpression {
  /// The part as an operand of another one: in brackets if it has operands itself.
  func operand<R>(in scope: PredicateScope<R>) -> String {
    let code = code(in: scope)
    return code.contains(" ") && !code.hasSuffix(")") && !code.hasSuffix("}") ? "(\(code))" : code
  }

  fileprivate func isEqual<R, Other: PredicateExpression>(
    to other: Other, in scope: PredicateScope<R>
  ) -> PredicateCondition? where Other.Output == Output {
    if let value = other.fixedValue { return isEqual(to: value, in: scope) }
    if let value = fixedValue { return other.isEqual(to: value, in: scope) }
    guard let left = namedField(in: scope), let right = other.namedField(in: scope) else {
      return nil
    }
    return left.compares(.equal, right)
  }

  private func isEqual<R>(
    to value: PredicateConstant<Output>, in scope: PredicateScope<R>
  ) -> PredicateCondition? {
    if let field = namedField(in: scope) { return field.equals(value.value) }
    if let choice = choices(in: scope), let value = value.value as? Bool? {
      return choice.isEqual(to: value)
    }
    if let condition = self as? any PredicateExpression<Bool>, let value = value.value as? Bool {
      return condition.isTrue(in: scope).map { value ? $0 : $0.negated }
    }
    return nil
  }
}

extension PredicateExpressions.Comparison: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    if let value = rhs.fixedValue {
      return lhs.namedField(in: scope)?.compares(op, value.value)
    }
    if let value = lhs.fixedValue {
      return rhs.namedField(in: scope)?.compares(op.turned, value.value)
    }
    guard let left = lhs.namedField(in: scope), let right = rhs.namedField(in: scope) else {
      return nil
    }
    switch op {
    case .lessThan: return left.compares(.less, right)
    case .lessThanOrEqual: return left.compares(.lessOrEqual, right)
    case .greaterThan: return right.compares(.less, left)
    case .greaterThanOrEqual: return right.compares(.lessOrEqual, left)
    }
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) \(op.code) \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.ComparisonOperator {
  /// The operator with its sides exchanged.
  fileprivate var turned: Self {
    switch self {
    case .lessThan: .greaterThan
    case .lessThanOrEqual: .greaterThanOrEqual
    case .greaterThan: .lessThan
    case .greaterThanOrEqual: .lessThanOrEqual
    }
  }

  fileprivate var code: String {
    switch self {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .greaterThan: ">"
    case .greaterThanOrEqual: ">="
    }
  }
}

// MARK: Ranges

extension PredicateExpressions.Range: MappedExpression {
  // The bounds in the wrong order are an error.
  var mayFail: Bool { constant == nil }

  var constant: PredicateConstant<Output>? {
    guard let lower = lower.fixedValue?.value, let upper = upper.fixedValue?.value, lower <= upper
    else { return nil }
    return PredicateConstant(value: lower..<upper)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lower.operand(in: scope))..<\(upper.operand(in: scope))"
  }
}

extension PredicateExpressions.ClosedRange: MappedExpression {
  var mayFail: Bool { constant == nil }

  var constant: PredicateConstant<Output>? {
    guard let lower = lower.fixedValue?.value, let upper = upper.fixedValue?.value, lower <= upper
    else { return nil }
    return PredicateConstant(value: lower...upper)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lower.operand(in: scope))...\(upper.operand(in: scope))"
  }
}

extension PredicateExpressions.RangeExpressionContains: MappedExpression {
  var mayFail: Bool { range.isFailing || element.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let range = range.fixedValue?.value as? any FieldRange<Element.Output>,
      let field = element.namedField(in: scope)
    else { return nil }
    return field.within(range.bounds)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "(\(range.code(in: scope))).contains(\(element.code(in: scope)))"
  }
}
