public import Foundation

/// A value that can be blank: an optional, a text, a collection, data, an id. You never need to
/// conform to this protocol.
@_documentation(visibility: private)
public protocol PresenceField: SendableMetatype {
  /// Returns whether a value is blank. Implemented by Larch.
  static var _blankTest: @Sendable (Self) -> Bool { get }
}

/// A value that has a length: a text, a collection, data, or an optional of these. You never need
/// to conform to this protocol.
@_documentation(visibility: private)
public protocol LengthField: SendableMetatype {
  /// The length, or nil for nil. Implemented by Larch.
  static func _length(_ value: Self) -> Int?

  /// An upper bound of the length, found at once; 0 only if the length is 0, and nil for nil.
  /// Implemented by Larch.
  static func _lengthBound(_ value: Self) -> Int?

  /// The unit of the length, for messages. Implemented by Larch.
  static func _lengthUnit(_ count: Int) -> String
}

extension PresenceField where Self: Collection {
  /// An empty collection is blank.
  public static var _blankTest: @Sendable (Self) -> Bool { { $0.isEmpty } }
}

extension LengthField where Self: Collection {
  /// The number of elements.
  public static func _length(_ value: Self) -> Int? { value.count }

  /// The number of elements.
  public static func _lengthBound(_ value: Self) -> Int? { value.count }

  /// The word for elements.
  public static func _lengthUnit(_ count: Int) -> String { count == 1 ? "element" : "elements" }
}

extension Array: PresenceField, LengthField {}
extension Set: PresenceField, LengthField {}
extension Dictionary: PresenceField, LengthField {}

extension Data: PresenceField, LengthField {
  /// The word for bytes.
  public static func _lengthUnit(_ count: Int) -> String { count == 1 ? "byte" : "bytes" }
}

extension String: PresenceField, LengthField {
  /// A text is blank if it has only white space.
  public static var _blankTest: @Sendable (Self) -> Bool {
    { text in
      // Most texts begin with a letter or a digit.
      if let first = text.utf8.first, (0x21...0x7E).contains(first) { return false }
      return text.allSatisfy(\.isWhitespace)
    }
  }

  /// Each character takes at least a byte.
  public static func _lengthBound(_ value: Self) -> Int? { value.utf8.count }

  /// The word for characters.
  public static func _lengthUnit(_ count: Int) -> String {
    count == 1 ? "character" : "characters"
  }
}

extension RecordID: PresenceField {
  /// An id that was never assigned is blank: it belongs to no record.
  public static var _blankTest: @Sendable (Self) -> Bool { { !$0.isAssigned } }
}

extension Optional: PresenceField {
  /// Nil is blank, and so is a blank wrapped value.
  public static var _blankTest: @Sendable (Self) -> Bool {
    guard let wrapped = Wrapped.self as? any PresenceField.Type else { return { $0 == nil } }
    return test(through: wrapped)
  }

  private static func test<P: PresenceField>(through type: P.Type) -> @Sendable (Self) -> Bool {
    let isBlank = P._blankTest
    return { value in
      guard let value else { return true }
      // Both are names of one type: `P` comes from `Wrapped.self`.
      return isBlank(unsafeBitCast(value, to: P.self))
    }
  }
}

extension Optional: LengthField where Wrapped: LengthField {
  /// The length of the wrapped value.
  public static func _length(_ value: Self) -> Int? { value.flatMap { Wrapped._length($0) } }

  /// The same as for the wrapped value.
  public static func _lengthBound(_ value: Self) -> Int? {
    value.flatMap { Wrapped._lengthBound($0) }
  }

  /// The same as for the wrapped value.
  public static func _lengthUnit(_ count: Int) -> String { Wrapped._lengthUnit(count) }
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
