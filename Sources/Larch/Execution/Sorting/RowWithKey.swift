/// A row with its key as one number, which sorts by the id: then come the place of the key in memory, which has
/// fewer than 2^48 bytes, and its length.
enum RowWithKey {
  @inline(__always)
  static func row(_ id: UInt64, keyAt place: Int, count: Int) -> UInt128 {
    UInt128(id) << 64 | UInt128(UInt64(truncatingIfNeeded: place &<< 16 | count))
  }

  @inline(__always)
  static func key(of row: UInt128, from start: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    let place = UInt64(truncatingIfNeeded: row)
    return UnsafeRawBufferPointer(start: start + Int(place &>> 16), count: Int(place & 0xFFFF))
  }
}
