public import Foundation

/// A number, or an optional number, that can be summed.
@_documentation(visibility: private)
public protocol SummableKey: IndexKey {
  /// The type of a sum.
  associatedtype Sum = Self
}

/// A sum in progress.
struct KeyTotal {
  var whole: Int128 = 0
  var real = 0.0
  var decimal = DecimalTotal()
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

  /// Adds a number from the key of an index. Whole numbers may come several times.
  @inline(__always)
  mutating func add(
    _ primitive: KeyForm.Primitive, key bytes: UnsafeRawBufferPointer, _ times: Int
  ) {
    switch primitive {
    case .int8, .int16, .int32, .int64:
      let number = ComparableNumber.of(primitive, key: bytes)
      whole += Int128(Int64(bitPattern: number ^ 1 << 63)) * Int128(times)
    case .uint8, .uint16, .uint32, .uint64:
      whole += Int128(ComparableNumber.of(primitive, key: bytes)) * Int128(times)
    case .float, .double:
      isWhole = false
      real += ComparableNumber.floatingPoint(ComparableNumber.of(primitive, key: bytes))
    case .decimal: return add(KeyValue(primitive, key: bytes))
    case .bool, .date, .string, .data, .uuid, .url: return
    }
    count += times
  }

  /// The mean; nil without values.
  var mean: Double? {
    guard count > 0 else { return nil }
    return (isWhole ? Double(whole) : real + decimal.nearest) / Double(count)
  }

  /// Takes a whole number away; false for another one, whose part of a sum is not known.
  mutating func remove(_ value: KeyValue) -> Bool {
    switch value {
    case .signed(let value): whole -= Int128(value)
    case .unsigned(let value): whole -= Int128(value)
    case .float, .double, .decimal: return false
    case .null, .bool, .date, .string, .data, .uuid, .url: return true
    }
    count -= 1
    return true
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
    case .decimal(let key):
      isWhole = false
      decimal.add(key)
    case .null, .bool, .date, .string, .data, .uuid, .url: return
    }
    count += 1
  }
}

extension KeyTotal {
  /// The error of a sum that its type cannot hold.
  static func overflow<R: Record>(of type: R.Type) -> LarchError {
    LarchError(
      .overflow,
      "The sum overflows the type of the field; use `average`, or add the values yourself."
    ) { $0.collection = R.collectionName }
  }
}

extension SummableKey {
  /// The sum in its type: of integers exact, nil if the type cannot hold it; of decimals as Swift
  /// adds them in the order of the query; of others summed as Double in that order, then rounded.
  static func sum(_ total: KeyTotal) -> Sum? {
    switch Sum.self {
    case let type as any FixedWidthInteger.Type: type.init(exactly: total.whole) as? Sum
    case let type as any BinaryFloatingPoint.Type: type.init(total.real) as? Sum
    case is Decimal.Type: total.decimal.value as? Sum
    default:
      // The program conformed a type that only Larch may conform.
      preconditionFailure("\(Sum.self) is no number of the standard library; use one of those.")
    }
  }
}

extension Int: SummableKey {}
extension Int64: SummableKey {}
extension UInt: SummableKey {}
extension UInt64: SummableKey {}
extension Float: SummableKey {}
extension Double: SummableKey {}
extension Decimal: SummableKey {}

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
  public typealias Sum = Wrapped.Sum
}
