internal import Foundation

// The evaluation of parts that may fail. Foundation's own stops the program where an integer
// overflows or is divided by zero, which a stored value must not do; here that is an error. All else is
// as in Foundation.

extension PredicateExpression {
  /// The value for these variables.
  ///
  /// - Throws: what Foundation throws, and `.overflow`.
  func value(_ bindings: PredicateBindings) throws -> Output {
    guard let part = self as? any MappedExpression<Output> else { return try evaluate(bindings) }
    return try part.checked(bindings)
  }
}

extension MappedExpression {
  func checked(_ bindings: PredicateBindings) throws -> Output { try evaluate(bindings) }
}

extension LarchError {
  fileprivate static var predicateOverflow: LarchError {
    LarchError(
      .overflow,
      "A predicate calculates an integer that its type cannot hold, or divides by zero; begin it with a condition that is false for such records, or calculate with floating-point numbers."
    )
  }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let left = try lhs.value(bindings)
    let right = try rhs.value(bindings)
    if let integer = Output.self as? any FixedWidthInteger.Type {
      return try checkedResult(integer, left, op.operation, right)
    }
    switch op {
    case .add: return left + right
    case .subtract: return left - right
    case .multiply: return left * right
    }
  }
}

extension PredicateExpressions.IntDivision {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let left = try lhs.value(bindings)
    let right = try rhs.value(bindings)
    guard let integer = Output.self as? any FixedWidthInteger.Type else { return left / right }
    return try checkedResult(integer, left, .divide, right)
  }
}

extension PredicateExpressions.IntRemainder {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let left = try lhs.value(bindings)
    let right = try rhs.value(bindings)
    guard let integer = Output.self as? any FixedWidthInteger.Type else { return left % right }
    return try checkedResult(integer, left, .remainder, right)
  }
}

extension PredicateExpressions.FloatDivision {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try lhs.value(bindings) / rhs.value(bindings)
  }
}

extension PredicateExpressions.UnaryMinus {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let number = try wrapped.value(bindings)
    guard let integer = Output.self as? any FixedWidthInteger.Type else { return -number }
    return try checkedResult(integer, 0, .subtract, number)
  }
}

private func checkedResult<Integer: FixedWidthInteger, Output>(
  _: Integer.Type, _ left: Output, _ operation: Calculation.Operation, _ right: Output
) throws -> Output {
  // `Integer` is `Output`; only the run time knows that it is one.
  guard let left = left as? Integer, let right = right as? Integer else {
    throw LarchError.predicateOverflow
  }
  let result =
    switch operation {
    case .add: left.addingReportingOverflow(right)
    case .subtract: left.subtractingReportingOverflow(right)
    case .multiply: left.multipliedReportingOverflow(by: right)
    case .divide: left.dividedReportingOverflow(by: right)
    case .remainder: left.remainderReportingOverflow(dividingBy: right)
    }
  guard !result.overflow, let value = result.partialValue as? Output else {
    throw LarchError.predicateOverflow
  }
  return value
}

// MARK: Logic and comparisons

extension PredicateExpressions.Conjunction {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try lhs.value(bindings) && rhs.value(bindings)
  }
}

extension PredicateExpressions.Disjunction {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try lhs.value(bindings) || rhs.value(bindings)
  }
}

extension PredicateExpressions.Negation {
  func checked(_ bindings: PredicateBindings) throws -> Bool { try !wrapped.value(bindings) }
}

extension PredicateExpressions.Conditional {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try test.value(bindings) ? trueBranch.value(bindings) : falseBranch.value(bindings)
  }
}

extension PredicateExpressions.Equal {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try lhs.value(bindings) == rhs.value(bindings)
  }
}

extension PredicateExpressions.NotEqual {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try lhs.value(bindings) != rhs.value(bindings)
  }
}

extension PredicateExpressions.Comparison {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    let left = try lhs.value(bindings)
    let right = try rhs.value(bindings)
    switch op {
    case .lessThan: return left < right
    case .lessThanOrEqual: return left <= right
    case .greaterThan: return left > right
    case .greaterThanOrEqual: return left >= right
    }
  }
}

// MARK: Properties and optionals

extension PredicateExpressions.KeyPath {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try root.value(bindings)[keyPath: keyPath as KeyPath<Root.Output, Output>]
  }
}

extension PredicateExpressions.OptionalFlatMap {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    guard let value = try wrapped.value(bindings) else { return nil }
    let result = try transform.value(bindings.binding(variable, to: value))
    // The closure gives a `Result` or an optional one: the initializers allow nothing else.
    return result as? Result
  }
}

extension PredicateExpressions.NilCoalesce {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try lhs.value(bindings) ?? rhs.value(bindings)
  }
}

extension PredicateExpressions.ForcedUnwrap {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    guard let value = try inner.value(bindings) else { throw PredicateError.forceUnwrapFailure }
    return value
  }
}

// MARK: Types

extension PredicateExpressions.TypeCheck {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try input.value(bindings) is Desired
  }
}

extension PredicateExpressions.ConditionalCast {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try input.value(bindings) as? Desired
  }
}

extension PredicateExpressions.ForceCast {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    guard let value = try input.value(bindings) as? Desired else {
      throw PredicateError.forceCastFailure
    }
    return value
  }
}

// MARK: Ranges and subscripts

extension PredicateExpressions.Range {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let lower = try lower.value(bindings)
    let upper = try upper.value(bindings)
    guard lower <= upper else { throw PredicateError.invalidInput }
    return lower..<upper
  }
}

extension PredicateExpressions.ClosedRange {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let lower = try lower.value(bindings)
    let upper = try upper.value(bindings)
    guard lower <= upper else { throw PredicateError.invalidInput }
    return lower...upper
  }
}

extension PredicateExpressions.RangeExpressionContains {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try range.value(bindings).contains(element.value(bindings))
  }
}

extension PredicateExpressions.CollectionIndexSubscript {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    let list = try wrapped.value(bindings)
    let place = try index.value(bindings)
    guard place >= list.startIndex, place < list.endIndex else { throw PredicateError.invalidInput }
    return list[place]
  }
}

extension PredicateExpressions.DictionaryKeySubscript {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try wrapped.value(bindings)[key.value(bindings)]
  }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try wrapped.value(bindings)[key.value(bindings)] ?? `default`.value(bindings)
  }
}

// MARK: Lists and texts

extension PredicateExpressions.SequenceContains {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try sequence.value(bindings).contains(element.value(bindings))
  }
}

extension PredicateExpressions.SequenceContainsWhere {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try sequence.value(bindings).contains {
      try test.value(bindings.binding(variable, to: $0))
    }
  }
}

extension PredicateExpressions.SequenceAllSatisfy {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try sequence.value(bindings).allSatisfy {
      try test.value(bindings.binding(variable, to: $0))
    }
  }
}

extension PredicateExpressions.SequenceStartsWith {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try base.value(bindings).starts(with: prefix.value(bindings))
  }
}

extension PredicateExpressions.CollectionContainsCollection {
  func checked(_ bindings: PredicateBindings) throws -> Bool {
    try base.value(bindings).contains(other.value(bindings))
  }
}

extension PredicateExpressions.Filter {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try sequence.value(bindings).filter {
      try filter.value(bindings.binding(variable, to: $0))
    }
  }
}

extension PredicateExpressions.SequenceMaximum {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try elements.value(bindings).max()
  }
}

extension PredicateExpressions.SequenceMinimum {
  func checked(_ bindings: PredicateBindings) throws -> Output {
    try elements.value(bindings).min()
  }
}
