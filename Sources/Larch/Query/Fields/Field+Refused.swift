// Comparisons that Swift does not have either: of values of different types, and by order with nil.
//
// They belong to a global actor on which no code runs. So the type checker finds a solution at
// once, and the check of isolation after it gives the error, with the name of the actor. If they
// were unavailable or missing, the type checker would first try all combinations, which takes many
// seconds in a long filter.

/// The actor of the `==` and `!=` that refuse a value of another type. No code runs on it.
@globalActor
public actor `compare a field with a value of its own type, which is Equatable` {
  /// Required by Swift.
  public static let shared =
    `compare a field with a value of its own type, which is Equatable`()
}

/// The actor of the `<`, `<=`, `>` and `>=` that refuse a value of another type, and nil. No code
/// runs on it.
@globalActor
public actor `order a field by a value of its own type, which is Comparable and no optional` {
  /// Required by Swift.
  public static let shared =
    `order a field by a value of its own type, which is Comparable and no optional`()
}

// MARK: - The order of nil

// They come before those for all other types, with which Swift finds out late that nil does not
// fit.

extension Field {
  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, nil has no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }
}

// MARK: - Literals

// The generic operators below refuse literals too. But Swift tries them after those for `3 ==
// $0.age`, in which it takes the literal of `$0.age == "x"` for a field, and finds the mistake
// late. Each operator here is for fields whose value cannot be such a literal, so that correct
// filters do not become slower to compile.

extension Field where Value: _NumberOrNil {
  /// Refused: a number is not a string.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: String) -> Filter<Root> { field.notCompared }

  /// Refused: a number is not a string.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: String) -> Filter<Root> { field.notCompared }
}

extension Field where Value: FieldNumber & BinaryInteger {
  /// Refused: an integer is not a floating-point number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: Double) -> Filter<Root> { field.notCompared }

  /// Refused: an integer is not a floating-point number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: Double) -> Filter<Root> { field.notCompared }
}

extension Field where Value: TextValue {
  /// Refused: a string is not a number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: Int) -> Filter<Root> { field.notCompared }

  /// Refused: a string is not a number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: Int) -> Filter<Root> { field.notCompared }
}

extension Field where Value: RawRepresentable {
  /// Refused: an enum case is not a string.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: String) -> Filter<Root> { field.notCompared }

  /// Refused: an enum case is not a string.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: String) -> Filter<Root> { field.notCompared }
}

// MARK: - All other types

extension Field {
  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types are not compared.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: as in Swift, values of different types and optionals have no order.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }
}

extension Field {
  /// For a program that runs code on the actor and so can call them.
  var notCompared: Filter<Root> {
    let error = LarchError(
      .invalidQuery,
      "A filter compares a field with a value of another type, or orders nil; compare values of the field's own type."
    ) { $0.field = node.name }
    return filter("compared", error: error, decoded: { _ in false })
  }
}
