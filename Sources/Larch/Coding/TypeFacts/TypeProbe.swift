/// The facts about a type that are known without a value of it.
struct TypeFacts: Sendable {
  /// A field that `init(from:)` requests.
  struct Question: Sendable {
    let name: String
    let type: any Any.Type
    let mayBeMissing: Bool
  }

  /// The form of the type's values.
  let form: FieldForm
  /// In the order of the requests.
  let questions: [Question]
  /// Whether `init(from:)` requests each field once from one keyed container, and nothing else.
  let asksOnce: Bool
  /// Whether it passes on the errors of its decoder, and uses neither its path nor its `userInfo`,
  /// like the code that the compiler makes.
  var isUnaware = false
}

/// Finds out the form of a type's values without a value: `init(from:)` runs on sample values, and
/// its requests are noted.
///
/// Only the requests count. A property that is requested with its declared type gets a sample
/// value. A request with another type means that the type converts the value; such code gets no
/// sample value, since it may fail on it, and the rest stays unknown.
final class TypeProbe {
  /// The facts about a type, and a value if one could be made.
  struct Found {
    var facts: TypeFacts
    var value: Any?

    init(_ facts: TypeFacts, value: Any? = nil) {
      self.facts = facts
      self.value = value
    }

    init(_ form: FieldForm, value: Any? = nil) {
      self.init(TypeFacts(form: form, questions: [], asksOnce: false), value: value)
    }

    var form: FieldForm { facts.form }
  }

  /// A refused request.
  struct Refused: Error {}

  /// Cached facts about a type; each comes from its own runs.
  private struct Known {
    var keys: CodingKeyCases??
    var facts: TypeFacts?
  }

  private static let known = Locked<[ObjectIdentifier: Known]>([:])
  /// The maximum number of cases of an enum with payloads that are tried.
  private static let caseLimit = 8
  /// Limits endless requests.
  private static let questionLimit = 200_000

  private var found: [ObjectIdentifier: Found] = [:]
  private var running: Set<ObjectIdentifier> = []
  /// Recursive types that are still being probed.
  private var cut: Set<ObjectIdentifier> = []
  private var questions = 0

  /// The coding keys of a type, if its coding is one keyed container with an enum of keys. They are
  /// private to the type, but its `init(from:)` has to name them. The first request is refused, so
  /// no code of the type runs after it and no value is made.
  static func keys(of type: any Decodable.Type) -> CodingKeyCases? {
    let id = ObjectIdentifier(type)
    if let keys = known.withLock({ $0[id]?.keys }) { return keys }
    let run = ProbeRun(type, probe: TypeProbe(), refusing: .everything)
    _ = run.run()
    let keys = run.keys?.named(by: KeyStrategy.of(type))
    known.withLock { $0[id, default: Known()].keys = .some(keys) }
    return keys
  }

  /// The facts about a type. Found out once per type.
  static func facts(of type: any Decodable.Type) -> TypeFacts {
    let id = ObjectIdentifier(type)
    if let facts = known.withLock({ $0[id]?.facts }) { return facts }
    let facts = TypeProbe().find(type).facts
    known.withLock { $0[id, default: Known()].facts = facts }
    return facts
  }

  func find(_ type: any Any.Type) -> Found {
    if let leaf = StandardType.of(type) { return Found(.scalar(leaf.kind), value: leaf.sample) }
    guard let type = type as? any Decodable.Type else { return Found(.unknown) }
    let id = ObjectIdentifier(type)
    if let known = found[id] { return known }
    // For a recursive type, the facts are those at its first place.
    guard running.count < 64, running.insert(id).inserted else {
      cut.insert(id)
      return Found(.unknown)
    }
    defer { running.remove(id) }
    let made = make(type)
    // A type that was cut off inside another one may have more fields on its own.
    cut.remove(id)
    if cut.isEmpty { found[id] = made }
    return made
  }

  private func make(_ type: any Decodable.Type) -> Found {
    if let optional = type as? any OptionalType.Type {
      return Found(find(optional.wrappedType).form, value: optional.noneSample)
    }
    if let sequence = type as? any FormSequence.Type {
      return Found(sequence.form(self), value: sequence.emptySample)
    }
    let run = ProbeRun(type, probe: self)
    var value = run.run()
    var form = run.form
    if value == nil, run.asksForCase {
      for number in 1..<Self.caseLimit where value == nil {
        value = ProbeRun(type, probe: self, caseNumber: number).run()
      }
    }
    if !run.refusable.isEmpty, value != nil { form = checked(type, run) }
    if case .scalar = form, value == nil { value = Self.firstCase(of: type) }
    return Found(
      TypeFacts(
        form: form, questions: run.questions, asksOnce: run.asksOnce && value != nil,
        isUnaware: run.isUnaware),
      value: value)
  }

  /// Refuses each field once: a type that continues then also reads it in another way.
  private func checked(_ type: any Decodable.Type, _ run: ProbeRun) -> FieldForm {
    guard run.refusable.count <= 128 else { return run.form }
    for name in run.refusable {
      let second = ProbeRun(type, probe: self, refusing: .field(name))
      if second.run() != nil || second.wentOn {
        run.forget(name)
        run.isUnaware = false
      }
      if !second.isUnaware { run.isUnaware = false }
    }
    return run.form
  }

  func mayAsk() -> Bool {
    questions += 1
    return questions < Self.questionLimit
  }

  /// Some case of an enum without payloads.
  private static func firstCase(of type: any Any.Type) -> Any? {
    func first<Value>(_ type: Value.Type) -> Any? {
      if Reflection.caseCount(of: type) != nil, let value = Reflection.value(of: type, byte: 0) {
        return value
      }
      func listed<Listed: CaseIterable>(_ type: Listed.Type) -> Any? { type.allCases.first }
      return (type as? any CaseIterable.Type).flatMap { listed($0) }
    }
    return _openExistential(type, do: first)
  }
}

// MARK: - Types with a form of their own

/// Collections whose coding is the standard library's.
private protocol FormSequence {
  static func form(_ probe: TypeProbe) -> FieldForm
  static var emptySample: Any { get }
}

extension TypeProbe {
  /// A nil in a list or a map makes all of it tagged, so the form of such elements is unknown.
  func elementForm(_ type: any Any.Type) -> FieldForm {
    type is any OptionalType.Type ? .unknown : find(type).form
  }
}

extension Array: FormSequence {
  fileprivate static func form(_ probe: TypeProbe) -> FieldForm {
    .list(probe.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { [Element]() }
}

extension ContiguousArray: FormSequence {
  fileprivate static func form(_ probe: TypeProbe) -> FieldForm {
    .list(probe.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { ContiguousArray<Element>() }
}

extension Set: FormSequence {
  fileprivate static func form(_ probe: TypeProbe) -> FieldForm {
    .list(probe.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { Set<Element>() }
}

extension Dictionary: FormSequence {
  fileprivate static func form(_ probe: TypeProbe) -> FieldForm {
    let isMap =
      Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type
    // With other key types, keys and values alternate in a list.
    return isMap ? .map(probe.elementForm(Value.self)) : .list(.unknown)
  }
  fileprivate static var emptySample: Any { [Key: Value]() }
}
