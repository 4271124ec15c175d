public import Foundation

/// The standard values of a key, one after the other.
///
/// Filters and orders compare them, whatever the type of a field is. You never need one.
public struct KeyValues: Sendable {
  var list: [KeyValue] = []
  /// How many were read.
  var place = 0

  init(_ list: [KeyValue] = []) { self.list = list }

  mutating func append(_ value: KeyValue) { list.append(value) }

  /// The next value; nil after the last one.
  mutating func next() -> KeyValue? {
    guard place < list.count else { return nil }
    defer { place += 1 }
    return list[place]
  }
}

extension IndexKey {
  /// The values of the one that stands for this one.
  public static func _appendValues(_ value: Self, to values: inout KeyValues) {
    IndexValue._appendValues(value.indexValue, to: &values)
  }

  /// A type of your own cannot be made from its index value.
  public static func _read(from values: inout KeyValues) -> Self? { nil }

  /// The values of one key.
  static func values(of value: Self) -> [KeyValue] {
    var values = KeyValues()
    _appendValues(value, to: &values)
    return values.list
  }
}

extension IndexKey where Self: RawRepresentable, RawValue: IndexKey {
  /// From its raw value.
  public static func _read(from values: inout KeyValues) -> Self? {
    RawValue._read(from: &values).flatMap { Self(rawValue: $0) }
  }
}

extension IndexKey where Self: SignedInteger & FixedWidthInteger {
  /// The number.
  public static func _appendValues(_ value: Self, to values: inout KeyValues) {
    values.append(.signed(Int64(value)))
  }

  /// The number, if it fits.
  public static func _read(from values: inout KeyValues) -> Self? {
    guard case .signed(let value) = values.next() else { return nil }
    return Self(exactly: value)
  }
}

extension IndexKey where Self: UnsignedInteger & FixedWidthInteger {
  /// The number.
  public static func _appendValues(_ value: Self, to values: inout KeyValues) {
    values.append(.unsigned(UInt64(value)))
  }

  /// The number, if it fits.
  public static func _read(from values: inout KeyValues) -> Self? {
    guard case .unsigned(let value) = values.next() else { return nil }
    return Self(exactly: value)
  }
}

extension Bool {
  /// The value itself.
  public static func _appendValues(_ value: Bool, to values: inout KeyValues) {
    values.append(.bool(value))
  }

  /// The value itself.
  public static func _read(from values: inout KeyValues) -> Bool? {
    guard case .bool(let value) = values.next() else { return nil }
    return value
  }
}

extension Float {
  /// The number.
  public static func _appendValues(_ value: Float, to values: inout KeyValues) {
    values.append(.float(value))
  }

  /// The number.
  public static func _read(from values: inout KeyValues) -> Float? {
    guard case .float(let value) = values.next() else { return nil }
    return value
  }
}

extension Double {
  /// The number.
  public static func _appendValues(_ value: Double, to values: inout KeyValues) {
    values.append(.double(value))
  }

  /// The number.
  public static func _read(from values: inout KeyValues) -> Double? {
    guard case .double(let value) = values.next() else { return nil }
    return value
  }
}

extension String {
  /// The text.
  public static func _appendValues(_ value: String, to values: inout KeyValues) {
    values.append(.string(value))
  }

  /// The text.
  public static func _read(from values: inout KeyValues) -> String? {
    guard case .string(let value) = values.next() else { return nil }
    return value
  }
}

extension Data {
  /// The bytes.
  public static func _appendValues(_ value: Data, to values: inout KeyValues) {
    values.append(.data([UInt8](value)))
  }

  /// The bytes.
  public static func _read(from values: inout KeyValues) -> Data? {
    guard case .data(let value) = values.next() else { return nil }
    return Data(value)
  }
}

extension Date {
  /// The seconds since the reference date.
  public static func _appendValues(_ value: Date, to values: inout KeyValues) {
    values.append(.date(value.timeIntervalSinceReferenceDate))
  }

  /// From the seconds since the reference date.
  public static func _read(from values: inout KeyValues) -> Date? {
    guard case .date(let value) = values.next() else { return nil }
    return Date(timeIntervalSinceReferenceDate: value)
  }
}

extension UUID {
  /// The 16 bytes.
  public static func _appendValues(_ value: UUID, to values: inout KeyValues) {
    values.append(.uuid(withUnsafeBytes(of: value.uuid) { [UInt8]($0) }))
  }

  /// From its 16 bytes.
  public static func _read(from values: inout KeyValues) -> UUID? {
    guard case .uuid(let bytes) = values.next(), bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}

extension URL {
  /// The text of the URL.
  public static func _appendValues(_ value: URL, to values: inout KeyValues) {
    values.append(.url(value.absoluteString))
  }

  /// From its text.
  public static func _read(from values: inout KeyValues) -> URL? {
    guard case .url(let text) = values.next() else { return nil }
    return URL(string: text)
  }
}

extension Character {
  /// From a text of one character.
  public static func _read(from values: inout KeyValues) -> Character? {
    guard case .string(let text) = values.next(), text.count == 1 else { return nil }
    return text.first
  }
}

extension Optional where Wrapped: IndexKey {
  /// The value in it, or nil.
  public static func _appendValues(_ value: Self, to values: inout KeyValues) {
    if let value {
      Wrapped._appendValues(value, to: &values)
    } else {
      values.append(.null)
    }
  }

  /// The value in it, or nil.
  public static func _read(from values: inout KeyValues) -> Self? {
    if values.place < values.list.count, case .null = values.list[values.place] {
      values.place += 1
      return .some(nil)
    }
    return Wrapped._read(from: &values).map { .some($0) }
  }
}

extension CompositeKey {
  /// One after the other.
  public static func _appendValues(_ value: Self, to values: inout KeyValues) {
    First._appendValues(value.first, to: &values)
    for (type, part) in repeat ((each Rest).self, each value.rest) {
      type._appendValues(part, to: &values)
    }
  }
}
