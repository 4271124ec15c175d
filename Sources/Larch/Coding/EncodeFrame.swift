/// The buffer that a coder writes into, and where it is. One for each coder, reused for every record.
struct EncodeState {
  var base: UnsafeMutableRawPointer
  /// Bytes written.
  var end = 0
  var capacity: Int
  /// `RecordFormat.depthLimit` frames, one for each value that is being written inside another, and
  /// one below them for whoever wants the first value.
  let frames: UnsafeMutablePointer<EncodeFrame>
  /// The frame of the innermost value, `frames - 1` when idle.
  var current: UnsafeMutablePointer<EncodeFrame>
  /// 256 times `EncodeFrame.unresolved`.
  let noSlots: UnsafeMutablePointer<UInt16>
  /// Containers of trees between the frames; they count for the depth.
  var treeLevels = 0
  /// Set while a coder has this state.
  // Nil only before: no frame is given out until then, whatever the data is.
  unowned(unsafe) var coder: RecordCoder! = nil
  /// Kept with the frames that they belong to.
  let containers = Unmanaged.passRetained(ImmortalContainers())

  @inline(__always)
  mutating func reserve(_ count: Int) {
    if capacity &- end < count { grow(count) }
  }

  @inline(never)
  private mutating func grow(_ count: Int) {
    let wanted = max(capacity * 2, end + count)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    larger.copyMemory(from: base, byteCount: end)
    base.deallocate()
    base = larger
    capacity = wanted
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
    end &+= 1
  }

  @inline(__always)
  mutating func append<V: BitwiseCopyable>(fixed value: V) {
    reserve(MemoryLayout<V>.size)
    base.storeBytes(of: value, toByteOffset: end, as: V.self)
    end &+= MemoryLayout<V>.size
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let source = bytes.baseAddress {
      (base + end).copyMemory(from: source, byteCount: bytes.count)
    }
    end &+= bytes.count
  }

  @inline(__always)
  mutating func append(varint value: Int) {
    var rest = UInt32(truncatingIfNeeded: value)
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Makes room for `count` bytes at `offset` by moving what follows.
  mutating func insertRoom(_ count: Int, at offset: Int) {
    reserve(count)
    (base + offset + count).copyMemory(from: base + offset, byteCount: end - offset)
    end += count
  }
}

/// A value that is being written. Frames are memory of the coder, one for each depth; all state of
/// the containers is here, so that a container is one pointer and nothing is counted or allocated.
///
/// The fast path only *notices* what it cannot write as it is told (a key that the shape does not
/// have, another kind, variable fields in another order, nested containers). Then the frame has
/// failed, swallows the rest, and its value is written once more through `TreeEncoder`. It never
/// throws for that, since the code of the user may catch errors.
struct EncodeFrame {
  enum Mode: UInt8 {
    case closed  // no value; whatever an escaped container writes is dropped
    case open  // no container was asked for yet
    case record
    case list
    case map
    case written  // a single value was written, or is being written in a frame below
    case discarding  // the frame above has failed; nothing of this one matters
  }

  static let unresolved: UInt16 = 0xFFFF
  /// `sinkSlot` of an element of a list or a value of a map.
  static let elementSlot = -1
  /// `sinkSlot` of a value that is not inside another one: the whole record, or a leaf of a tree.
  static let detachedSlot = -2
  /// A detached value whose tree, if it becomes one, is taken over by the tree it is inside.
  static let treeSlot = -3

  let state: UnsafeMutablePointer<EncodeState>
  let depth: Int
  var mode = Mode.closed
  var failed = false
  var wide = false
  /// Kind of the elements so far, 0 when there are none. For a detached value: its kind.
  var elementKind: UInt8 = 0
  /// Key byte to slot; the table of nothing while this frame may not be written.
  var keySlots: UnsafeMutablePointer<UInt16>
  // Set when the frame is opened.
  var layouts: UnsafeMutablePointer<FieldLayout>!
  var version: UnsafeMutablePointer<EncodeVersion>?
  var plan: UnsafeMutablePointer<EncodePlan.Hot>!
  /// Where the value starts in the buffer: the header of a record, the kind byte of a list.
  var start = 0
  /// Where all that belongs to the value starts: to take it back.
  var origin = 0
  var lastVariable = -1
  var variableCount = 0
  /// Elements so far.
  var count = 0
  /// The slot that is being written, for the coding path and for predicting the next key.
  var slot = 0
  var sink: UnsafeMutablePointer<EncodeFrame>
  var sinkSlot = 0
  /// Where the u32 length of this value is to be stored, -1 for nowhere.
  var lengthOffset = -1
  /// The key of the map entry that is being written lies in the buffer; for the coding path.
  var keyOffset = 0
  var keyCount = 0
}

typealias EncodeFramePointer = UnsafeMutablePointer<EncodeFrame>

extension UnsafeMutablePointer<EncodeFrame> {
  /// Gives up on the fast path for this value.
  @inline(never)
  func fail() {
    pointee.failed = true
    pointee.keySlots = pointee.state.pointee.noSlots
  }

  // MARK: Fields of a record

  @inline(__always)
  func put<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, slot: Int) {
    let layout = pointee.layouts + slot
    guard layout.pointee.kind == kind.rawValue else { return putOther(value, kind, slot: slot) }
    let record = pointee.state.pointee.base + pointee.start
    let offset = pointee.wide ? layout.pointee.wideOffset : layout.pointee.offset
    record.storeBytes(of: value, toByteOffset: Int(offset), as: V.self)
    markPresent(record, slot)
  }

  @inline(__always)
  func markPresent(_ record: UnsafeMutableRawPointer, _ slot: Int) {
    let byte = (record + (2 &+ (slot &>> 3))).assumingMemoryBound(to: UInt8.self)
    byte.pointee |= 1 &<< UInt8(truncatingIfNeeded: slot & 7)
  }

  /// A string, URL or data.
  @inline(__always)
  func put(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind, slot: Int) {
    guard pointee.layouts[slot].kind == kind.rawValue, slot > pointee.lastVariable else {
      return putOther(bytes, kind, slot: slot)
    }
    pointee.state.pointee.append(bytes)
    endVariable(slot: slot)
  }

  @inline(never)
  private func putOther<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, slot: Int) {
    guard beginTagged(kind, slot: slot) else { return }
    pointee.state.pointee.append(fixed: value)
    endVariable(slot: slot)
  }

  @inline(never)
  private func putOther(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind, slot: Int) {
    guard beginTagged(kind, slot: slot) else { return }
    pointee.state.pointee.append(varint: bytes.count)
    pointee.state.pointee.append(bytes)
    endVariable(slot: slot)
  }

  func putNull(slot: Int) {
    guard beginVariable(.tagged, slot: slot) else { return }
    pointee.state.pointee.append(0)
    endVariable(slot: slot)
  }

  private func beginTagged(_ kind: FieldKind, slot: Int) -> Bool {
    guard beginVariable(.tagged, slot: slot) else { return false }
    pointee.state.pointee.append(kind.rawValue)
    return true
  }

  /// Whether the next bytes may be the value of this field; else the frame has failed.
  @inline(__always)
  func beginVariable(_ kind: FieldKind, slot: Int) -> Bool {
    if pointee.layouts[slot].kind == kind.rawValue, slot > pointee.lastVariable { return true }
    fail()
    return false
  }

  /// All that was written since belongs to the field.
  @inline(__always)
  func endVariable(slot: Int) {
    let state = pointee.state
    var end = state.pointee.end &- pointee.start
    if end > RecordFormat.narrowLimit, !pointee.wide {
      widen()
      end = state.pointee.end &- pointee.start
    }
    let record = state.pointee.base + pointee.start
    let layout = pointee.layouts + slot
    if pointee.wide {
      record.storeBytes(
        of: UInt32(truncatingIfNeeded: end), toByteOffset: Int(layout.pointee.wideOffset),
        as: UInt32.self)
    } else {
      record.storeBytes(
        of: UInt16(truncatingIfNeeded: end), toByteOffset: Int(layout.pointee.offset),
        as: UInt16.self)
    }
    markPresent(record, slot)
    pointee.lastVariable = slot
    pointee.variableCount &+= 1
  }

  /// Turns what was written so far into a wide record: slots grow, the heap moves.
  @inline(never)
  private func widen() {
    guard let version = pointee.version else { return }
    let state = pointee.state
    let growth = version.pointee.wideSlotsEnd - version.pointee.slotsEnd
    state.pointee.insertRoom(growth, at: pointee.start + version.pointee.slotsEnd)
    let record = state.pointee.base + pointee.start
    // From the last slot to the first, since each moves up.
    for slot in stride(from: version.pointee.fieldCount - 1, through: 0, by: -1) {
      let layout = pointee.layouts[slot]
      let (old, new) = (Int(layout.offset), Int(layout.wideOffset))
      if layout.width > 0 {
        (record + new).copyMemory(from: record + old, byteCount: Int(layout.width))
      } else {
        let end = record.loadUnaligned(fromByteOffset: old, as: UInt16.self)
        record.storeBytes(
          of: end == 0 ? 0 : UInt32(end) + UInt32(growth), toByteOffset: new, as: UInt32.self)
      }
    }
    pointee.wide = true
    record.storeBytes(of: version.pointee.header | RecordFormat.wideBit, as: UInt16.self)
  }

  // MARK: Elements of a list and values of a map

  @inline(__always)
  func add<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    guard beginElement(kind.rawValue) else { return }
    pointee.state.pointee.append(fixed: value)
    pointee.count &+= 1
  }

  @inline(__always)
  func add(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind) {
    guard beginElement(kind.rawValue) else { return }
    pointee.state.pointee.append(varint: bytes.count)
    pointee.state.pointee.append(bytes)
    pointee.count &+= 1
  }

  func addNull() {
    if beginElement(0) { pointee.count &+= 1 }
  }

  /// Writes the kind byte if the elements carry one. Kind 0 is null.
  @inline(__always)
  func beginElement(_ kind: UInt8) -> Bool {
    if pointee.elementKind != kind || kind == 0 { return beginOtherElement(kind) }
    return true
  }

  @inline(never)
  private func beginOtherElement(_ kind: UInt8) -> Bool {
    let tagged = FieldKind.tagged.rawValue
    if pointee.count == 0 {
      // A failed element may have left its kind behind.
      pointee.elementKind = kind == 0 ? tagged : kind
    } else if pointee.elementKind != tagged {
      tagElements()
    }
    if pointee.elementKind == tagged { pointee.state.pointee.append(kind) }
    return true
  }

  /// The elements so far were of one kind, and now another one comes: gives each its kind byte.
  private func tagElements() {
    let state = pointee.state
    let isMap = pointee.mode == .map
    guard let kind = FieldKind(rawValue: pointee.elementKind) else { return }
    let first = pointee.start + 2
    // The key of the entry that is being written lies behind the last element.
    let pendingKey = isMap ? state.pointee.end - pointee.keyOffset + pointee.keyPrefix : 0
    let growth = pointee.count
    let oldEnd = state.pointee.end
    let pending = oldEnd - pendingKey
    state.pointee.reserve(growth)
    let old = [UInt8](
      UnsafeRawBufferPointer(start: state.pointee.base + first, count: oldEnd - first))
    state.pointee.end = first
    old.withUnsafeBytes { bytes in
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<(pending - first)]))
      while !reader.isAtEnd {
        if isMap {
          let start = reader.offset
          guard (try? reader.bytes(.string)) != nil else { return }
          state.pointee.append(UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
        }
        let start = reader.offset
        guard (try? reader.skip(kind)) != nil else { return }
        state.pointee.append(kind.rawValue)
        state.pointee.append(UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
      }
      state.pointee.append(UnsafeRawBufferPointer(rebasing: bytes[(pending - first)...]))
    }
    pointee.elementKind = FieldKind.tagged.rawValue
    pointee.keyOffset += growth
    // Frames between this one and the innermost wait to write their first byte here.
    var frame = self + 1
    while frame <= state.pointee.current {
      frame.pointee.start = state.pointee.end
      frame.pointee.origin = state.pointee.end
      frame += 1
    }
  }

  /// Writes the key of the next entry of a map.
  func beginEntry(_ key: UnsafeRawBufferPointer) {
    pointee.state.pointee.append(varint: key.count)
    pointee.keyOffset = pointee.state.pointee.end
    pointee.keyCount = key.count
    pointee.state.pointee.append(key)
  }
}

extension EncodeFrame {
  /// Bytes of the length in front of the key.
  fileprivate var keyPrefix: Int {
    var count = 1
    var rest = keyCount >> 7
    while rest > 0 {
      count += 1
      rest >>= 7
    }
    return count
  }
}

extension EncodeFramePointer {
  /// For containers that only a tree can hold: this frame fails, and what they are told is dropped.
  func discardingTree(_ path: [any CodingKey]) -> TreeEncoder {
    if pointee.mode != .closed { fail() }
    return TreeEncoder(node: TreeNode(), frame: self, codingPath: path)
  }
}
