/// One run of `init(from:)` of a type.
final class ProbeRun: Decoder {
  /// What a run refuses to answer.
  enum Refusal {
    case nothing
    case field(String)
    /// Everything, including requests for a container.
    case everything
  }

  private let type: any Decodable.Type
  private let probe: TypeProbe
  private let refused: Refusal
  /// The case that an enum with payloads gets.
  private let caseNumber: Int
  /// The keys are those of the payload of a case, which are not stored properties.
  private let isPayload: Bool
  /// An enum with payloads has requested its case.
  private(set) var asksForCase = false
  /// How the type names its fields; the payload of an enum has none.
  private let strategy: KeyStrategy
  /// The stored properties of the type, if it has a layout.
  private let layout: TypeLayout?

  private(set) var form = FieldForm.unknown
  /// The requests in order, and whether there was exactly one for each field.
  private(set) var questions: [TypeFacts.Question] = []
  private(set) var asksOnce = true
  private var keyType: (any CodingKey.Type)?
  private var keyCases: CodingKeyCases?
  private var hasOtherKeys = false
  private var fields: [RecordForm.Field] = []
  private var isRecord = false
  private var lackable: Set<String> = []
  private var isComplete = true
  /// The field of the first request that was refused.
  private var stoppedAt: String?
  private var hasStopped = false
  /// Requests came after a refused one.
  private(set) var wentOn = false
  /// The fields that were requested as required ones.
  private(set) var refusable: [String] = []

  /// Whether the type passed on the errors of the run, and used neither the path nor `userInfo`.
  var isUnaware = true

  var codingPath: [any CodingKey] {
    isUnaware = false
    return []
  }
  var userInfo: [CodingUserInfoKey: Any] {
    isUnaware = false
    return [:]
  }

  init(
    _ type: any Decodable.Type, probe: TypeProbe, refusing: Refusal = .nothing,
    caseNumber: Int = 0, isPayload: Bool = false
  ) {
    self.type = type
    self.probe = probe
    self.caseNumber = caseNumber
    self.isPayload = isPayload
    refused = refusing
    strategy = isPayload ? .asWritten : KeyStrategy.of(type)
    layout = TypeLayout(of: type)
  }

  /// A value of the type, if the run completed.
  func run() -> Any? {
    func make<Value: Decodable>(_ type: Value.Type) -> Any? {
      do { return try type.init(from: self) } catch {
        if hasStopped, !(error is TypeProbe.Refused) { isUnaware = false }
        return nil
      }
    }
    let value = _openExistential(type, do: make)
    let succeeded = value != nil
    // It treated a refusal as an answer.
    if hasStopped, succeeded || wentOn {
      isComplete = false
      if let stoppedAt { forget(stoppedAt) }
    }
    if !succeeded { isComplete = false }
    finish()
    return value
  }

  /// The form of this field is unknown, since it is read in more than one way.
  func forget(_ name: String) {
    for place in fields.indices where fields[place].name == name {
      fields[place].form = .unknown
      fields[place].isOptional = true
    }
    finish()
  }

  private func finish() {
    guard isRecord else { return }
    for place in fields.indices where lackable.contains(fields[place].name) {
      fields[place].isOptional = true
    }
    form = .record(
      RecordForm(fields, isComplete: isComplete, owner: ObjectIdentifier(type)))
  }

  /// The keys of the type; nil unless it used exactly one enum of keys.
  var keys: CodingKeyCases? { hasOtherKeys ? nil : keyCases }

  // MARK: Questions

  func stop(_ name: String? = nil) -> TypeProbe.Refused {
    if !hasStopped { stoppedAt = name }
    hasStopped = true
    asksOnce = false
    return TypeProbe.Refused()
  }

  func begin() throws {
    if hasStopped { wentOn = true }
    guard probe.mayAsk() else { throw stop() }
  }

  /// The stored name of a field.
  func name<Key: CodingKey>(of key: Key) -> String { strategy.fieldName(of: key) }

  /// The type asks whether a field exists.
  func noteExistenceCheck(_ name: String) {
    asksOnce = false
    lackable.insert(name)
  }

  /// All keys: a dictionary has none, and an enum with payloads has one.
  func keys<Key: CodingKey>(_: Key.Type) -> [Key] {
    isUnclear()
    guard isEnumeration, let cases = cases(of: Key.self)?.cases,
      cases.indices.contains(caseNumber)
    else { return [] }
    asksForCase = true
    return Key(stringValue: cases[caseNumber].codingName).map { [$0] } ?? []
  }

  private var isEnumeration: Bool { Reflection.Kind(of: type) == .enumeration }

  /// The payload of the case of an enum; nil for other nested containers.
  func payload<Key: CodingKey>(_: Key.Type) -> KeyedDecodingContainer<Key>? {
    guard asksForCase else { return nil }
    let run = ProbeRun(type, probe: probe, isPayload: true)
    return KeyedDecodingContainer(ProbeKeyedContainer<Key>(run: run))
  }

  /// A nested container, whose fields stay unknown.
  func nested(_ name: String) -> TypeProbe.Refused {
    isUnclear()
    note(name, .unknown, isOptional: true)
    return stop(name)
  }

  func isUnclear() {
    isComplete = false
    asksOnce = false
  }

  private func ask(_ name: String, _ type: any Any.Type, mayBeMissing: Bool) {
    if questions.contains(where: { $0.name == name }) { asksOnce = false }
    questions.append(TypeFacts.Question(name: name, type: type, mayBeMissing: mayBeMissing))
  }

  private func cases<Key: CodingKey>(of type: Key.Type) -> CodingKeyCases? {
    keyType == type ? keyCases : CodingKeyCases(type)
  }

  func note(_ name: String, _ form: FieldForm, isOptional: Bool) {
    if let place = fields.firstIndex(where: { $0.name == name }) {
      if fields[place].form != form { fields[place].form = .unknown }
      if isOptional { fields[place].isOptional = true }
      return
    }
    fields.append(RecordForm.Field(name: name, form: form, isOptional: isOptional))
  }

  /// Answers a request for a required field.
  func answer<Value, Key: CodingKey>(_ type: Value.Type, _ key: Key) throws -> Value {
    try begin()
    let name = name(of: key)
    let found = probe.find(type)
    let isOptional = type is any OptionalType.Type
    ask(name, type, mayBeMissing: false)
    note(name, found.form, isOptional: isOptional)
    if case .field(name) = refused { throw stop(name) }
    guard isProperty(key, of: type), let value = found.value as? Value else { throw stop(name) }
    if !isOptional { refusable.append(name) }
    return value
  }

  /// Notes a field that may be missing.
  func offer(_ type: any Any.Type, _ name: String) throws {
    try begin()
    ask(name, type, mayBeMissing: true)
    note(name, probe.find(type).form, isOptional: true)
  }

  /// Whether a key is that of a stored property of this type.
  private func isProperty<Key: CodingKey>(_ key: Key, of type: any Any.Type) -> Bool {
    if isPayload { return true }
    guard let layout else { return false }
    let property = cases(of: Key.self)?.propertyName(ofKey: key.stringValue) ?? key.stringValue
    // The storage of a property wrapper is named after its property.
    let field = layout.field(named: property) ?? layout.field(named: "_" + property)
    return field?.type == type
  }

  /// Answers the only value of a type, or an element.
  func sample<Value>(_ type: Value.Type, isTrusted: Bool) throws -> Value {
    guard isTrusted, let value = probe.find(type).value as? Value else { throw stop() }
    return value
  }

  /// Whether a type stores exactly the value that it requests.
  func isWrapper(of type: any Any.Type) -> Bool {
    guard let layout, layout.fields.count == 1 else { return false }
    return layout.fields[0].type == type
  }

  // MARK: Containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try begin(keyType: type)
    if case .scalar = form { isComplete = false }
    if isRecord { asksOnce = false }
    isRecord = true
    return KeyedDecodingContainer(ProbeKeyedContainer<Key>(run: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try begin(keyType: nil)
    isUnclear()
    if !isRecord { form = .list(.unknown) }
    return ProbeUnkeyedContainer(run: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try begin(keyType: nil)
    asksOnce = false
    return ProbeSingleContainer(run: self)
  }

  /// Notes the key type; nil for a container without keys.
  private func begin(keyType new: (any CodingKey.Type)?) throws {
    if let new, keyType == nil {
      keyType = new
      keyCases = CodingKeyCases(new)
    } else if new == nil || keyType != new {
      // Like a type that tries another form after a refusal.
      hasOtherKeys = true
    }
    try begin()
    if case .everything = refused { throw stop() }
  }

  /// Notes the only value.
  func single(_ type: any Any.Type) throws {
    try begin()
    guard !isRecord else { return isUnclear() }
    let new = probe.find(type).form
    form = hasSingle && form != new ? .unknown : new
    hasSingle = true
  }

  /// The single value may be nil, which is written as a separate value.
  func singleMayBeNil() {
    hasSingle = true
    if !isRecord { form = .unknown }
  }

  private var hasSingle = false
}
