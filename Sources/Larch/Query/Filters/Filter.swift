/// A condition on records: the result of the operators of ``Field``, and the argument of `where`.
///
/// It is true or false, never unknown: `$0.age != 10` is true for nil, and `$0.age < 10` is false
/// for nil.
public struct Filter<Root>: Sendable {
  let node: FilterNode

  init(_ node: FilterNode) { self.node = node }

  /// True for every record; a start for conditions joined with `&&`.
  public static var always: Filter { Filter(.always) }

  /// True for no record; a start for conditions joined with `||`.
  ///
  /// ```swift
  /// Person.where { person in
  ///   words.map { person.name.contains($0) }.reduce(Filter.never) { $0 || $1 }
  /// }
  /// ```
  public static var never: Filter { Filter(.never) }
}

/// A condition in a filter: a ``Filter``, or a field that is a `Bool`.
@_documentation(visibility: private)
public protocol FilterExpression<Root>: Sendable {
  /// The type that the condition tests.
  associatedtype Root

  /// The condition. Implemented by Larch; you never call it.
  var _filter: Filter<Root> { get }
}

extension Filter: FilterExpression {
  /// The condition itself.
  public var _filter: Filter<Root> { self }
}

extension Field: FilterExpression where Value == Bool {
  /// The field is true.
  public var _filter: Filter<Root> { self == true }
}

extension FilterExpression {
  /// Both conditions are true.
  public static func && <Other: FilterExpression>(left: Self, right: Other) -> Filter<Root>
  where Other.Root == Root {
    Filter(left._filter.node.and(right._filter.node))
  }

  /// At least one of the conditions is true.
  public static func || <Other: FilterExpression>(left: Self, right: Other) -> Filter<Root>
  where Other.Root == Root {
    Filter(left._filter.node.or(right._filter.node))
  }

  /// The condition is not true.
  public static prefix func ! (condition: Self) -> Filter<Root> {
    Filter(condition._filter.node.negated)
  }
}

extension FilterNode {
  func and(_ other: FilterNode) -> FilterNode {
    switch (self, other) {
    case _ where isAlways: other
    case _ where other.isAlways: self
    case (.all(let left), .all(let right)): .all(left + right)
    case (.all(let left), _): .all(left + [other])
    case (_, .all(let right)): .all([self] + right)
    default: .all([self, other])
    }
  }

  func or(_ other: FilterNode) -> FilterNode {
    switch (self, other) {
    case (.any(let left), _) where left.isEmpty: other
    case (.any(let left), .any(let right)): .any(left + right)
    case (.any(let left), _): .any(left + [other])
    case (_, .any(let right)): .any([self] + right)
    default: .any([self, other])
    }
  }

  /// The negated condition. For a `Bool` field, equality with the other value, which an index can
  /// answer.
  var negated: FilterNode {
    switch self {
    case .not(let node): return node
    case .field(let filter):
      if !filter.field.isMultiple, filter.field.form == .primitive(.bool),
        case .equal(let values) = filter.test, case .bool(let value)? = values.first
      {
        return .field(FieldFilter(filter.field, .equal([.bool(!value)])))
      }
      return .not(self)
    default: return .not(self)
    }
  }
}
