// Values that may be nil, compared with fields.

extension Field where Value: Equatable & Sendable {
  /// The field equals a value; false if the value is nil.
  @_disfavoredOverload
  public static func == (field: Self, value: Value?) -> Filter<Root> {
    value.map { field == $0 } ?? field.isNever
  }

  /// The field does not equal a value; true if the value is nil.
  @_disfavoredOverload
  public static func != (field: Self, value: Value?) -> Filter<Root> { !(field == value) }

  /// Never true; keeps the error of a field that cannot be used.
  private var isNever: Filter<Root> {
    node.error == nil ? .never : filter("== nil", decoded: { _ in false })
  }
}
