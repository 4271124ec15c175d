/// An optional as a field in a filter. You never need to conform to it.
public protocol OptionalField: SendableMetatype {
  /// Whether there is no value. Met by Larch.
  var _isNil: Bool { get }

  /// No value. Met by Larch.
  static var _nil: Self { get }
}

extension Optional: OptionalField {
  /// Whether there is no value.
  public var _isNil: Bool { self == nil }

  /// No value.
  public static var _nil: Self { nil }
}

extension Field where Value: OptionalField {
  /// The field has no value.
  public var isNil: Filter<Root> {
    filter("== nil", { $0.filter(.equal($0.values(Value._nil))) }, orElse: { $0._isNil })
  }

  /// The field has a value, be it NaN.
  public var isNotNil: Filter<Root> { !isNil }

  /// The field has no value, of whatever type.
  @_disfavoredOverload
  public static func == (field: Self, value: _OptionalNilComparisonType) -> Filter<Root> {
    field.isNil
  }

  /// The field has a value, of whatever type.
  @_disfavoredOverload
  public static func != (field: Self, value: _OptionalNilComparisonType) -> Filter<Root> {
    field.isNotNil
  }
}
