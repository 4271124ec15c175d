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
    /// A nested struct that opted in itself.
    case record(MemberwisePlan)
  }

  struct Property: Sendable {
    let codingName: String
    let offset: Int
    /// The declared type, including an optional.
    let type: Any.Type
    let isOptional: Bool
    let form: Form
  }

  /// Every stored property; empty if there is a reason.
  let properties: [Property]
  private let typeName: String
  private let reason: String?
  private let proved = Atomic<UInt8>(0)

  /// The direction of a comparison with Codable. Writing is compared only together with reading.
  enum Direction: UInt8 { case reading = 1, writing = 3 }
  private static let refuted: UInt8 = 0x80

  private init(_ type: Any.Type, properties: [Property], reason: String? = nil) {
    typeName = String(reflecting: type)
    self.properties = properties
    self.reason = reason
  }

  /// The reason why the type is coded through Codable, for a log; nil if it is coded memberwise.
  var reasonForFallback: String? {
    if proved.load(ordering: .relaxed) & Self.refuted != 0 {
      return "\(typeName) is coded through Codable: its Codable does not write and read exactly its"
        + " stored properties, so it should not be MemberwiseCoded."
    }
    return reason.map { "\(typeName) is coded through Codable: \($0)." }
  }

  /// Whether records of the type must still be compared with Codable's: always in debug builds,
  /// otherwise until it was done once in the process.
  func needsProof(_ direction: Direction) -> Bool {
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

  private static func reportRefuted(_ typeName: String) {
    #if DEBUG
      guard trapsWhenRefuted else { return }
      // Only in debug builds, and only because of a type of the program, whatever the data is: its
      // two codings differ. A release build continues with the type's `Codable`.
      preconditionFailure(
        "\(typeName) is MemberwiseCoded, but its Codable does not write and read exactly its"
          + " stored properties. Remove the conformance to MemberwiseCoded.")
    #endif
  }

  #if DEBUG
    /// Off in the tests of a broken promise, as in release builds.
    @TaskLocal static var trapsWhenRefuted = true
  #endif

  /// The plan of a type, created at its first use.
  static func plan(for type: any MemberwiseCoded.Type) -> MemberwisePlan {
    let key = ObjectIdentifier(type)
    if let known = plans.withLock({ $0[key] }) { return known }
    let made: MemberwisePlan
    do throws(Reason) {
      made = MemberwisePlan(type, properties: try properties(of: type))
    } catch {
      made = MemberwisePlan(type, properties: [], reason: error.text)
    }
    return plans.withLock { plans in
      if let other = plans[key] { return other }
      plans[key] = made
      return made
    }
  }

  private static let plans = Locked<[ObjectIdentifier: MemberwisePlan]>([:])

  private struct Reason: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private static func properties(of type: any MemberwiseCoded.Type) throws(Reason) -> [Property] {
    guard MemoryLayout<UInt>.size == 8, 1.littleEndian == 1 else {
      throw Reason("the memory layout of this processor differs from the record format")
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
      properties.append(try property(field, name))
    }
    guard keys.cases.count == properties.count else {
      throw Reason("its CodingKeys have a key without a stored property")
    }
    // The type promises synthesised coding, so no code of the program sees the sample values. The
    // requested keys prove that reading fills every property from a field, which a `let x = 3` does
    // not do.
    let facts = TypeProbe.facts(of: type)
    guard facts.asksOnce else {
      throw Reason("its init(from:) does more than decode each key once")
    }
    let questions = Dictionary(
      facts.questions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for property in properties {
      guard let question = questions[property.codingName] else {
        throw Reason("\(property.codingName) is written but not read back")
      }
      guard question.type == Reflection.unwrapped(property.type),
        question.mayBeMissing || !property.isOptional
      else { throw Reason("\(property.codingName) is read as another type") }
    }
    return properties
  }

  private static func property(
    _ field: Reflection.Field, _ codingName: String
  ) throws(Reason) -> Property {
    let optional = field.type as? any OptionalType.Type
    let type = optional?.wrappedType ?? field.type
    func unsupported(_ why: String) -> Reason { Reason("\(field.name) is \(why)") }
    guard let coded = type as? any Codable.Type else { throw unsupported("not Codable") }
    let form: Form
    if type is any OptionalType.Type {
      throw unsupported("an optional of an optional")
    } else if type == Bool.self {
      form = .bool
    } else if type == Decimal.self {
      form = .decimal
    } else if type == String.self {
      form = .string
    } else if let kind = plainKind(of: type) {
      guard optional == nil || PlainMemory.isPayloadAndTag(type) else {
        throw unsupported("an optional in a form that Larch does not know")
      }
      form = .plain(kind)
    } else if let leaf = type as? any MemberwiseLeaf.Type {
      form = .leaf(leaf)
    } else if let record = type as? any MemberwiseCoded.Type {
      let plan = plan(for: record)
      if let reason = plan.reasonForFallback { throw unsupported("a nested type, and \(reason)") }
      form = .record(plan)
    } else if let table = EnumTable.make(coded) {
      form = .enumeration(table)
    } else if Reflection.Kind(of: type) == .structure {
      throw unsupported("a \(type), which is not MemberwiseCoded itself")
    } else {
      throw unsupported("a \(type), which has no memberwise form")
    }
    return Property(
      codingName: codingName, offset: field.offset, type: field.type, isOptional: optional != nil,
      form: form)
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

extension EnumTable {
  static func make(_ type: any Codable.Type) -> EnumTable? {
    func open<Value: Codable>(_ type: Value.Type) -> EnumTable? { EnumTable(type) }
    return _openExistential(type, do: open)
  }
}
