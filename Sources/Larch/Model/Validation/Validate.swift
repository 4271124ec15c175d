/// Declares rules that a field, or the record as a whole, must keep to be saved.
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
/// A save that would break rules throws `.invalid` and changes nothing; its
/// ``LarchError/validationErrors`` name all of them at once, in the order of the declarations. Nil
/// keeps every rule but `presence`.
///
/// An insert checks all rules. An update checks those whose field, or scope, differs from what is
/// stored, so that a record from before a rule was declared can still be changed elsewhere; rules of
/// whole records, of computed properties, and those with a condition are always checked.
///
/// Rules run wherever records are saved: one by one, by a query, through an association, by an
/// import or a migration. Deleting checks none.
public struct Validate<R: Record>: Sendable {
  var declaration: ValidationDeclaration<R>

  /// Declares rules for a field.
  ///
  /// - Parameters:
  ///   - field: any property, also in a nested value, also a computed one.
  ///   - rules: what must hold; see ``ValidationRule``.
  ///   - name: what errors call the field; needed for a computed property.
  public init<Value>(
    _ field: any KeyPath<R, Value> & Sendable, _ rules: ValidationRule<R, Value>...,
    name: String? = nil
  ) {
    let access = FieldAccess(field)
    declaration = ValidationDeclaration(
      field: DeclaredField(field, name: name), rules: rules.map { $0.declared(access, field) })
  }

  /// Declares a rule of your own for a field, with a keyword of your own.
  ///
  /// The closure may read with the ambient calls, in the transaction of the save. What it throws,
  /// the save throws.
  ///
  /// - Parameters:
  ///   - field: any property, also in a nested value, also a computed one.
  ///   - keyword: what the error is told apart by.
  ///   - message: what the error says.
  ///   - name: what errors call the field; needed for a computed property.
  ///   - isValid: whether a value keeps the rule.
  @_disfavoredOverload  // Nil keeps the rule, so the next one is for optional fields.
  public init<Value>(
    _ field: any KeyPath<R, Value> & Sendable, _ keyword: ValidationError.Keyword,
    message: String? = nil, name: String? = nil,
    _ isValid: @escaping @Sendable (Value) throws -> Bool
  ) {
    self.init(field, .custom(keyword, message: message, isValid), name: name)
  }

  /// Declares a rule of your own for a field that may be nil, which keeps the rule.
  ///
  /// The closure may read with the ambient calls, in the transaction of the save. What it throws,
  /// the save throws.
  ///
  /// - Parameters:
  ///   - field: any property, also in a nested value, also a computed one.
  ///   - keyword: what the error is told apart by.
  ///   - message: what the error says.
  ///   - name: what errors call the field; needed for a computed property.
  ///   - isValid: whether a value keeps the rule.
  public init<Wrapped>(
    _ field: any KeyPath<R, Wrapped?> & Sendable, _ keyword: ValidationError.Keyword,
    message: String? = nil, name: String? = nil,
    _ isValid: @escaping @Sendable (Wrapped) throws -> Bool
  ) {
    self.init(field, .custom(keyword, message: message, isValid), name: name)
  }

  /// Declares a rule of your own for the record as a whole, with a keyword of your own.
  ///
  /// It is checked at each save that changes anything. The closure may read with the ambient calls,
  /// in the transaction of the save. What it throws, the save throws.
  ///
  /// - Parameters:
  ///   - keyword: what the error is told apart by.
  ///   - message: what the error says.
  ///   - isValid: whether a record keeps the rule.
  public init(
    _ keyword: ValidationError.Keyword, message: String? = nil,
    _ isValid: @escaping @Sendable (R) throws -> Bool
  ) {
    declaration = ValidationDeclaration(
      field: nil, rules: [.whole(keyword, message: message, isValid)])
  }

  /// Declares a rule of your own that looks at the whole record and names a field in its error.
  ///
  /// - Parameters:
  ///   - keyword: what the error is told apart by.
  ///   - field: the property that the error names.
  ///   - message: what the error says.
  ///   - isValid: whether a record keeps the rule.
  public init<Value>(
    _ keyword: ValidationError.Keyword, on field: any KeyPath<R, Value> & Sendable,
    message: String? = nil, _ isValid: @escaping @Sendable (R) throws -> Bool
  ) {
    declaration = ValidationDeclaration(
      field: DeclaredField(field, name: nil),
      rules: [.whole(keyword, message: message, isValid)])
  }

  /// The same rules, for the records that the closure picks.
  ///
  /// ``ValidationRule/uniqueness`` holds among these alone then.
  public func when(_ condition: @escaping @Sendable (R) -> Bool) -> Validate {
    var copy = self
    for place in copy.declaration.rules.indices {
      copy.declaration.rules[place].conditions.append(condition)
    }
    return copy
  }
}
