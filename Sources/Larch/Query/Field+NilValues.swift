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

  /// The field equals a value; false if there is none.
  @_disfavoredOverload
  public static func == (value: Value?, field: Self) -> Filter<Root> { field == value }

  /// The field does not equal a value; true if there is none.
  @_disfavoredOverload
  public static func != (value: Value?, field: Self) -> Filter<Root> { !(field == value) }

  /// Never true, unless the field cannot be asked.
  private var isNever: Filter<Root> {
    node.error == nil ? .never : filter("== nil", decoded: { _ in false })
  }
}

// MARK: - Refused

// As in arithmetic: what is refused compiles, so that the type checker need not look for anything
// else, and belongs to an actor that nobody is on.

/// What the operators belong to that would order nil. Nobody is on it.
@globalActor
public actor NilHasNoOrder {
  /// Met by Swift.
  public static let shared = NilHasNoOrder()
}

extension Field where Value: Comparable & Sendable {
  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func < (field: Self, value: Value?) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func < (value: Value?, field: Self) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func <= (field: Self, value: Value?) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func <= (value: Value?, field: Self) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func > (field: Self, value: Value?) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func > (value: Value?, field: Self) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func >= (field: Self, value: Value?) -> Filter<Root> { field.refusedOrder }

  /// Refused: nil has no order, as in Swift.
  @NilHasNoOrder
  @available(*, deprecated, message: "nil has no order; unwrap the value first")
  @_disfavoredOverload
  public static func >= (value: Value?, field: Self) -> Filter<Root> { field.refusedOrder }
}

extension Field {
  fileprivate var refusedOrder: Filter<Root> {
    let error = LarchError(
      .invalidQuery, "A filter asks for the order of nil; unwrap the value first."
    ) { $0.field = node.name }
    return filter("< nil", error: error, decoded: { _ in false })
  }
}
