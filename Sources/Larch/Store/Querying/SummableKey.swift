/// A number, or an optional number, that can be summed.
@_documentation(visibility: private)
public protocol SummableKey: IndexKey {
  /// The type of a sum.
  associatedtype Sum

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

  /// Adds a whole number several times.
  mutating func add(_ value: KeyValue, _ times: Int) {
    switch value {
    case .signed(let value): whole += Int128(value) * Int128(times)
    case .unsigned(let value): whole += Int128(value) * Int128(times)
    default: return
    }
    count += times
  }

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

extension SummableKey where Self: FixedWidthInteger, Sum == Self {
  /// Exact; nil if the type cannot hold it.
  public static func _sum(_ total: KeyTotal) -> Self? { Self(exactly: total.whole) }
}

extension Int: SummableKey {
  /// The type itself.
  public typealias Sum = Int
}
extension Int64: SummableKey {
  /// The type itself.
  public typealias Sum = Int64
}
extension UInt: SummableKey {
  /// The type itself.
  public typealias Sum = UInt
}
extension UInt64: SummableKey {
  /// The type itself.
  public typealias Sum = UInt64
}

extension Int8: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> Int? { Int(exactly: total.whole) }
}

extension Int16: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> Int? { Int(exactly: total.whole) }
}

extension Int32: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> Int? { Int(exactly: total.whole) }
}

extension UInt8: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> UInt? { UInt(exactly: total.whole) }
}

extension UInt16: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> UInt? { UInt(exactly: total.whole) }
}

extension UInt32: SummableKey {
  /// The sum of a few values may overflow the type itself.
  public static func _sum(_ total: KeyTotal) -> UInt? { UInt(exactly: total.whole) }
}

extension Double: SummableKey {
  /// The sum in the order of the query.
  public static func _sum(_ total: KeyTotal) -> Double? { total.real }
}

extension Float: SummableKey {
  /// Summed as Double, then rounded.
  public static func _sum(_ total: KeyTotal) -> Float? { Float(total.real) }
}

extension Optional: SummableKey where Wrapped: SummableKey {
  /// The sum of the wrapped values; nil is skipped.
  public static func _sum(_ total: KeyTotal) -> Wrapped.Sum? { Wrapped._sum(total) }
}
