/// The value of a field that older records do not have.
///
/// A property that is added to a type later is missing in the records that are stored already.
/// An optional one is nil then; for another one declare its value:
///
/// ```swift
/// Default(\.role, .member)
/// ```
///
/// It also stands in for a nil that an older record has where the property is no longer optional.
public struct Default<R: Record>: Sendable {
  let declaration: DefaultDeclaration<R>

  /// Declares that records without the field have `value` there, and those with nil where the
  /// property is not optional.
  ///
  /// The field must be a stored property. Cost: nothing for records that have the field.
  public init<Value: Codable & Sendable>(
    _ field: any KeyPath<R, Value> & Sendable, _ value: Value
  ) {
    declaration = DefaultDeclaration(
      resolve: { FieldNaming.storedPath(of: field) }, value: value,
      isNil: { ($0[keyPath: field] as? any OptionalType)?.isNil == true })
  }

  /// Not available: a value of another type than the field.
  @available(*, unavailable, message: "the value is not of the type of its field")
  @_disfavoredOverload
  public init(_ field: PartialKeyPath<R>, _ value: Any) {
    declaration = DefaultDeclaration(
      resolve: { .computed(printableName: nil) }, value: 0, isNil: { _ in false })
  }
}

/// A declared default, before its field is resolved to a stored name.
struct DefaultDeclaration<R: Record>: Sendable {
  let resolve: @Sendable () -> FieldNaming.Resolution
  let value: any Codable & Sendable
  /// Whether a record has nil there.
  let isNil: @Sendable (R) -> Bool
}
