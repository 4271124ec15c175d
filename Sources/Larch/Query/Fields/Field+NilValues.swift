// Values that may be nil, compared with fields.

extension Field where Value: Equatable & Sendable {
  /// The field equals a value; false if there is none.
  @_disfavoredOverload
  public static func == (field: Self, value: Value?) -> Filter<Root> {
    value.map { field == $0 } ?? field.isNever
  }

  /// The field does not equal a value; true if there is none.
  @_disfavoredOverload
  public static func != (field: Self, value: Value?) -> Filter<Root> { !(field == value) }

  /// Never true, unless the field cannot be asked.
  private var isNever: Filter<Root> {
    node.error == nil ? .never : filter("== nil", decoded: { _ in false })
  }
}
