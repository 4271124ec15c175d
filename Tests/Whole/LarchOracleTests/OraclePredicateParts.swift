import Foundation

@testable import Larch

extension OraclePredicates {
  // The parts that need nothing of the generator. Each opens the types of its operands.

  func field<Value>(_ keyPath: any KeyPath<Thing, Value> & Sendable) -> Part<Value> {
    Nodes.build_KeyPath(root: thing, keyPath: keyPath)
  }

  func keyPath<Root, Value>(
    _ root: Part<Root>, _ keyPath: any KeyPath<Root, Value> & Sendable
  ) -> Part<Value> {
    func make<P: StandardPredicateExpression<Root>>(_ part: P) -> Part<Value> {
      Nodes.build_KeyPath(root: part, keyPath: keyPath)
    }
    return make(root)
  }

  func constant<Value: Codable & Sendable>(_ value: Value) -> Part<Value> {
    Nodes.Value(value)
  }

  func none<Wrapped: Codable & Sendable>() -> Part<Wrapped?> { Nodes.NilLiteral<Wrapped>() }

  // MARK: Logic

  func and(
    _ a: some StandardPredicateExpression<Bool>, _ b: some StandardPredicateExpression<Bool>
  ) -> Part<Bool> { Nodes.build_Conjunction(lhs: a, rhs: b) }

  func or(
    _ a: some StandardPredicateExpression<Bool>, _ b: some StandardPredicateExpression<Bool>
  ) -> Part<Bool> { Nodes.build_Disjunction(lhs: a, rhs: b) }

  func not(_ a: some StandardPredicateExpression<Bool>) -> Part<Bool> { Nodes.build_Negation(a) }

  func choose(
    _ test: some StandardPredicateExpression<Bool>, _ a: some StandardPredicateExpression<Bool>,
    _ b: some StandardPredicateExpression<Bool>
  ) -> Part<Bool> { Nodes.build_Conditional(test, a, b) }

  // MARK: Equality and order

  func equal<Value: Equatable>(
    _ a: some StandardPredicateExpression<Value>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<Bool> { Nodes.build_Equal(lhs: a, rhs: b) }

  func notEqual<Value: Equatable>(
    _ a: some StandardPredicateExpression<Value>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<Bool> { Nodes.build_NotEqual(lhs: a, rhs: b) }

  func comparison<Value: Comparable>(
    _ a: some StandardPredicateExpression<Value>, _ op: Nodes.ComparisonOperator,
    _ b: some StandardPredicateExpression<Value>
  ) -> Part<Bool> { Nodes.build_Comparison(lhs: a, rhs: b, op: op) }

  // MARK: Optionals and types

  func coalesce<Value>(
    _ a: some StandardPredicateExpression<Value?>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<Value> { Nodes.build_NilCoalesce(lhs: a, rhs: b) }

  func unwrapped<Value>(_ a: some StandardPredicateExpression<Value?>) -> Part<Value> {
    Nodes.build_ForcedUnwrap(a)
  }

  func isType<Value>(_ a: some StandardPredicateExpression<Value>) -> Part<Bool> {
    func make<P: StandardPredicateExpression>(_ part: P) -> Part<Bool> {
      Nodes.TypeCheck<P, Int>(part)
    }
    return make(a)
  }

  func cast(_ a: some StandardPredicateExpression<Int>) -> Part<Int?> {
    func make<P: StandardPredicateExpression>(_ part: P) -> Part<Int?> {
      Nodes.ConditionalCast<P, Int>(part)
    }
    return make(a)
  }

  // MARK: Numbers

  func sum<Value: Numeric>(
    _ a: some StandardPredicateExpression<Value>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<Value> { Nodes.build_Arithmetic(lhs: a, rhs: b, op: .add) }

  func remainder(
    _ a: some StandardPredicateExpression<Int>, _ b: some StandardPredicateExpression<Int>
  ) -> Part<Int> { Nodes.build_Remainder(lhs: a, rhs: b) }

  func quotient(
    _ a: some StandardPredicateExpression<Double>, _ b: some StandardPredicateExpression<Double>
  ) -> Part<Double> { Nodes.build_Division(lhs: a, rhs: b) }

  func negative(_ a: some StandardPredicateExpression<Int>) -> Part<Int> {
    Nodes.build_UnaryMinus(a)
  }

  // MARK: Ranges

  func closed<Value: Comparable>(
    _ a: some StandardPredicateExpression<Value>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<ClosedRange<Value>> { Nodes.build_ClosedRange(lower: a, upper: b) }

  func halfOpen<Value: Comparable>(
    _ a: some StandardPredicateExpression<Value>, _ b: some StandardPredicateExpression<Value>
  ) -> Part<Range<Value>> { Nodes.build_Range(lower: a, upper: b) }

  func isIn<Bounds: RangeExpression>(
    _ range: some StandardPredicateExpression<Bounds>,
    _ value: some StandardPredicateExpression<Bounds.Bound>
  ) -> Part<Bool> { Nodes.build_contains(range, value) }

  // MARK: Texts and lists

  func startsWith(
    _ a: some StandardPredicateExpression<String>, _ b: some StandardPredicateExpression<String>
  ) -> Part<Bool> { Nodes.build_starts(a, with: b) }

  func contains(
    _ a: some StandardPredicateExpression<String>, _ b: some StandardPredicateExpression<String>
  ) -> Part<Bool> { Nodes.CollectionContainsCollection(base: a, other: b) }

  func hasElement<List: Sequence>(
    _ list: some StandardPredicateExpression<List>,
    _ element: some StandardPredicateExpression<List.Element>
  ) -> Part<Bool> where List.Element: Equatable {
    Nodes.SequenceContains(sequence: list, element: element)
  }

  func maximum<List: Sequence>(
    _ list: some StandardPredicateExpression<List>
  ) -> Part<List.Element?> where List.Element: Comparable { Nodes.build_max(list) }

  func minimum<List: Sequence>(
    _ list: some StandardPredicateExpression<List>
  ) -> Part<List.Element?> where List.Element: Comparable { Nodes.build_min(list) }

  func element<Value>(
    _ list: some StandardPredicateExpression<[Value]>,
    _ index: some StandardPredicateExpression<Int>
  ) -> Part<Value> { Nodes.build_subscript(list, index) }
}
