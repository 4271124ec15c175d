internal import CLarch

/// CRC-32C of bytes, continued over several pieces.
struct Checksum {
  private(set) var value: UInt32 = 0

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    value = larch_crc32c(value, base, bytes.count)
  }
}
