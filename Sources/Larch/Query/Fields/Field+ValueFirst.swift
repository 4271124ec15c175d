// `3 == $0.age`. Swift also tries these for `$0.age == "x"`, with the text as a field, and finds
// out late that it is not one. So they come after the overloads that refuse a text: Swift tries
// disfavored overloads last.

extension Field where Value: Equatable & Sendable {
  /// The field equals a value: nil equals nil, NaN equals nothing.
  @_disfavoredOverload
  public static func == (value: Value, field: Self) -> Filter<Root> { field == value }

  /// The field does not equal a value; true for nil, unless the value is nil.
  @_disfavoredOverload
  public static func != (value: Value, field: Self) -> Filter<Root> { !(field == value) }

  /// The field equals a value; false if the value is nil.
  @_disfavoredOverload
  public static func == (value: Value?, field: Self) -> Filter<Root> { field == value }

  /// The field does not equal a value; true if the value is nil.
  @_disfavoredOverload
  public static func != (value: Value?, field: Self) -> Filter<Root> { !(field == value) }
}
