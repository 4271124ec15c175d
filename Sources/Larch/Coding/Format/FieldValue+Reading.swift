public import Foundation

extension FieldValue {
  /// Whether it is nil.
  public var isNull: Bool { self == .null }

  /// The boolean, or nil if it is something else.
  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The integer, or nil if it is something else or does not fit.
  public var int: Int64? {
    if case .int(let value) = self { value } else { nil }
  }

  /// The number, rounded if a `Double` cannot represent it, or nil if it is not a number.
  public var double: Double? {
    switch self {
    case .int(let value): Double(value)
    case .bigInt(let value): Double(value)
    case .bigUInt(let value): Double(value)
    case .float(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The text, also of a URL, or nil if it is something else.
  public var string: String? {
    switch self {
    case .string(let value), .url(let value): value
    default: nil
    }
  }

  /// The point in time, or nil if it is something else.
  public var date: Date? {
    if case .date(let value) = self { value } else { nil }
  }

  /// The UUID, or nil if it is something else.
  public var uuid: UUID? {
    if case .uuid(let value) = self { value } else { nil }
  }

  /// The decimal number, also of an integer, or nil if it is something else.
  public var decimal: Decimal? {
    switch self {
    case .decimal(let value): value
    case .int(let value): Decimal(value)
    default: nil
    }
  }

  /// The bytes, or nil if it is something else.
  public var data: Data? {
    if case .data(let value) = self { value } else { nil }
  }

  /// The elements of an array or a set, or nil if it is something else.
  public var list: [FieldValue]? {
    if case .list(let value) = self { value } else { nil }
  }

  /// The fields of a nested value, or the entries of a dictionary, or nil if it is something else.
  public var record: [String: FieldValue]? {
    if case .record(let value) = self { value } else { nil }
  }
}

extension FieldValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// A `Double`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A list.
  public init(arrayLiteral elements: FieldValue...) { self = .list(elements) }
  /// A nested value; if names repeat, the last one wins.
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    self = .record(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}
