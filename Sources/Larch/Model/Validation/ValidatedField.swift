public import Foundation

/// A value that can be blank: an optional, a text, a collection, data, an id. You never need to
/// conform to it.
@_documentation(visibility: private)
public protocol PresenceField: SendableMetatype {
  /// Tells whether a value is blank. Met by Larch.
  static var _blankTest: @Sendable (Self) -> Bool { get }
}

/// A value that has a length: a text, a collection, data, or an optional of these. You never need
/// to conform to it.
@_documentation(visibility: private)
public protocol LengthField: SendableMetatype {
  /// The length, or nil for nil. Met by Larch.
  static func _length(_ value: Self) -> Int?

  /// What the length cannot be above, found in no time; 0 only where the length is, and nil for
  /// nil. Met by Larch.
  static func _lengthBound(_ value: Self) -> Int?

  /// What a length counts, for messages. Met by Larch.
  static func _lengthUnit(_ count: Int) -> String
}

extension PresenceField where Self: Collection {
  /// An empty collection is blank.
  public static var _blankTest: @Sendable (Self) -> Bool { { $0.isEmpty } }
}

extension LengthField where Self: Collection {
  /// How many elements there are.
  public static func _length(_ value: Self) -> Int? { value.count }

  /// How many elements there are.
  public static func _lengthBound(_ value: Self) -> Int? { value.count }

  /// Elements.
  public static func _lengthUnit(_ count: Int) -> String { count == 1 ? "element" : "elements" }
}

extension Array: PresenceField, LengthField {}
extension Set: PresenceField, LengthField {}
extension Dictionary: PresenceField, LengthField {}

extension Data: PresenceField, LengthField {
  /// Bytes.
  public static func _lengthUnit(_ count: Int) -> String { count == 1 ? "byte" : "bytes" }
}

extension String: PresenceField, LengthField {
  /// A text of nothing but white space is blank.
  public static var _blankTest: @Sendable (Self) -> Bool {
    { text in
      // Most texts begin with a letter or a digit.
      if let first = text.utf8.first, (0x21...0x7E).contains(first) { return false }
      return text.allSatisfy(\.isWhitespace)
    }
  }

  /// No character takes less than a byte.
  public static func _lengthBound(_ value: Self) -> Int? { value.utf8.count }

  /// Characters.
  public static func _lengthUnit(_ count: Int) -> String {
    count == 1 ? "character" : "characters"
  }
}

extension RecordID: PresenceField {
  /// An id that was never assigned is blank: it leads to no record.
  public static var _blankTest: @Sendable (Self) -> Bool { { !$0.isAssigned } }
}

extension Optional: PresenceField {
  /// Nil is blank, and what is blank without being optional.
  public static var _blankTest: @Sendable (Self) -> Bool {
    guard let wrapped = Wrapped.self as? any PresenceField.Type else { return { $0 == nil } }
    return test(through: wrapped)
  }

  private static func test<P: PresenceField>(through type: P.Type) -> @Sendable (Self) -> Bool {
    let isBlank = P._blankTest
    return { value in
      guard let value else { return true }
      // Both are names of one type: `P` was asked of `Wrapped.self`.
      return isBlank(unsafeBitCast(value, to: P.self))
    }
  }
}

extension Optional: LengthField where Wrapped: LengthField {
  /// The length of the value in it.
  public static func _length(_ value: Self) -> Int? { value.flatMap { Wrapped._length($0) } }

  /// As for the value in it.
  public static func _lengthBound(_ value: Self) -> Int? {
    value.flatMap { Wrapped._lengthBound($0) }
  }

  /// As for the value in it.
  public static func _lengthUnit(_ count: Int) -> String { Wrapped._lengthUnit(count) }
}

/// The types whose comparisons are the standard library's: no code of the program runs in them.
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
