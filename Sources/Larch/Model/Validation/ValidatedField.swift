public import Foundation

/// A value that can be blank: an optional, a text, a collection, data, an id. You never need to
/// conform to this protocol.
@_documentation(visibility: private)
public protocol PresenceField: SendableMetatype {
  /// Which values are blank. Implemented by Larch.
  static var _presence: _Witness { get }
}

/// A value that has a length: a text, a collection, data, or an optional of these. You never need
/// to conform to this protocol.
@_documentation(visibility: private)
public protocol LengthField: SendableMetatype {
  /// How values are measured. Implemented by Larch.
  static var _length: _Witness { get }
}

/// Which values of a type are blank: its ``PresenceField/_presence``.
final class PresenceTest<Value>: _Witness, @unchecked Sendable {
  let isBlank: @Sendable (Value) -> Bool

  init(_ isBlank: @escaping @Sendable (Value) -> Bool) { self.isBlank = isBlank }
}

/// How the values of a type are measured: its ``LengthField/_length``.
final class LengthMeasure<Value>: _Witness, @unchecked Sendable {
  /// The length, or nil for nil.
  let length: @Sendable (Value) -> Int?
  /// An upper bound of the length, found at once; 0 only if the length is 0, and nil for nil.
  let bound: @Sendable (Value) -> Int?
  /// The unit of the length, for messages.
  let unit: @Sendable (Int) -> String

  init(
    _ length: @escaping @Sendable (Value) -> Int?, bound: @escaping @Sendable (Value) -> Int?,
    unit: @escaping @Sendable (Int) -> String
  ) {
    self.length = length
    self.bound = bound
    self.unit = unit
  }

  convenience init(one: String, several: String) where Value: Collection, Value: SendableMetatype {
    self.init({ $0.count }, bound: { $0.count }, unit: { $0 == 1 ? one : several })
  }
}

extension PresenceField where Self: Collection {
  /// An empty collection is blank.
  @_documentation(visibility: private)
  public static var _presence: _Witness { PresenceTest<Self> { $0.isEmpty } }
}

extension LengthField where Self: Collection {
  /// The number of elements.
  @_documentation(visibility: private)
  public static var _length: _Witness { LengthMeasure<Self>(one: "element", several: "elements") }
}

extension Array: PresenceField, LengthField {}
extension Set: PresenceField, LengthField {}
extension Dictionary: PresenceField, LengthField {}

extension Data: PresenceField, LengthField {
  /// The number of bytes.
  public static var _length: _Witness { LengthMeasure<Data>(one: "byte", several: "bytes") }
}

extension String: PresenceField, LengthField {
  /// A text is blank if it has only white space.
  public static var _presence: _Witness {
    PresenceTest<String> { text in
      // Most texts begin with a letter or a digit.
      if let first = text.utf8.first, (0x21...0x7E).contains(first) { return false }
      return text.allSatisfy(\.isWhitespace)
    }
  }

  /// The number of characters. Each takes at least a byte.
  public static var _length: _Witness {
    LengthMeasure<String>(
      { $0.count }, bound: { $0.utf8.count }, unit: { $0 == 1 ? "character" : "characters" })
  }
}

extension RecordID: PresenceField {
  /// An id that was never assigned is blank: it belongs to no record.
  @_documentation(visibility: private)
  public static var _presence: _Witness { PresenceTest<Self> { !$0.isAssigned } }
}

extension Optional: PresenceField {
  /// Nil is blank, and so is a blank wrapped value.
  public static var _presence: _Witness {
    guard let wrapped = Wrapped.self as? any PresenceField.Type else {
      return PresenceTest<Self> { $0 == nil }
    }
    return test(through: wrapped)
  }

  private static func test<P: PresenceField>(through type: P.Type) -> PresenceTest<Self> {
    let test: PresenceTest<P> = P._presence.typed()
    return PresenceTest { value in
      guard let value else { return true }
      // Both are names of one type: `P` comes from `Wrapped.self`.
      return test.isBlank(unsafeBitCast(value, to: P.self))
    }
  }
}

extension Optional: LengthField where Wrapped: LengthField {
  /// The length of the wrapped value.
  public static var _length: _Witness {
    let measure: LengthMeasure<Wrapped> = Wrapped._length.typed()
    return LengthMeasure<Self>(
      { $0.flatMap { measure.length($0) } }, bound: { $0.flatMap { measure.bound($0) } },
      unit: measure.unit)
  }
}

/// The types whose comparisons are in the standard library, so that no code of the program runs.
enum StandardValues {
  private static let types: Set<ObjectIdentifier> = [
    ObjectIdentifier(String.self), ObjectIdentifier(Bool.self), ObjectIdentifier(Int.self),
    ObjectIdentifier(Int8.self), ObjectIdentifier(Int16.self), ObjectIdentifier(Int32.self),
    ObjectIdentifier(Int64.self), ObjectIdentifier(UInt.self), ObjectIdentifier(UInt8.self),
    ObjectIdentifier(UInt16.self), ObjectIdentifier(UInt32.self), ObjectIdentifier(UInt64.self),
    ObjectIdentifier(Double.self), ObjectIdentifier(Float.self), ObjectIdentifier(Date.self),
    ObjectIdentifier(UUID.self), ObjectIdentifier(Decimal.self), ObjectIdentifier(Data.self),
  ]

  static func contain(_ type: Any.Type) -> Bool {
    types.contains(ObjectIdentifier(Reflection.unwrapped(type)))
  }
}
