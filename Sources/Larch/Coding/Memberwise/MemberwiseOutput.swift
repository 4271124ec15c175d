/// The bytes under construction: memory of the coder's that grows, and is used again.
struct MemberwiseOutput {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  /// The bytes written so far; whoever writes past them has reserved the room.
  var count = 0

  init(capacity: Int = 512) {
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  /// Writes into a buffer of the caller's, who takes it back afterwards: it may have moved.
  init(base: UnsafeMutableRawPointer, capacity: Int, count: Int) {
    self.base = base
    self.capacity = capacity
    self.count = count
  }

  func deallocate() { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity &- count < more { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let newCapacity = max(capacity &* 2, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
    capacity = newCapacity
  }

  // What follows writes into reserved room.

  @inline(__always)
  mutating func append(byte: UInt8) {
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  mutating func append(varint value: Int) {
    var rest = UInt64(truncatingIfNeeded: value)
    while rest >= 0x80 {
      append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(byte: UInt8(truncatingIfNeeded: rest))
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    count &+= bytes.count
  }

  mutating func append(_ text: String) {
    let done: Void? = text.utf8.withContiguousStorageIfAvailable {
      append(UnsafeRawBufferPointer($0))
    }
    if done == nil { for byte in text.utf8 { append(byte: byte) } }
  }

  mutating func appendEmptyList() {
    reserve(2)
    append(byte: 0)
    append(byte: 0)
  }
}
