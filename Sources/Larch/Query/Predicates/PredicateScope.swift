internal import Foundation

/// The variables of a predicate at one place in it.
struct PredicateScope<R> {
  typealias VariableID = PredicateExpressions.VariableID

  /// What the filter is about: a record, or an element of a list.
  private let root: PredicateRoot<R>
  /// The fields of the variables of surrounding closures: each a `PredicateField<R, _>`.
  private var fields: [VariableID: Any] = [:]
  /// Whether other variables than the root have values, so that a part cannot be evaluated alone.
  private var isNested: Bool

  init(record variable: PredicateExpressions.Variable<R>) where R: Record {
    root = RecordRoot(variable)
    isNested = false
  }

  /// The scope of a condition on the elements of a list.
  init(element variable: PredicateExpressions.Variable<R>) {
    root = ElementRoot(variable)
    isNested = true
    fields[variable.key] = PredicateField<R, R>(.plain(.itself()))
  }

  /// The scope of a closure whose variable is the value of an optional field.
  func binding<Value>(
    _ variable: PredicateExpressions.Variable<Value>, to field: PredicateField<R, Value>
  ) -> PredicateScope {
    var scope = self
    scope.isNested = true
    scope.fields[variable.key] = field
    return scope
  }

  func field<Value>(of variable: PredicateExpressions.Variable<Value>) -> PredicateField<R, Value>?
  {
    fields[variable.key] as? PredicateField<R, Value>
  }

  /// The property of the record that a key path of a predicate names, if its root is the record.
  func property<Root: PredicateExpression, Value>(
    _ keyPath: any KeyPath<Root.Output, Value> & Sendable, of expression: Root
  ) -> PredicateField<R, Value>? {
    guard let variable = expression as? PredicateExpressions.Variable<R>,
      variable.key == root.variable.key
    else { return nil }
    // The variable has the type of the root, so the key path begins there. The cast keeps `Sendable`,
    // which no cast at run time can name.
    return root.property(unsafeBitCast(keyPath, to: (any KeyPath<R, Value> & Sendable).self))
      .map { PredicateField(.plain($0)) }
  }

  func isRoot(_ id: VariableID) -> Bool { id == root.variable.key }

  /// A test of the decoded record that evaluates a part of the predicate; nil if the part is in a
  /// closure.
  func test(_ part: any PredicateExpression<Bool>) -> FilterNode? {
    isNested ? nil : test([part], mayFail: part.isFailing)
  }

  /// A test that evaluates several parts in turn, until one is false.
  func test(_ parts: [any PredicateExpression<Bool>], mayFail: Bool) -> FilterNode {
    let code = parts.map { $0.code(in: self) }.joined(separator: " && ")
    let variable = root.variable
    // Parts of a `Predicate`, which is `Sendable`; only their type does not say so.
    nonisolated(unsafe) let parts = parts
    return .record(
      RecordTest<R>(
        text: "#Predicate { \(code) } (evaluated on each record)", mayFail: mayFail,
        matches: { record in
          let bindings = PredicateBindings((variable, record))
          do {
            return try parts.allSatisfy {
              try mayFail ? $0.value(bindings) : $0.evaluate(bindings)
            }
          } catch {
            throw LarchError(predicate: error)
          }
        }))
  }
}

/// What a variable of a predicate stands for.
private class PredicateRoot<R> {
  let variable: PredicateExpressions.Variable<R>

  init(_ variable: PredicateExpressions.Variable<R>) { self.variable = variable }

  func property<Value>(_ keyPath: any KeyPath<R, Value> & Sendable) -> FieldNode<R, Value>? { nil }
}

private final class RecordRoot<R: Record>: PredicateRoot<R> {
  override func property<Value>(
    _ keyPath: any KeyPath<R, Value> & Sendable
  ) -> FieldNode<R, Value>? { .of(keyPath) }
}

private final class ElementRoot<R>: PredicateRoot<R> {
  override func property<Value>(
    _ keyPath: any KeyPath<R, Value> & Sendable
  ) -> FieldNode<R, Value>? {
    FieldNode<R, R>.itself().member(keyPath)
  }
}

extension LarchError {
  /// The error of a predicate that cannot be evaluated on a record.
  fileprivate init(predicate error: any Error) {
    if let error = error as? LarchError {
      self = error
      return
    }
    // Foundation's errors have values of the record in their texts, but are equal without.
    let plain = [
      PredicateError.forceUnwrapFailure, .forceCastFailure, .invalidInput, .undefinedVariable,
    ].first { $0 == error as? PredicateError }
    self.init(
      .invalidQuery,
      "A predicate fails on a record; begin it with a condition that is false for such records, or use `?.`, `??` or `as?`.",
      underlying: plain ?? error)
  }
}
