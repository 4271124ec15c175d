/// A type whose values can be keys of an index.
///
/// The standard types are `Bool`, all integers, `Float`, `Double`, `String`, `Character`, `Data`,
/// `Date`, `UUID`, `URL`, optionals of them (nil comes first), and enums with a raw value. For your
/// own type, return a value that represents it: two values must be equal, and ordered, exactly as
/// the values that represent them.
///
/// ```swift
/// extension Money: IndexKey {
///   var indexValue: Int64 { cents }
/// }
///
/// extension Version: IndexKey {
///   var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
/// }
/// ```
///
/// `RawRepresentable` types get `indexValue` from their raw value and need only `extension Rank:
/// IndexKey {}`. Larch implements the requirements with an underscore; do not implement or call
/// them.
public protocol IndexKey: IndexableField {
  /// The type that represents this one in an index.
  associatedtype IndexValue: IndexKey

  /// The value that represents this one in an index.
  var indexValue: IndexValue { get }

  /// Writes the bytes of a key. Met by Larch; never called by you.
  static func _writeKey(_ value: Self, to writer: inout KeyWriter, isLast: Bool)

  /// What the bytes stand for. Met by Larch; never called by you.
  static var _keyForm: KeyForm { get }

  /// Whether the bytes can be made from the stored field: a standard type. Met by Larch.
  static var _isStandardKey: Bool { get }

  /// Appends the standard values that stand for a value. Met by Larch; never called by you.
  static func _appendValues(_ value: Self, to values: inout KeyValues)

  /// The value of the next standard values, if it can be made. Implemented by Larch.
  static func _read(from values: inout KeyValues) -> Self?
}

extension IndexKey {
  /// Writes the bytes of the value that stands for this one.
  public static func _writeKey(_ value: Self, to writer: inout KeyWriter, isLast: Bool) {
    IndexValue._writeKey(value.indexValue, to: &writer, isLast: isLast)
  }

  /// As the value that stands for this one.
  public static var _keyForm: KeyForm {
    // A declaration of the program, met when a store is opened for it; no data comes here.
    precondition(
      IndexValue.self != Self.self,
      "\(Self.self).indexValue must not be of type \(Self.self) itself: use a standard type, or a type whose own indexValue is one."
    )
    return IndexValue._keyForm
  }

  /// Only a standard type stands for itself.
  public static var _isStandardKey: Bool { IndexValue.self == Self.self }

  /// As the key.
  public static var _isStandardField: Bool { _isStandardKey }

  /// As a key of one component.
  public static var _fieldForm: KeyForm { _keyForm }

  /// One value, one entry.
  public static var _isMultiple: Bool { false }

  /// One entry.
  public static func _forEachKey(
    _ value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    _writeKey(value, to: &writer, isLast: isLast)
    try body(&writer)
  }
}

extension IndexKey where Self: RawRepresentable, RawValue: IndexKey {
  /// The raw value stands for its owner.
  public var indexValue: RawValue { rawValue }
}

/// A type over which an index can be declared: an ``IndexKey``, or an array or set of one.
///
/// An array or a set has an entry for each distinct element; an empty one, or nil in its place, has
/// none. Together with other fields in one index, it has an entry for each combination.
@_documentation(visibility: private)
public protocol IndexableField: SendableMetatype {
  /// The type of one entry: of an element where there are several, of the value in an optional.
  /// Met by Larch; never named by you.
  associatedtype _Entry: IndexKey = Self

  /// What the bytes of one entry stand for. Met by Larch; never called by you.
  static var _fieldForm: KeyForm { get }

  /// Whether a value can have several entries. Met by Larch; never called by you.
  static var _isMultiple: Bool { get }

  /// Whether the bytes can be made from the stored field. Met by Larch; never called by you.
  static var _isStandardField: Bool { get }

  /// Appends each key of a value in turn, and calls the closure after each. Keys that are equal
  /// may come repeatedly. Met by Larch; never called by you.
  static func _forEachKey(
    _ value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows

  /// Calls with the standard values of each entry until the closure returns false, and tells
  /// whether it never did. Met by Larch; never called by you.
  static func _forEachValue(_ value: Self, _ body: (KeyValues) -> Bool) -> Bool
}

extension IndexableField where Self: Sequence, Element: IndexKey {
  static func forEachElement(
    of value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    let mark = writer.mark
    for element in value {
      Element._writeKey(element, to: &writer, isLast: isLast)
      try body(&writer)
      writer.rewind(to: mark)
    }
  }
}

extension Array: IndexableField where Element: IndexKey {
  /// As an element.
  public static var _fieldForm: KeyForm { Element._keyForm }

  /// An entry for each distinct element.
  public static var _isMultiple: Bool { true }

  /// As an element.
  public static var _isStandardField: Bool { Element._isStandardKey }

  /// The key of each element.
  public static func _forEachKey(
    _ value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    try forEachElement(of: value, to: &writer, isLast: isLast, body)
  }
}

extension Set: IndexableField where Element: IndexKey {
  /// As an element.
  public static var _fieldForm: KeyForm { Element._keyForm }

  /// An entry for each element.
  public static var _isMultiple: Bool { true }

  /// As an element.
  public static var _isStandardField: Bool { Element._isStandardKey }

  /// The key of each element.
  public static func _forEachKey(
    _ value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    try forEachElement(of: value, to: &writer, isLast: isLast, body)
  }
}

extension Optional: IndexableField where Wrapped: IndexableField {
  /// Optional, unless nil has no entry.
  public static var _fieldForm: KeyForm {
    Wrapped._isMultiple ? Wrapped._fieldForm : .optional(Wrapped._fieldForm)
  }

  /// As the value in it.
  public static var _isMultiple: Bool { Wrapped._isMultiple }

  /// As the value in it.
  public static var _isStandardField: Bool { Wrapped._isStandardField }

  /// The keys of the value in it; for nil one of its own, or none if the value has several.
  public static func _forEachKey(
    _ value: Self, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    if Wrapped._isMultiple {
      if let value {
        try Wrapped._forEachKey(value, to: &writer, isLast: isLast, body)
      }
    } else if let value {
      writer.appendPresent()
      try Wrapped._forEachKey(value, to: &writer, isLast: isLast, body)
    } else {
      writer.appendNil()
      try body(&writer)
    }
  }
}
