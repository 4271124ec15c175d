internal import Foundation
internal import Synchronization

/// The store-independent facts about memberwise coding of a type: its stored properties with their
/// coding names and forms, or the reason why it is coded through Codable. Created once per type and
/// process.
final class MemberwisePlan: Sendable {
  /// How the memory of a property becomes bytes.
  enum Form: Sendable {
    /// The slot has the bytes of the memory: integers, floats, dates, UUIDs, and structs of one of
    /// these.
    case plain(FieldKind)
    case bool
    case decimal
    case string
    case enumeration(EnumTable)
    case leaf(any MemberwiseLeaf.Type)
    /// A nested struct that has a plan itself.
    case record(MemberwisePlan)
    /// An array, or a dictionary with texts as keys, that is no leaf.
    case list(MemberwiseList)
    /// Any other type: read through its own `init(from:)`. A record with one is written through Codable.
    case coded
  }

  struct Property: Sendable {
    let codingName: String
    let offset: Int
    /// The declared type, including an optional.
    let type: Any.Type
    let isOptional: Bool
    let form: Form
  }

  /// Every stored property in the order of the keys; empty if there is a reason.
  let properties: [Property]
  let typeName: String
  /// The name of the type in its shapes.
  let shapeName: String
  private let reason: String?
  private let proved = Atomic<UInt8>(0)
  /// What the proof of the type found; nil if the type is `MemberwiseCoded`, which promises it.
  let proof: CodingProof?
  /// The directions in which records are coded memberwise.
  let reads: Bool
  let writes: Bool
  /// Whether reading a record runs code of a type in it.
  let runsCode: Bool
  /// Whether it rests on a proof, its own or that of a nested type, so that some of its records are
  /// coded both ways.
  let isSampled: Bool
  /// Whether nothing in a value is written through a type of a library, which may choose another form, so
  /// that memberwise coding gives every bit back.
  let isExact: Bool

  /// The direction of a comparison with Codable. Writing is compared only together with reading.
  enum Direction: UInt8 { case reading = 1, writing = 3 }
  private static let refuted: UInt8 = 0x80

  private init(
    _ type: Any.Type, properties: [Property], reason: String? = nil, proof: CodingProof? = nil
  ) {
    typeName = String(reflecting: type)
    shapeName = String(describing: type)
    self.properties = properties
    self.proof = proof
    let nested = properties.compactMap(\.form.innermostPlan)
    isSampled = proof != nil || nested.contains { $0.isSampled }
    runsCode =
      properties.contains { $0.form.kind == nil } || nested.contains { $0.runsCode }
    isExact = reason == nil && proof == nil && properties.allSatisfy(\.form.isExact)
    reads = reason == nil && proof?.reading == nil && nested.allSatisfy(\.reads)
    writes =
      reason == nil && proof?.writing == nil && nested.allSatisfy(\.writes)
      && !properties.contains { $0.form.kind == nil }
    self.reason = reason ?? (reads || writes ? nil : proof?.summary ?? "a nested type is")
  }

  /// Whether a record has shown a difference to the type's own `Codable`.
  @inline(__always)
  var isRefuted: Bool { proved.load(ordering: .relaxed) & Self.refuted != 0 }

  /// The reason why the type is coded through Codable, for a log; nil if it is coded memberwise.
  var reasonForFallback: String? {
    if isRefuted {
      return "\(typeName) is coded through Codable: its Codable does not write and read exactly its"
        + " stored properties" + (proof == nil ? ", so it should not be MemberwiseCoded." : ".")
    }
    return reason.map { "\(typeName) is coded through Codable: \($0)." }
  }

  /// Whether records of the type must still be compared with Codable's: always in debug builds,
  /// otherwise until it was done once in the process.
  func needsProof(_ direction: Direction) -> Bool {
    if isSampled { return false }
    #if DEBUG
      return true
    #else
      return proved.load(ordering: .relaxed) & direction.rawValue != direction.rawValue
    #endif
  }

  /// Sets the result of the comparison with Codable. A difference holds for the life of the
  /// process.
  func conclude(_ isProved: Bool, _ direction: Direction) {
    proved.bitwiseOr(isProved ? direction.rawValue : Self.refuted, ordering: .relaxed)
    if !isProved { Self.reportRefuted(typeName) }
  }

  /// A record showed that the proof of the type was too optimistic. Holds for the life of the
  /// process.
  func refute() { proved.bitwiseOr(Self.refuted, ordering: .relaxed) }

  private static func reportRefuted(_ typeName: String) {
    #if DEBUG
      guard trapsWhenRefuted else { return }
      // Only in debug builds, and only because of a type of the program, whatever the data is: its
      // two codings differ. A release build continues with the type's `Codable`.
      preconditionFailure(
        "\(typeName) is MemberwiseCoded, but its Codable does not write and read exactly its"
          + " stored properties. Remove the conformance to MemberwiseCoded; if the plugin"
          + " LarchMemberwise added it, make the type CustomCoded.")
    #endif
  }

  #if DEBUG
    /// Off in the tests of a broken promise, as in release builds.
    @TaskLocal static var trapsWhenRefuted = true
  #endif

  /// The plan of a type, created at its first use.
  ///
  /// - Parameter proving: Whether types that are not `MemberwiseCoded` are examined. Their
  ///   `init(from:)` and `encode(to:)` then run on invented values.
  static func plan(for type: any Codable.Type, proving: Bool = false) -> MemberwisePlan {
    plan(for: type, proving: proving, within: [])
  }

  /// - Parameter outer: The types around it, which it must not contain.
  private static func plan(
    for type: any Codable.Type, proving: Bool, within outer: [ObjectIdentifier]
  ) -> MemberwisePlan {
    let key = Key(type: ObjectIdentifier(type), proving: proving)
    if let known = plans.withLock({ $0[key] }) { return known }
    let made: MemberwisePlan
    do throws(Reason) {
      let properties = try properties(of: type, proving: proving, within: outer + [key.type])
      if type is any MemberwiseCoded.Type {
        made = MemberwisePlan(type, properties: properties)
      } else {
        let candidate = MemberwisePlan(type, properties: properties)
        made = MemberwisePlan(
          type, properties: properties, proof: CodingProof(of: type, candidate))
      }
    } catch {
      made = MemberwisePlan(type, properties: [], reason: error.text)
    }
    return plans.withLock { plans in
      if let other = plans[key] { return other }
      plans[key] = made
      return made
    }
  }

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let proving: Bool
  }

  private static let plans = Locked<[Key: MemberwisePlan]>([:])

  private struct Reason: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private static func properties(
    of type: any Codable.Type, proving: Bool, within outer: [ObjectIdentifier]
  ) throws(Reason) -> [Property] {
    let isPromised = type is any MemberwiseCoded.Type
    guard isPromised || proving else { throw Reason("it is not MemberwiseCoded") }
    guard isPromised || !(type is any CustomCoded.Type) else { throw Reason("it is CustomCoded") }
    guard MemoryLayout<UInt>.size == 8, 1.littleEndian == 1 else {
      throw Reason("the memory layout of this processor differs from the record format")
    }
    guard isPromised || !isOfLibrary(type) else {
      throw Reason("it is a type of the standard library or of Foundation")
    }
    guard Reflection.isTrusted else {
      throw Reason("this version of Swift describes types in a way that Larch does not know")
    }
    guard let layout = TypeLayout(ofStruct: type) else {
      throw Reason("it is not a struct whose memory layout reflection can describe")
    }
    guard !layout.fields.isEmpty, layout.fields.count <= 64 else {
      throw Reason("it has no stored properties or more than 64")
    }
    guard let keys = TypeProbe.keys(of: type) else {
      throw Reason("its Codable does not use one CodingKeys enum")
    }
    var properties: [Property] = []
    for field in layout.fields {
      guard let name = keys.codingName(ofProperty: field.name) else {
        throw Reason("\(field.name) is not in its CodingKeys")
      }
      properties.append(
        try property(field, name, isPromised: isPromised, proving: proving, within: outer))
    }
    guard keys.cases.count == properties.count else {
      throw Reason("its CodingKeys have a key without a stored property")
    }
    // The requested keys prove that reading fills every property from a field, which a `let x = 3`
    // does not do.
    let facts = TypeProbe.facts(of: type)
    guard facts.asksOnce else {
      throw Reason("its init(from:) does more than decode each key once")
    }
    guard isPromised || facts.isUnaware else {
      throw Reason("its init(from:) looks at its decoder or at the errors of it")
    }
    guard isPromised || keys.isCodingKeys else { throw Reason("its keys are not its CodingKeys") }
    let questions = Dictionary(
      facts.questions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for property in properties {
      guard let question = questions[property.codingName] else {
        throw Reason("\(property.codingName) is written but not read back")
      }
      guard question.type == Reflection.unwrapped(property.type),
        question.mayBeMissing || !property.isOptional
      else { throw Reason("\(property.codingName) is read as another type") }
      guard isPromised || question.mayBeMissing == property.isOptional else {
        throw Reason("\(property.codingName) may be missing")
      }
    }
    guard isPromised || facts.questions.map(\.name) == keys.cases.map(\.codingName) else {
      throw Reason("its init(from:) decodes in another order than its CodingKeys")
    }
    return keys.cases.compactMap { key in
      properties.first { $0.codingName == key.codingName }
    }
  }

  /// Types of the libraries may stop the program for a invented value.
  private static func isOfLibrary(_ type: Any.Type) -> Bool {
    let module = String(reflecting: type).prefix { $0 != "." }
    return module == "Swift" || module.hasPrefix("Foundation")
  }

  /// - Parameter isPromised: Whether the type around it promises that this property is read and written as
  ///   it is. Then it may have any type.
  private static func property(
    _ field: Reflection.Field, _ codingName: String, isPromised: Bool, proving: Bool,
    within outer: [ObjectIdentifier]
  ) throws(Reason) -> Property {
    let optional = field.type as? any OptionalType.Type
    let type = optional?.wrappedType ?? field.type
    if type is any OptionalType.Type {
      throw Reason("\(field.name) is an optional of an optional")
    }
    let form: Form
    do throws(Reason) {
      form = try self.form(of: type, field.name, proving: proving, within: outer)
    } catch {
      guard isPromised, PlainMemory.isTrusted, type is any Codable.Type else { throw error }
      form = .coded
    }
    if case .plain = form, optional != nil, !PlainMemory.isPayloadAndTag(type) {
      throw Reason("\(field.name) is an optional in a form that Larch does not know")
    }
    return Property(
      codingName: codingName, offset: field.offset, type: field.type, isOptional: optional != nil,
      form: form)
  }

  /// The form of the values of a type that is no optional.
  private static func form(
    of type: Any.Type, _ name: String, proving: Bool, within outer: [ObjectIdentifier]
  ) throws(Reason) -> Form {
    func unsupported(_ why: String) -> Reason { Reason("\(name) is \(why)") }
    guard let coded = type as? any Codable.Type else { throw unsupported("not Codable") }
    let form: Form
    if type == Bool.self {
      form = .bool
    } else if type == Decimal.self {
      form = .decimal
    } else if type == String.self {
      form = .string
    } else if let kind = plainKind(of: type) {
      form = .plain(kind)
    } else if let leaf = type as? any MemberwiseLeaf.Type {
      form = .leaf(leaf)
    } else if let list = type as? any MemberwiseCollection.Type,
      !(list.elementType is any OptionalType.Type)
    {
      let element = try self.form(
        of: list.elementType, "\(name) is a \(type), and its element", proving: proving,
        within: outer)
      form = .list(MemberwiseList(list, of: element))
    } else if coded is any MemberwiseCoded.Type
      || proving && Reflection.Kind(of: type) == .structure
    {
      guard !outer.contains(ObjectIdentifier(coded)) else {
        throw unsupported("a list of the type around it")
      }
      let plan = plan(for: coded, proving: proving, within: outer)
      if let reason = plan.reasonForFallback { throw unsupported("a nested type, and \(reason)") }
      form = .record(plan)
    } else if !(coded is any CustomCoded.Type), let table = EnumTable.make(coded) {
      form = .enumeration(table)
    } else if Reflection.Kind(of: type) == .structure {
      throw unsupported("a \(type), which is not MemberwiseCoded itself")
    } else {
      throw unsupported("a \(type), which has no memberwise form")
    }
    return form
  }

  /// The kind of a type whose memory is its slot form.
  private static func plainKind(of type: Any.Type) -> FieldKind? {
    guard PlainMemory.isTrusted else { return nil }
    if let element = type as? any MemberwiseElement.Type { return element.elementKind }
    if type is any SingleFieldCoded.Type, let layout = TypeLayout(ofStruct: type),
      layout.fields.count == 1, layout.fields[0].offset == 0,
      !(layout.fields[0].type is any SingleFieldCoded.Type)
    {
      return plainKind(of: layout.fields[0].type)
    }
    return nil
  }
}

extension MemberwisePlan.Form {
  /// The plan of a nested record.
  var plan: MemberwisePlan? {
    if case .record(let plan) = self { return plan }
    return nil
  }

  /// See `MemberwisePlan.isExact`.
  fileprivate var isExact: Bool {
    switch self {
    case .plain, .bool, .string, .enumeration: true
    case .record(let plan): plan.isExact
    case .list(let list): !list.isMap && list.element.isExact
    case .decimal, .leaf, .coded: false
    }
  }

  /// The plan of a nested record, also if it is an element.
  var innermostPlan: MemberwisePlan? {
    if case .list(let list) = self { return list.element.innermostPlan }
    return plan
  }
}

extension EnumTable {
  static func make(_ type: any Codable.Type) -> EnumTable? {
    func open<Value: Codable>(_ type: Value.Type) -> EnumTable? { EnumTable(type) }
    return _openExistential(type, do: open)
  }
}
