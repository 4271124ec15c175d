internal import Foundation

// The predicate calculates with fields, since an integer that is too large is an error for it, while
// Larch's own calculation has no value then. Calculations with constants are done once.

extension PredicateExpressions.Arithmetic: MappedExpression {
  var mayFail: Bool { constant == nil && mayOverflow(lhs, rhs) }

  var constant: PredicateConstant<Output>? { calculated(lhs, op.operation, rhs) }

  func text<R>(in scope: PredicateScope<R>) -> String {
    let code =
      switch op {
      case .add: "+"
      case .subtract: "-"
      case .multiply: "*"
      }
    return "\(lhs.operand(in: scope)) \(code) \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.ArithmeticOperator {
  var operation: Calculation.Operation {
    switch self {
    case .add: .add
    case .subtract: .subtract
    case .multiply: .multiply
    }
  }
}

extension PredicateExpressions.IntDivision: MappedExpression {
  var mayFail: Bool { constant == nil }

  var constant: PredicateConstant<Output>? { calculated(lhs, .divide, rhs) }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) / \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.IntRemainder: MappedExpression {
  var mayFail: Bool { constant == nil }

  var constant: PredicateConstant<Output>? { calculated(lhs, .remainder, rhs) }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) % \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.FloatDivision: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  var constant: PredicateConstant<Output>? { calculated(lhs, .divide, rhs) }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) / \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.UnaryMinus: MappedExpression {
  var mayFail: Bool { constant == nil && mayOverflow(wrapped, wrapped) }

  // Not zero minus the number, which would give 0.0 for 0.0, and not -0.0.
  var constant: PredicateConstant<Output>? {
    calculated(PredicateExpressions.Value<Output>(-1), .multiply, wrapped)
  }

  func text<R>(in scope: PredicateScope<R>) -> String { "-\(wrapped.operand(in: scope))" }
}

/// Whether a calculation may fail: floating point cannot, nor can one of constants that has a result.
private func mayOverflow<Left: PredicateExpression, Right: PredicateExpression>(
  _ left: Left, _ right: Right
) -> Bool {
  if left.isFailing || right.isFailing { return true }
  return !(Left.Output.self is any BinaryFloatingPoint.Type)
}

/// The result of a calculation with constants; nil if there is none, or if the type is none of the
/// standard library.
private func calculated<Left: PredicateExpression, Right: PredicateExpression>(
  _ left: Left, _ operation: Calculation.Operation, _ right: Right
) -> PredicateConstant<Left.Output>? where Left.Output == Right.Output {
  func calculate<Number: FieldNumber & StandardValue>(_: Number.Type) -> Left.Output? {
    guard let left = left.fixedValue?.value as? Number,
      let right = right.fixedValue?.value as? Number
    else { return nil }
    let result = CalculatedNumber.calculate(
      CalculatedNumber([left.keyValue]), operation, CalculatedNumber([right.keyValue]),
      Number.primitive)
    return Number(keyValue: result.keyValue) as? Left.Output
  }
  guard let type = Left.Output.self as? any (FieldNumber & StandardValue).Type else { return nil }
  return calculate(type).map { PredicateConstant(value: $0) }
}
