internal import Foundation

/// LEB128: seven bits per byte, lowest first, the shortest form.
enum Varint {
  /// The number of bytes of a number.
  static func width(_ value: UInt64) -> Int {
    max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7)
  }

  /// Calls with the bytes of a number, one after the other.
  @inline(__always)
  static func write(_ value: UInt64, _ append: (UInt8) -> Void) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}

/// Writes small stored structures: fixed integers little-endian, lengths as varints.
struct StoredWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ value: UInt8) { bytes.append(value) }

  mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func append(varint value: UInt64) {
    Varint.write(value) { bytes.append($0) }
  }

  mutating func append(_ text: String) {
    append(varint: UInt64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(data: [UInt8]) {
    append(varint: UInt64(data.count))
    bytes.append(contentsOf: data)
  }
}

/// Reads what `StoredWriter` wrote. Every step is checked: bytes come from a file.
struct StoredReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  private var damaged: LarchError {
    LarchError(
      .corrupted, "A stored description is damaged; restore a backup, or salvage the file.")
  }

  mutating func take(_ count: Int) throws -> UnsafeRawBufferPointer {
    guard count >= 0, count <= bytes.count - offset else { throw damaged }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
  }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) throws -> T {
    T(littleEndian: try take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
  }

  mutating func varint() throws -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try integer(UInt8.self)
      if shift == 63, byte > 1 { throw damaged }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
      if shift > 63 { throw damaged }
    }
  }

  mutating func count() throws -> Int {
    guard let count = Int(exactly: try varint()), count <= bytes.count - offset else {
      throw damaged
    }
    return count
  }

  mutating func string() throws -> String {
    let raw = try take(try count())
    guard let text = String(validating: raw, as: UTF8.self) else { throw damaged }
    return text
  }

  mutating func data() throws -> [UInt8] { [UInt8](try take(try count())) }

  func expectEnd() throws { if !isAtEnd { throw damaged } }
}

extension UnsafeRawBufferPointer {
  /// Whether both have the same bytes.
  package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && (count == 0 || memoryCompare(other, count) == 0)
  }

  /// Order of LMDB keys: bytes first, then length.
  package func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let common = Swift.min(count, other.count)
    let order = common == 0 ? 0 : memoryCompare(other, common)
    return order != 0 ? order < 0 : count < other.count
  }

  /// Whether all bytes are those of ASCII characters.
  @inline(__always)
  var isASCII: Bool {
    guard let start = baseAddress, count >= 8 else { return allSatisfy { $0 < 0x80 } }
    var bits = (start + (count &- 8)).loadUnaligned(as: UInt64.self)
    var offset = 0
    while offset &+ 8 < count {
      bits |= (start + offset).loadUnaligned(as: UInt64.self)
      offset &+= 8
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// Where the first byte is that is zero.
  @inline(__always)
  var firstZero: Int? {
    guard let start = baseAddress, let found = memchr(start, 0, count) else { return nil }
    return UnsafeRawPointer(found) - start
  }

  private func memoryCompare(_ other: UnsafeRawBufferPointer, _ count: Int) -> Int32 {
    // Both are non-empty here, so both have a base address.
    memcmp(baseAddress!, other.baseAddress!, count)
  }
}
