internal import Foundation

/// Finds what values of a type hold, without one: `init(from:)` runs on made-up values, and what it
/// asks for is noted.
///
/// What is asked for and how is all that is believed. A property of the type that is asked for as
/// it is declared gets a value; where something else is asked for, the type converts, and no
/// made-up value is given to code that may not like it: the rest stays unknown.
final class FormFinder {
  /// What was found of a type: its form, and a value where one could be made.
  struct Found {
    var form: FieldForm
    var value: Any?
  }

  /// A question that is not answered.
  struct Refused: Error {}

  /// The forms of types that were asked for before.
  private static let known = Locked<[ObjectIdentifier: FieldForm]>([:])
  /// How many cases of an enum with payloads are tried.
  private static let caseLimit = 8
  /// Endless questions end.
  private static let questionLimit = 200_000

  private var found: [ObjectIdentifier: Found] = [:]
  private var running: Set<ObjectIdentifier> = []
  /// Types inside themselves that are not at their end yet.
  private var cut: Set<ObjectIdentifier> = []
  private var questions = 0

  /// The form of the values of a type. Found out once for each type.
  static func form(of type: any Decodable.Type) -> FieldForm {
    let id = ObjectIdentifier(type)
    if let form = known.withLock({ $0[id] }) { return form }
    let form = FormFinder().find(type).form
    known.withLock { $0[id] = form }
    return form
  }

  func find(_ type: any Any.Type) -> Found {
    if let leaf = FormLeaf.known[ObjectIdentifier(type)] {
      return Found(form: .scalar(leaf.kind), value: leaf.sample)
    }
    guard let type = type as? any Decodable.Type else { return Found(form: .unknown) }
    let id = ObjectIdentifier(type)
    if let known = found[id] { return known }
    // A type inside itself: what is found of it stands at its first place.
    guard running.count < 64, running.insert(id).inserted else {
      cut.insert(id)
      return Found(form: .unknown)
    }
    defer { running.remove(id) }
    let made = make(type)
    // What was cut short inside another type may be more where it stands alone.
    cut.remove(id)
    if cut.isEmpty { found[id] = made }
    return made
  }

  private func make(_ type: any Decodable.Type) -> Found {
    if let optional = type as? any FormOptional.Type {
      return Found(form: find(optional.wrappedType).form, value: optional.noneSample)
    }
    if let sequence = type as? any FormSequence.Type {
      return Found(form: sequence.form(self), value: sequence.emptySample)
    }
    let run = FormRun(type, finder: self)
    var value = run.run()
    var form = run.form
    if value == nil, run.asksForCase {
      for number in 1..<FormFinder.caseLimit where value == nil {
        value = FormRun(type, finder: self, caseNumber: number).run()
      }
    }
    if !run.refusable.isEmpty, value != nil { form = checked(type, run) }
    if case .scalar = form, value == nil { value = FormFinder.firstCase(of: type) }
    return Found(form: form, value: value)
  }

  /// Refuses each field once: a type that goes on then reads it in another way too.
  private func checked(_ type: any Decodable.Type, _ run: FormRun) -> FieldForm {
    guard run.refusable.count <= 128 else { return run.form }
    for name in run.refusable {
      let second = FormRun(type, finder: self, refusing: name)
      if second.run() != nil || second.wentOn { run.forget(name) }
    }
    return run.form
  }

  func mayAsk() -> Bool {
    questions += 1
    return questions < FormFinder.questionLimit
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

/// The types that a record holds as one value of a kind, with a value of each that code is unlikely
/// to stumble over.
private struct FormLeaf: @unchecked Sendable {
  let kind: FieldKind
  /// Of a standard type whose values are plain data.
  let sample: Any

  static let known: [ObjectIdentifier: FormLeaf] = {
    let all: [(any Any.Type, FieldKind, Any)] = [
      (Bool.self, .bool, false), (Int.self, .int64, 1), (Int8.self, .int8, Int8(1)),
      (Int16.self, .int16, Int16(1)), (Int32.self, .int32, Int32(1)),
      (Int64.self, .int64, Int64(1)), (UInt.self, .uint64, UInt(1)),
      (UInt8.self, .uint8, UInt8(1)), (UInt16.self, .uint16, UInt16(1)),
      (UInt32.self, .uint32, UInt32(1)), (UInt64.self, .uint64, UInt64(1)),
      (Int128.self, .int128, Int128(1)), (UInt128.self, .uint128, UInt128(1)),
      (Float.self, .float, Float(1)), (Double.self, .double, 1.0), (String.self, .string, "a"),
      (Date.self, .date, Date(timeIntervalSinceReferenceDate: 0)), (UUID.self, .uuid, UUID()),
      (Decimal.self, .decimal, Decimal(1)), (Data.self, .data, Data([0])),
      (URL.self, .url, URL(filePath: "/")),
    ]
    return Dictionary(
      uniqueKeysWithValues: all.map {
        (ObjectIdentifier($0), FormLeaf(kind: $1, sample: $2))
      })
  }()
}

protocol FormOptional {
  static var wrappedType: Any.Type { get }
  static var noneSample: Any { get }
}

extension Optional: FormOptional {
  static var noneSample: Any {
    let none: Wrapped? = nil
    return none as Any
  }
}

/// Collections whose coding is the standard library's.
private protocol FormSequence {
  static func form(_ finder: FormFinder) -> FieldForm
  static var emptySample: Any { get }
}

extension FormFinder {
  /// A nil in a list or a map makes all of it tagged, so such elements are not known.
  func elementForm(_ type: any Any.Type) -> FieldForm {
    type is any FormOptional.Type ? .unknown : find(type).form
  }
}

extension Array: FormSequence {
  fileprivate static func form(_ finder: FormFinder) -> FieldForm {
    .list(finder.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { [Element]() }
}

extension ContiguousArray: FormSequence {
  fileprivate static func form(_ finder: FormFinder) -> FieldForm {
    .list(finder.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { ContiguousArray<Element>() }
}

extension Set: FormSequence {
  fileprivate static func form(_ finder: FormFinder) -> FieldForm {
    .list(finder.elementForm(Element.self))
  }
  fileprivate static var emptySample: Any { Set<Element>() }
}

extension Dictionary: FormSequence {
  fileprivate static func form(_ finder: FormFinder) -> FieldForm {
    let isMap =
      Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type
    // Other keys and their values alternate in a list.
    return isMap ? .map(finder.elementForm(Value.self)) : .list(.unknown)
  }
  fileprivate static var emptySample: Any { [Key: Value]() }
}
