// Comparisons with a list, and by order with a literal of another type before the field.
//
// `Field+Refused.swift` refuses the literals too. But in a long filter Swift tries its generic
// operators late. Each operator here is for fields whose value cannot be such a literal. There is
// no `==` with a literal first: it would cost a correct filter of ten terms tens of thousands of
// steps in the type checker.

extension Field where Value: _NumberOrNil {
  /// Refused: a number is not a string.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is not a string.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is not a string.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is not a string.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (other: String, field: Self) -> Filter<Root> { field.notCompared }
}

extension Field where Value: TextValue {
  /// Refused: a string is not a number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a string is not a number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a string is not a number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a string is not a number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (other: Int, field: Self) -> Filter<Root> { field.notCompared }
}

// MARK: - Lists

/// The actor of the `==` and `!=` that refuse a list of values. No code runs on it.
@globalActor
public actor `compare a field with one value; for several write '[…].contains(field)'` {
  /// Required by Swift.
  public static let shared =
    `compare a field with one value; for several write '[…].contains(field)'`()
}

extension Field where Value: Equatable & Sendable {
  /// Refused: a list is not one value.
  @`compare a field with one value; for several write '[…].contains(field)'`
  @_disfavoredOverload
  public static func == (field: Self, others: [Value]) -> Filter<Root> { field.notCompared }

  /// Refused: a list is not one value.
  @`compare a field with one value; for several write '[…].contains(field)'`
  @_disfavoredOverload
  public static func != (field: Self, others: [Value]) -> Filter<Root> { field.notCompared }
}
