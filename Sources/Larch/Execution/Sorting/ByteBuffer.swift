internal import Foundation

/// A buffer for bytes that are appended and discarded together; its memory is kept.
struct ByteBuffer: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity = 256

  init() { base = .allocate(byteCount: 256, alignment: 16) }

  deinit { base.deallocate() }

  /// Valid until the next change.
  @inline(__always)
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always)
  mutating func removeAll() { count = 0 }

  @inline(__always)
  private mutating func reserve(_ size: Int) { if capacity &- count < size { grow(by: size) } }

  @inline(never)
  private mutating func grow(by size: Int) {
    capacity = max(capacity * 2, count + size)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
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
