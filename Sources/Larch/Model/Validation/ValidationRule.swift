/// A rule for the values of a field, for ``Validate``: `.presence`, `.length(1...40)`.
///
/// The message of a rule can be changed: `.presence.message("Who is it?")`.
public struct ValidationRule<R: Record, Value>: Sendable {
  enum Test: Sendable {
    /// Receives the address of the value, which is not copied.
    case value(@Sendable (UnsafePointer<Value>) throws -> Verdict)
    case uniqueness(UniqueRule<R, Value>)
    /// The rule cannot be used; the sentence says why.
    case unusable(StaticString)
  }

  let test: Test
  /// The failures for ``Verdict/first`` and ``Verdict/second``.
  var failures: [RuleFailure]
  /// Whether code of the program runs in the test.
  let runsCode: Bool
  var conditions: [@Sendable (R) -> Bool] = []

  init(_ test: Test, _ failures: RuleFailure..., runsCode: Bool = false) {
    self.test = test
    self.failures = failures
    self.runsCode = runsCode
  }

  /// The same rule with another message, which errors use unchanged.
  public func message(_ text: String) -> ValidationRule {
    var copy = self
    for place in copy.failures.indices { copy.failures[place].message = text }
    return copy
  }

  /// The same rule with another keyword.
  public func keyword(_ keyword: ValidationError.Keyword) -> ValidationRule {
    var copy = self
    for place in copy.failures.indices { copy.failures[place].keyword = keyword }
    return copy
  }

  /// The same rule, only for records that the closure selects.
  public func when(_ condition: @escaping @Sendable (R) -> Bool) -> ValidationRule {
    var copy = self
    copy.conditions.append(condition)
    return copy
  }
}

/// The result of a rule.
enum Verdict {
  case kept
  /// Broken, with the first failure of the rule.
  case first
  /// Broken, with the second failure.
  case second
}

/// The description of a broken rule, before the field has a name.
struct RuleFailure: Sendable {
  var keyword: ValidationError.Keyword
  var limit: String?
  /// The text after the name of the field: `must not be blank`.
  let text: String
  /// A message of the program, which replaces all of that.
  var message: String?
  /// Whether any value can fail in this way.
  let isPossible: Bool

  init(
    _ keyword: ValidationError.Keyword, _ text: String, limit: String? = nil,
    message: String? = nil, isPossible: Bool = true
  ) {
    self.isPossible = isPossible
    self.keyword = keyword
    self.text = text
    self.limit = limit
    self.message = message
  }
}

// MARK: - Presence and length

extension ValidationRule where Value: PresenceField {
  /// The value is present: not nil, not empty, and not a text of only white space.
  public static var presence: ValidationRule {
    let test: PresenceTest<Value> = Value._presence.typed()
    return ValidationRule(
      .value { test.isBlank($0.pointee) ? .first : .kept },
      RuleFailure(.cantBeBlank, "must not be blank"))
  }
}

extension ValidationRule where Value: LengthField {
  /// The length lies in a range, such as `1...40`, `3...` or `...40`. It counts the characters of a
  /// text, the elements of an array, a set or a dictionary, or the bytes of data.
  public static func length(_ range: some FieldRange<Int>) -> ValidationRule {
    let bounds = range.bounds
    let upper = bounds.upper.map { bounds.includesUpper ? $0 : $0 &- 1 }
    return length(bounds.lower, upper)
  }

  /// The length is at least `min`, and at most `max`.
  public static func length(min: Int, max: Int) -> ValidationRule { length(min, max) }

  /// The length is at least `min`.
  public static func length(min: Int) -> ValidationRule { length(min, nil) }

  /// The length is at most `max`.
  public static func length(max: Int) -> ValidationRule { length(nil, max) }

  /// The length is exactly this.
  public static func length(_ count: Int) -> ValidationRule {
    guard count >= 0 else { return emptyLength }
    let measure: LengthMeasure<Value> = Value._length.typed()
    return ValidationRule(
      .value { value in
        guard let bound = measure.bound(value.pointee) else { return .kept }
        return bound >= count && measure.length(value.pointee) == count ? .kept : .first
      },
      RuleFailure(
        .wrongLength, "must have \(count) \(measure.unit(count))", limit: String(count)))
  }

  private static var emptyLength: ValidationRule {
    ValidationRule(.unusable("The length range of a rule is empty; correct it."))
  }

  private static func length(_ lower: Int?, _ upper: Int?) -> ValidationRule {
    let least = lower ?? 0
    let most = upper ?? Int.max
    guard least <= most, most >= 0 else { return emptyLength }
    let measure: LengthMeasure<Value> = Value._length.typed()
    return ValidationRule(
      .value { value in
        guard let bound = measure.bound(value.pointee) else { return .kept }
        if bound < least { return .first }
        // A text that is not empty has a character.
        if bound <= most, least < 2 { return .kept }
        guard let count = measure.length(value.pointee) else { return .kept }
        return count < least ? .first : count > most ? .second : .kept
      },
      RuleFailure(
        .tooShort, "must have at least \(least) \(measure.unit(least))",
        limit: String(least), isPossible: least > 0),
      RuleFailure(
        .tooLong, "must have at most \(most) \(measure.unit(most))", limit: String(most),
        isPossible: most < Int.max))
  }
}
