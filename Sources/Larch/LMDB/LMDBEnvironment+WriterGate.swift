/// A thread that waits for its turn to write.
final class LMDBTurn {
  let thread: UInt
  let condition = SystemCondition()
  var isGranted = false

  init(thread: UInt) { self.thread = thread }
}

extension LMDBEnvironment {
  /// Runs a body when it is this thread's turn to write; turns are in the order of asking.
  ///
  /// LMDB's own lock is unfair, and a second write on one thread would wait for itself for ever.
  func withTurn<T>(_ body: () throws -> T) throws -> T {
    try takeTurn()
    defer { endTurn() }
    return try body()
  }

  /// True when it is this thread's turn.
  var isWriting: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return writingThread == ThreadIdentity.current
  }

  private func takeTurn() throws {
    try checkNotForked()
    let thread = ThreadIdentity.current
    mutex.lock()
    if writingThread == thread {
      mutex.unlock()
      throw LarchError(
        .nestedWrite,
        "A write was started inside a write of the same store; use the outer transaction."
      ) { $0.path = path }
    }
    if blockers.contains(.closed) {
      mutex.unlock()
      throw closedError()
    }
    guard writingThread != 0 else {
      writingThread = thread
      mutex.unlock()
      return
    }
    let turn = LMDBTurn(thread: thread)
    waitingWriters.append(turn)
    // Whoever waits for this thread's read to end now waits in vain, and wants to know.
    if blockers.contains(.exclusive) { readsChanged.broadcast() }
    while !turn.isGranted { turn.condition.wait(mutex) }
    mutex.unlock()
  }

  private func endTurn() {
    mutex.lock()
    if waitingWriters.isEmpty {
      writingThread = 0
    } else {
      // Handed over, not set free: a thread that comes just now must not overtake.
      let next = waitingWriters.removeFirst()
      writingThread = next.thread
      next.isGranted = true
      next.condition.signal()
    }
    let mustClose = blockers.contains(.closed) && isIdle
    mutex.unlock()
    if mustClose { LMDBRegistry.shared.finishClosing(self) }
  }
}
