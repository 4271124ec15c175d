/// Declares rules that a field, or the whole record, must meet to be saved.
///
/// ```swift
/// Validate(\.name, .presence, .length(...40))
/// Validate(\.email, .format(/.+@.+/), .uniqueness)
/// Validate(\.age, .range(0...150))
/// Validate(\.city, .inclusion(["Oslo", "Rome"])).when { $0.isActive }
/// Validate(\.size, "must_be_even") { $0.isMultiple(of: 2) }
/// Validate("ends_before_start") { $0.start <= $0.end }
/// ```
///
/// A save that breaks rules throws `.invalid` and changes nothing; ``LarchError/validationErrors``
/// lists all broken rules in the order of the declarations. Nil meets every rule except `presence`.
///
/// An insert checks all rules. An update checks the rules whose field or scope changes, so that
/// other fields of a record that is older than a rule can still be changed. Rules for whole
/// records, for computed properties, and rules with a condition are always checked.
///
/// Rules run wherever records are saved: one by one, by a query, through an association, by an
/// import or by a migration. A deletion checks no rules.
public struct Validate<R: Record>: Sendable {
  var declaration: ValidationDeclaration<R>

  /// Declares rules for a field.
  ///
  /// - Parameters:
  ///   - field: any property, including a computed one or one of a nested value.
  ///   - rules: the rules; see ``ValidationRule``.
  ///   - name: the name of the field in errors; required for a computed property.
  public init<Value>(
    _ field: any KeyPath<R, Value> & Sendable, _ rules: ValidationRule<R, Value>...,
    name: String? = nil
  ) {
    let access = FieldAccess(field)
    declaration = ValidationDeclaration(
      field: DeclaredField(field, name: name), rules: rules.map { $0.declared(access, field) })
  }

  /// Declares a custom rule for a field, with a custom keyword.
  ///
  /// The closure may read with the ambient calls, in the transaction of the save. If it throws, the
  /// save throws that error.
  ///
  /// - Parameters:
  ///   - field: any property, including a computed one or one of a nested value.
  ///   - keyword: identifies the error.
  ///   - message: the message of the error.
  ///   - name: the name of the field in errors; required for a computed property.
  ///   - isValid: returns whether a value meets the rule.
  @_disfavoredOverload  // Nil keeps the rule, so the next one is for optional fields.
  public init<Value>(
    _ field: any KeyPath<R, Value> & Sendable, _ keyword: ValidationError.Keyword,
    message: String? = nil, name: String? = nil,
    _ isValid: @escaping @Sendable (Value) throws -> Bool
  ) {
    self.init(field, .custom(keyword, message: message, isValid), name: name)
  }

  /// Declares a custom rule for an optional field; nil meets the rule.
  ///
  /// The closure may read with the ambient calls, in the transaction of the save. If it throws, the
  /// save throws that error.
  ///
  /// - Parameters:
  ///   - field: any property, including a computed one or one of a nested value.
  ///   - keyword: identifies the error.
  ///   - message: the message of the error.
  ///   - name: the name of the field in errors; required for a computed property.
  ///   - isValid: returns whether a value meets the rule.
  public init<Wrapped>(
    _ field: any KeyPath<R, Wrapped?> & Sendable, _ keyword: ValidationError.Keyword,
    message: String? = nil, name: String? = nil,
    _ isValid: @escaping @Sendable (Wrapped) throws -> Bool
  ) {
    self.init(field, .custom(keyword, message: message, isValid), name: name)
  }

  /// Declares a custom rule for the whole record, with a custom keyword.
  ///
  /// Each save that changes anything checks it. The closure may read with the ambient calls, in the
  /// transaction of the save. If it throws, the save throws that error.
  ///
  /// - Parameters:
  ///   - keyword: identifies the error.
  ///   - message: the message of the error.
  ///   - isValid: returns whether a record meets the rule.
  public init(
    _ keyword: ValidationError.Keyword, message: String? = nil,
    _ isValid: @escaping @Sendable (R) throws -> Bool
  ) {
    declaration = ValidationDeclaration(
      field: nil, rules: [.whole(keyword, message: message, isValid)])
  }

  /// Declares a custom rule that tests the whole record and names a field in its error.
  ///
  /// - Parameters:
  ///   - keyword: identifies the error.
  ///   - field: the property that the error names.
  ///   - message: the message of the error.
  ///   - isValid: returns whether a record meets the rule.
  public init<Value>(
    _ keyword: ValidationError.Keyword, on field: any KeyPath<R, Value> & Sendable,
    message: String? = nil, _ isValid: @escaping @Sendable (R) throws -> Bool
  ) {
    declaration = ValidationDeclaration(
      field: DeclaredField(field, name: nil),
      rules: [.whole(keyword, message: message, isValid)])
  }

  /// The same rules, only for records that the closure selects.
  ///
  /// ``ValidationRule/uniqueness`` then applies only among these.
  public func when(_ condition: @escaping @Sendable (R) -> Bool) -> Validate {
    var copy = self
    for place in copy.declaration.rules.indices {
      copy.declaration.rules[place].conditions.append(condition)
    }
    return copy
  }
}
