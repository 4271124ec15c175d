/// A hash of bytes that costs a few steps for each eight of them.
///
/// It is for tables whose keys a program cannot choose to do harm: two keys with one hash cost time,
/// and nothing else.
enum ByteHash {
  /// Never 0, so that a table can mark its free slots with it.
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 &* UInt64(bytes.count + 1)
    var position = 0
    while bytes.count - position >= 8 {
      hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      position += 8
    }
    var rest: UInt64 = 0
    while position < bytes.count {
      rest = rest << 8 | UInt64(bytes[position])
      position += 1
    }
    return mix(hash ^ rest) | 1
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
  }
}
