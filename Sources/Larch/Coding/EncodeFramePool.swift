/// The frames of coders that are gone. A container that the code of the user kept after its value was
/// written still points to its frame, so frames are never freed but used again, and a closed frame
/// drops what is written to it.
enum EncodeFramePool {
  private struct Box: @unchecked Sendable {
    // Only one coder has it at a time: it is here, or it was taken.
    let state: UnsafeMutablePointer<EncodeState>
  }

  private static let pool = Locked<[Box]>([])

  static func take() -> UnsafeMutablePointer<EncodeState> {
    if let box = pool.withLock({ $0.popLast() }) { return box.state }
    let count = RecordFormat.depthLimit + 1
    let state = UnsafeMutablePointer<EncodeState>.allocate(capacity: 1)
    let noSlots = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    noSlots.initialize(repeating: EncodeFrame.unresolved, count: 256)
    let frames = UnsafeMutablePointer<EncodeFrame>.allocate(capacity: count) + 1
    let capacity = 4096
    state.initialize(
      to: EncodeState(
        base: .allocate(byteCount: capacity, alignment: 16), capacity: capacity, frames: frames,
        current: frames - 1, noSlots: noSlots))
    for depth in -1..<RecordFormat.depthLimit {
      (frames + depth).initialize(
        to: EncodeFrame(state: state, depth: depth, keySlots: noSlots, sink: frames - 1))
    }
    return state
  }

  static func give(back state: UnsafeMutablePointer<EncodeState>) {
    state.pointee.coder = nil
    // One huge record should not hold its memory permanently.
    if state.pointee.capacity > 1 << 20 {
      state.pointee.base.deallocate()
      state.pointee.base = .allocate(byteCount: 4096, alignment: 16)
      state.pointee.capacity = 4096
    }
    state.pointee.end = 0
    let box = Box(state: state)
    pool.withLock { $0.append(box) }
  }
}
