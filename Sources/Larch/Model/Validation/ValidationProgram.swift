/// The rules of a record type, ready to run.
///
/// Without the type, which lives on in closures that are given the address of a record: a save goes
/// through them all, and generic structures would cost more than the rules.
final class ValidationProgram: Sendable {
  /// One rule.
  struct Step: Sendable {
    enum Test: Sendable {
      case record(RuleTest)
      /// By the place of the index among those of the schema.
      case unique(Int)
    }

    let test: Test
    let condition: RuleCondition?
    /// What is told for ``Verdict/first``, and for ``Verdict/second``.
    let errors: [ValidationError]
    /// The fields by whose change an update is asked, by bit; all bits: it is always asked.
    let fields: UInt64
  }

  /// A stored field that rules are about.
  struct Field: @unchecked Sendable {
    /// The coding names that lead to it.
    let path: [String]
    /// Immutable.
    let keyPath: AnyKeyPath

    func isNil(in record: Any) -> Bool {
      // Unwrapped, since the optional that it comes in is an optional value itself.
      guard let value = record[keyPath: keyPath] else { return false }
      return (value as? any OptionalType)?.isNil ?? false
    }
  }

  let steps: [Step]
  /// The fields of the steps, by bit.
  let fields: [Field]
  /// Whether code of the program runs in a rule: it may use the transaction of the save.
  let runsCode: Bool
  /// Whether a rule looks into the store.
  let needsStore: Bool

  var isEmpty: Bool { steps.isEmpty }

  init(steps: [Step], fields: [Field], runsCode: Bool) {
    self.steps = steps
    self.fields = fields
    self.runsCode = runsCode
    needsStore = steps.contains {
      if case .unique = $0.test { return true }
      return false
    }
  }

  /// The rules that the record breaks, in the order of their declarations.
  ///
  /// - Parameters:
  ///   - record: of the type that the program was made for.
  ///   - changed: the fields that an update changes, by bit; all bits for an insert.
  ///   - isTaken: whether another record holds a value of the index at the place.
  @inline(__always)
  func errors<R: Record>(
    of record: R, changed: UInt64 = .max, isTaken: (Int) throws -> Bool
  ) throws -> [ValidationError] {
    try withUnsafePointer(to: record) {
      try errors(at: UnsafeRawPointer($0), changed, isTaken)
    }
  }

  private func errors(
    at record: UnsafeRawPointer, _ changed: UInt64, _ isTaken: (Int) throws -> Bool
  ) throws -> [ValidationError] {
    var errors: [ValidationError] = []
    for step in steps where step.fields & changed != 0 {
      if let condition = step.condition, !condition(record) { continue }
      let verdict: Verdict
      switch step.test {
      case .record(let test): verdict = try test(record)
      case .unique(let place): verdict = try isTaken(place) ? .first : .kept
      }
      switch verdict {
      case .kept: break
      case .first: errors.append(step.errors[0])
      // A rule with one failure tells of no second one.
      case .second: errors.append(step.errors[step.errors.count - 1])
      }
    }
    return errors
  }
}

/// Asks a rule, given the address of a record.
typealias RuleTest = @Sendable (UnsafeRawPointer) throws -> Verdict

/// Asks a condition, given the address of a record.
typealias RuleCondition = @Sendable (UnsafeRawPointer) -> Bool

extension ValidationProgram {
  /// The program of a type, for rules that need no store; made once for each type.
  static func of<R: Record>(_ type: R.Type) throws -> ValidationProgram {
    let key = ObjectIdentifier(type)
    if let known = made.withLock({ $0[key] }) { return known }
    let program = try ValidationCompiler<R>(R.schema.validations).program
    made.withLock { $0[key] = program }
    return program
  }

  private static let made = Locked<[ObjectIdentifier: ValidationProgram]>([:])
}
