extension ValidationRule where Value: IndexableField {
  /// No two records have the same value; for an array or a set, no element is in two records.
  ///
  /// It is a guarantee: it creates a unique index, unless the schema declares one over the same
  /// fields. The rule reports a duplicate value together with all other failures. Any number of
  /// records may have nil, or NaN. If stored records already break the rule, opening the store
  /// throws `.uniqueConflict`.
  ///
  /// With a condition it applies among the records that the condition selects. Larch cannot detect
  /// a change of the condition, so use ``uniqueness(scope:name:)`` then.
  public static var uniqueness: ValidationRule { unique([]) }

  /// Like ``uniqueness``, among the records that have the same values in other fields, or with a name
  /// for the index: change it when you change the condition of the rule.
  ///
  /// ```swift
  /// Validate(\.number, .uniqueness(scope: \.teamID))
  /// ```
  public static func uniqueness<each Scope: IndexableField>(
    scope: repeat any KeyPath<R, each Scope> & Sendable, name: String? = nil
  ) -> ValidationRule {
    var fields: [FieldDeclaration<R>] = []
    for field in repeat each scope { fields.append(FieldDeclaration(field)) }
    return unique(fields, name: name)
  }

  fileprivate static func unique(
    _ scope: [FieldDeclaration<R>], _ form: CheckedTextForm = .exact, name: String? = nil
  ) -> ValidationRule {
    ValidationRule(
      .uniqueness(
        UniqueRule(scope: scope, name: name) { FieldDeclaration($0, form) }),
      RuleFailure(.alreadyExists, "is taken already"))
  }
}

extension ValidationRule where Value: IndexableField & TextValue {
  /// Like ``uniqueness``, ignoring case; with a scope among the records that have the same values in
  /// other fields.
  public static func uniqueness<each Scope: IndexableField>(
    options: TextOption, scope: repeat any KeyPath<R, each Scope> & Sendable,
    name: String? = nil
  ) -> ValidationRule {
    var fields: [FieldDeclaration<R>] = []
    for field in repeat each scope { fields.append(FieldDeclaration(field)) }
    return unique(fields, options.form, name: name)
  }
}

// MARK: Not available

// The compiler errors for a field that cannot be unique. The key paths have any value type, so that
// nothing is inferred and no other error is reported.
extension ValidationRule {
  /// Not available: a type that is not a key.
  @available(
    *, unavailable,
    message:
      "the field, or one of the scope, has a type that no index can order: add the word `IndexKey` to an enum with raw values, one word and nothing to write; see `IndexKey` for other types"
  )
  @_disfavoredOverload
  public static var uniqueness: ValidationRule { notUnique }

  /// Not available: a type that is not a key.
  @available(
    *, unavailable,
    message:
      "the field, or one of the scope, has a type that no index can order: add the word `IndexKey` to an enum with raw values, one word and nothing to write; see `IndexKey` for other types"
  )
  @_disfavoredOverload
  public static func uniqueness(
    scope: PartialKeyPath<R>..., name: String? = nil
  ) -> ValidationRule { notUnique }

  /// Not available: a field that is no text, or a scope of a type that is no key.
  @available(
    *, unavailable,
    message:
      "only texts can be compared without case, and the fields of a scope are types that an index can order: add the word `IndexKey` to an enum with raw values"
  )
  @_disfavoredOverload
  public static func uniqueness(
    options: TextOption, scope: PartialKeyPath<R>..., name: String? = nil
  ) -> ValidationRule { notUnique }

  private static var notUnique: ValidationRule {
    ValidationRule(.unusable("The values of the field cannot be keys of an index."))
  }
}

/// A uniqueness rule before its field is known.
struct UniqueRule<R: Record, Value>: Sendable {
  let scope: [FieldDeclaration<R>]
  let name: String?
  let field: @Sendable (any KeyPath<R, Value> & Sendable) -> FieldDeclaration<R>
}
