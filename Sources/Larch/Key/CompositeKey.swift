/// Several values as one key, ordered by the first, then by the second, and so on: the `indexValue`
/// of a type with several parts.
///
/// ```swift
/// extension Version: IndexKey {
///   var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
/// }
/// ```
public struct CompositeKey<First: IndexKey, each Rest: IndexKey>: IndexKey {
  /// The first value, which decides the order first.
  public let first: First
  /// The other values.
  public let rest: (repeat each Rest)

  /// A key of these values in this order.
  public init(_ first: First, _ rest: repeat each Rest) {
    self.first = first
    self.rest = (repeat each rest)
  }

  /// The value itself.
  public var indexValue: Self { self }

  /// One value after the other.
  public static func _writeKey(_ value: Self, to writer: inout KeyWriter, isLast: Bool) {
    var remaining = 0
    for _ in repeat (each Rest).self { remaining += 1 }
    First._writeKey(value.first, to: &writer, isLast: isLast && remaining == 0)
    for (type, part) in repeat ((each Rest).self, each value.rest) {
      remaining -= 1
      type._writeKey(part, to: &writer, isLast: isLast && remaining == 0)
    }
  }

  /// Not a stored field.
  public static var _isStandardKey: Bool { false }

  /// The forms of the values.
  public static var _keyForm: KeyForm {
    var parts = [First._keyForm]
    for type in repeat (each Rest).self { parts.append(type._keyForm) }
    return .composite(parts)
  }
}

extension CompositeKey: Sendable where First: Sendable, repeat each Rest: Sendable {}
