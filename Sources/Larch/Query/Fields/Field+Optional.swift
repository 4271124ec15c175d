/// An optional as a field in a filter. You never need to conform to it.
@_documentation(visibility: private)
public protocol OptionalField: SendableMetatype {
  /// The type of the value.
  associatedtype Wrapped

  /// The value as an optional. Implemented by Larch.
  var _optional: Wrapped? { get }

  /// From an optional. Implemented by Larch.
  init(_optional: Wrapped?)
}

extension Optional: OptionalField {
  /// The value itself.
  public var _optional: Wrapped? { self }

  /// The value itself.
  public init(_optional: Wrapped?) { self = _optional }
}

extension Field where Value: OptionalField {
  /// The field has no value, for any type.
  @_disfavoredOverload
  public static func == (field: Self, value: _OptionalNilComparisonType) -> Filter<Root> {
    if let key = field.node.key {
      return Filter(key.filter(.equal(key.values(Value(_optional: nil)))))
    }
    return field.filter("== nil", decoded: { $0._optional == nil })
  }

  /// The field has a value, for any type; NaN is a value.
  @_disfavoredOverload
  public static func != (field: Self, value: _OptionalNilComparisonType) -> Filter<Root> {
    !(field == value)
  }
}
