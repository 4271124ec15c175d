/// The type of a property that refers to other records: an id, an optional id, or an array or set
/// of ids.
///
/// The requirements are met by Larch; neither write nor call them.
@_documentation(visibility: private)
public protocol IDReference: IndexableField {
  /// The type of the ids.
  associatedtype _ReferencedID: RecordIdentifier

  /// Whether it can refer to nothing.
  static var _isOptionalReference: Bool { get }

  /// Whether it can refer to several records.
  static var _isListReference: Bool { get }

  /// Calls with each id.
  func _forEachID(_ body: (_ReferencedID) throws -> Void) rethrows

  /// Without the ids that the closure is true for; nil when it must refer to something.
  func _removing(_ isRemoved: (_ReferencedID) throws -> Bool) rethrows -> Self?

  /// With this id: after the others of a list, or in the place of the only one.
  func _adding(_ id: _ReferencedID) -> Self

  /// With these ids too, each once; nil when it cannot refer to so many.
  func _adding(contentsOf ids: [_ReferencedID]) -> Self?

  /// With these ids and no others, each once; nil when it cannot refer to so many, or so few.
  func _replacing(with ids: [_ReferencedID]) -> Self?

  /// A reference to this id alone.
  static func _referring(to id: _ReferencedID) -> Self
}

extension RecordIdentifier {
  /// An id refers to a record.
  public static var _isOptionalReference: Bool { false }

  /// To one.
  public static var _isListReference: Bool { false }

  /// Calls with the id.
  public func _forEachID(_ body: (Self) throws -> Void) rethrows { try body(self) }

  /// The id, unless it is to go.
  public func _removing(_ isRemoved: (Self) throws -> Bool) rethrows -> Self? {
    try isRemoved(self) ? nil : self
  }

  /// The other id.
  public func _adding(_ id: Self) -> Self { id }

  /// The only one of the ids.
  public func _adding(contentsOf ids: [Self]) -> Self? {
    ids.isEmpty ? self : _replacing(with: ids)
  }

  /// The only one of the ids.
  public func _replacing(with ids: [Self]) -> Self? {
    guard let first = ids.first, ids.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  /// The id.
  public static func _referring(to id: Self) -> Self { id }
}

extension Optional: IDReference where Wrapped: IDReference {
  /// As the value in it.
  public typealias _ReferencedID = Wrapped._ReferencedID

  /// Nil refers to nothing.
  public static var _isOptionalReference: Bool { true }

  /// As the value in it.
  public static var _isListReference: Bool { Wrapped._isListReference }

  /// Calls with the ids of the value in it.
  public func _forEachID(_ body: (_ReferencedID) throws -> Void) rethrows {
    try self?._forEachID(body)
  }

  /// Nil, where nothing is left.
  public func _removing(_ isRemoved: (_ReferencedID) throws -> Bool) rethrows -> Self? {
    .some(try self?._removing(isRemoved))
  }

  /// The value with the id.
  public func _adding(_ id: _ReferencedID) -> Self {
    map { $0._adding(id) } ?? Wrapped._referring(to: id)
  }

  /// The value with the ids.
  public func _adding(contentsOf ids: [_ReferencedID]) -> Self? {
    guard let first = ids.first else { return self }
    // An optional in an optional would make nil of what cannot be done.
    return (self ?? Wrapped._referring(to: first))._adding(contentsOf: ids).map { .some($0) }
  }

  /// A value with the ids, or nil for none.
  public func _replacing(with ids: [_ReferencedID]) -> Self? {
    guard let first = ids.first else {
      guard let self else { return .some(.none) }
      return Wrapped._isOptionalReference
        ? self._replacing(with: ids).map { .some($0) } : .some(.none)
    }
    return (self ?? Wrapped._referring(to: first))._replacing(with: ids).map { .some($0) }
  }

  /// A value that refers to the id.
  public static func _referring(to id: _ReferencedID) -> Self { Wrapped._referring(to: id) }
}

extension Array: IDReference where Element: RecordIdentifier {
  /// The type of the elements.
  public typealias _ReferencedID = Element

  /// An empty list refers to nothing.
  public static var _isOptionalReference: Bool { true }

  /// To several.
  public static var _isListReference: Bool { true }

  /// Calls with each element.
  public func _forEachID(_ body: (Element) throws -> Void) rethrows { try forEach(body) }

  /// The elements that stay, in their order.
  public func _removing(_ isRemoved: (Element) throws -> Bool) rethrows -> Self? {
    try filter { try !isRemoved($0) }
  }

  /// With the id as the last element, unless it is in the list.
  public func _adding(_ id: Element) -> Self { contains(id) ? self : self + [id] }

  /// With those of the ids as last elements that are not in the list.
  public func _adding(contentsOf ids: [Element]) -> Self? {
    var known = Set(self)
    return self + ids.filter { known.insert($0).inserted }
  }

  /// The ids in their order.
  public func _replacing(with ids: [Element]) -> Self? { []._adding(contentsOf: ids) }

  /// A list of the id.
  public static func _referring(to id: Element) -> Self { [id] }
}

extension Set: IDReference where Element: RecordIdentifier {
  /// The type of the elements.
  public typealias _ReferencedID = Element

  /// An empty set refers to nothing.
  public static var _isOptionalReference: Bool { true }

  /// To several.
  public static var _isListReference: Bool { true }

  /// Calls with each element.
  public func _forEachID(_ body: (Element) throws -> Void) rethrows { try forEach(body) }

  /// The elements that stay.
  public func _removing(_ isRemoved: (Element) throws -> Bool) rethrows -> Self? {
    Set(try filter { try !isRemoved($0) })
  }

  /// With the id.
  public func _adding(_ id: Element) -> Self { union([id]) }

  /// With the ids.
  public func _adding(contentsOf ids: [Element]) -> Self? { union(ids) }

  /// A set of the ids.
  public func _replacing(with ids: [Element]) -> Self? { Set(ids) }

  /// A set of the id.
  public static func _referring(to id: Element) -> Self { [id] }
}
