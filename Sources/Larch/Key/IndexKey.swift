/// A type whose values can be keys of an index.
///
/// The standard types are `Bool`, all integers of at most 64 bits, `Float`, `Double`, `Decimal`,
/// `String`, `Character`, `Data`, `Date`, `UUID`, `URL`, optionals of them (nil comes first), and
/// enums with a raw value. For your own type, return a value that represents it: two values must be equal, and ordered, exactly as
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
/// IndexKey {}`. Where the `<` of an enum is another order than that of its raw values, orders follow
/// the `<`, but no index serves them: give it an `indexValue` in that order, such as a number. Larch
/// implements the requirements with an underscore; do not implement or call them.
public protocol IndexKey: IndexableField {
  /// The type that represents this one in an index.
  associatedtype IndexValue: IndexKey

  /// The value that represents this one in an index.
  var indexValue: IndexValue { get }

  /// How the type is written as a key. Implemented by Larch; you never call it.
  static var _key: _Witness { get }
}

extension IndexKey {
  /// As the value that represents this one.
  @_documentation(visibility: private)
  public static var _key: _Witness { DerivedKey<Self>() }

  /// One value, one entry.
  @_documentation(visibility: private)
  public static var _field: _Witness { FieldCoding(keyCoding) }
}

extension IndexKey where Self: RawRepresentable, RawValue: IndexKey {
  /// The raw value stands for its owner.
  public var indexValue: RawValue { rawValue }

  /// As the value that represents this one; read as the raw value.
  @_documentation(visibility: private)
  public static var _key: _Witness { RawValueKey<Self>() }
}

/// A type over which an index can be declared: an ``IndexKey``, or an array or set of one.
///
/// An array or a set has an entry for each distinct element; an empty one, or nil in its place, has
/// none. Together with other fields in one index, it has an entry for each combination.
@_documentation(visibility: private)
public protocol IndexableField: SendableMetatype {
  /// The type of one entry: of an element where there are several, of the value in an optional.
  /// Implemented by Larch; you never use it.
  associatedtype _Entry: IndexKey = Self

  /// The entries of a value. Implemented by Larch; you never call it.
  static var _field: _Witness { get }
}

extension Array: IndexableField where Element: IndexKey {
  /// As an element.
  public typealias _Entry = Element

  /// An entry for each distinct element.
  public static var _field: _Witness { ElementEntries<Self>() }
}

extension Set: IndexableField where Element: IndexKey {
  /// As an element.
  public typealias _Entry = Element

  /// An entry for each element.
  public static var _field: _Witness { ElementEntries<Self>() }
}

extension Optional: IndexableField where Wrapped: IndexableField {
  /// As the value in it.
  public typealias _Entry = Wrapped._Entry

  /// The entries of the value in it; for nil one of its own, or none if the value can have several.
  public static var _field: _Witness { FieldCoding.optional(Wrapped.fieldCoding) }
}
