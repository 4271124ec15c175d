/// A ticket in the queue of waiting writers.
final class WriteTicket: @unchecked Sendable {
  // All guarded by the mutex of the queue.
  /// The thread that waits; 0 while none does, as when a group of writes takes a ticket before its
  /// thread is there.
  fileprivate var thread: UInt
  fileprivate let condition = SystemCondition()
  fileprivate var isGranted = false
  /// How many tickets had been taken when this one was, itself included.
  fileprivate let number: UInt64
  fileprivate var wait: WriteWait?

  fileprivate init(thread: UInt, number: UInt64) {
    self.thread = thread
    self.number = number
  }
}

/// What a write had to wait for.
struct WriteWait: Sendable {
  /// Where the write was asked for that had the lock, as far as that is noted.
  let holder: CodePlace?
  /// How many others waited already.
  let before: Int
}

/// The write lock of an environment: one thread of the process has it at a time, and threads get it in
/// the order in which they asked.
///
/// LMDB's own lock is unfair, and a second write on one thread would wait for itself without an end.
///
/// Unchecked: the variables are guarded by `mutex`, except where their comment says otherwise.
final class WriteQueue: @unchecked Sendable {
  /// What came of asking for the lock.
  enum Answer {
    case granted
    /// This thread has the lock, and lends it.
    case lent
    /// This thread has the lock, for a write that is open.
    case nested
    /// The environment is closed.
    case closed
  }

  /// Stands for a thread that has the lock and is not there yet.
  private static let absentThread = UInt.max

  private let mutex = SystemMutex()
  /// The thread that has the lock, or 0.
  private var holder: UInt = 0
  private var waiting: [WriteTicket] = []
  /// Whether the thread that has the lock may take it once more.
  private var isLent = false
  private var isClosed = false
  private var asked: UInt64 = 0
  /// Where the write was asked for that has the lock, for the log; nil where nobody asks.
  private var place: CodePlace?
  /// What the write waited for that has the lock; nil where it did not. Only touched by the thread that
  /// has the lock.
  private(set) var wait: WriteWait?

  // MARK: Taking and giving back

  /// Waits for the lock. `willWait` is called, with no mutex held, when others are before this thread.
  func lock(willWait: () -> Void) -> Answer {
    let thread = ThreadIdentity.current
    mutex.lock()
    defer { mutex.unlock() }
    if holder == thread { return isLent ? .lent : .nested }
    if isClosed { return .closed }
    asked &+= 1
    guard holder != 0 else {
      holder = thread
      return .granted
    }
    let ticket = append(thread)
    mutex.unlock()
    willWait()
    mutex.lock()
    while !ticket.isGranted { ticket.condition.wait(mutex) }
    wait = ticket.wait
    return .granted
  }

  /// Hands the lock to the next one; true when nobody comes any more, and the environment may be closed.
  func unlock() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    place = nil
    wait = nil
    if waiting.isEmpty {
      holder = 0
      return isClosed
    }
    // Handed over, not set free: a thread that comes just now must not overtake.
    let next = waiting.removeFirst()
    holder = next.thread == 0 ? Self.absentThread : next.thread
    next.isGranted = true
    next.condition.signal()
    return false
  }

  /// Lets `body` take the lock that this thread has, while no write of it is open.
  ///
  /// Giving the lock back would not do: writes that only this thread runs could get it.
  func lending<T>(_ body: () throws -> T) rethrows -> T {
    setLent(true)
    defer { setLent(false) }
    return try body()
  }

  private func setLent(_ isLent: Bool) {
    mutex.lock()
    self.isLent = isLent
    mutex.unlock()
  }

  // MARK: Tickets that are taken before their thread is there

  /// Takes the next ticket, without waiting. Each must be waited for with `wait(for:)`, also when the
  /// environment is closed meanwhile, and the lock given back.
  func takeTicket() -> WriteTicket {
    mutex.lock()
    defer { mutex.unlock() }
    asked &+= 1
    if holder != 0 { return append(0) }
    holder = Self.absentThread
    let ticket = WriteTicket(thread: 0, number: asked)
    ticket.isGranted = true
    return ticket
  }

  /// Whether nobody has asked after this ticket: what comes now may share it, and overtakes no one.
  func isLast(_ ticket: WriteTicket) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return ticket.number == asked
  }

  /// Waits until the ticket is granted: the lock is this thread's then.
  func wait(for ticket: WriteTicket) {
    mutex.lock()
    defer { mutex.unlock() }
    ticket.thread = ThreadIdentity.current
    while !ticket.isGranted { ticket.condition.wait(mutex) }
    holder = ticket.thread
    wait = ticket.wait
  }

  private func append(_ thread: UInt) -> WriteTicket {
    let ticket = WriteTicket(thread: thread, number: asked)
    ticket.wait = WriteWait(holder: place, before: waiting.count)
    waiting.append(ticket)
    return ticket
  }

  // MARK: Who has it, and who waits

  /// True when this thread has the lock.
  var isHeld: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return holder == ThreadIdentity.current
  }

  /// Whether a thread waits for the lock.
  func isWaiting(_ thread: UInt) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return waiting.contains { $0.thread == thread }
  }

  /// How many wait for the lock.
  var waitingCount: Int {
    mutex.lock()
    defer { mutex.unlock() }
    return waiting.count
  }

  /// How often the lock was ever asked for.
  var askedCount: UInt64 {
    mutex.lock()
    defer { mutex.unlock() }
    return asked
  }

  /// Notes where the write was asked for that has the lock, for those that wait.
  func noteHolder(at place: CodePlace) {
    mutex.lock()
    self.place = place
    mutex.unlock()
  }

  // MARK: Closing

  /// Refuses threads that come; tickets that were taken stay good. True when nobody has the lock.
  func close() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    isClosed = true
    return holder == 0
  }

  /// Takes back `close`.
  func reopen() {
    mutex.lock()
    isClosed = false
    mutex.unlock()
  }
}
