/// A place in the row of those who want to write.
final class LMDBTurn: @unchecked Sendable {
  // All guarded by the mutex of the environment.
  /// The thread that waits; 0 while none does, as when a group of writes asks before its thread
  /// is there.
  fileprivate(set) var thread: UInt
  fileprivate let condition = SystemCondition()
  fileprivate var isGranted = false
  /// How many had asked when this one did.
  fileprivate let number: UInt64
  fileprivate var wait: LMDBWait?

  fileprivate init(thread: UInt, number: UInt64) {
    self.thread = thread
    self.number = number
  }
}

/// What a turn had to wait for.
struct LMDBWait: Sendable {
  /// Where the write was asked for whose turn it was, as far as that is noted.
  let holder: CodePlace?
  /// How many others waited already.
  let before: Int
}

extension LMDBEnvironment {
  /// Notes where the write was asked for whose turn it is, for those that wait.
  func noteTurn(at place: CodePlace) {
    mutex.lock()
    turnPlace = place
    mutex.unlock()
  }

  /// Stands for a thread whose turn it is and who is not there yet.
  private static let absentThread = UInt.max

  /// Runs a body when it is this thread's turn to write; turns are in the order of asking.
  ///
  /// LMDB's own lock is unfair, and a second write on one thread would wait for itself for ever.
  func withWriteLock<T>(_ body: () throws -> T) throws -> T {
    guard try takeTurn() else { return try body() }
    defer {
      endTurn()
      deliverMessages()
    }
    return try body()
  }

  /// True when it is this thread's turn.
  var isWriting: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return writingThread == ThreadIdentity.current
  }

  /// Waits for the turn; false when this thread has it already and lends it.
  private func takeTurn() throws -> Bool {
    try checkNotForked()
    let thread = ThreadIdentity.current
    mutex.lock()
    if writingThread == thread {
      let isLent = isTurnLent
      mutex.unlock()
      if isLent { return false }
      throw nestedWriteError()
    }
    if blockers.contains(.closed) {
      mutex.unlock()
      throw closedError()
    }
    turnsAsked &+= 1
    guard writingThread != 0 else {
      writingThread = thread
      mutex.unlock()
      return true
    }
    let turn = LMDBTurn(thread: thread, number: turnsAsked)
    turn.wait = LMDBWait(holder: turnPlace, before: waitingWriters.count)
    waitingWriters.append(turn)
    // Whoever waits for this thread's read to end now waits in vain, and wants to know.
    if blockers.contains(.exclusive) { readsChanged.broadcast() }
    while !turn.isGranted { turn.condition.wait(mutex) }
    turnWait = turn.wait
    mutex.unlock()
    return true
  }

  func nestedWriteError() -> LarchError {
    LarchError(
      .nestedWrite,
      "A write was started inside a write of the same store; use the outer transaction."
    ) { $0.path = path }
  }

  func endTurn() {
    mutex.lock()
    turnPlace = nil
    turnWait = nil
    if waitingWriters.isEmpty {
      writingThread = 0
    } else {
      // Handed over, not set free: a thread that comes just now must not overtake.
      let next = waitingWriters.removeFirst()
      writingThread = next.thread == 0 ? Self.absentThread : next.thread
      next.isGranted = true
      next.condition.signal()
    }
    let mustClose = blockers.contains(.closed) && isIdle
    mutex.unlock()
    if mustClose { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: Turns that are asked for before their thread is there

  /// Takes the next place in the row, without waiting. Each such turn must be waited for with
  /// `waitForTurn`, also when the environment is closed meanwhile, and ended with `endTurn`.
  func askForTurn() -> LMDBTurn {
    mutex.lock()
    defer { mutex.unlock() }
    turnsAsked &+= 1
    let turn = LMDBTurn(thread: 0, number: turnsAsked)
    if writingThread == 0 {
      writingThread = Self.absentThread
      turn.isGranted = true
    } else {
      turn.wait = LMDBWait(holder: turnPlace, before: waitingWriters.count)
      waitingWriters.append(turn)
    }
    return turn
  }

  /// Whether nobody has asked after this turn: what comes now may share it, and overtakes no one.
  func isLast(_ turn: LMDBTurn) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return turn.number == turnsAsked
  }

  /// Waits for the turn, which is this thread's until `endTurn`.
  func waitForTurn(_ turn: LMDBTurn) {
    mutex.lock()
    turn.thread = ThreadIdentity.current
    while !turn.isGranted { turn.condition.wait(mutex) }
    writingThread = turn.thread
    turnWait = turn.wait
    mutex.unlock()
  }

  /// Lets `body` take turns that this thread has already, while no write of it is open.
  ///
  /// Giving the turn back would not do: it could come to writes that only this thread runs.
  func lendingWriteLock<T>(_ body: () throws -> T) rethrows -> T {
    mutex.lock()
    isTurnLent = true
    mutex.unlock()
    defer {
      mutex.lock()
      isTurnLent = false
      mutex.unlock()
    }
    return try body()
  }
}
