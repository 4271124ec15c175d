// Constants have the type of the field, so that literals and enum cases need no type name. Each
// overload costs the type checker time in every filter: Tests/check-refusals.sh measures it.

extension Field where Value: Equatable & Sendable {
  /// The field equals a value: nil equals nil, NaN equals nothing.
  public static func == (field: Self, value: Value) -> Filter<Root> { field.equals(value) }

  /// The field does not equal a value; true for nil, unless the value is nil.
  public static func != (field: Self, value: Value) -> Filter<Root> { !field.equals(value) }

  /// Two fields of a record are equal: nil equals nil, NaN equals nothing.
  public static func == (left: Self, right: Self) -> Filter<Root> {
    left.isEqual(to: right) { $0 == $1 }
  }

  /// Two fields of a record are not equal; true if exactly one of them is nil.
  public static func != (left: Self, right: Self) -> Filter<Root> {
    !left.isEqual(to: right) { $0 == $1 }
  }

  /// Two fields of a record are equal; false if the optional one is nil.
  public static func == (left: Self, right: Field<Root, Value?>) -> Filter<Root> {
    left.isEqual(to: right) { $0 == $1 }
  }

  /// Two fields of a record are not equal; true if the optional one is nil.
  public static func != (left: Self, right: Field<Root, Value?>) -> Filter<Root> {
    !left.isEqual(to: right) { $0 == $1 }
  }

  /// Two fields of a record are equal; false if the optional one is nil.
  public static func == (left: Field<Root, Value?>, right: Self) -> Filter<Root> {
    left.isEqual(to: right) { $0 == $1 }
  }

  /// Two fields of a record are not equal; true if the optional one is nil.
  public static func != (left: Field<Root, Value?>, right: Self) -> Filter<Root> {
    !left.isEqual(to: right) { $0 == $1 }
  }

  private func equals(_ value: Value) -> Filter<Root> {
    if let key = node.key { return Filter(key.filter(.equal(key.values(value)))) }
    return filter(Field.isNone(value) ? "== nil" : "== …", decoded: { $0 == value })
  }

  private static func isNone(_ value: Value) -> Bool {
    func isNone<Optional: OptionalField>(_: Optional.Type) -> Bool {
      // `Optional` is `Value`; only the run time knows that it is one.
      unsafeBitCast(value, to: Optional.self)._optional == nil
    }
    return (Value.self as? any OptionalField.Type).map { isNone($0) } ?? false
  }
}

extension Field where Value: Comparable & Sendable {
  /// The field is less than a value.
  public static func < (field: Self, value: Value) -> Filter<Root> {
    field.isBelow(value, isIncluded: false)
  }

  /// The field is less than or equal to a value.
  public static func <= (field: Self, value: Value) -> Filter<Root> {
    field.isBelow(value, isIncluded: true)
  }

  /// The field is greater than a value.
  public static func > (field: Self, value: Value) -> Filter<Root> {
    field.isAbove(value, isIncluded: false)
  }

  /// The field is greater than or equal to a value.
  public static func >= (field: Self, value: Value) -> Filter<Root> {
    field.isAbove(value, isIncluded: true)
  }

  /// The field is greater than a value.
  public static func < (value: Value, field: Self) -> Filter<Root> { field > value }

  /// The field is greater than or equal to a value.
  public static func <= (value: Value, field: Self) -> Filter<Root> { field >= value }

  /// The field is less than a value.
  public static func > (value: Value, field: Self) -> Filter<Root> { field < value }

  /// The field is less than or equal to a value.
  public static func >= (value: Value, field: Self) -> Filter<Root> { field <= value }
}

extension Field where Value: OptionalField, Value.Wrapped: Comparable & Sendable {
  /// The field is less than a value; false for nil.
  public static func < (field: Self, value: Value.Wrapped) -> Filter<Root> {
    field.isBelow(value, isIncluded: false)
  }

  /// The field is less than or equal to a value; false for nil.
  public static func <= (field: Self, value: Value.Wrapped) -> Filter<Root> {
    field.isBelow(value, isIncluded: true)
  }

  /// The field is greater than a value; false for nil.
  public static func > (field: Self, value: Value.Wrapped) -> Filter<Root> {
    field.isAbove(value, isIncluded: false)
  }

  /// The field is greater than or equal to a value; false for nil.
  public static func >= (field: Self, value: Value.Wrapped) -> Filter<Root> {
    field.isAbove(value, isIncluded: true)
  }

  /// The field is greater than a value; false for nil.
  public static func < (value: Value.Wrapped, field: Self) -> Filter<Root> { field > value }

  /// The field is greater than or equal to a value; false for nil.
  public static func <= (value: Value.Wrapped, field: Self) -> Filter<Root> {
    field >= value
  }

  /// The field is less than a value; false for nil.
  public static func > (value: Value.Wrapped, field: Self) -> Filter<Root> { field < value }

  /// The field is less than or equal to a value; false for nil.
  public static func >= (value: Value.Wrapped, field: Self) -> Filter<Root> {
    field <= value
  }
}

// MARK: - Two fields

extension Field where Value: Comparable & Sendable {
  /// The first field is less than the other.
  public static func < (left: Self, right: Self) -> Filter<Root> {
    left.compare(.less, right) { $0 < $1 }
  }

  /// The first field is less than or equal to the other.
  public static func <= (left: Self, right: Self) -> Filter<Root> {
    left.compare(.lessOrEqual, right) { $0 <= $1 }
  }

  /// The first field is greater than the other.
  public static func > (left: Self, right: Self) -> Filter<Root> { right < left }

  /// The first field is greater than or equal to the other.
  public static func >= (left: Self, right: Self) -> Filter<Root> { right <= left }

  /// The first field is less than the other; false for nil.
  public static func < (left: Self, right: Field<Root, Value?>) -> Filter<Root> {
    left.compare(.less, right) { left, right in right.map { left < $0 } ?? false }
  }

  /// The first field is less than or equal to the other; false for nil.
  public static func <= (left: Self, right: Field<Root, Value?>) -> Filter<Root> {
    left.compare(.lessOrEqual, right) { left, right in right.map { left <= $0 } ?? false }
  }

  /// The first field is greater than the other; false for nil.
  public static func > (left: Self, right: Field<Root, Value?>) -> Filter<Root> { right < left }

  /// The first field is greater than or equal to the other; false for nil.
  public static func >= (left: Self, right: Field<Root, Value?>) -> Filter<Root> { right <= left }

  /// The first field is less than the other; false for nil.
  public static func < (left: Field<Root, Value?>, right: Self) -> Filter<Root> {
    left.compare(.less, right) { left, right in left.map { $0 < right } ?? false }
  }

  /// The first field is less than or equal to the other; false for nil.
  public static func <= (left: Field<Root, Value?>, right: Self) -> Filter<Root> {
    left.compare(.lessOrEqual, right) { left, right in left.map { $0 <= right } ?? false }
  }

  /// The first field is greater than the other; false for nil.
  public static func > (left: Field<Root, Value?>, right: Self) -> Filter<Root> { right < left }

  /// The first field is greater than or equal to the other; false for nil.
  public static func >= (left: Field<Root, Value?>, right: Self) -> Filter<Root> { right <= left }
}
