/// An asynchronous write, from the call to its end: its caller and its state.
///
/// Its closure runs in its own task on the thread of the writer, and sees the values and the
/// cancellation of the caller's task. The caller waits separately: if it is cancelled while it
/// waits, it continues at once.
final class AsyncWrite<T: Sendable>: Sendable {
  typealias Body = @Sendable (WriteTransaction) throws -> T

  let store: Store
  let durability: LMDBDurability
  let author: String?
  let timer: OperationTimer?
  let body: Body
  private let state = Locked(State())

  private enum Phase { case waiting, running, ended }

  private struct State {
    var phase = Phase.waiting
    var caller: CheckedContinuation<T, any Error>?
    /// What the caller gets that does not wait yet.
    var result: Result<T, any Error>?
    var task: Task<Void, Never>?
  }

  init(
    _ store: Store, _ durability: LMDBDurability, _ author: String?, _ timer: OperationTimer?,
    _ body: @escaping Body
  ) {
    self.store = store
    self.durability = durability
    self.author = author
    self.timer = timer
    self.body = body
  }

  /// Takes a place in the queue. The caller does so before it waits for anything: even a closure that waits
  /// may begin on another thread, and then the writes of one task have no order.
  func start() {
    let writer = store.asyncWriter
    let task = Task(executorPreference: writer) { await writer.perform(self) }
    state.withLock { state in
      if state.phase != .ended { state.task = task }
    }
  }

  /// Gives the result to the caller, now or later.
  func wait(_ caller: CheckedContinuation<T, any Error>) {
    let result: Result<T, any Error>? = state.withLock { state in
      if state.phase == .ended { return state.result ?? .failure(CancellationError()) }
      state.caller = caller
      return nil
    }
    if let result { caller.resume(with: result) }
  }

  /// Ends the wait of a caller whose closure has not begun; a running closure sees that its task is
  /// cancelled.
  func cancel() {
    let (caller, task) = state.withLock { state in
      let task = state.task
      guard state.phase == .waiting else {
        return (CheckedContinuation<T, any Error>?.none, task)
      }
      state.phase = .ended
      defer { state.caller = nil }
      return (state.caller, task)
    }
    task?.cancel()
    caller?.resume(throwing: CancellationError())
  }

  /// Whether the write is still wanted when its turn comes.
  func begin() -> Bool {
    state.withLock { state in
      guard state.phase == .waiting else { return false }
      state.phase = .running
      return true
    }
  }

  /// Resumes the caller.
  func finish(_ result: Result<T, any Error>) {
    if let timer { store.post(write: timer) }
    let caller = state.withLock { state in
      state.phase = .ended
      state.task = nil
      if state.caller == nil { state.result = result }
      defer { state.caller = nil }
      return state.caller
    }
    caller?.resume(with: result)
  }
}
