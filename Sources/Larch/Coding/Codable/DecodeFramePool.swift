/// The frames of deallocated coders, for reading. They are never freed, for the same reason as
/// those for writing.
enum DecodeFramePool {
  /// A state, and its frames outside the stack.
  typealias Frames = (state: UnsafeMutablePointer<DecodeState>, extra: [DecodeFramePointer])

  private static let pool = Pool<Frames>()

  static func take() -> Frames { pool.take(make) }

  private static func make() -> Frames {
    let state = UnsafeMutablePointer<DecodeState>.allocate(capacity: 1)
    let noEntries = UnsafeMutablePointer<FieldPlace>.allocate(capacity: 256)
    noEntries.initialize(repeating: FieldPlace(kind: FieldPlace.unresolved), count: 256)
    let noCache = UnsafeMutablePointer<DecodeCache>.allocate(capacity: 1)
    noCache.initialize(to: DecodeCache())
    let frames =
      UnsafeMutablePointer<DecodeFrame>.allocate(
        capacity: RecordFormat.depthLimit + 1) + 1
    state.initialize(
      to: DecodeState(
        frames: frames, current: frames - 1, noEntries: noEntries, noCache: noCache))
    for depth in -1..<RecordFormat.depthLimit {
      (frames + depth).initialize(to: frame(state, depth: depth, isExtra: false))
    }
    return (state, [])
  }

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

  static func give(
    back state: UnsafeMutablePointer<DecodeState>, _ extraFrames: [DecodeFramePointer]
  ) {
    state.pointee.coder = nil
    pool.give(back: (state, extraFrames))
  }
}
