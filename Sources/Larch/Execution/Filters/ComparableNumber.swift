/// Values of fixed width as numbers that compare as the values do: one comparison serves all types.
///
/// Floating point is converted to `Double`. Every NaN is `UInt64.max`, and no other value is.
enum ComparableNumber {
  static let nan = UInt64.max
  /// The greatest number that is not NaN: positive infinity.
  static let infinity: UInt64 = 0xFFF0_0000_0000_0000

  @inline(__always)
  static func of(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }

  @inline(__always)
  static func of(_ value: Double) -> UInt64 {
    if value.isNaN { return nan }
    let bits = (value + 0).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  /// The number that a value of floating point was.
  @inline(__always)
  static func floatingPoint(_ number: UInt64) -> Double {
    number == nan ? .nan : Double(bitPattern: number >> 63 == 1 ? number ^ 1 << 63 : ~number)
  }

  /// For a constant; nil if its width is not fixed, or its type is another.
  static func of(_ value: KeyValue, as primitive: KeyForm.Primitive) -> UInt64? {
    switch (primitive, value) {
    case (.bool, .bool(let value)): value ? 1 : 0
    case (.int8, .signed(let value)), (.int16, .signed(let value)), (.int32, .signed(let value)),
      (.int64, .signed(let value)):
      of(value)
    case (.uint8, .unsigned(let value)), (.uint16, .unsigned(let value)),
      (.uint32, .unsigned(let value)), (.uint64, .unsigned(let value)):
      value
    case (.float, .float(let value)): of(Double(value))
    case (.double, .double(let value)), (.date, .date(let value)): of(value)
    default: nil
    }
  }

  /// For a stored value of a fixed kind of at most eight bytes.
  @inline(__always)
  static func of(_ kind: FieldKind, stored bytes: UnsafeRawBufferPointer) -> UInt64 {
    switch kind {
    case .int64: of(Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)))
    case .double, .date:
      of(Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))))
    default: ofRare(kind, stored: bytes)
    }
  }

  @inline(never)
  private static func ofRare(_ kind: FieldKind, stored bytes: UnsafeRawBufferPointer) -> UInt64 {
    func little<T: FixedWidthInteger>(_: T.Type) -> T {
      T(littleEndian: bytes.loadUnaligned(as: T.self))
    }
    switch kind {
    case .bool: return bytes[0] == 0 ? 0 : 1
    case .int8: return of(Int64(little(Int8.self)))
    case .int16: return of(Int64(little(Int16.self)))
    case .int32: return of(Int64(little(Int32.self)))
    case .uint8: return UInt64(bytes[0])
    case .uint16: return UInt64(little(UInt16.self))
    case .uint32: return UInt64(little(UInt32.self))
    case .uint64: return little(UInt64.self)
    case .float: return of(Double(Float(bitPattern: little(UInt32.self))))
    default: return 0
    }
  }

  /// For the bytes of a key.
  static func of(_ primitive: KeyForm.Primitive, key bytes: UnsafeRawBufferPointer) -> UInt64 {
    func big<T: FixedWidthInteger>(_: T.Type) -> T {
      T(bigEndian: bytes.loadUnaligned(as: T.self))
    }
    switch primitive {
    case .bool, .uint8: return UInt64(bytes[0])
    case .int8: return of(Int64(Int8(bitPattern: bytes[0] ^ 1 << 7)))
    case .int16: return of(Int64(Int16(bitPattern: big(UInt16.self) ^ 1 << 15)))
    case .int32: return of(Int64(Int32(bitPattern: big(UInt32.self) ^ 1 << 31)))
    // The bytes of keys are in this order already.
    case .int64, .uint64, .double, .date: return big(UInt64.self)
    case .uint16: return UInt64(big(UInt16.self))
    case .uint32: return UInt64(big(UInt32.self))
    case .float:
      let bits = big(UInt32.self)
      return of(Double(Float(bitPattern: bits >> 31 == 1 ? bits ^ 1 << 31 : ~bits)))
    case .string, .data, .uuid, .url, .decimal: return 0
    }
  }
}

extension KeyForm.Primitive {
  /// The number of bytes of a value in a key; nil for text, data and decimals, which vary.
  var keyWidth: Int? {
    switch self {
    case .bool, .int8, .uint8: 1
    case .int16, .uint16: 2
    case .int32, .uint32, .float: 4
    case .int64, .uint64, .double, .date: 8
    case .uuid: 16
    case .string, .data, .url, .decimal: nil
    }
  }

  /// Whether it has at most eight bytes, so that `ComparableNumber` can represent it.
  var isNumber: Bool {
    switch self {
    case .string, .data, .uuid, .url, .decimal: false
    default: true
    }
  }

  var isWholeNumber: Bool {
    switch self {
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
    case .bool, .float, .double, .date, .string, .data, .uuid, .url, .decimal: false
    }
  }

  /// Whether it is a whole number that may be negative.
  var isSigned: Bool { self == .int8 || self == .int16 || self == .int32 || self == .int64 }

  /// Whether its bytes in a key delimit themselves, without escapes.
  var isSelfDelimiting: Bool { keyWidth != nil || self == .decimal }

  var isFloatingPoint: Bool { self == .double || self == .float || self == .date }
  /// Whether it is compared in its normal form.
  var isText: Bool { self == .string }
}
