/// What a property that refers to other records can be: an id, an optional one, or a list or set
/// of ids.
///
/// The requirements are met by Larch; neither write nor call them.
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

  /// With this id: behind the others of a list, or in the place of the only one.
  func _adding(_ id: _ReferencedID) -> Self

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

  /// A set of the id.
  public static func _referring(to id: Element) -> Self { [id] }
}
