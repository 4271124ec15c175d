internal import Foundation

// MARK: Contains

extension PredicateExpressions.SequenceContains: MappedExpression {
  var mayFail: Bool { sequence.isFailing || element.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    if let list = sequence.fixedValue?.value {
      guard let field = element.namedField(in: scope) else { return nil }
      return isOne(of: list, field)
    }
    guard let value = element.fixedValue?.value, let field = sequence.namedField(in: scope) else {
      return nil
    }
    return field.tested(anyElement: RHS.Output.self) { .equal($0(value)) }
  }

  private func isOne<R>(
    of list: LHS.Output, _ field: PredicateField<R, RHS.Output>
  ) -> PredicateCondition? {
    func isIn<Range: FieldRange>(_ range: Range) -> PredicateCondition? {
      (field as? PredicateField<R, Range.Bound>)?.within(range.bounds)
    }
    if let range = list as? any FieldRange { return isIn(range) }
    // Other sequences may give other elements each time.
    let elements: [RHS.Output]
    switch list {
    case let list as [RHS.Output]: elements = list
    case let list as ArraySlice<RHS.Output>: elements = Array(list)
    default:
      guard let set = list as? any SetOfValues<RHS.Output> else { return nil }
      elements = set.array
    }
    return field.tested { values in .oneOf(anyOrder: elements.map(values)) }
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(sequence.operand(in: scope)).contains(\(element.code(in: scope)))"
  }
}

/// A set, whatever its elements are.
private protocol SetOfValues<Value> {
  associatedtype Value
  var array: [Value] { get }
}

extension Set: SetOfValues {
  fileprivate typealias Value = Element
  fileprivate var array: [Element] { Array(self) }
}

extension PredicateExpressions.SequenceContainsWhere: MappedExpression {
  var mayFail: Bool { sequence.isFailing || test.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard !mayFail,
      let (condition, isExact) = sequence.containing(test, variable, isNegated: false, in: scope)
    else { return nil }
    if isExact { return condition }
    // The index finds the records in question, and the predicate decides.
    return scope.test(self).map { condition.and(PredicateCondition($0)) }
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(sequence.operand(in: scope)).contains { value in \(test.code(in: scope)) }"
  }
}

extension PredicateExpressions.SequenceAllSatisfy: MappedExpression {
  var mayFail: Bool { sequence.isFailing || test.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard !mayFail,
      let (condition, isExact) = sequence.containing(test, variable, isNegated: true, in: scope),
      isExact
    else { return nil }
    return condition.negated
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(sequence.operand(in: scope)).allSatisfy { value in \(test.code(in: scope)) }"
  }
}

extension PredicateExpression where Output: Sequence {
  /// One of the elements meets a condition, or does not: exactly, or true for more records.
  fileprivate func containing<R>(
    _ test: any PredicateExpression<Bool>,
    _ variable: PredicateExpressions.Variable<Output.Element>, isNegated: Bool,
    in scope: PredicateScope<R>
  ) -> (condition: PredicateCondition, isExact: Bool)? {
    let inner = PredicateScope<Output.Element>(element: variable)
    guard Output.self != String.self, let field = namedField(in: scope),
      let condition = test.isTrue(in: inner)
    else { return nil }
    let element = FieldNode<Output.Element, Output.Element>.itself().key?.field
    return field.containing(isNegated ? condition.denied : condition.holds, of: element)
  }
}

// MARK: Texts

extension PredicateExpressions.CollectionContainsCollection: MappedExpression {
  var mayFail: Bool { base.isFailing || other.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let text = other.fixedValue?.value as? String else { return nil }
    return (base.namedField(in: scope) as? PredicateField<R, String>)?.tested(.contains, text)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(base.operand(in: scope)).contains(\(other.code(in: scope)))"
  }
}

extension PredicateExpressions.SequenceStartsWith: MappedExpression {
  var mayFail: Bool { base.isFailing || prefix.isFailing }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    guard let text = prefix.fixedValue?.value as? String else { return nil }
    return (base.namedField(in: scope) as? PredicateField<R, String>)?.tested(.hasPrefix, text)
  }

  func text<R>(in scope: PredicateScope<R>) -> String {
    "\(base.operand(in: scope)).starts(with: \(prefix.code(in: scope)))"
  }
}

extension PredicateField where Value == String {
  fileprivate func tested(_ kind: TextTest.Kind, _ text: String) -> PredicateCondition? {
    tested { _ in .text(TextTest(kind: kind, text: text)) }
  }
}
