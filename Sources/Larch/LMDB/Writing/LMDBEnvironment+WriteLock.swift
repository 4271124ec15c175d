extension LMDBEnvironment {
  /// Runs a body with the write lock; threads get it in the order of their requests.
  func withWriteLock<T>(_ body: () throws -> T) throws -> T {
    try checkNotForked()
    // A thread that waits for this thread's read to end now waits in vain, and must wake up.
    switch writeQueue.lock(willWait: { readers.wakeWaiting() }) {
    case .granted: break
    case .lent: return try body()
    case .nested: throw nestedWriteError()
    case .closed: throw LarchError.closed(path)
    }
    defer {
      releaseWriteLock()
      deliverMessages()
    }
    return try body()
  }

  /// Releases the write lock.
  func releaseWriteLock() {
    outbox.order?.endTurn()
    if writeQueue.unlock() { LMDBRegistry.shared.finishClosing(self) }
  }

  /// True when this thread has the write lock.
  var isWriting: Bool { writeQueue.isHeld }

  func nestedWriteError() -> LarchError {
    LarchError(
      .nestedWrite,
      "A write was started inside a write of the same store; use the outer transaction."
    ) { $0.path = path }
  }
}
