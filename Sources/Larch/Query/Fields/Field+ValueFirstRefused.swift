// Lists, and an order with a literal of another type before its field.
//
// `Field+Refused.swift` refuses the literals too. But Swift tries its generic forms late in a long
// filter. Each of these is for fields whose value it cannot be. `==` with a literal first has none: a
// filter that is right would pay for it, tens of thousands of steps in ten terms.

extension Field where Value: _NumberOrNil {
  /// Refused: a number is no text.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is no text.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is no text.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (other: String, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a number is no text.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (other: String, field: Self) -> Filter<Root> { field.notCompared }
}

extension Field where Value: TextValue {
  /// Refused: a text is no number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a text is no number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a text is no number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (other: Int, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: a text is no number.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (other: Int, field: Self) -> Filter<Root> { field.notCompared }
}

// MARK: - Lists

/// What `==` and `!=` belong to that refuse a list of values. Nobody is on it.
@globalActor
public actor `compare a field with one value; for several write '[…].contains(field)'` {
  /// Met by Swift.
  public static let shared =
    `compare a field with one value; for several write '[…].contains(field)'`()
}

extension Field where Value: Equatable & Sendable {
  /// Refused: a list is no value.
  @`compare a field with one value; for several write '[…].contains(field)'`
  @_disfavoredOverload
  public static func == (field: Self, others: [Value]) -> Filter<Root> { field.notCompared }

  /// Refused: a list is no value.
  @`compare a field with one value; for several write '[…].contains(field)'`
  @_disfavoredOverload
  public static func != (field: Self, others: [Value]) -> Filter<Root> { field.notCompared }
}
