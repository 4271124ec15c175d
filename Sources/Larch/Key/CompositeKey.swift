/// Several values as one key, ordered by the first, then by the second, and so on: the `indexValue`
/// of a type with several parts.
///
/// ```swift
/// extension Version: IndexKey {
///   var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
/// }
/// ```
public struct CompositeKey<First: IndexKey, each Rest: IndexKey>: _StandardKey {
  /// The first value, which decides the order first.
  public let first: First
  /// The other values.
  public let rest: (repeat each Rest)

  /// A key of these values in this order.
  public init(_ first: First, _ rest: repeat each Rest) {
    self.first = first
    self.rest = (repeat each rest)
  }

  /// One value after the other.
  @_documentation(visibility: private)
  public static var _key: _Witness { SeveralKeys<First, repeat each Rest>() }
}

extension CompositeKey: Sendable where First: Sendable, repeat each Rest: Sendable {}
