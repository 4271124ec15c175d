/// The rules of one line of a schema, before their field is resolved to a name.
struct ValidationDeclaration<R: Record>: Sendable {
  /// The field that errors name; nil for rules about the whole record.
  let field: DeclaredField?
  var rules: [DeclaredRule<R>]
}

/// The field of a rule.
struct DeclaredField: @unchecked Sendable {
  /// Immutable, and only compared.
  let keyPath: AnyKeyPath
  let resolve: @Sendable () -> FieldNaming.Resolution
  let name: String?

  init<R: Record, Value>(_ keyPath: any KeyPath<R, Value> & Sendable, name: String?) {
    self.keyPath = keyPath
    resolve = { FieldNaming.storedPath(of: keyPath) }
    self.name = name
  }
}

/// A rule whose test takes the record; a closure keeps the type of the field.
struct DeclaredRule<R: Record>: Sendable {
  enum Test: Sendable {
    /// The test of a field.
    case field(RuleTest)
    /// A test of the whole record.
    case whole(RuleTest)
    case uniqueness(DeclaredUniqueness<R>)
    case unusable(StaticString)
  }

  let test: Test
  let failures: [RuleFailure]
  let runsCode: Bool
  var conditions: [@Sendable (R) -> Bool]

  /// All conditions combined; nil if there are none.
  var recordCondition: RuleCondition? {
    if conditions.isEmpty { return nil }
    return { [conditions] record in
      // Only saves of its type run the rules of a schema, each with the address of its record.
      let record = record.assumingMemoryBound(to: R.self)
      return conditions.allSatisfy { $0(record.pointee) }
    }
  }

  static func whole(
    _ keyword: ValidationError.Keyword, message: String?,
    _ isValid: @escaping @Sendable (R) throws -> Bool
  ) -> DeclaredRule {
    // As for conditions, the address is that of an `R`.
    DeclaredRule(
      test: .whole { try isValid($0.assumingMemoryBound(to: R.self).pointee) ? .kept : .first },
      failures: [RuleFailure(keyword, "breaks the rule \(keyword)", message: message)],
      runsCode: true, conditions: [])
  }
}

/// A uniqueness rule with its fields, the scope first.
struct DeclaredUniqueness<R: Record>: Sendable {
  let fields: [FieldDeclaration<R>]
  let name: String?
}

extension ValidationRule {
  /// The rule for a field.
  func declared(
    _ access: FieldAccess<R, Value>, _ keyPath: any KeyPath<R, Value> & Sendable
  ) -> DeclaredRule<R> {
    let declared: DeclaredRule<R>.Test
    switch test {
    case .value(let test):
      // The address is that of an `R`; see above.
      declared = .field { try access.withValue(at: $0, test) }
    case .uniqueness(let rule):
      declared = .uniqueness(
        DeclaredUniqueness(fields: rule.scope + [rule.field(keyPath)], name: rule.name))
    case .unusable(let reason): declared = .unusable(reason)
    }
    return DeclaredRule(
      test: declared, failures: failures, runsCode: runsCode, conditions: conditions)
  }
}
