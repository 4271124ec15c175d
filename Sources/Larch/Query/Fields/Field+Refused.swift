// Comparisons that Swift does not have either: with another type, and of the order of nil.
//
// They do compile, but belong to an actor that nobody is on. So the type checker finds a solution at
// once, and the error comes from the check after it, with the name of the actor. Were they
// unavailable, or not there, it would try all combinations first: many seconds in a long filter.

/// What `==` and `!=` belong to that refuse a value of another type. Nobody is on it.
@globalActor
public actor `compare a field with a value of its own type, which is Equatable` {
  /// Required by Swift.
  public static let shared =
    `compare a field with a value of its own type, which is Equatable`()
}

/// What `<` and its like belong to that refuse a value of another type, and nil. Nobody is on it.
@globalActor
public actor `order a field by a value of its own type, which is Comparable and no optional` {
  /// Required by Swift.
  public static let shared =
    `order a field by a value of its own type, which is Comparable and no optional`()
}

// MARK: - The order of nil

// Before those for all other types: Swift sees late that nil is of none.

extension Field {
  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (field: Self, none: _OptionalNilComparisonType) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: nil has no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= (none: _OptionalNilComparisonType, field: Self) -> Filter<Root> {
    field.notCompared
  }
}

// MARK: - Literals

// The next ones refuse these too. But Swift tries those after `3 == $0.age`, which it takes for
// `$0.age == "x"` with the text for a field, and sees late that it is none. Each of these is for
// fields whose value it cannot be, so that filters which are right do not pay for it.

extension Field where Value: _NumberOrNil {
  /// Refused: a number is no text.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: String) -> Filter<Root> { field.notCompared }

  /// Refused: a number is no text.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: String) -> Filter<Root> { field.notCompared }
}

extension Field where Value: FieldNumber & BinaryInteger {
  /// Refused: an integer is no fraction.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: Double) -> Filter<Root> { field.notCompared }

  /// Refused: an integer is no fraction.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: Double) -> Filter<Root> { field.notCompared }
}

extension Field where Value: TextValue {
  /// Refused: a text is no number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: Int) -> Filter<Root> { field.notCompared }

  /// Refused: a text is no number.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: Int) -> Filter<Root> { field.notCompared }
}

extension Field where Value: RawRepresentable {
  /// Refused: a case is no text.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == (field: Self, other: String) -> Filter<Root> { field.notCompared }

  /// Refused: a case is no text.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != (field: Self, other: String) -> Filter<Root> { field.notCompared }
}

// MARK: - All other types

extension Field {
  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func == <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types are not compared, as in Swift.
  @`compare a field with a value of its own type, which is Equatable`
  @_disfavoredOverload
  public static func != <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func < <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func <= <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func > <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(field: Self, other: Other?) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(other: Other?, field: Self) -> Filter<Root> { field.notCompared }

  /// Refused: values of two types, or optionals, have no order, as in Swift.
  @`order a field by a value of its own type, which is Comparable and no optional`
  @_disfavoredOverload
  public static func >= <Other>(field: Self, other: Field<Root, Other>) -> Filter<Root> {
    field.notCompared
  }
}

extension Field {
  /// Of a program that calls them all the same: by way of the actor.
  var notCompared: Filter<Root> {
    let error = LarchError(
      .invalidQuery,
      "A filter compares a field with a value of another type, or orders nil; compare values of the field's own type."
    ) { $0.field = node.name }
    return filter("compared", error: error, decoded: { _ in false })
  }
}
