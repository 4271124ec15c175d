internal import Foundation

/// A part of a `Predicate` that Larch understands: each type of `PredicateExpressions` says here what
/// it is as a field, as a condition on stored records, or as a constant.
///
/// Each answer is either exactly what the part gives for every record, or nil. What is nil is
/// evaluated by the predicate itself.
protocol MappedExpression<Output>: PredicateExpression {
  /// Whether evaluating it may throw an error or stop the program, such as `!` and an addition.
  var mayFail: Bool { get }

  /// Its value, if it is the same for all records.
  var constant: PredicateConstant<Output>? { get }

  /// The field that it names.
  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>?

  /// For a `Bool`: when it is true.
  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition?

  /// For an optional `Bool`: when it is true, false and nil.
  func choice<R>(in scope: PredicateScope<R>) -> PredicateChoice?

  /// The conditions that must all be true, in the order in which they are evaluated.
  var conjuncts: [any PredicateExpression<Bool>] { get }

  /// The value for these variables; an error where an integer overflows.
  func checked(_ bindings: PredicateBindings) throws -> Output

  /// The part as Swift code, without the values of constants.
  func text<R>(in scope: PredicateScope<R>) -> String
}

/// A value that is not nil, even if the type is an optional.
struct PredicateConstant<Value> {
  let value: Value
}

extension MappedExpression {
  var constant: PredicateConstant<Output>? { nil }

  func field<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? { nil }

  func condition<R>(in scope: PredicateScope<R>) -> PredicateCondition? { nil }

  func choice<R>(in scope: PredicateScope<R>) -> PredicateChoice? { nil }

  // Only a `Bool` is asked.
  var conjuncts: [any PredicateExpression<Bool>] {
    (self as? any PredicateExpression<Bool>).map { [$0] } ?? []
  }
}

extension PredicateExpression {
  /// The part as one that Larch understands. Types that a later Foundation adds are none.
  private var mapped: (any MappedExpression<Output>)? { self as? any MappedExpression<Output> }

  // What is not known may fail.
  var isFailing: Bool { mapped?.mayFail ?? true }

  var fixedValue: PredicateConstant<Output>? { mapped?.constant }

  func namedField<R>(in scope: PredicateScope<R>) -> PredicateField<R, Output>? {
    mapped?.field(in: scope)
  }

  func choices<R>(in scope: PredicateScope<R>) -> PredicateChoice? { mapped?.choice(in: scope) }

  func code<R>(in scope: PredicateScope<R>) -> String { mapped?.text(in: scope) ?? "…" }
}

extension PredicateExpression where Output == Bool {
  /// The conditions that must all be true.
  var parts: [any PredicateExpression<Bool>] { mapped?.conjuncts ?? [self] }

  /// When it is true. In the scope of the record there is always an answer, since the predicate can
  /// evaluate the part on the record.
  func isTrue<R>(in scope: PredicateScope<R>) -> PredicateCondition? {
    if let constant = fixedValue {
      return PredicateCondition(constant.value ? .always : .never)
    }
    if let condition = mapped?.condition(in: scope) { return condition }
    if let field = namedField(in: scope) {
      if let condition = field.equals(true) { return condition }
    }
    guard let test = scope.test(self) else { return nil }
    return isFailing ? .unknown : PredicateCondition(test)
  }
}
