/// A ticket in the queue of waiting writers.
final class WriteTicket: @unchecked Sendable {
  // All guarded by the mutex of the queue.
  /// The waiting thread; 0 if none waits yet, as when a group of writes takes a ticket before its
  /// thread runs.
  fileprivate var thread: UInt
  fileprivate let condition = SystemCondition()
  fileprivate var isGranted = false
  /// The number of tickets taken so far, including this one.
  fileprivate let number: UInt64
  fileprivate var wait: WriteWait?
  /// Who runs the writes of the ticket; nil if the waiting thread does.
  fileprivate let runner: WriteRunner?

  fileprivate init(thread: UInt, number: UInt64, _ runner: WriteRunner? = nil) {
    self.thread = thread
    self.number = number
    self.runner = runner
  }
}

/// Who runs the writes of tickets that were taken before their thread was there.
final class WriteRunner: @unchecked Sendable {
  /// The thread that does so now, or 0. Guarded by the mutex of the queue.
  fileprivate var thread: UInt = 0
}

/// What a write had to wait for.
struct WriteWait: Sendable {
  /// Where the write that had the lock was requested, if that was noted.
  let holder: CodePlace?
  /// How many others were already waiting.
  let before: Int
}

/// The write lock of an environment: one thread of the process has it at a time, and threads get it
/// in the order of their requests.
///
/// LMDB's own lock is unfair, and a second write on one thread would wait for itself forever.
///
/// Unchecked: the variables are guarded by `mutex`, except where their comment says otherwise.
final class WriteQueue: @unchecked Sendable {
  /// The result of a request for the lock.
  enum Answer {
    case granted
    /// This thread has the lock, and lends it.
    case lent
    /// This thread has the lock, for a write that is open.
    case nested
    /// This thread would wait for writes that only it can run.
    case stuck
    /// The environment is closed.
    case closed
  }

  /// Stands for a thread that has the lock but does not run yet.
  private static let absentThread = UInt.max

  private let mutex = SystemMutex()
  /// The thread that has the lock, or 0.
  private var holder: UInt = 0
  private var waiting: [WriteTicket] = []
  /// The threads that run the writes of a runner.
  private var running: Set<UInt> = []
  /// The ticket of the thread that has the lock but does not run yet.
  private var absent: WriteTicket?
  /// Whether the thread that has the lock may take it again.
  private var isLent = false
  private var isClosed = false
  private var asked: UInt64 = 0
  /// Where the write that has the lock was requested, for the log; nil without a log.
  private var place: CodePlace?
  /// What the write that has the lock waited for; nil if it did not wait. Used only by the thread
  /// that has the lock.
  private(set) var wait: WriteWait?

  // MARK: Taking and giving back

  /// Waits for the lock. `willWait` is called, with no mutex held, if others come before this
  /// thread.
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
    let isStuck = { (ticket: WriteTicket) in ticket.runner?.thread == thread }
    if absent.map(isStuck) == true || waiting.contains(where: isStuck) { return .stuck }
    let ticket = append(thread)
    mutex.unlock()
    willWait()
    mutex.lock()
    while !ticket.isGranted { ticket.condition.wait(mutex) }
    wait = ticket.wait
    return .granted
  }

  /// Passes the lock to the next thread; true if no more come and the environment may be closed.
  func unlock() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    place = nil
    wait = nil
    if waiting.isEmpty {
      holder = 0
      return isClosed
    }
    // It is passed on, not released: a new thread must not overtake.
    let next = waiting.removeFirst()
    holder = next.thread == 0 ? Self.absentThread : next.thread
    absent = next.thread == 0 ? next : nil
    next.isGranted = true
    next.condition.signal()
    return false
  }

  /// Lets `body` take the lock that this thread has, while none of its writes is open.
  ///
  /// Releasing the lock would not work: another thread could get it.
  func lending<T>(_ body: () throws -> T) rethrows -> T {
    let wasLent = setLent(true)
    defer { setLent(wasLent) }
    return try body()
  }

  /// Returns what it was before.
  @discardableResult
  private func setLent(_ isLent: Bool) -> Bool {
    mutex.lock()
    defer {
      self.isLent = isLent
      mutex.unlock()
    }
    return self.isLent
  }

  // MARK: Tickets that are taken before their thread is there

  /// Takes the next ticket, without waiting. The runner must call `wait(for:)` for each ticket and
  /// then release the lock, even if the environment is closed meanwhile.
  func takeTicket(for runner: WriteRunner) -> WriteTicket {
    mutex.lock()
    defer { mutex.unlock() }
    asked &+= 1
    if holder != 0 { return append(0, runner) }
    holder = Self.absentThread
    let ticket = WriteTicket(thread: 0, number: asked, runner)
    ticket.isGranted = true
    absent = ticket
    return ticket
  }

  /// Notes that this thread, or none any more, runs the writes of a runner.
  func note(_ runner: WriteRunner, isRunning: Bool) {
    mutex.lock()
    let thread = ThreadIdentity.current
    runner.thread = isRunning ? thread : 0
    if isRunning { running.insert(thread) } else { running.remove(thread) }
    mutex.unlock()
  }

  /// Whether others may wait for writes that only this thread can run.
  var isRunner: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return running.contains(ThreadIdentity.current)
  }

  /// Whether no ticket was taken after this one: a later request may then share it without
  /// overtaking.
  func isLast(_ ticket: WriteTicket) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return ticket.number == asked
  }

  /// Waits until the ticket is granted: then this thread has the lock.
  func wait(for ticket: WriteTicket) {
    mutex.lock()
    defer { mutex.unlock() }
    ticket.thread = ThreadIdentity.current
    while !ticket.isGranted { ticket.condition.wait(mutex) }
    (holder, absent) = (ticket.thread, nil)
    wait = ticket.wait
  }

  private func append(_ thread: UInt, _ runner: WriteRunner? = nil) -> WriteTicket {
    let ticket = WriteTicket(thread: thread, number: asked, runner)
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

  /// How many times the lock was ever requested.
  var askedCount: UInt64 {
    mutex.lock()
    defer { mutex.unlock() }
    return asked
  }

  /// Notes where the write that has the lock was requested, for waiting threads.
  func noteHolder(at place: CodePlace) {
    mutex.lock()
    self.place = place
    mutex.unlock()
  }

  // MARK: Closing

  /// Refuses new threads; existing tickets stay valid. True if nobody has the lock.
  func close() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    isClosed = true
    return holder == 0
  }

  /// Undoes `close`.
  func reopen() {
    mutex.lock()
    isClosed = false
    mutex.unlock()
  }
}
