/// The compiled rules of a record type.
///
/// It has no generic type. Closures keep the type and receive the address of a record: a save runs
/// them all, and generic structures would cost more than the rules.
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
    /// The errors for ``Verdict/first`` and ``Verdict/second``.
    let errors: [ValidationError]
    /// The fields whose change makes an update check the rule, by bit; all bits mean always.
    let fields: UInt64
  }

  /// A stored field that rules depend on.
  struct Field: @unchecked Sendable {
    /// The coding names that lead to it.
    let path: [String]
    /// Immutable.
    let keyPath: AnyKeyPath

    func isNil(in record: Any) -> Bool {
      // Unwrapped, since the value inside may itself be an optional.
      guard let value = record[keyPath: keyPath] else { return false }
      return (value as? any OptionalType)?.isNil ?? false
    }
  }

  let steps: [Step]
  /// The fields of the steps, by bit.
  let fields: [Field]
  /// Whether a rule runs code of the program, which may use the transaction of the save.
  let runsCode: Bool
  /// Whether a rule reads the store.
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
  ///   - record: a record of the program's type.
  ///   - changed: the fields that an update changes, by bit; all bits for an insert.
  ///   - isTaken: whether another record has the value in the index at the place.
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
      // A rule with one failure never returns the second one.
      case .second: errors.append(step.errors[step.errors.count - 1])
      }
    }
    return errors
  }
}

/// Tests a rule, given the address of a record.
typealias RuleTest = @Sendable (UnsafeRawPointer) throws -> Verdict

/// Tests a condition, given the address of a record.
typealias RuleCondition = @Sendable (UnsafeRawPointer) -> Bool

extension ValidationProgram {
  /// The program of a type, for rules that need no store; compiled once per type.
  static func of<R: Record>(_ type: R.Type) throws -> ValidationProgram {
    let key = ObjectIdentifier(type)
    if let known = made.withLock({ $0[key] }) { return known }
    let program = try ValidationCompiler<R>(R.schema.validations).program
    made.withLock { $0[key] = program }
    return program
  }

  private static let made = Locked<[ObjectIdentifier: ValidationProgram]>([:])
}
