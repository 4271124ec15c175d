/// The frames of coders that are gone, for reading: never freed, for the same reason as those for
/// writing.
enum DecodeFramePool {
  private struct Box: @unchecked Sendable {
    // Only one coder has it at a time: it is here, or it was taken.
    let state: UnsafeMutablePointer<DecodeState>
    let extraFrames: [DecodeFramePointer]
  }

  private static let pool = Locked<[Box]>([])

  /// A state, and the frames beside the stack that were made for it.
  static func take() -> (UnsafeMutablePointer<DecodeState>, [DecodeFramePointer]) {
    if let box = pool.withLock({ $0.popLast() }) { return (box.state, box.extraFrames) }
    let state = UnsafeMutablePointer<DecodeState>.allocate(capacity: 1)
    let noEntries = UnsafeMutablePointer<DecodeEntry>.allocate(capacity: 256)
    noEntries.initialize(repeating: DecodeEntry(kind: DecodeEntry.unresolved), count: 256)
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
    let box = Box(state: state, extraFrames: extraFrames)
    pool.withLock { $0.append(box) }
  }
}
