/// A number, or an optional number, that can be summed.
@_documentation(visibility: private)
public protocol SummableKey: IndexKey {
  /// The type of a sum.
  associatedtype Sum = Self

  /// The sum in this type; nil if it overflows. Implemented by Larch.
  static func _sum(_ total: KeyTotal) -> Sum?
}

/// A sum in progress. You never need one.
@_documentation(visibility: private)
public struct KeyTotal {
  var whole: Int128 = 0
  var real = 0.0
  var isWhole = true
  var count = 0

  mutating func add(_ value: KeyValue) {
    switch value {
    case .signed(let value): whole += Int128(value)
    case .unsigned(let value): whole += Int128(value)
    case .float(let value):
      isWhole = false
      real += Double(value)
    case .double(let value):
      isWhole = false
      real += value
    case .null, .bool, .date, .string, .data, .uuid, .url: return
    }
    count += 1
  }
}

extension SummableKey where Sum: FixedWidthInteger {
  /// Exact; nil if the type cannot hold it.
  @_documentation(visibility: private)
  public static func _sum(_ total: KeyTotal) -> Sum? { Sum(exactly: total.whole) }
}

extension SummableKey where Sum: BinaryFloatingPoint {
  /// Summed as Double in the order of the query, then rounded.
  @_documentation(visibility: private)
  public static func _sum(_ total: KeyTotal) -> Sum? { Sum(total.real) }
}

extension Int: SummableKey {}
extension Int64: SummableKey {}
extension UInt: SummableKey {}
extension UInt64: SummableKey {}
extension Float: SummableKey {}
extension Double: SummableKey {}

extension Int8: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = Int
}

extension Int16: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = Int
}

extension Int32: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = Int
}

extension UInt8: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = UInt
}

extension UInt16: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = UInt
}

extension UInt32: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public typealias Sum = UInt
}

extension Optional: SummableKey where Wrapped: SummableKey {
  /// The sum of the wrapped values; nil is skipped.
  public static func _sum(_ total: KeyTotal) -> Wrapped.Sum? { Wrapped._sum(total) }
}
