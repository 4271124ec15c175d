/// The frames of deallocated coders. Code of the program may keep a container after its value was
/// written, and the container still points to its frame. So frames are never freed but reused, and
/// a closed frame ignores what is written to it.
enum EncodeFramePool {
  private static let pool = Pool<UnsafeMutablePointer<EncodeState>>()
  /// The buffer size of a new coder in bytes.
  private static let capacity = 4096

  static func take() -> UnsafeMutablePointer<EncodeState> { pool.take(make) }

  private static func make() -> UnsafeMutablePointer<EncodeState> {
    let count = RecordFormat.depthLimit + 1
    let state = UnsafeMutablePointer<EncodeState>.allocate(capacity: 1)
    let noSlots = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    noSlots.initialize(repeating: EncodeFrame.unresolved, count: 256)
    let frames = UnsafeMutablePointer<EncodeFrame>.allocate(capacity: count) + 1
    state.initialize(
      to: EncodeState(
        output: RecordOutput(capacity: capacity), frames: frames, current: frames - 1,
        noSlots: noSlots))
    for depth in -1..<RecordFormat.depthLimit {
      (frames + depth).initialize(
        to: EncodeFrame(state: state, depth: depth, keySlots: noSlots, sink: frames - 1))
    }
    return state
  }

  static func give(back state: UnsafeMutablePointer<EncodeState>) {
    state.pointee.coder = nil
    // One huge record must not keep its memory.
    if state.pointee.output.capacity > 1 << 20 {
      state.pointee.output.deallocate()
      state.pointee.output = RecordOutput(capacity: capacity)
    }
    state.pointee.end = 0
    pool.give(back: state)
  }
}
