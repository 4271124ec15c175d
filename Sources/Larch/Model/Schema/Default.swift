/// The value of a field that older records do not have.
///
/// A property that you add to a type later is missing in stored records. An optional property is
/// then nil; for any other one, declare its value:
///
/// ```swift
/// Default(\.role, .member)
/// ```
///
/// It also replaces a nil in an older record if the property is no longer optional.
public struct Default<R: Record>: Sendable {
  let declaration: DefaultDeclaration<R>

  /// Declares `value` for records without the field, and for records with nil if the property is
  /// not optional.
  ///
  /// The field must be a stored property. Cost: nothing for records that have the field.
  public init<Value: Codable & Sendable>(
    _ field: any KeyPath<R, Value> & Sendable, _ value: Value
  ) {
    declaration = DefaultDeclaration(
      resolve: { FieldNaming.storedPath(of: field) }, value: value,
      isNil: { ($0[keyPath: field] as? any OptionalType)?.isNil == true })
  }

  /// Not available: a value whose type differs from that of the field.
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
  /// Whether the field of a record is nil.
  let isNil: @Sendable (R) -> Bool
}
