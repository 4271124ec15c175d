/// One run of `init(from:)` of a type.
final class FormRun: Decoder {
  private let type: any Decodable.Type
  let finder: FormFinder
  /// The field that is not answered in this run.
  private let refused: String?
  /// The case that an enum with payloads is told to be.
  private let caseNumber: Int
  /// The keys are those of the payload of a case, which are no stored properties.
  private let isPayload: Bool
  /// An enum with payloads asked which case it is.
  private(set) var asksForCase = false
  /// The stored properties of the type, where it has a layout.
  private let layout: TypeLayout?

  private(set) var form = FieldForm.unknown
  private var fields: [RecordForm.Field] = []
  private var isRecord = false
  private var lackable: Set<String> = []
  private var isComplete = true
  /// The field whose question was the first that was not answered.
  private var stoppedAt: String?
  private var hasStopped = false
  /// Questions came after one that was not answered.
  private(set) var wentOn = false
  /// The fields that were asked for as if they had to be there.
  private(set) var refusable: [String] = []

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(
    _ type: any Decodable.Type, finder: FormFinder, refusing: String? = nil, caseNumber: Int = 0,
    isPayload: Bool = false
  ) {
    self.type = type
    self.finder = finder
    self.caseNumber = caseNumber
    self.isPayload = isPayload
    refused = refusing
    layout = TypeLayout(of: type)
  }

  /// A value of the type, if the run came to its end.
  func run() -> Any? {
    func make<Value: Decodable>(_ type: Value.Type) -> Any? { try? type.init(from: self) }
    let value = _openExistential(type, do: make)
    let succeeded = value != nil
    // It took an unanswered question for an answer.
    if hasStopped, succeeded || wentOn {
      isComplete = false
      if let stoppedAt { forget(stoppedAt) }
    }
    if !succeeded { isComplete = false }
    finish()
    return value
  }

  /// Whatever stands there, it is read in more than one way.
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

  // MARK: Questions

  func stop(_ name: String? = nil) -> FormFinder.Refused {
    if !hasStopped { stoppedAt = name }
    hasStopped = true
    return FormFinder.Refused()
  }

  func begin() throws {
    if hasStopped { wentOn = true }
    guard finder.mayAsk() else { throw stop() }
  }

  /// Asked whether a field is there at all.
  func mayLack(_ name: String) { lackable.insert(name) }

  /// All keys that there are: those of dictionaries are none, an enum with payloads has one.
  func keys<Key: CodingKey>(_: Key.Type) -> [Key] {
    isUnclear()
    guard isEnumeration, let cases = CodingKeyCases(Key.self)?.cases,
      cases.indices.contains(caseNumber)
    else { return [] }
    asksForCase = true
    return Key(stringValue: cases[caseNumber].codingName).map { [$0] } ?? []
  }

  private var isEnumeration: Bool { Reflection.Kind(of: type) == .enumeration }

  /// The payload of the case that an enum was told to be; nil for other containers inside.
  func payload<Key: CodingKey>(_: Key.Type) -> KeyedDecodingContainer<Key>? {
    guard asksForCase else { return nil }
    let run = FormRun(type, finder: finder, isPayload: true)
    return KeyedDecodingContainer(FormKeyedContainer<Key>(run: run))
  }

  /// A container inside this one, whose fields stay unknown.
  func nested(_ name: String) -> FormFinder.Refused {
    isUnclear()
    note(name, .unknown, isOptional: true)
    return stop(name)
  }

  func isUnclear() { isComplete = false }

  func note(_ name: String, _ form: FieldForm, isOptional: Bool) {
    if let place = fields.firstIndex(where: { $0.name == name }) {
      if fields[place].form != form { fields[place].form = .unknown }
      if isOptional { fields[place].isOptional = true }
      return
    }
    fields.append(RecordForm.Field(name: name, form: form, isOptional: isOptional))
  }

  /// Answers a field that has to be there.
  func answer<Value, Key: CodingKey>(_ type: Value.Type, _ key: Key) throws -> Value {
    try begin()
    let name = key.stringValue
    let found = finder.find(type)
    let isOptional = type is any FormOptional.Type
    note(name, found.form, isOptional: isOptional)
    if name == refused { throw stop(name) }
    guard isProperty(key, of: type), let value = found.value as? Value else { throw stop(name) }
    if !isOptional { refusable.append(name) }
    return value
  }

  /// Notes a field that may be missing.
  func offer(_ type: any Any.Type, _ name: String) throws {
    try begin()
    note(name, finder.find(type).form, isOptional: true)
  }

  /// Whether a key is that of a stored property of this type.
  private func isProperty<Key: CodingKey>(_ key: Key, of type: any Any.Type) -> Bool {
    if isPayload { return true }
    guard let layout else { return false }
    let name = CodingKeyCases(Key.self)?.cases.first { $0.codingName == key.stringValue }
    let property = name?.propertyName ?? key.stringValue
    // The storage of a property wrapper is named after its property.
    let field = layout.field(named: property) ?? layout.field(named: "_" + property)
    return field?.type == type
  }

  /// Answers the only value of a type, or an element.
  func sample<Value>(_ type: Value.Type, isTrusted: Bool) throws -> Value {
    guard isTrusted, let value = finder.find(type).value as? Value else { throw stop() }
    return value
  }

  /// A type that holds exactly what it asks for.
  func isWrapper(of type: any Any.Type) -> Bool {
    guard let layout, layout.fields.count == 1 else { return false }
    return layout.fields[0].type == type
  }

  // MARK: Containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try begin()
    if case .scalar = form { isComplete = false }
    isRecord = true
    return KeyedDecodingContainer(FormKeyedContainer<Key>(run: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try begin()
    isUnclear()
    if !isRecord { form = .list(.unknown) }
    return FormUnkeyedContainer(run: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try begin()
    return FormSingleContainer(run: self)
  }

  /// Notes the only value.
  func single(_ type: any Any.Type) throws {
    try begin()
    guard !isRecord else { return isUnclear() }
    let new = finder.find(type).form
    form = hasSingle && form != new ? .unknown : new
    hasSingle = true
  }

  /// What stands there may be nil, which is written as a value of its own.
  func singleMayBeNil() {
    hasSingle = true
    if !isRecord { form = .unknown }
  }

  private var hasSingle = false
}
