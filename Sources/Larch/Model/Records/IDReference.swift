/// The type of a property that refers to other records: an id, an optional id, or an array or set
/// of ids.
///
/// The requirements are met by Larch; neither write nor call them.
@_documentation(visibility: private)
public protocol IDReference: IndexableField {
  /// The type of the ids.
  associatedtype _ReferencedID: RecordIdentifier

  /// How it refers to records. Implemented by Larch; you never call it.
  static var _reference: _Witness { get }
}

extension RecordIdentifier {
  /// An id refers to one record.
  @_documentation(visibility: private)
  public static var _reference: _Witness { SingleReference<Self>() }
}

extension Optional: IDReference where Wrapped: IDReference {
  /// As the value in it.
  public typealias _ReferencedID = Wrapped._ReferencedID

  /// Nil refers to nothing.
  public static var _reference: _Witness { OptionalReference<Wrapped>() }
}

extension Array: IDReference where Element: RecordIdentifier {
  /// The type of the elements.
  public typealias _ReferencedID = Element

  /// An empty list refers to nothing.
  public static var _reference: _Witness { ArrayReference<Element>() }
}

extension Set: IDReference where Element: RecordIdentifier {
  /// The type of the elements.
  public typealias _ReferencedID = Element

  /// An empty set refers to nothing.
  public static var _reference: _Witness { SetReference<Element>() }
}
