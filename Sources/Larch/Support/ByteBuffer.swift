internal import Foundation

/// Bytes that are appended, and removed all at once. The memory grows and is used again.
struct ByteBuffer: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private(set) var capacity: Int

  /// - Parameter capacity: With 0 there is no memory until something is appended.
  init(capacity: Int = 256) {
    self.capacity = capacity
    // No byte of an empty buffer is read, so any address but null will do.
    base =
      capacity > 0
      ? .allocate(byteCount: capacity, alignment: 16) : UnsafeMutableRawPointer(bitPattern: 16)!
  }

  deinit { if capacity > 0 { base.deallocate() } }

  /// Valid until the next change.
  @inline(__always)
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Valid until the next change.
  @inline(__always)
  func bytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + offset, count: count)
  }

  @inline(__always)
  mutating func removeAll() { count = 0 }

  mutating func removeLast(to count: Int) { self.count = count }

  @inline(__always)
  mutating func reserve(_ size: Int) { if capacity &- count < size { grow(by: size) } }

  @inline(never)
  private mutating func grow(by size: Int) {
    let wanted = max(capacity * 2, count + size, 256)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    if capacity > 0 { base.deallocate() }
    base = larger
    capacity = wanted
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    (base + count).storeBytes(of: byte, as: UInt8.self)
    count &+= 1
  }

  @inline(__always)
  mutating func append(bigEndian number: UInt64) {
    reserve(8)
    (base + count).storeBytes(of: number.bigEndian, as: UInt64.self)
    count &+= 8
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    reserve(bytes.count)
    memcpy(base + count, start, bytes.count)
    count &+= bytes.count
  }

  /// Bytes with an end mark, so that later bytes do not change their order.
  mutating func append(terminated bytes: UnsafeRawBufferPointer, foldsASCII: Bool = false) {
    reserve(bytes.count * 2 + 2)
    var target = base + count
    for byte in bytes {
      let folded = foldsASCII && byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
      target.storeBytes(of: folded, as: UInt8.self)
      target += 1
      if byte == 0 {
        target.storeBytes(of: 0xFF, as: UInt8.self)
        target += 1
      }
    }
    target.storeBytes(of: 0, as: UInt16.self)
    count = target + 2 - base
  }

  /// Inverts the bytes from `start` on, which reverses their order.
  mutating func complement(from start: Int) {
    var place = start
    while place < count {
      let byte = (base + place).load(as: UInt8.self)
      (base + place).storeBytes(of: ~byte, as: UInt8.self)
      place &+= 1
    }
  }
}
