internal import Foundation

extension LMDBEnvironment {
  /// Runs a body with the write lock; threads get it in the order of their requests.
  func withWriteLock<T>(_ body: () throws -> T) throws -> T {
    try checkNotForked()
    // A thread that waits for this thread's read to end now waits in vain, and must wake up.
    switch writeQueue.lock(willWait: { readers.wakeWaiting() }) {
    case .granted: break
    case .lent: return try body()
    case .nested: throw nestedWriteError()
    case .stuck:
      throw LarchError(
        .nestedWrite,
        "A task executor ran this write on the thread of the asynchronous writes, which are to come before it; use `await store.write`."
      ) { $0.path = path }
    case .closed: throw LarchError.closed(path)
    }
    defer {
      releaseWriteLock()
      deliverMessages()
    }
    return try DiskRoom.reporting(body)
  }

  /// Notes that a write of the program has the lock, before it is asked whether its store is closed.
  func beginProgramWrite() { isProgramWriting.store(true, ordering: .sequentiallyConsistent) }

  /// Runs a body that waits for threads which take the write lock. While a write of the program has it, the
  /// body runs on a thread of its own: the write may wait for the caller, or be its own. The same holds on the
  /// thread of asynchronous writes, where a task executor may run code between two of them.
  ///
  /// The caller has refused new writes before.
  func withoutWaitingForWrites(_ body: @escaping @Sendable () -> Void) {
    guard isProgramWriting.load(ordering: .sequentiallyConsistent) || writeQueue.isRunner else {
      return body()
    }
    Thread.detachNewThread(body)
  }

  /// Releases the write lock, and then begins the observers of what was committed with it.
  func releaseWriteLock() {
    isProgramWriting.store(false, ordering: .relaxed)
    outbox.order?.endTurn()
    let due = changes.takeDue()
    if writeQueue.unlock() { LMDBRegistry.shared.finishClosing(self) }
    changes.resume(due)
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
