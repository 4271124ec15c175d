internal import CLarch

/// CRC-32C of bytes, continued over several pieces.
struct Checksum {
  private(set) var value: UInt32 = 0

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    value = larch_crc32c(value, base, bytes.count)
  }

  /// The checksum of a number (little-endian) and two pieces of memory, in one call.
  @inline(__always)
  static func of(
    _ number: UInt32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) -> UInt32 {
    // An empty buffer may have no address, and C reads nothing then.
    let nothing = UnsafeRawPointer(bitPattern: 1)
    return larch_crc32c_parts(
      number, first.baseAddress ?? nothing, first.count, second.baseAddress ?? nothing,
      second.count)
  }
}
