/// Nested values: opens a frame, lets the value encode itself, closes the frame.
extension EncodeFramePointer {
  /// Writes a value of any type as a field of this record or an element of this list.
  @inline(__always)
  func write<T: Encodable>(
    _ value: T, plan: UnsafeMutablePointer<EncodePlan.Hot>, slot: Int
  ) throws {
    switch plan.pointee.strategy {
    case .date:
      emit(Leaf.seconds(value), .date, slot: slot)
    case .uuid:
      // A UUID may be at any address, but a number of its length may not.
      emit(
        withUnsafeBytes(of: value) { $0.loadUnaligned(as: UInt128.self) }, .uuid, slot: slot)
    case .int64:
      emit(Leaf.bits(value, as: Int64.self), .int64, slot: slot)
    case .direct, .sorted, .tree:
      try descend(value, plan: plan, slot: slot)
    default:
      try writeLeaf(value, plan: plan, slot: slot)
    }
  }

  @inline(__always)
  private func emit<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, slot: Int) {
    if slot >= 0 { put(value, kind, slot: slot) } else { sinkElement(value, kind, slot: slot) }
  }

  @inline(__always)
  private func sinkElement<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind, slot: Int) {
    if slot == EncodeFrame.elementSlot {
      add(value, kind)
    } else {
      pointee.elementKind = kind.rawValue
      pointee.state.pointee.output.append(fixed: value)
    }
  }

  /// Writes a fixed value to the destination of this frame.
  func emitValue<V: BitwiseCopyable>(_ value: V, _ kind: FieldKind) {
    guard beginSingle() else { return }
    if pointee.sinkSlot <= EncodeFrame.detachedSlot {
      sinkElement(value, kind, slot: pointee.sinkSlot)
    } else {
      pointee.sink.emit(value, kind, slot: pointee.sinkSlot)
    }
  }

  /// Writes a string, URL or data to the destination of this frame.
  func emitValue(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind) {
    guard beginSingle() else { return }
    emit(bytes, kind, sink: pointee.sink, slot: pointee.sinkSlot)
  }

  private func emit(
    _ bytes: UnsafeRawBufferPointer, _ kind: FieldKind, sink: EncodeFramePointer, slot: Int
  ) {
    switch slot {
    case EncodeFrame.elementSlot: sink.add(bytes, kind)
    case EncodeFrame.detachedSlot, EncodeFrame.treeSlot:
      pointee.elementKind = kind.rawValue
      pointee.state.pointee.output.append(bytes)
    default: sink.put(bytes, kind, slot: slot)
    }
  }

  func emitNull() {
    guard beginSingle() else { return }
    switch pointee.sinkSlot {
    case EncodeFrame.elementSlot: pointee.sink.addNull()
    case EncodeFrame.detachedSlot, EncodeFrame.treeSlot: pointee.elementKind = 0
    default: pointee.sink.putNull(slot: pointee.sinkSlot)
    }
  }

  /// A single value becomes this frame's value, once.
  @inline(__always)
  func beginSingle() -> Bool {
    if pointee.mode == .open, pointee.state.pointee.current == self {
      pointee.mode = .written
      return true
    }
    if pointee.mode != .closed, pointee.mode != .discarding { fail() }
    return false
  }

  // MARK: Leaves that Larch knows

  @inline(never)
  private func writeLeaf<T: Encodable>(
    _ value: T, plan: UnsafeMutablePointer<EncodePlan.Hot>, slot: Int
  ) throws {
    switch plan.pointee.strategy {
    case .data:
      Leaf.withBytes(ofData: value) { emit($0, .data, sink: self, slot: slot) }
    case .url:
      guard let text = Leaf.text(ofURL: value) else {
        return try descend(value, plan: plan, slot: slot)
      }
      Leaf.withUTF8(text) { emit($0, .url, sink: self, slot: slot) }
    case .decimal:
      emit(Leaf.decimal(value), .decimal, slot: slot)
    case .string:
      Leaf.withUTF8(Leaf.bits(value, as: String.self)) {
        emit($0, .string, sink: self, slot: slot)
      }
    default:
      guard let length = begin(.list, slot: slot) else { return }
      writeArray(value, plan.pointee.strategy)
      end(length: length, slot: slot)
    }
  }

  private func writeArray<T>(_ value: T, _ strategy: EncodePlan.Strategy) {
    let state = pointee.state
    func packed<E: BitwiseCopyable>(_ array: [E], _ kind: FieldKind) {
      state.pointee.output.append(array.isEmpty ? 0 : kind.rawValue)
      state.pointee.output.append(varint: array.count)
      array.withUnsafeBytes { state.pointee.output.append($0) }
    }
    switch strategy {
    case .ints: packed(Leaf.bits(value, as: [Int].self), .int64)
    case .doubles: packed(Leaf.bits(value, as: [Double].self), .double)
    default:
      let array = Leaf.bits(value, as: [String].self)
      state.pointee.output.append(array.isEmpty ? 0 : FieldKind.string.rawValue)
      state.pointee.output.append(varint: array.count)
      for text in array {
        Leaf.withUTF8(text) {
          state.pointee.output.append(varint: $0.count)
          state.pointee.output.append($0)
        }
      }
    }
  }

  // MARK: Long values: records, lists, maps

  /// Begins a long value of this frame's field or element. Returns the place of its u32 length, -1
  /// if it has none, and nil if it cannot be written.
  func begin(_ kind: FieldKind, slot: Int) -> Int? {
    let state = pointee.state
    switch slot {
    case EncodeFrame.detachedSlot, EncodeFrame.treeSlot:
      pointee.elementKind = kind.rawValue
      return -1
    case EncodeFrame.elementSlot:
      guard beginElement(kind.rawValue) else { return nil }
    default:
      if pointee.layouts[slot].kind == kind.rawValue {
        return beginVariable(kind, slot: slot) ? -1 : nil
      }
      guard beginVariable(.tagged, slot: slot) else { return nil }
      state.pointee.output.append(kind.rawValue)
    }
    let offset = state.pointee.end
    state.pointee.output.append(fixed: UInt32(0))
    return offset
  }

  func end(length offset: Int, slot: Int) {
    let state = pointee.state
    if offset >= 0 {
      let length = state.pointee.end - offset - 4
      (state.pointee.base + offset).storeBytes(
        of: UInt32(truncatingIfNeeded: length), as: UInt32.self)
    }
    if slot >= 0 {
      endVariable(slot: slot)
    } else if slot == EncodeFrame.elementSlot {
      pointee.count += 1
    }
  }

  /// Begins the record, list or map that is the value of this frame.
  func beginLong(_ kind: FieldKind) -> Bool {
    let target = pointee.sinkSlot <= EncodeFrame.detachedSlot ? self : pointee.sink
    guard pointee.mode == .open, pointee.state.pointee.current == self else {
      if pointee.mode != .closed, pointee.mode != .discarding { fail() }
      return false
    }
    guard let length = target.begin(kind, slot: pointee.sinkSlot) else {
      pointee.mode = .discarding
      return false
    }
    pointee.lengthOffset = length
    pointee.start = pointee.state.pointee.end
    return true
  }

  /// The keyed container of the value; false if the fast path cannot write it.
  @inline(__always)
  func beginRecord(_ keyType: ObjectIdentifier) -> Bool {
    guard let version = pointee.plan.pointee.version, pointee.plan.pointee.keyType == keyType,
      pointee.mode != .record
    else { return beginOtherRecord(keyType) }
    guard beginLong(.record) else { return false }
    let isWide = pointee.state.pointee.output.beginRecord(
      version.pointee.header, slotsEnd: version.pointee.slotsEnd,
      wideSlotsEnd: version.pointee.wideSlotsEnd)
    pointee.mode = .record
    pointee.wide = isWide
    pointee.version = version
    pointee.layouts = version.pointee.layouts
    pointee.keySlots = version.pointee.keySlots
    pointee.lastVariable = -1
    pointee.variableCount = 0
    pointee.slot = -1
    return true
  }

  @inline(never)
  private func beginOtherRecord(_ keyType: ObjectIdentifier) -> Bool {
    // A second request returns the same container.
    if pointee.mode == .record, pointee.plan.pointee.keyType == keyType, !pointee.failed {
      return true
    }
    if pointee.mode != .closed, pointee.mode != .discarding { fail() }
    return false
  }

  func beginList(isMap: Bool = false) -> Bool {
    if pointee.mode == .list, !isMap, !pointee.failed { return true }
    guard beginLong(isMap ? .map : .list) else { return false }
    // For a detached list this overwrites the kind from `begin`; closing the list sets it again.
    pointee.elementKind = 0
    pointee.count = 0
    pointee.mode = isMap ? .map : .list
    pointee.state.pointee.output.append(fixed: UInt16(0))
    return true
  }

  // MARK: Descending

  /// Writes a value that has containers of its own, through a frame below the innermost one.
  func descend<T: Encodable>(
    _ value: T, plan: UnsafeMutablePointer<EncodePlan.Hot>, slot: Int
  ) throws {
    let state = pointee.state
    let parent = state.pointee.current
    let frame = parent + 1
    // Read from the parent: the innermost frame has no next one.
    guard parent.pointee.depth + 1 + state.pointee.treeLevels < RecordFormat.depthLimit else {
      throw EncodingError.invalidValue(
        value,
        .init(
          codingPath: state.pointee.codingPath,
          debugDescription: "The values of a record are nested too deeply."))
    }
    // Until the value is written, nothing else may write to the parent.
    let keySlots = parent.pointee.keySlots
    parent.pointee.keySlots = state.pointee.noSlots
    frame.open(plan: plan, sink: self, slot: slot)
    state.pointee.current = frame
    defer {
      frame.pointee.mode = .closed
      frame.pointee.keySlots = state.pointee.noSlots
      state.pointee.current = parent
      if !parent.pointee.failed { parent.pointee.keySlots = keySlots }
    }
    do {
      switch plan.pointee.strategy {
      case .direct, .url:
        try value.encode(to: FrameEncoder(frame: frame))
      case .sorted:
        try withUnsafePointer(to: value) {
          try plan.pointee.owner.sorted?.encodeSorted(UnsafeRawPointer($0), into: frame)
        }
      default:
        frame.pointee.failed = true
      }
      if frame.pointee.mode == .open { frame.pointee.failed = true }
      if frame.pointee.failed, frame.pointee.mode != .discarding {
        state.pointee.end = frame.pointee.origin
        frame.open(plan: plan, sink: self, slot: slot)
        try frame.write(frame.tree(of: value, plan: plan))
      } else {
        frame.close()
      }
    } catch {
      state.pointee.end = frame.pointee.origin
      throw error
    }
    if slot <= EncodeFrame.detachedSlot { pointee.elementKind = frame.pointee.elementKind }
  }

  @inline(__always)
  private func open(
    plan: UnsafeMutablePointer<EncodePlan.Hot>, sink: EncodeFramePointer, slot: Int
  ) {
    pointee.mode = .open
    pointee.failed = false
    pointee.elementKind = 0
    pointee.plan = plan
    pointee.sink = sink
    pointee.sinkSlot = slot
    pointee.start = pointee.state.pointee.end
    pointee.origin = pointee.start
    pointee.lengthOffset = -1
    pointee.count = 0
    pointee.keySlots = pointee.state.pointee.noSlots
  }

  @inline(__always)
  func close() {
    switch pointee.mode {
    case .record: closeRecord()
    case .list, .map: closeList()
    default: return
    }
    endLong()
  }

  /// Ends the record, list or map of this frame.
  @inline(__always)
  func endLong() {
    if pointee.sinkSlot <= EncodeFrame.detachedSlot { return }
    pointee.sink.end(length: pointee.lengthOffset, slot: pointee.sinkSlot)
  }

  @inline(__always)
  private func closeRecord() {
    guard let version = pointee.version else { return }
    if pointee.variableCount != version.pointee.variableCount { fillMissing(version) }
    if pointee.sinkSlot <= EncodeFrame.detachedSlot {
      pointee.elementKind = FieldKind.record.rawValue
    }
  }

  /// Absent variable fields end where the previous one ends.
  @inline(never)
  private func fillMissing(_ version: UnsafeMutablePointer<EncodeVersion>) {
    let record = pointee.state.pointee.base + pointee.start
    var last = pointee.wide ? version.pointee.wideSlotsEnd : version.pointee.slotsEnd
    for slot in 0..<version.pointee.fieldCount where pointee.layouts[slot].width == 0 {
      let layout = pointee.layouts[slot]
      let mask = record.load(fromByteOffset: 2 + slot >> 3, as: UInt8.self)
      let isPresent = mask & (1 << UInt8(slot & 7)) != 0
      if pointee.wide {
        if isPresent {
          last = Int(
            record.loadUnaligned(fromByteOffset: Int(layout.wideOffset), as: UInt32.self))
        } else {
          record.storeBytes(
            of: UInt32(last), toByteOffset: Int(layout.wideOffset), as: UInt32.self)
        }
      } else if isPresent {
        last = Int(record.loadUnaligned(fromByteOffset: Int(layout.offset), as: UInt16.self))
      } else {
        record.storeBytes(of: UInt16(last), toByteOffset: Int(layout.offset), as: UInt16.self)
      }
    }
  }

  func closeList() {
    let state = pointee.state
    let list = state.pointee.base + pointee.start
    list.storeBytes(of: pointee.count == 0 ? 0 : pointee.elementKind, as: UInt8.self)
    if pointee.count < 0x80 {
      list.storeBytes(of: UInt8(pointee.count), toByteOffset: 1, as: UInt8.self)
    } else {
      state.pointee.output.insert(varint: pointee.count, at: pointee.start + 1, replacing: 1)
    }
    if pointee.sinkSlot <= EncodeFrame.detachedSlot {
      pointee.elementKind =
        pointee.mode == .map ? FieldKind.map.rawValue : FieldKind.list.rawValue
    }
  }
}
