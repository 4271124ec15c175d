/// Compiles the declared rules of a record type, and refuses unusable ones.
struct ValidationCompiler<R: Record> {
  /// A unique index that a rule needs.
  struct Need {
    let declaration: IndexDeclaration<R>
    /// The step that tests it.
    let step: Int
  }

  private(set) var needs: [Need] = []
  private var steps: [ValidationProgram.Step] = []
  private var fields: [ValidationProgram.Field] = []
  private var runsCode = false
  private var known: Set<ErrorIdentity> = []

  init(_ declarations: [ValidationDeclaration<R>]) throws {
    for declaration in declarations {
      let field = try declaration.field.map { try self.field($0) }
      guard !declaration.rules.isEmpty else {
        throw error("A `Validate` has no rules; add one, or remove it.", field?.name)
      }
      for rule in declaration.rules { try add(rule, field) }
    }
  }

  /// The program before the schema has decided the places of the indexes.
  var program: ValidationProgram { program(places: []) }

  /// - Parameter places: the place of the index of each need.
  func program(places: [Int]) -> ValidationProgram {
    var steps = steps
    for (need, place) in zip(needs, places) {
      let step = steps[need.step]
      steps[need.step] = ValidationProgram.Step(
        test: .unique(place), condition: step.condition, errors: step.errors,
        fields: step.fields)
    }
    return ValidationProgram(steps: steps, fields: fields, runsCode: runsCode)
  }

  private struct Field {
    let name: String
    let keyPath: AnyKeyPath
    /// Nil for a computed property.
    let path: [String]?
  }

  private mutating func add(_ rule: DeclaredRule<R>, _ field: Field?) throws {
    if case .unusable(let reason) = rule.test { throw error(reason, field?.name) }
    try check(rule, field)
    runsCode = runsCode || rule.runsCode || !rule.conditions.isEmpty
    var watched = UInt64.max
    if rule.conditions.isEmpty, let field { watched = bits(of: field.keyPath, field.path) }
    let test: ValidationProgram.Step.Test
    switch rule.test {
    case .field(let closure):
      test = .record(closure)
      if field?.path == nil { runsCode = true }
    case .whole(let closure):
      test = .record(closure)
      watched = .max
    case .uniqueness(let unique):
      test = .unique(0)
      for scope in unique.fields.dropLast() {
        let path: [String]? = if case .stored(let names, _) = scope.resolve() { names } else { nil }
        watched |= bits(of: scope.keyPath, path)
      }
      needs.append(Need(declaration: index(unique, rule.conditions, field), step: steps.count))
    case .unusable: return
    }
    steps.append(
      ValidationProgram.Step(
        test: test, condition: rule.recordCondition,
        errors: rule.failures.map { $0.error(R.collectionName, field?.name) }, fields: watched))
  }

  /// Two errors must not be indistinguishable.
  private mutating func check(_ rule: DeclaredRule<R>, _ field: Field?) throws {
    for failure in rule.failures where failure.isPossible {
      guard SchemaCompiler.isPlain(failure.keyword.rawValue) else {
        throw error(
          "The keyword of a rule must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; change it.",
          field?.name, failure.keyword)
      }
      guard rule.conditions.isEmpty else { continue }
      guard known.insert(ErrorIdentity(field: field?.name, keyword: failure.keyword)).inserted
      else {
        throw error(
          "Two rules have the same field and keyword; remove one, or give it another `.keyword(…)`.",
          field?.name, failure.keyword)
      }
    }
  }

  private func index(
    _ rule: DeclaredUniqueness<R>, _ conditions: [@Sendable (R) -> Bool], _ field: Field?
  ) -> IndexDeclaration<R> {
    let condition: (@Sendable (R) -> Bool)? =
      conditions.isEmpty ? nil : { @Sendable record in conditions.allSatisfy { $0(record) } }
    // A property that is not stored has only the name in the rule.
    let isNamed = rule.fields.allSatisfy {
      if case .computed(nil) = $0.resolve() { false } else { true }
    }
    return IndexDeclaration(
      name: rule.name ?? (isNamed ? nil : field?.name), isUnique: true, fields: rule.fields,
      condition: condition, isOfRule: true)
  }

  /// All bits if a change of the property cannot be detected.
  private mutating func bits(of keyPath: AnyKeyPath, _ path: [String]?) -> UInt64 {
    guard let path else { return .max }
    if let place = fields.firstIndex(where: { $0.path == path }) { return 1 << UInt64(place) }
    // Further fields count as changed at every update.
    guard fields.count < 63 else { return .max }
    fields.append(ValidationProgram.Field(path: path, keyPath: keyPath))
    return 1 << UInt64(fields.count - 1)
  }

  private func field(_ field: DeclaredField) throws -> Field {
    if let name = field.name, !SchemaCompiler.isPlain(name) {
      throw error(
        "The name of a rule must have 1 to 64 of the characters A-Z a-z 0-9 _ . -; change `name:`.",
        name)
    }
    switch field.resolve() {
    case .stored(let names, let properties):
      return Field(
        name: field.name ?? properties.joined(separator: "."), keyPath: field.keyPath, path: names)
    case .computed(let name):
      guard let name = field.name ?? name else {
        throw error(
          "A rule for a property that is not stored needs a name, as in `Validate(\\.fullName, .presence, name: \"fullName\")`.",
          nil)
      }
      return Field(name: name, keyPath: field.keyPath, path: nil)
    }
  }

  private func error(
    _ message: StaticString, _ field: String?, _ keyword: ValidationError.Keyword? = nil
  ) -> LarchError {
    LarchError(.invalidSchema, message) {
      $0.collection = R.collectionName
      $0.field = field
      $0.detail = keyword.map { "keyword \($0)" }
    }
  }
}

extension RuleFailure {
  fileprivate func error(_ model: String, _ field: String?) -> ValidationError {
    ValidationError(
      model: model, field: field, keyword: keyword, limit: limit,
      message: message ?? "\(field ?? model) \(text).")
  }
}

/// What distinguishes one error from another. Not inside the generic compiler: its conformance, made again for
/// each use, does not link in Swift 6.3 when files are optimised one by one.
private struct ErrorIdentity: Hashable {
  let field: String?
  let keyword: ValidationError.Keyword
}
