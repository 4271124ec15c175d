/// The bytes of a record, format 1.
///
/// All numbers are little endian and unaligned. `varint` is LEB128 (seven bits a byte, lowest
/// first, the shortest form, at most 32 bits).
///
/// ```text
/// record   header u16     bits 0-13 shape id, bit 14 wide, bit 15 zero (escape for later formats)
///   shape 0:              one tagged value up to the end; the wide bit is zero
///   shape 1...16383:
///          mask           ceil(fields / 8) bytes, bit i % 8 of byte i / 8 = field i is present;
///                         bits past the last field are zero
///          slots          one per field in the order of the shape, without gaps
///                           fixed kind: the value; zeros when absent
///                           variable kind: the END of its value, counted from the first byte of
///                           the record, as u16 (u32 in a wide record); when absent, the end of the
///                           variable field before it (the end of the slots for the first)
///          heap           the values of the variable fields in the order of the shape, without
///                         gaps, in slot form; the last one ends where the record ends
///
/// A record is wide exactly when it would be longer than 65,535 bytes if it were not.
///
/// slot form (the length is known from outside)
///   fixed kinds           `FieldKind.width` bytes:
///                         bool 0 or 1; intN, uintN; float, double: IEEE bits;
///                         date: double, seconds since 2001-01-01 00:00 UTC; uuid: 16 bytes;
///                         decimal: i8 exponent, u8 flags (bit 0 negative, bit 1 not a number),
///                         u128 mantissa; the mantissa does not end in a decimal zero unless the
///                         exponent is 127; zero and not-a-number have all other bits zero
///   string, url           UTF-8 (a URL without a base is its absolute string; a URL with a base is
///                         what its own Codable writes, not of this kind)
///   data                  the bytes
///   record                a record with a header of its own; offsets count from its own start
///   list                  element kind u8, count varint, elements in element form;
///                         an empty list is 00 00 whatever it might have held
///   map                   value kind u8, count varint, then per entry: key (varint length, UTF-8),
///                         value in element form; keys rise strictly by their bytes; empty: 00 00
///   tagged                kind u8, value of that kind in element form; 00 alone is null
///
/// element form (delimits itself)
///   fixed kinds           as in slot form
///   string, url, data     varint length, slot form
///   record, list, map     u32 length, slot form
///   tagged                as in slot form (a tagged value is never inside another one directly)
/// ```
///
/// What the writer chooses, so that equal values give equal bytes:
/// - A nil of an optional property is an absent field. A nil that is written on purpose
///   (`encodeNil(forKey:)`, or a nil inside a list, or `Optional<Optional<T>>.some(nil)`) is a
///   tagged null, and then the field, the elements or the map values are of kind `tagged`.
/// - Elements of several kinds make a list of kind `tagged`.
/// - `Set` writes its elements in the order of their element form, `[K: V]` that Codable writes as
///   an alternating list its pairs in the order of the element form of the key.
/// - `[String: V]`, `[Int: V]` (keys in decimal) and other keys that Codable makes coding keys are
///   maps. A value that asks for nested containers or a super encoder, or whose keys are made at run
///   time, is a map too, and so is one of a type that showed too many shapes. So are, in Codable's
///   synthesised code, enums with associated values.
/// - `[UInt8]` is a list; only Foundation's `Data` is of kind `data`.
/// - A raw-value enum is its raw value; other single-value types are what they encode. A nil field of
///   a raw-value enum, array, set or dictionary shows its kind too; only a nil of another type with a
///   Codable of its own does not, and its first value makes another shape.
package enum RecordFormat {
  package static let shapeMask: UInt16 = 0x3FFF
  package static let wideBit: UInt16 = 0x4000
  static let reservedBit: UInt16 = 0x8000

  /// The longest record whose ends fit a u16.
  package static let narrowLimit = 65_535
  /// The longest possible record; ends are u32, and LMDB does not store a longer value anyway.
  package static let lengthLimit = 0x7FFF_FFFF
  /// The maximum nesting depth of records, lists and maps, for writing and reading.
  package static let depthLimit = 128
  /// A type with more fields than this in one container is written as a tagged map.
  package static let fieldLimit = 4096
  /// A type with more field lists than this is written as a tagged map from then on.
  static let shapesPerTypeLimit = 64

  @inline(__always)
  static func maskBytes(_ fieldCount: Int) -> Int { (fieldCount + 7) >> 3 }
}

/// The kinds of the bytes of a field, an element or a map value. The numbers are part of the
/// format.
package enum FieldKind: UInt8, Sendable, CaseIterable {
  // Fixed width; 0 is null in a tagged value and "no elements" in an empty list.
  case bool = 1
  case int8 = 2
  case int16 = 3
  case int32 = 4
  case int64 = 5
  case uint8 = 6
  case uint16 = 7
  case uint32 = 8
  case uint64 = 9
  case float = 10
  case double = 11
  case date = 12
  case uuid = 13
  case decimal = 14
  case int128 = 15
  case uint128 = 16
  // Variable length
  case string = 32
  case data = 33
  case url = 34
  case record = 35
  case list = 36
  case map = 37
  case tagged = 38

  /// The number of bytes of a fixed kind, 0 for a variable one.
  @inline(__always)
  package var width: Int {
    switch self {
    case .bool, .int8, .uint8: 1
    case .int16, .uint16: 2
    case .int32, .uint32, .float: 4
    case .int64, .uint64, .double, .date: 8
    case .uuid, .int128, .uint128: 16
    case .decimal: 18
    case .string, .data, .url, .record, .list, .map, .tagged: 0
    }
  }

  @inline(__always)
  package var isFixed: Bool { rawValue < 32 }

  /// A whole number of any width.
  var isInteger: Bool {
    switch self {
    case .int8, .int16, .int32, .int64, .int128, .uint8, .uint16, .uint32, .uint64, .uint128: true
    default: false
    }
  }

  /// The element form starts with a varint length.
  @inline(__always)
  package var hasShortLength: Bool { rawValue >= 32 && rawValue <= 34 }

  /// The element form starts with a u32 length.
  @inline(__always)
  package var hasLongLength: Bool { rawValue >= 35 && rawValue <= 37 }

  /// The stable name, for errors and the command line.
  package var name: String { String(describing: self) }
}

extension RecordFormat {
  /// The value of a record: itself as a value of kind `record`, or its tagged value.
  package static func value(of bytes: UnsafeRawBufferPointer) throws -> FoundValue {
    guard bytes.count >= 2 else { throw ByteReader.damaged("length") }
    let header = bytes.loadUnaligned(as: UInt16.self)
    guard header & reservedBit == 0 else {
      throw LarchError(.newerFormat, "The record was written by a newer format; update Larch.")
    }
    if header & shapeMask != 0 { return FoundValue(state: .value, kind: .record, bytes: bytes) }
    guard header == 0 else { throw ByteReader.damaged("header") }
    return try DecodeFramePointer.untag(UnsafeRawBufferPointer(rebasing: bytes[2...]))
  }
}
