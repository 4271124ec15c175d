/// The bytes of records that are being written, in memory that grows and is reused. Its creator
/// frees it.
package struct RecordOutput {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  /// The bytes written so far.
  package var count = 0

  /// Without memory, until something is appended.
  // Any address but null works for no bytes.
  package init() { (base, capacity) = (UnsafeMutableRawPointer(bitPattern: 16)!, 0) }

  init(capacity: Int) {
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  package func deallocate() { if capacity > 0 { base.deallocate() } }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity &- count < more { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let wanted = max(capacity &* 2, count + more, 512)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    deallocate()
    base = larger
    capacity = wanted
  }

  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  @inline(__always)
  package mutating func append<V: BitwiseCopyable>(fixed value: V) {
    reserve(MemoryLayout<V>.size)
    base.storeBytes(of: value, toByteOffset: count, as: V.self)
    count &+= MemoryLayout<V>.size
  }

  @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let source = bytes.baseAddress {
      (base + count).copyMemory(from: source, byteCount: bytes.count)
    }
    count &+= bytes.count
  }

  @inline(__always)
  package mutating func append(varint value: Int) {
    Varint.write(UInt64(truncatingIfNeeded: value)) { append($0) }
  }

  @inline(__always)
  package mutating func append(_ text: String) {
    let done: Void? = text.utf8.withContiguousStorageIfAvailable {
      append(UnsafeRawBufferPointer($0))
    }
    if done == nil { for byte in text.utf8 { append(byte) } }
  }

  /// A list or a map without elements.
  mutating func appendEmptyList() { append(fixed: UInt16(0)) }

  /// Makes room for `more` bytes at `offset` by moving what follows.
  mutating func insertRoom(_ more: Int, at offset: Int) {
    reserve(more)
    (base + offset + more).copyMemory(from: base + offset, byteCount: count - offset)
    count += more
  }

  /// Inserts a number before everything written since `offset`, where `replaced` bytes were
  /// reserved for it.
  mutating func insert(varint value: Int, at offset: Int, replacing replaced: Int = 0) {
    let added = Varint.width(UInt64(truncatingIfNeeded: value)) - replaced
    insertRoom(added, at: offset + replaced)
    let end = count
    count = offset
    append(varint: value)
    count = end
  }

  /// Turns the slot form since `offset` into an element form: inserts its length, for the kinds
  /// that have one.
  package mutating func insertLength(_ kind: FieldKind, at offset: Int) {
    let length = count - offset
    if kind.hasShortLength { insert(varint: length, at: offset) }
    guard kind.hasLongLength else { return }
    insertRoom(4, at: offset)
    setLength(at: offset)
  }

  /// Writes the length of what follows into the four bytes reserved at `offset`.
  func setLength(at offset: Int) {
    base.storeBytes(
      of: UInt32(truncatingIfNeeded: count - offset - 4), toByteOffset: offset, as: UInt32.self)
  }
}

extension RecordOutput {
  /// Begins a record of a shape: its header, and empty slots. True if the slots alone make it a
  /// wide record.
  @inline(__always)
  mutating func beginRecord(_ header: UInt16, slotsEnd: Int, wideSlotsEnd: Int) -> Bool {
    let isWide = slotsEnd > RecordFormat.narrowLimit
    let length = isWide ? wideSlotsEnd : slotsEnd
    reserve(length)
    let record = base + count
    record.initializeMemory(as: UInt8.self, repeating: 0, count: length)
    record.storeBytes(of: isWide ? header | RecordFormat.wideBit : header, as: UInt16.self)
    count &+= length
    return isWide
  }

  /// Turns the narrow record at `start` into a wide one: slots grow, and the heap moves. Ends that
  /// are not written yet are zero.
  @inline(never)
  mutating func widenRecord(
    at start: Int, _ layouts: UnsafePointer<FieldLayout>, fieldCount: Int, slotsEnd: Int,
    wideSlotsEnd: Int
  ) {
    let growth = wideSlotsEnd - slotsEnd
    insertRoom(growth, at: start + slotsEnd)
    let record = base + start
    // From the last slot to the first, since each moves up.
    for slot in stride(from: fieldCount - 1, through: 0, by: -1) {
      let layout = layouts[slot]
      let (old, new) = (Int(layout.offset), Int(layout.wideOffset))
      if layout.width > 0 {
        (record + new).copyMemory(from: record + old, byteCount: Int(layout.width))
      } else {
        let end = record.loadUnaligned(fromByteOffset: old, as: UInt16.self)
        record.storeBytes(
          of: end == 0 ? 0 : UInt32(end) + UInt32(growth), toByteOffset: new, as: UInt32.self)
      }
    }
    let header = record.loadUnaligned(as: UInt16.self)
    record.storeBytes(of: header | RecordFormat.wideBit, as: UInt16.self)
  }
}
