/// How a property refers to other records: its type's ``IDReference/_reference``.
class ReferenceCoding<Value, ID: RecordIdentifier>: _Witness, @unchecked Sendable {
  /// Whether it can refer to nothing.
  let isOptional: Bool
  /// Whether it can refer to several records.
  let isList: Bool

  init(isOptional: Bool, isList: Bool) {
    self.isOptional = isOptional
    self.isList = isList
  }

  // Only Larch makes codings of references, and each overrides all of these.

  /// Calls with each id.
  func forEachID(of value: Value, _ body: (ID) throws -> Void) rethrows {
    preconditionFailure("\(Self.self) has no ids.")
  }

  /// The value without the ids that the closure is true for; nil if it must refer to something.
  func removing(_ isRemoved: (ID) throws -> Bool, from value: Value) rethrows -> Value? {
    preconditionFailure("\(Self.self) has no ids.")
  }

  /// The value with this id: after the others of a list, or in the place of the only one.
  func adding(_ id: ID, to value: Value) -> Value {
    preconditionFailure("\(Self.self) has no ids.")
  }

  /// The value with these ids too, each once; nil if it cannot refer to so many.
  func adding(contentsOf ids: [ID], to value: Value) -> Value? {
    preconditionFailure("\(Self.self) has no ids.")
  }

  /// The value with these ids and no others, each once; nil if it cannot refer to so many, or so
  /// few.
  func replacing(_ value: Value, with ids: [ID]) -> Value? {
    preconditionFailure("\(Self.self) has no ids.")
  }

  /// A reference to this id alone.
  func referring(to id: ID) -> Value {
    preconditionFailure("\(Self.self) has no ids.")
  }
}

extension IDReference {
  /// How this type refers to records. Made for each call, so a caller with many values asks once.
  static var referenceCoding: ReferenceCoding<Self, _ReferencedID> { _reference.typed() }
}

/// For an id: it refers to one record.
final class SingleReference<ID: RecordIdentifier>: ReferenceCoding<ID, ID>, @unchecked Sendable {
  init() { super.init(isOptional: false, isList: false) }

  override func forEachID(of value: ID, _ body: (ID) throws -> Void) rethrows { try body(value) }

  override func removing(_ isRemoved: (ID) throws -> Bool, from value: ID) rethrows -> ID? {
    try isRemoved(value) ? nil : value
  }

  override func adding(_ id: ID, to value: ID) -> ID { id }

  override func adding(contentsOf ids: [ID], to value: ID) -> ID? {
    ids.isEmpty ? value : replacing(value, with: ids)
  }

  override func replacing(_ value: ID, with ids: [ID]) -> ID? {
    guard let first = ids.first, ids.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  override func referring(to id: ID) -> ID { id }
}

/// For an optional: nil refers to nothing.
final class OptionalReference<Wrapped: IDReference>: ReferenceCoding<
  Wrapped?, Wrapped._ReferencedID
>, @unchecked Sendable
{
  typealias ID = Wrapped._ReferencedID

  private let wrapped: ReferenceCoding<Wrapped, ID>

  init() {
    wrapped = Wrapped.referenceCoding
    super.init(isOptional: true, isList: wrapped.isList)
  }

  override func forEachID(of value: Wrapped?, _ body: (ID) throws -> Void) rethrows {
    if let value { try wrapped.forEachID(of: value, body) }
  }

  /// Nil if nothing is left.
  override func removing(
    _ isRemoved: (ID) throws -> Bool, from value: Wrapped?
  ) rethrows -> Wrapped?? {
    guard let value else { return .some(nil) }
    return .some(try wrapped.removing(isRemoved, from: value))
  }

  override func adding(_ id: ID, to value: Wrapped?) -> Wrapped? {
    value.map { wrapped.adding(id, to: $0) } ?? wrapped.referring(to: id)
  }

  override func adding(contentsOf ids: [ID], to value: Wrapped?) -> Wrapped?? {
    guard let first = ids.first else { return value }
    // An optional in an optional would make nil of what cannot be done.
    return wrapped.adding(contentsOf: ids, to: value ?? wrapped.referring(to: first))
      .map { .some($0) }
  }

  /// A value with the ids, or nil for none.
  override func replacing(_ value: Wrapped?, with ids: [ID]) -> Wrapped?? {
    guard let first = ids.first else {
      guard let value else { return .some(.none) }
      return wrapped.isOptional
        ? wrapped.replacing(value, with: ids).map { .some($0) } : .some(.none)
    }
    return wrapped.replacing(value ?? wrapped.referring(to: first), with: ids).map { .some($0) }
  }

  override func referring(to id: ID) -> Wrapped? { wrapped.referring(to: id) }
}

/// For an array: an empty one refers to nothing.
final class ArrayReference<ID: RecordIdentifier>: ReferenceCoding<[ID], ID>, @unchecked Sendable {
  init() { super.init(isOptional: true, isList: true) }

  override func forEachID(of value: [ID], _ body: (ID) throws -> Void) rethrows {
    try value.forEach(body)
  }

  override func removing(_ isRemoved: (ID) throws -> Bool, from value: [ID]) rethrows -> [ID]? {
    try value.filter { try !isRemoved($0) }
  }

  override func adding(_ id: ID, to value: [ID]) -> [ID] {
    value.contains(id) ? value : value + [id]
  }

  override func adding(contentsOf ids: [ID], to value: [ID]) -> [ID]? {
    var known = Set(value)
    return value + ids.filter { known.insert($0).inserted }
  }

  override func replacing(_ value: [ID], with ids: [ID]) -> [ID]? {
    adding(contentsOf: ids, to: [])
  }

  override func referring(to id: ID) -> [ID] { [id] }
}

/// For a set: an empty one refers to nothing.
final class SetReference<ID: RecordIdentifier>: ReferenceCoding<Set<ID>, ID>, @unchecked Sendable {
  init() { super.init(isOptional: true, isList: true) }

  override func forEachID(of value: Set<ID>, _ body: (ID) throws -> Void) rethrows {
    try value.forEach(body)
  }

  override func removing(
    _ isRemoved: (ID) throws -> Bool, from value: Set<ID>
  ) rethrows -> Set<ID>? {
    try value.filter { try !isRemoved($0) }
  }

  override func adding(_ id: ID, to value: Set<ID>) -> Set<ID> { value.union([id]) }

  override func adding(contentsOf ids: [ID], to value: Set<ID>) -> Set<ID>? { value.union(ids) }

  override func replacing(_ value: Set<ID>, with ids: [ID]) -> Set<ID>? { Set(ids) }

  override func referring(to id: ID) -> Set<ID> { [id] }
}
