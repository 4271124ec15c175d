// MARK: Range

extension ValidationRule where Value: Sendable {
  /// The value lies in a range: `0...150`, `0..<150`, `18...`, `...150` or `..<150`. NaN lies in no
  /// range.
  public static func range<Range: FieldRange>(_ range: Range) -> ValidationRule
  where Range.Bound == Value {
    let bounds = range.bounds
    if let integers = bounds as? FieldBounds<Int> {
      // `Value` is `Int`, like the bounds, so the comparisons are not generic.
      return between(bounds) {
        integers.verdict(UnsafeRawPointer($0).assumingMemoryBound(to: Int.self).pointee)
      }
    }
    return between(bounds) { bounds.verdict($0.pointee) }
  }

  /// The value is nil or lies in a range: `0...150`, `0..<150`, `18...`, `...150` or `..<150`. NaN
  /// lies in no range.
  public static func range<Range: FieldRange>(_ range: Range) -> ValidationRule
  where Value == Range.Bound?, Range.Bound: Sendable {
    let bounds = range.bounds
    return between(bounds) { value in
      guard let value = value.pointee else { return .kept }
      return bounds.verdict(value)
    }
  }

  /// Not available: a range whose type differs from that of the field.
  @available(*, unavailable, message: "the range is not of the type of the field")
  @_disfavoredOverload
  public static func range<Range: FieldRange>(_ range: Range) -> ValidationRule {
    ValidationRule(.unusable("The range of a rule is not of the type of its field."))
  }

  private static func between<Bound>(
    _ bounds: FieldBounds<Bound>, _ verdict: @escaping @Sendable (UnsafePointer<Value>) -> Verdict
  ) -> ValidationRule {
    if let lower = bounds.lower, let upper = bounds.upper,
      !(bounds.includesUpper ? lower <= upper : lower < upper)
    {
      return ValidationRule(
        .unusable("The range of a rule is empty; correct it."))
    }
    let lower = bounds.lower.map { "\($0)" } ?? ""
    let upper = bounds.upper.map { "\($0)" } ?? ""
    return ValidationRule(
      .value(verdict),
      RuleFailure(
        .tooSmall, "must be at least \(lower)", limit: lower, isPossible: bounds.lower != nil),
      RuleFailure(
        .tooLarge, "must be \(bounds.includesUpper ? "at most" : "less than") \(upper)",
        limit: upper, isPossible: bounds.upper != nil),
      runsCode: !StandardValues.contain(Bound.self))
  }
}

extension FieldBounds {
  /// Comparisons with NaN are false, so each comparison asks whether the value is valid.
  fileprivate func verdict(_ value: Bound) -> Verdict {
    if let lower, !(value >= lower) { return .first }
    if let upper, !(includesUpper ? value <= upper : value < upper) { return .second }
    return .kept
  }
}

// MARK: Lists of values

extension ValidationRule where Value: Hashable & Sendable {
  /// The value is nil or one of these.
  public static func inclusion(_ values: some Sequence<Value>) -> ValidationRule {
    var allowed = Set(values)
    if allowed.isEmpty {
      return ValidationRule(
        .unusable("An inclusion rule has no values, so no record could be saved; add some."))
    }
    if let none { allowed.insert(none) }
    return ValidationRule(
      .value { [allowed] in allowed.contains($0.pointee) ? .kept : .first },
      RuleFailure(.notIncluded, "must be one of the allowed values"),
      runsCode: !StandardValues.contain(Value.self))
  }

  /// The value is nil or not one of these.
  public static func exclusion(_ values: some Sequence<Value>) -> ValidationRule {
    var reserved = Set(values)
    if let none { reserved.remove(none) }
    return ValidationRule(
      .value { [reserved] in reserved.contains($0.pointee) ? .first : .kept },
      RuleFailure(.reserved, "must not be one of the reserved values"),
      runsCode: !StandardValues.contain(Value.self))
  }

  /// Not available: values whose type differs from that of the field.
  @available(*, unavailable, message: "the values are not of the type of the field")
  @_disfavoredOverload
  public static func inclusion<Other>(_ values: [Other]) -> ValidationRule {
    ValidationRule(.unusable("The values of a rule are not of the type of its field."))
  }

  /// Not available: values whose type differs from that of the field.
  @available(*, unavailable, message: "the values are not of the type of the field")
  @_disfavoredOverload
  public static func exclusion<Other>(_ values: [Other]) -> ValidationRule {
    ValidationRule(.unusable("The values of a rule are not of the type of its field."))
  }

  /// Nil, if the value may be nil.
  private static var none: Value? {
    (Value.self as? any ExpressibleByNilLiteral.Type).flatMap { $0.init(nilLiteral: ()) as? Value }
  }
}

// MARK: Format

extension ValidationRule where Value: TextValue {
  /// A regular expression matches the whole text; nil meets the rule.
  ///
  /// ```swift
  /// Validate(\.zip, .format(/[0-9]{5}/))
  /// ```
  ///
  /// Only one thread at a time matches.
  public static func format(_ regex: sending some RegexComponent) -> ValidationRule {
    let regex = SharedRegex(regex)
    return ValidationRule(
      .value { value in
        guard let text = value.pointee._text else { return .kept }
        return regex.matches(text) ? .kept : .first
      },
      RuleFailure(.invalidFormat, "does not have the right form"),
      // A regular expression may contain closures.
      runsCode: true)
  }
}

// MARK: Rules of your own

extension ValidationRule {
  /// A custom rule, with a custom keyword.
  ///
  /// - Parameters:
  ///   - keyword: identifies the error.
  ///   - message: the message of the error.
  ///   - isValid: returns whether a value meets the rule.
  @_disfavoredOverload  // Nil keeps the rule, so the next one is for optional fields.
  public static func custom(
    _ keyword: ValidationError.Keyword, message: String? = nil,
    _ isValid: @escaping @Sendable (Value) throws -> Bool
  ) -> ValidationRule {
    ValidationRule(
      .value { try isValid($0.pointee) ? .kept : .first },
      RuleFailure(keyword, "breaks the rule \(keyword)", message: message), runsCode: true)
  }

  /// A custom rule, with a custom keyword; nil meets it.
  ///
  /// - Parameters:
  ///   - keyword: identifies the error.
  ///   - message: the message of the error.
  ///   - isValid: returns whether a value meets the rule.
  public static func custom<Wrapped>(
    _ keyword: ValidationError.Keyword, message: String? = nil,
    _ isValid: @escaping @Sendable (Wrapped) throws -> Bool
  ) -> ValidationRule where Value == Wrapped? {
    ValidationRule(
      .value { value in
        guard let value = value.pointee else { return .kept }
        return try isValid(value) ? .kept : .first
      },
      RuleFailure(keyword, "breaks the rule \(keyword)", message: message), runsCode: true)
  }
}
