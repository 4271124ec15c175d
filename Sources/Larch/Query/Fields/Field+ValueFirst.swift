// `3 == $0.age`. Swift takes these for `$0.age == "x"` too, with the text for a field, and sees late
// that it is none. So they come after those that refuse a text: what is disfavored is tried last.

extension Field where Value: Equatable & Sendable {
  /// The field equals a value: nil equals nil, NaN equals nothing.
  @_disfavoredOverload
  public static func == (value: Value, field: Self) -> Filter<Root> { field == value }

  /// The field does not equal a value; true for nil, unless the value is nil.
  @_disfavoredOverload
  public static func != (value: Value, field: Self) -> Filter<Root> { !(field == value) }

  /// The field equals a value; false if there is none.
  @_disfavoredOverload
  public static func == (value: Value?, field: Self) -> Filter<Root> { field == value }

  /// The field does not equal a value; true if there is none.
  @_disfavoredOverload
  public static func != (value: Value?, field: Self) -> Filter<Root> { !(field == value) }
}
