internal import Foundation

// MARK: Variables and constants

extension PredicateExpressions.Variable: MappedExpression {
  var mayFail: Bool { false }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    scope.field(of: self)
  }

  func text<R>(in scope: PredicateScope<R>) -> String { scope.isRoot(key) ? "$0" : "value" }
}

extension PredicateExpressions.Value: MappedExpression {
  var mayFail: Bool { false }

  // The properties of an object may change between two evaluations.
  var constant: PredicateConstant<Output>? {
    Output.self is AnyClass ? nil : PredicateConstant(value: value)
  }

  func text<R>(in scope: PredicateScope<R>) -> String { "…" }
}

extension PredicateExpressions.NilLiteral: MappedExpression {
  var mayFail: Bool { false }

  var constant: PredicateConstant<Output>? { PredicateConstant(value: nil) }

  func text<R>(in scope: PredicateScope<R>) -> String { "nil" }
}

// MARK: Properties

extension PredicateExpressions.KeyPath: MappedExpression {
  var mayFail: Bool { root.isFailing }

  // Only what is stored in the constant or counts it: other code may give another value each time.
  var constant: PredicateConstant<Output>? {
    guard let value = root.fixedValue?.value,
      kind != nil || MemoryLayout<Root.Output>.offset(of: keyPath) != nil,
      !(Output.self is AnyClass)
    else { return nil }
    return PredicateConstant(value: value[keyPath: keyPath as KeyPath<Root.Output, Output>])
  }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    scope.property(keyPath, of: root) ?? root.namedField(in: scope)?.member(keyPath)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    let name =
      switch kind {
      case .collectionCount?: "count"
      case .collectionIsEmpty?: "isEmpty"
      case .collectionFirst?: "first"
      case .bidirectionalCollectionLast?: "last"
      default: codingResolution(of: keyPath).name(of: Output.self, after: nil)
      }
    return "\(root.operand(in: scope)).\(name)"
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: MappedExpression {
  var mayFail: Bool { wrapped.isFailing || transform.isFailing }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    guard let inner = inner(in: scope), let field = transform.namedField(in: inner) else {
      return nil
    }
    if let field = field as? PredicateField<R, Result> { return field.result(of: variable) }
    return (field as? PredicateField<R, Result?>)?.flatResult(of: variable)
  }

  func choice<R>(in scope: PredicateScope<R>) -> PredicateChoice? {
    guard let test = transform as? any PredicateExpression<Bool>, let inner = inner(in: scope),
      let condition = test.isTrue(in: inner), condition.fails == nil
    else { return nil }
    let node = wrapped.namedField(in: scope)?.optionalNode(of: Wrapped.self)
    let isNone = node?.isNone.map { PredicateCondition($0) }
    let isSome = isNone?.negated
    var isTrue = isSome?.and(condition)
    if condition.needs.contains(variable.key) { isTrue = condition }
    return PredicateChoice(
      isTrue: isTrue, isFalse: isSome?.and(condition.negated), isNone: isNone)
  }

  private func inner<R>(in scope: PredicateScope<R>) -> PredicateScope<R>? {
    wrapped.namedField(in: scope)?.bound(to: variable).map { scope.binding(variable, to: $0) }
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    let operand = wrapped.operand(in: scope)
    let code = transform.code(in: inner(in: scope) ?? scope)
    if code.hasPrefix("value."), !code.contains(" ") { return operand + "?" + code.dropFirst(5) }
    return "\(operand).flatMap { value in \(code) }"
  }
}

extension PredicateExpressions.NilCoalesce: MappedExpression {
  var mayFail: Bool { lhs.isFailing || rhs.isFailing }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    guard let value = rhs.fixedValue else { return nil }
    return lhs.namedField(in: scope)?.replacingNil(by: value)
  }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let choice = lhs.choices(in: scope), let other = rhs as? any PredicateExpression<Bool>
    else { return nil }
    if let value = other.fixedValue?.value {
      return value ? choice.isFalse?.negated : choice.isTrue
    }
    guard let isTrue = choice.isTrue, let isNone = choice.isNone,
      let other = other.isTrue(in: scope)
    else { return nil }
    return isTrue.or(isNone.and(other))
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(lhs.operand(in: scope)) ?? \(rhs.operand(in: scope))"
  }
}

extension PredicateExpressions.ForcedUnwrap: MappedExpression {
  var mayFail: Bool { true }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    inner.namedField(in: scope)?.unwrapped()
  }

  func text<R>(in scope: PredicateScope<R>) -> String { inner.operand(in: scope) + "!" }
}
