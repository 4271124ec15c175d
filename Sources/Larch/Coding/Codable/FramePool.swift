/// The frames of coders that are gone. A container that the code of the user kept after its value was
/// written or read still points to its frame, so frames are never freed but used again, and a closed
/// frame drops what is written to it.
enum FramePool {
  /// What a coder writes with, what it reads with, and the frames beside the stack of the latter.
  typealias Frames = (
    encode: UnsafeMutablePointer<EncodeState>, decode: UnsafeMutablePointer<DecodeState>,
    extra: [DecodeFramePointer]
  )

  private static let pool = Pool<Frames>()
  /// Bytes of the buffer of a new coder.
  private static let capacity = 4096

  static func take() -> Frames { pool.take { (makeEncodeState(), makeDecodeState(), []) } }

  static func give(back frames: Frames) {
    let state = frames.encode
    state.pointee.coder = nil
    frames.decode.pointee.coder = nil
    // One huge record should not hold its memory from then on.
    if state.pointee.output.capacity > 1 << 20 {
      state.pointee.output.deallocate()
      state.pointee.output = RecordOutput(capacity: capacity)
    }
    state.pointee.end = 0
    pool.give(back: frames)
  }

  private static func makeEncodeState() -> UnsafeMutablePointer<EncodeState> {
    let state = UnsafeMutablePointer<EncodeState>.allocate(capacity: 1)
    let noSlots = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    noSlots.initialize(repeating: EncodeFrame.unresolved, count: 256)
    let frames: EncodeFramePointer = .allocate(capacity: RecordFormat.depthLimit + 1) + 1
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

  private static func makeDecodeState() -> UnsafeMutablePointer<DecodeState> {
    let state = UnsafeMutablePointer<DecodeState>.allocate(capacity: 1)
    let noEntries = UnsafeMutablePointer<FieldPlace>.allocate(capacity: 256)
    noEntries.initialize(repeating: FieldPlace(kind: FieldPlace.unresolved), count: 256)
    let noCache = UnsafeMutablePointer<DecodeCache>.allocate(capacity: 1)
    noCache.initialize(to: DecodeCache())
    let frames: DecodeFramePointer = .allocate(capacity: RecordFormat.depthLimit + 1) + 1
    state.initialize(
      to: DecodeState(
        frames: frames, current: frames - 1, noEntries: noEntries, noCache: noCache))
    for depth in -1..<RecordFormat.depthLimit {
      (frames + depth).initialize(to: frame(state, depth: depth, isExtra: false))
    }
    return state
  }

  /// A frame beside the stack, for a container that is read in no order.
  static func extraFrame(_ state: UnsafeMutablePointer<DecodeState>) -> DecodeFramePointer {
    let frame = DecodeFramePointer.allocate(capacity: 1)
    frame.initialize(to: Self.frame(state, depth: 0, isExtra: true))
    return frame
  }

  private static func frame(
    _ state: UnsafeMutablePointer<DecodeState>, depth: Int, isExtra: Bool
  ) -> DecodeFrame {
    DecodeFrame(
      state: state, depth: depth, isExtra: isExtra, base: UnsafeRawPointer(state),
      owner: ObjectIdentifier(Never.self), cache: state.pointee.noCache,
      entries: state.pointee.noEntries, parent: state.pointee.frames - 1)
  }
}
