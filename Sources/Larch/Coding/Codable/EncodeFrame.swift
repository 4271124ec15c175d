/// The output and the position of a coder. Each coder has one and reuses it for every record.
struct EncodeState {
  var output: RecordOutput
  /// `RecordFormat.depthLimit` frames, one per nesting level of the value being written, and one
  /// below them for the first value.
  let frames: UnsafeMutablePointer<EncodeFrame>
  /// The frame of the innermost value; `frames - 1` if idle.
  var current: UnsafeMutablePointer<EncodeFrame>
  /// 256 times `EncodeFrame.unresolved`.
  let noSlots: UnsafeMutablePointer<UInt16>
  /// The number of tree containers between the frames; they count for the depth.
  var treeLevels = 0
  /// The coder that has this state; nil in the pool.
  // The coder returns the state before it is deallocated.
  unowned(unsafe) var coder: RecordCoder?
  /// The containers of these frames, which are reused with them.
  let containers = Unmanaged.passRetained(ImmortalContainers())

  @inline(__always)
  var base: UnsafeMutableRawPointer { output.base }

  /// Bytes written.
  @inline(__always)
  var end: Int {
    get { output.count }
    set { output.count = newValue }
  }
}

/// A value that is being written. Frames are memory of the coder, one per depth. They have all
/// state of the containers, so that a container is one pointer, without reference counts and
/// allocations.
///
/// The fast path only *notes* what it cannot write (a key that the shape does not have, another
/// kind, variable fields in another order, nested containers). Then the frame has failed, ignores
/// the rest, and its value is written again by `TreeEncoder`. It never throws for that, since the
/// code of the program may catch errors.
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
  /// `sinkSlot` of a value that is not nested: the whole record, or a leaf of a tree.
  static let detachedSlot = -2
  /// A detached value whose tree, if it becomes one, is adopted by the surrounding tree.
  static let treeSlot = -3

  let state: UnsafeMutablePointer<EncodeState>
  let depth: Int
  var mode = Mode.closed
  var failed = false
  var wide = false
  /// The kind of the elements so far, 0 if there are none. For a detached value: its kind.
  var elementKind: UInt8 = 0
  /// Key byte to slot; the empty table while nothing may be written to this frame.
  var keySlots: UnsafeMutablePointer<UInt16>
  // Set when the frame is opened.
  var layouts: UnsafeMutablePointer<FieldLayout>!
  var version: UnsafeMutablePointer<EncodeVersion>?
  var plan: UnsafeMutablePointer<EncodePlan.Hot>!
  /// The start of the value in the buffer: the header of a record, the kind byte of a list.
  var start = 0
  /// The start of everything that belongs to the value, for undoing it.
  var origin = 0
  var lastVariable = -1
  var variableCount = 0
  /// The number of elements so far.
  var count = 0
  /// The current slot, for the coding path and for predicting the next key.
  var slot = 0
  var sink: UnsafeMutablePointer<EncodeFrame>
  var sinkSlot = 0
  /// The place of this value's u32 length; -1 if it has none.
  var lengthOffset = -1
  /// The place in the buffer of the current map key; for the coding path.
  var keyOffset = 0
  var keyCount = 0
}

typealias EncodeFramePointer = UnsafeMutablePointer<EncodeFrame>

extension UnsafeMutablePointer<EncodeFrame> {
  /// Ends the fast path for this value.
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
    pointee.state.pointee.output.append(bytes)
    endVariable(slot: slot)
  }

  @inline(never)
  private func putOther<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, slot: Int) {
    guard beginTagged(kind, slot: slot) else { return }
    pointee.state.pointee.output.append(fixed: value)
    endVariable(slot: slot)
  }

  @inline(never)
  private func putOther(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind, slot: Int) {
    guard beginTagged(kind, slot: slot) else { return }
    pointee.state.pointee.output.append(varint: bytes.count)
    pointee.state.pointee.output.append(bytes)
    endVariable(slot: slot)
  }

  func putNull(slot: Int) {
    guard beginVariable(.tagged, slot: slot) else { return }
    pointee.state.pointee.output.append(0)
    endVariable(slot: slot)
  }

  private func beginTagged(_ kind: FieldKind, slot: Int) -> Bool {
    guard beginVariable(.tagged, slot: slot) else { return false }
    pointee.state.pointee.output.append(kind.rawValue)
    return true
  }

  /// Whether the next bytes may be the value of this field; if not, the frame has failed.
  @inline(__always)
  func beginVariable(_ kind: FieldKind, slot: Int) -> Bool {
    if pointee.layouts[slot].kind == kind.rawValue, slot > pointee.lastVariable { return true }
    fail()
    return false
  }

  /// Ends the field: everything written since belongs to it.
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

  /// Turns the record so far into a wide one.
  @inline(never)
  private func widen() {
    guard let version = pointee.version else { return }
    pointee.state.pointee.output.widenRecord(
      at: pointee.start, version.pointee.layouts, fieldCount: version.pointee.fieldCount,
      slotsEnd: version.pointee.slotsEnd, wideSlotsEnd: version.pointee.wideSlotsEnd)
    pointee.wide = true
  }

  // MARK: Elements of a list and values of a map

  @inline(__always)
  func add<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    guard beginElement(kind.rawValue) else { return }
    pointee.state.pointee.output.append(fixed: value)
    pointee.count &+= 1
  }

  @inline(__always)
  func add(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind) {
    guard beginElement(kind.rawValue) else { return }
    pointee.state.pointee.output.append(varint: bytes.count)
    pointee.state.pointee.output.append(bytes)
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
      // A failed element may have left its kind.
      pointee.elementKind = kind == 0 ? tagged : kind
    } else if pointee.elementKind != tagged {
      tagElements()
    }
    if pointee.elementKind == tagged { pointee.state.pointee.output.append(kind) }
    return true
  }

  /// The elements so far had one kind, and the next one has another: adds the kind byte to each.
  private func tagElements() {
    let state = pointee.state
    let isMap = pointee.mode == .map
    guard let kind = FieldKind(rawValue: pointee.elementKind) else { return }
    let first = pointee.start + 2
    // The key of the current entry is after the last element.
    let keyPrefix = Varint.width(UInt64(pointee.keyCount))
    let pendingKey = isMap ? state.pointee.end - pointee.keyOffset + keyPrefix : 0
    let growth = pointee.count
    let oldEnd = state.pointee.end
    let pending = oldEnd - pendingKey
    state.pointee.output.reserve(growth)
    let old = [UInt8](
      UnsafeRawBufferPointer(start: state.pointee.base + first, count: oldEnd - first))
    state.pointee.end = first
    old.withUnsafeBytes { bytes in
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<(pending - first)]))
      while !reader.isAtEnd {
        if isMap {
          let start = reader.offset
          guard (try? reader.bytes(.string)) != nil else { return }
          state.pointee.output.append(
            UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
        }
        let start = reader.offset
        guard (try? reader.skip(kind)) != nil else { return }
        state.pointee.output.append(kind.rawValue)
        state.pointee.output.append(UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
      }
      state.pointee.output.append(UnsafeRawBufferPointer(rebasing: bytes[(pending - first)...]))
    }
    pointee.elementKind = FieldKind.tagged.rawValue
    pointee.keyOffset += growth
    // Frames between this one and the innermost have not written their first byte yet.
    var frame = self + 1
    while frame <= state.pointee.current {
      frame.pointee.start = state.pointee.end
      frame.pointee.origin = state.pointee.end
      frame += 1
    }
  }

  /// Writes the key of the next entry of a map.
  func beginEntry(_ key: UnsafeRawBufferPointer) {
    pointee.state.pointee.output.append(varint: key.count)
    pointee.keyOffset = pointee.state.pointee.end
    pointee.keyCount = key.count
    pointee.state.pointee.output.append(key)
  }
}

extension EncodeFramePointer {
  /// For containers that only a tree can hold: this frame fails, and their values are ignored.
  func discardingTree(_ path: [any CodingKey]) -> TreeEncoder {
    if pointee.mode != .closed { fail() }
    return TreeEncoder(node: TreeNode(), frame: self, codingPath: path)
  }
}
